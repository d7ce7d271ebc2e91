package key

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/client"
)

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

// maxDays is more than any key lasts, and no more than a date can hold.
const maxDays = 1_000_000

// expiry reads a date, or a number of days.
func expiry(now time.Time, text string) (api.Time, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= maxDays {
			return api.At(now.AddDate(0, 0, n)), nil
		}
	}
	at, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		return api.Time{}, app.Fail(app.Usage, "--expires %q: a date such as 2027-01-31, or days such as 90d, is wanted.", output.Clean(text))
	}
	return api.At(at), nil
}
