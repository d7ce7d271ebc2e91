package syncing

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// standing is how a workspace stands with its server.
type standing struct {
	localstore.Replica
	counts localstore.Counts
	notes  []localstore.Note
}

// Of what a merge decided by itself, status reads so much of a workspace, and
// shows so much of it for so long.
const (
	readNotes  = 100
	shownNotes = 5
	recent     = 7 * 24 * time.Hour
)

// statePaused is the state of what the daemon keeps in step, while it was told
// to do nothing.
const statePaused localstore.ReplicaState = "paused"

func newStatus(a *app.App) *cobra.Command {
	type field = output.Field[standing]
	format := &output.Format[standing]{Fields: []field{
		{Name: "workspace", Get: func(s standing) any { return s.Name }},
		{Name: "id", Get: func(s standing) any { return s.RemoteID }},
		{Name: "state", Get: func(s standing) any { return s.State }},
		{Name: "reason", Get: func(s standing) any { return s.Reason }},
		{Name: "unsent", Get: func(s standing) any { return s.counts.Unsent }},
		{Name: "conflicts", Get: func(s standing) any { return s.counts.Conflicts }},
		{Name: "parked", Get: func(s standing) any { return s.counts.Parked }},
		{Name: "bookmarks", Get: func(s standing) any { return s.counts.Bookmarks }},
		{Name: "syncedAt", Get: func(s standing) any { return s.SyncedAt }},
		{Name: "notes", Get: func(s standing) any { return s.notes }},
	}}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how this machine stands with the server",
		Long: `Show how this machine stands with the server, and what was decided lately where it
and another machine changed the same thing without leaving a conflict.

A workspace is live, or bootstrapping or comparing while all of it is fetched or
compared; offline where nobody answers, and failing where something else goes
wrong: either is tried again. It is auth_required until you sign in, frozen where
it was taken away, paused with the daemon, and local where it has no server.`,
		Example: "  bm sync status\n  bm sync status --json workspace,unsent\n  bm sync status --json notes --jq '.[].notes[].message'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runStatus(ctx context.Context, a *app.App, format *output.Format[standing]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	pausing, kept := attended(ctx, a, c.ProfileName())
	left := false // as the last sync did
	list := make([]standing, len(replicas))
	for i, r := range replicas {
		r = a.AsItStands(r)
		if pausing && r.RemoteID != "" && r.State != localstore.StateFrozen && r.State != localstore.StateAuthRequired {
			r.State, r.Reason = statePaused, "bm daemon resume lets it go on"
		}
		left = left || !pausing && !kept && r.RemoteID != "" && r.State != localstore.StateFrozen && r.State != localstore.StateAuthRequired
		counts, err := store.Counts(ctx, r.N)
		if err != nil {
			return err
		}
		notes, err := store.Notes(ctx, r.N, readNotes)
		if err != nil {
			return err
		}
		list[i] = standing{r, counts, append([]localstore.Note{}, notes...)}
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, list)
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "workspace", Flexible: true}, output.Heading{Name: "state", Flexible: true},
		output.Heading{Name: "not sent", Right: true}, output.Heading{Name: "conflicts", Right: true}, output.Heading{Name: "refused", Right: true}, output.Heading{Name: "synced"})
	for _, s := range list {
		state := string(s.State)
		if s.Reason != "" {
			state += ": " + s.Reason
		}
		synced := output.Text("")
		if !s.SyncedAt.IsZero() {
			synced = output.Cell{Value: s.SyncedAt.String(), Shown: output.Ago(a.Now(), s.SyncedAt.Time), Style: output.Faint}
		}
		err := table.Row(output.Styled(output.Strong, s.Name), output.Text(state), output.Number(s.counts.Unsent),
			output.Number(s.counts.Conflicts), output.Number(s.counts.Parked), synced)
		if err != nil {
			return err
		}
	}
	if err := table.End(); err != nil {
		return err
	}
	for _, s := range list {
		s.tell(a)
	}
	if left {
		keeps := ", bm daemon start keeps it so"
		if c.Account().Borrowed {
			keeps = "" // it does not know that key
		}
		fmt.Fprintf(a.IO.Err, "No daemon watches this: it stands as the last sync left it.\nbm sync brings it up to date%s.\n", keeps)
	}
	return nil
}

