package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/client"
)

// New is the command group.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workspace", Aliases: []string{"workspaces", "ws"}, Short: "List, choose, make and delete workspaces",
		Example: "  bm workspace ls\n  bm workspace use work\n  bm workspace create Reading",
	}
	cmd.AddCommand(newList(a), newUse(a), newCreate(a), newRename(a), newRemove(a), newDeleted(a), newRestore(a), newSettings(a))
	return cmd
}

// held is a workspace as this machine holds it.
type held struct {
	localstore.Replica
	counts localstore.Counts
	inUse  bool
}

func newList(a *app.App) *cobra.Command {
	type field = output.Field[held]
	format := &output.Format[held]{Fields: []field{
		{Name: "id", Get: func(h held) any { return h.RemoteID }},
		{Name: "name", Get: func(h held) any { return h.Name }},
		{Name: "slug", Get: func(h held) any { return h.Slug }},
		{Name: "isDefault", Get: func(h held) any { return h.IsDefault }},
		{Name: "inUse", Get: func(h held) any { return h.inUse }},
		{Name: "state", Get: func(h held) any { return h.State }},
		{Name: "reason", Get: func(h held) any { return h.Reason }},
		{Name: "bookmarks", Get: func(h held) any { return h.counts.Bookmarks }},
		{Name: "folders", Get: func(h held) any { return h.counts.Folders }},
		{Name: "unsent", Get: func(h held) any { return h.counts.Unsent }},
		{Name: "syncedAt", Get: func(h held) any { return h.SyncedAt }},
	}}
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the workspaces that this machine mirrors",
		Example: "  bm workspace ls\n  bm workspace ls --json name,state,unsent",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, format *output.Format[held]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	// Which workspace is in use is one column: that it is gone is no reason not
	// to show what could be chosen instead.
	inUse, err := current(ctx, a)
	if err != nil {
		return err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	list := make([]held, len(replicas))
	for i, r := range replicas {
		counts, err := store.Counts(ctx, r.N)
		if err != nil {
			return err
		}
		list[i] = held{Replica: a.AsItStands(r), counts: counts, inUse: r.N == inUse}
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, list)
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: ""}, output.Heading{Name: "workspace", Flexible: true}, output.Heading{Name: "slug", Spare: 2},
		output.Heading{Name: "bookmarks", Right: true, Spare: 1}, output.Heading{Name: "not sent", Right: true}, output.Heading{Name: "state", Flexible: true})
	for _, h := range list {
		mark, state := "", string(h.State)
		if h.inUse {
			mark = "*"
		}
		if h.Reason != "" {
			state += ": " + h.Reason
		}
		err := table.Row(output.Text(mark), output.Styled(output.Strong, h.Name), output.Text(h.Slug),
			output.Number(h.counts.Bookmarks), output.Number(h.counts.Unsent), output.Text(state))
		if err != nil {
			return err
		}
	}
	return table.End()
}

// current is the number of the workspace in use; 0, and a note, where that is
// not here.
func current(ctx context.Context, a *app.App) (int64, error) {
	_, r, err := a.Replica(ctx)
	if e, ok := errors.AsType[*app.Error](err); ok && e.Kind == app.NotFound {
		fmt.Fprintln(a.IO.Err, output.CleanText(e.Message))
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return r.N, nil
}

func newUse(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "use WORKSPACE",
		Short:             "Choose the workspace that commands are about",
		Example:           "  bm workspace use work",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteWorkspaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := pick(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			if r.RemoteID == "" {
				return app.Fail(app.Usage, "There is no other workspace yet.").Try("bm auth login, or bm up")
			}
			if err := c.Save(c.Account(), config.Chosen{ID: r.RemoteID, Name: r.Name}); err != nil {
				return err
			}
			fmt.Fprintf(a.IO.Err, "Commands are about %s now.\n", output.Clean(r.Name))
			return nil
		},
	}
}

func pick(ctx context.Context, a *app.App, ref string) (*localstore.Replica, error) {
	store, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	all, err := store.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	return app.PickReplica(all, ref)
}

