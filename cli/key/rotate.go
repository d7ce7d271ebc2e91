package key

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/server/api"
)

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

func runRotate(ctx context.Context, a *app.App, args []string, yes bool) (err error) {
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
	question := "Give this machine's key a new secret?"
	if len(args) == 1 {
		question = "Give the key " + args[0] + " a new secret? Whoever has the old one is locked out."
		if id, err = find(ctx, caller, args[0]); err != nil {
			return err
		}
	}
	if err := a.Confirm(yes, question); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if id == account.KeyID {
		// Who signs in meanwhile would have its key overwritten by the new secret of the
		// one before, which that sign-in ends.
		var release func() error
		if release, err = a.Alone(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		if c, err = a.Config(); err != nil {
			return err
		}
		if c.Account() != account {
			return app.Fail(app.Conflict, "Somebody signed in or out meanwhile. Nothing was changed.").Try("the same command again")
		}
		// By the key as it is now: another may have given it a new secret.
		if caller, err = a.Client(ctx); err != nil {
			return err
		}
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	name := credentials.Name(c.ProfileName(), account.TenantID)
	former, source, missing := keys.Kept(name)
	insecure := c.Is(config.InsecureStorage) || missing == nil && source == credentials.FromFile
	if id == account.KeyID {
		// Where nothing can be kept the new secret could not be, and the old one would
		// have stopped.
		switch {
		case missing == nil:
			_, err = keys.Set(name, former, insecure)
		case !insecure:
			err = keys.Probe()
		}
		if err != nil {
			return err
		}
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
		if unprinted := a.IO.Line(made.APIKey.Reveal()); unprinted != nil {
			return app.Fail(app.Failed, "The new secret could not be printed, and the old one has stopped.").
				Try("bm key rotate %s once more, where its output goes somewhere", id)
		}
		return nil
	}
	if _, err := keys.Set(name, made.APIKey, insecure); err != nil {
		// The old secret is gone: losing the new one would lock this machine out.
		told := app.Half("The old secret has stopped, and the new one could not be kept", err).
			Try("bm auth login --with-token   keeps it, once that is mended")
		fmt.Fprintln(a.IO.Err, "This is the only time that the new secret is shown:")
		if unprinted := a.IO.Line(made.APIKey.Reveal()); unprinted != nil {
			return app.Half("The old secret has stopped, and the new one could neither be kept nor printed", err).
				Try("bm auth login   makes another key, once that is mended")
		}
		return told
	}
	fmt.Fprintln(a.IO.Err, "This machine's key has a new secret.")
	return nil
}