// tell says what a table may have no room for, and what merges decided lately, the
// newest first.
func (s *standing) tell(a *app.App) {
	now := a.Now()
	if s.Reason != "" && a.IO.OutTTY {
		fmt.Fprintf(a.IO.Err, "%s is %s: %s.\n", output.Clean(s.Name), s.State, strings.TrimSuffix(output.Clean(s.Reason), "."))
	}
	for i, n := range s.notes {
		if now.Sub(n.At.Time) > recent {
			return
		}
		if i == shownNotes {
			fmt.Fprintf(a.IO.Err, "Noted in %s earlier: bm sync status --json workspace,notes\n", output.Clean(s.Name))
			return
		}
		fmt.Fprintf(a.IO.Err, "Noted in %s, %s: %s.\n", output.Clean(s.Name), output.Ago(now, n.At.Time), output.Clean(n.Message))
	}
}

func newConflicts(a *app.App) *cobra.Command {
	type field = output.Field[localstore.Conflict]
	format := &output.Format[localstore.Conflict]{Fields: []field{
		{Name: "n", Get: func(c localstore.Conflict) any { return c.N }},
		{Name: "type", Get: func(c localstore.Conflict) any { return c.Type }},
		{Name: "id", Get: func(c localstore.Conflict) any { return c.ID }},
		{Name: "field", Get: func(c localstore.Conflict) any { return c.Field }},
		{Name: "mine", Get: func(c localstore.Conflict) any { return c.Mine }},
		{Name: "theirs", Get: func(c localstore.Conflict) any { return c.Theirs }},
		{Name: "at", Get: func(c localstore.Conflict) any { return c.At }},
	}}
	cmd := &cobra.Command{
		Use:   "conflicts",
		Short: "List what was changed differently here and elsewhere",
		Long: `List what was changed differently here and elsewhere. What the server has is in
force; your value is kept until you decide with bm sync resolve.`,
		Example: "  bm sync conflicts\n  bm sync conflicts --json n,field,mine,theirs",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runConflicts(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runConflicts(ctx context.Context, a *app.App, format *output.Format[localstore.Conflict]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := store.Conflicts(ctx, replica.N)
	if err != nil {
		return err
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, list)
	}
	if len(list) == 0 {
		a.SayNone(replica, fmt.Sprintf("There is no conflict in %s.", replica.Name))
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "n", Right: true}, output.Heading{Name: "what", Flexible: true}, output.Heading{Name: "field"},
		output.Heading{Name: "mine", Flexible: true}, output.Heading{Name: "theirs", Flexible: true})
	for _, c := range list {
		name, err := nameOf(ctx, store, replica.N, c.Type, c.ID)
		if err != nil {
			return err
		}
		err = table.Row(output.Number(c.N), output.Styled(output.Strong, name), output.Text(c.Field), output.Text(plain(c.Mine)), output.Text(plain(c.Theirs)))
		if err != nil {
			return err
		}
	}
	return table.End()
}

// nameOf is what a person calls a row; its id where it is gone.
func nameOf(ctx context.Context, store *localstore.Store, replica int64, kind api.EntityType, id string) (string, error) {
	var name string
	var err error
	if kind == api.TypeFolder {
		var f localstore.Folder
		f, err = store.Folder(ctx, replica, id)
		name = f.Name
	} else {
		var b localstore.Bookmark
		b, err = store.Bookmark(ctx, replica, id)
		name = b.Title
	}
	if api.CodeOf(err) == api.CodeNotFound {
		return id, nil
	}
	return name, err
}

// plain is a JSON value as a person reads it.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func newResolve(a *app.App) *cobra.Command {
	var mine, theirs bool
	value := ""
	cmd := &cobra.Command{
		Use:   "resolve N",
		Short: "Decide on a conflict",
		Long:  "Decide on a conflict that bm sync conflicts lists: for your value, for what is in\nforce, or for another one. An edit like any other: bm undo takes it back.",
		Example: `  bm sync resolve 3 --mine
  bm sync resolve 3 --theirs
  bm sync resolve 3 --value "A title that both can live with"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := 0
			for _, is := range []bool{mine, theirs, cmd.Flags().Changed("value")} {
				if is {
					chosen++
				}
			}
			if chosen != 1 {
				return app.Fail(app.Usage, "Say which value it shall be: one of --mine, --theirs and --value.")
			}
			var text *string
			if cmd.Flags().Changed("value") {
				text = &value
			}
			return runResolve(cmd.Context(), a, args[0], mine, text)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&mine, "mine", false, "my value")
	flags.BoolVar(&theirs, "theirs", false, "what is in force stays")
	flags.StringVar(&value, "value", "", "another `value`")
	return cmd
}

func runResolve(ctx context.Context, a *app.App, number string, mine bool, text *string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := store.Conflicts(ctx, replica.N)
	if err != nil {
		return err
	}
	for _, c := range list {
		if fmt.Sprint(c.N) != number {
			continue
		}
		var value json.RawMessage
		switch {
		case mine:
			value = c.Mine
		case text != nil:
			if value, err = json.Marshal(*text); err != nil {
				return err
			}
		}
		err := store.Resolve(ctx, c.N, value)
		if api.CodeOf(err) == api.CodeNotFound {
			restore := "bm restore"
			if c.Type == api.TypeFolder {
				restore = "bm folder restore"
			}
			return app.Fail(app.NotFound, "The %s of conflict %d was deleted.", c.Type, c.N).
				Try("%s %s   and then the same command; --theirs leaves it deleted", restore, c.ID).Because(err)
		}
		if err != nil {
			return err
		}
		a.Edited(ctx)
		fmt.Fprintln(a.IO.Err, "Decided.")
		return nil
	}
	return app.Fail(app.NotFound, "There is no conflict %s.", output.Clean(number)).Try("bm sync conflicts   lists them")
}

func newParked(a *app.App) *cobra.Command {
	type field = output.Field[localstore.Parked]
	format := &output.Format[localstore.Parked]{Fields: []field{
		{Name: "id", Get: func(p localstore.Parked) any { return p.ID }},
		{Name: "type", Get: func(p localstore.Parked) any { return p.Type }},
		{Name: "action", Get: func(p localstore.Parked) any { return p.Action }},
		{Name: "code", Get: func(p localstore.Parked) any { return p.Code }},
		{Name: "message", Get: func(p localstore.Parked) any { return p.Message }},
		{Name: "at", Get: func(p localstore.Parked) any { return p.At }},
	}}
	retry := ""
	cmd := &cobra.Command{
		Use:   "parked",
		Short: "List edits that the server refused, and why",
		Long: `List edits that the server refused, and why. They are kept, and hold nothing else
up. Editing one sends it again; --retry sends it as it is.`,
		Example: "  bm sync parked\n  bm sync parked --retry 01999f2e-5a3c-7d10-8e4b-2f6a7c9d1e35",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if retry != "" {
				return runRetry(cmd.Context(), a, retry)
			}
			return runParked(cmd.Context(), a, format)
		},
	}
	cmd.Flags().StringVar(&retry, "retry", "", "send the edit of this `id` again")
	format.Bind(cmd)
	return cmd
}

func runParked(ctx context.Context, a *app.App, format *output.Format[localstore.Parked]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := store.Parked(ctx, replica.N)
	if err != nil {
		return err
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, list)
	}
	if len(list) == 0 {
		a.SayNone(replica, fmt.Sprintf("No edit of %s is refused.", replica.Name))
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "id"}, output.Heading{Name: "what", Flexible: true}, output.Heading{Name: "edit"}, output.Heading{Name: "why", Flexible: true})
	for _, p := range list {
		name, err := nameOf(ctx, store, replica.N, p.Type, p.ID)
		if err != nil {
			return err
		}
		if err := table.Row(output.Styled(output.Faint, p.ID), output.Styled(output.Strong, name), output.Text(string(p.Action)), output.Text(p.Message)); err != nil {
			return err
		}
	}
	return table.End()
}

func runRetry(ctx context.Context, a *app.App, id string) error {
	store, replica, err := a.Replica(ctx)
	if err != nil {
		return err
	}
	list, err := store.Parked(ctx, replica.N)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.ID == id {
			if err := store.Unpark(ctx, replica.N, id); err != nil {
				return err
			}
			a.Edited(ctx)
			fmt.Fprintln(a.IO.Err, "It is sent again with the next round.")
			return nil
		}
	}
	return app.Fail(app.NotFound, "No refused edit has the id %q.", output.Clean(id)).Try("bm sync parked   lists them")
}