// mayFollow fails where the local copy can't follow a change of the server, which is
// not made then: half of one would be made again.
func mayFollow(ctx context.Context, a *app.App) error {
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	return store.Writable()
}

// ownServer calls the server that the profile is a copy of: what is changed
// there is changed here.
func ownServer(ctx context.Context, a *app.App) (*client.Client, error) {
	if err := a.MayMirror(ctx); err != nil {
		return nil, err
	}
	return a.Client(ctx)
}

// remote finds a workspace that the server has.
func remote(ctx context.Context, a *app.App, ref string) (*client.Client, *localstore.Replica, error) {
	caller, err := ownServer(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	r, err := pick(ctx, a, ref)
	if err != nil {
		return nil, nil, err
	}
	if r.RemoteID == "" {
		return nil, nil, app.Fail(app.Usage, "%q is on this machine alone.", output.Clean(r.Name)).Try("bm auth login")
	}
	return caller, r, nil
}

func newCreate(a *app.App) *cobra.Command {
	slug := ""
	cmd := &cobra.Command{
		Use:     "create NAME",
		Short:   "Make a workspace, and mirror it",
		Example: "  bm workspace create Reading\n  bm workspace create \"My Work\" --slug work",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			caller, err := ownServer(ctx, a)
			if err != nil {
				return err
			}
			in := api.WorkspaceCreate{Name: args[0]}
			if slug != "" {
				in.Slug = api.Some(slug)
			}
			if err := mayFollow(ctx, a); err != nil {
				return err
			}
			if err := warnOfName(ctx, a, args[0]); err != nil {
				return err
			}
			w, err := caller.CreateWorkspace(ctx, in)
			return mirrored(ctx, a, w, named(err), "Made")
		},
	}
	cmd.Flags().StringVar(&slug, "slug", "", "a short `name` for addresses and commands")
	return cmd
}

// warnOfName tells that a name is taken: the server takes it twice, and only
// the slug tells the two apart.
func warnOfName(ctx context.Context, a *app.App, name string) error {
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	all, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].RemoteID != "" && strings.EqualFold(all[i].Name, name) {
			fmt.Fprintf(a.IO.Err, "There is a workspace %s already (%s): name them by their slugs.\n", output.Clean(all[i].Name), output.Clean(all[i].Slug))
			break
		}
	}
	return nil
}

// named tells what the server says of its fields about what was typed.
func named(err error) error {
	return app.Named(err, map[string]string{"name": "The name", "slug": "--slug", "hubLinkCheckSchedule": "--check-links"})
}

// mirrored brings the local copy up to date with what the server answered.
func mirrored(ctx context.Context, a *app.App, w api.Workspace, err error, did string) error {
	if err != nil {
		return err
	}
	ctx, cancel := app.Outlasting(ctx)
	defer cancel()
	store, err := a.Store(ctx)
	if err == nil {
		_, err = store.Mirror(ctx, w, true)
	}
	if err != nil {
		return app.Half(fmt.Sprintf("%s the workspace %s (%s), of which this machine knows nothing yet", did, output.Clean(w.Name), output.Clean(w.Slug)), err).
			Try("bm sync   once that is mended")
	}
	a.Edited(ctx)
	fmt.Fprintf(a.IO.Err, "%s the workspace %s (%s).\n", did, output.Clean(w.Name), output.Clean(w.Slug))
	return nil
}

func newRename(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rename WORKSPACE NAME",
		Short:             "Give a workspace another name",
		Example:           "  bm workspace rename work \"Our Work\"",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.CompleteWorkspaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			caller, r, err := remote(cmd.Context(), a, args[0])
			if err == nil {
				err = mayFollow(cmd.Context(), a)
			}
			if err != nil {
				return err
			}
			w, err := caller.RenameWorkspace(cmd.Context(), r.RemoteID, args[1])
			return mirrored(cmd.Context(), a, w, named(err), "Renamed")
		},
	}
}
