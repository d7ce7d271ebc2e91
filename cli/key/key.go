package key

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/client"
)

// New is the command group.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "key", Aliases: []string{"keys"}, Short: "List, make, rotate and revoke API keys",
		Example: "  bm key ls\n  bm key create --label backup --permission bookmarks.read\n  bm key rotate",
	}
	cmd.AddCommand(newList(a), newCreate(a), newRotate(a), newRevoke(a))
	return cmd
}

func newList(a *app.App) *cobra.Command {
	type field = output.Field[api.APIKeyMetadata]
	format := &output.Format[api.APIKeyMetadata]{Fields: []field{
		{Name: "id", Get: func(k api.APIKeyMetadata) any { return k.ID }},
		{Name: "label", Get: func(k api.APIKeyMetadata) any { return k.Label }},
		{Name: "status", Get: func(k api.APIKeyMetadata) any { return k.Status }},
		{Name: "workspaceId", Get: func(k api.APIKeyMetadata) any { return k.WorkspaceID }},
		{Name: "accountId", Get: func(k api.APIKeyMetadata) any { return k.AccountID }},
		{Name: "permissions", Get: func(k api.APIKeyMetadata) any { return k.Permissions }},
		{Name: "createdAt", Get: func(k api.APIKeyMetadata) any { return when(k.CreatedAt) }},
		{Name: "rotatedAt", Get: func(k api.APIKeyMetadata) any { return when(k.RotatedAt) }},
		{Name: "revokedAt", Get: func(k api.APIKeyMetadata) any { return when(k.RevokedAt) }},
		{Name: "expiresAt", Get: func(k api.APIKeyMetadata) any { return when(k.ExpiresAt) }},
		{Name: "lastUsedAt", Get: func(k api.APIKeyMetadata) any { return when(k.LastUsedAt) }},
	}}
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List API keys, without their secrets",
		Example: "  bm key ls\n  bm key ls --json id,label --jq '.[] | select(.label | test(\"laptop\")) | .id'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

// when is an instant, or null for none.
func when(at api.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

func runList(ctx context.Context, a *app.App, format *output.Format[api.APIKeyMetadata]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	caller, err := a.Client(ctx)
	if err != nil {
		return err
	}
	keys, err := caller.ListAPIKeys(ctx)
	if err != nil {
		return a.Refused(err)
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, keys)
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	own := c.Account().KeyID
	names, err := workspaceNames(ctx, a)
	if err != nil {
		return err
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "id", Spare: 1}, output.Heading{Name: "label", Flexible: true, Least: 16}, output.Heading{Name: "status"},
		output.Heading{Name: "reach", Flexible: true, Least: 12, Spare: 3}, output.Heading{Name: "made", Spare: 5}, output.Heading{Name: "used", Spare: 4},
		output.Heading{Name: "", Spare: 2})
	for _, k := range keys {
		reach, mark, style := output.Cell{Value: k.WorkspaceID, Shown: names[k.WorkspaceID]}, "", output.Good
		if k.WorkspaceID == "" {
			reach = output.Text("organization")
		}
		if k.ID == own {
			mark = "this machine"
		}
		if k.Status != api.KeyActive {
			style = output.Faint
		}
		err := table.Row(output.Cell{Value: k.ID, Shown: app.ShortID(k.ID), Style: output.Faint},
			output.Styled(output.Strong, k.Label), output.Styled(style, string(k.Status)), reach,
			output.Cell{Value: k.CreatedAt.String(), Shown: output.Ago(a.Now(), k.CreatedAt.Time)}, used(a, k), output.Text(mark))
		if err != nil {
			return err
		}
	}
	return table.End()
}

// workspaceNames are the workspaces that this machine mirrors, by their ids.
func workspaceNames(ctx context.Context, a *app.App) (map[string]string, error) {
	store, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	replicas, err := store.Replicas(ctx)
	names := map[string]string{}
	for _, r := range replicas {
		names[r.RemoteID] = r.Name
	}
	return names, err
}

func used(a *app.App, k api.APIKeyMetadata) output.Cell {
	if k.LastUsedAt.IsZero() {
		return output.Text("")
	}
	return output.Cell{Value: k.LastUsedAt.String(), Shown: output.Ago(a.Now(), k.LastUsedAt.Time)}
}

type createOptions struct {
	app *app.App

	label       string
	tenant      bool
	expires     string
	permissions []string
}

func newCreate(a *app.App) *cobra.Command {
	o := &createOptions{app: a}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make an API key, and print it this once",
		Long: `Make an API key, and print it this once: the server can't show it again. It
reaches the workspace in use, or with --tenant the whole organization, and may
do what you may: bm api GET /api/v1/me/permissions lists that.`,
		Example: `  bm key create --label backup --permission bookmarks.read --expires 90d
  bm key create --label laptop --tenant > key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCreate(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.label, "label", "", "what it is for: a `name`")
	flags.BoolVar(&o.tenant, "tenant", false, "let it reach every workspace of the organization")
	flags.StringVar(&o.expires, "expires", "", "until a `date` such as 2027-01-31, or for so many days, as in 90d")
	flags.StringSliceVar(&o.permissions, "permission", nil, "only these `permissions`, such as bookmarks.read")
	return cmd
}

func runCreate(ctx context.Context, o *createOptions) error {
	a := o.app
	in := api.APIKeyCreate{NoticeVersion: api.NoticeVersion}
	if o.label != "" {
		in.Label = api.Some(o.label)
	}
	if len(o.permissions) > 0 {
		in.Permissions = api.Some(o.permissions)
	}
	if o.expires != "" {
		at, err := expiry(a.Now(), o.expires)
		if err != nil {
			return err
		}
		in.ExpiresAt = api.Some(at)
	}
	if !o.tenant {
		_, replica, err := a.Replica(ctx)
		if err != nil {
			return err
		}
		in.WorkspaceID = api.Some(replica.RemoteID)
	}
	caller, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if info, err := caller.Info(ctx); err == nil && info.NoticeVersion != "" {
		in.NoticeVersion = info.NoticeVersion
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	lasting, cancel := app.Outlasting(ctx)
	defer cancel()
	made, err := caller.CreateAPIKey(lasting, in)
	if err != nil {
		named := app.Named(err, map[string]string{"permissions": "--permission " + output.Clean(strings.Join(o.permissions, ",")), "label": "--label", "expiresAt": "--expires"})
		if e, ok := errors.AsType[*app.Error](named); ok && strings.HasPrefix(e.Message, "--permission ") {
			return e.Try("%s", permissionHint(ctx, caller, o.permissions))
		}
		return named
	}
	fmt.Fprintf(a.IO.Err, "Made the key %s. This is the only time that it is shown:\n", output.Clean(made.Metadata.ID))
	unprinted := a.IO.Line(made.APIKey.Reveal())
	if unprinted == nil {
		return nil
	}
	// A key that nobody has is one too many.
	if err := caller.RevokeAPIKey(lasting, made.Metadata.ID); err != nil {
		return errors.Join(unprinted, err)
	}
	return app.Fail(app.Failed, "The key could not be printed, and is revoked.").Try("bm key create once more, where its output goes somewhere")
}

// permissionHint says which permission was meant, or where they are listed.
func permissionHint(ctx context.Context, caller *client.Client, given []string) string {
	const list = "bm api GET /api/v1/me/permissions   lists those that you have"
	have, err := caller.MyPermissions(ctx)
	if err != nil {
		return list // a hint is no reason to tell of another failure
	}
	for _, name := range given {
		if near := config.Nearest(name, have); near != "" && !slices.Contains(have, name) {
			return "--permission " + near + "   if that was meant; " + list
		}
	}
	return list
}

// expiry reads a date, or a number of days.
func expiry(now time.Time, text string) (api.Time, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && n > 0 {
			return api.At(now.AddDate(0, 0, n)), nil
		}
	}
	at, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return api.Time{}, app.Fail(app.Usage, "--expires %q: a date such as 2027-01-31, or days such as 90d, is wanted.", output.Clean(text))
	}
	return api.At(at), nil
}

func newRotate(a *app.App) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:     "rotate [KEY]",
		Short:   "Give a key a new secret; the old one stops at once",
		Long:    "Give a key a new secret; the old one stops at once. Without a name it is this\nmachine's own key, whose new secret is kept and not shown.",
		Example: "  bm key rotate\n  bm key rotate 01999f2e-5a3c-7d10-8e4b-2f6a7c9d1e35 --yes",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runRotate(cmd.Context(), a, args, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}

func runRotate(ctx context.Context, a *app.App, args []string, yes bool) error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	account := c.Account()
	id := account.KeyID
	if id == "" && len(args) == 0 {
		return app.Fail(app.Usage, "It is not known which key this machine has.").Try("bm key ls, then bm key rotate KEY")
	}
	caller, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if id, err = find(ctx, caller, args[0]); err != nil {
			return err
		}
	}
	if err := a.Confirm(yes, "Give the key "+id+" a new secret? Whoever has the old one is locked out."); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	lasting, cancel := app.Outlasting(ctx)
	defer cancel()
	made, err := caller.RotateAPIKey(lasting, id)
	if api.CodeOf(err) == api.CodeNotFound {
		return unknown(id).Because(err)
	}
	if err != nil {
		return err
	}
	if id != account.KeyID {
		fmt.Fprintln(a.IO.Err, "The new secret; this is the only time that it is shown:")
		return a.IO.Line(made.APIKey.Reveal())
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	_, source, found := keys.Kept(credentials.Name(c.ProfileName(), account.TenantID))
	insecure := c.Is(config.InsecureStorage) || found == nil && source == credentials.FromFile
	if _, err := keys.Set(credentials.Name(c.ProfileName(), account.TenantID), made.APIKey, insecure); err != nil {
		// The old secret is gone: losing the new one would lock this machine out.
		fmt.Fprintln(a.IO.Err, "The new secret could not be kept. This is the only time that it is shown:")
		return errors.Join(err, a.IO.Line(made.APIKey.Reveal()))
	}
	fmt.Fprintln(a.IO.Err, "This machine's key has a new secret.")
	return nil
}

// find is the id of the key that ref means: an id, the beginning of one, or the
// label of a key that is in force.
func find(ctx context.Context, caller *client.Client, ref string) (string, error) {
	if api.ValidID(ref) {
		return ref, nil
	}
	keys, err := caller.ListAPIKeys(ctx)
	if err != nil {
		return "", err
	}
	var labelled, begun []string
	for _, k := range keys {
		if k.Label == ref && k.Status == api.KeyActive {
			labelled = append(labelled, k.ID)
		}
		if len(ref) >= minPrefix && strings.HasPrefix(k.ID, strings.ToLower(ref)) {
			begun = append(begun, k.ID)
		}
	}
	switch {
	case len(labelled) == 1:
		return labelled[0], nil
	case len(labelled) > 1:
		return "", app.Fail(app.Usage, "%d keys are labelled %q:\n  %s", len(labelled), output.Clean(ref), strings.Join(labelled, "\n  ")).
			Try("the same command with one of these ids")
	case len(begun) == 1:
		return begun[0], nil
	case len(begun) > 1:
		return "", app.Fail(app.Usage, "The ids of %d keys begin with %q:\n  %s", len(begun), output.Clean(ref), strings.Join(begun, "\n  ")).
			Try("the same command with one of these ids")
	}
	return "", unknown(ref)
}

// minPrefix is the length from which the beginning of an id is taken for one.
const minPrefix = 4

func unknown(ref string) *app.Error {
	return app.Fail(app.NotFound, "There is no API key %q.", output.Clean(ref)).Try("bm key ls   lists them")
}

func newRevoke(a *app.App) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:     "revoke KEY",
		Short:   "End a key for good",
		Long:    "End a key for good. It is named by its id, the beginning of its id, or its label\nwhere only one key has that.",
		Example: "  bm key revoke backup\n  bm key revoke 01999f2e-5a3c-7d10-8e4b-2f6a7c9d1e35",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			caller, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			id, err := find(cmd.Context(), caller, args[0])
			if err != nil {
				return err
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			own := c.Account().KeyID == id
			question := "End the key " + args[0] + " for good?"
			if own {
				question = "End this machine's own key for good? It signs this machine out."
			}
			if err := a.Confirm(yes, question); err != nil {
				return err
			}
			err = caller.RevokeAPIKey(cmd.Context(), id)
			if api.CodeOf(err) == api.CodeNotFound {
				return unknown(id).Because(err)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(a.IO.Err, "The key %s has ended.\n", output.Clean(args[0]))
			if own {
				fmt.Fprintln(a.IO.Err, "It was this machine's own: what calls the server needs bm auth login first.")
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return cmd
}
