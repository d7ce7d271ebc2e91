package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/client"
)

type logoutOptions struct {
	app *app.App

	forget, force, local, yes bool
}

func newLogout(a *app.App) *cobra.Command {
	o := &logoutOptions{app: a}
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "Sign out, and revoke this machine's key",
		Long: `Sign out, and revoke this machine's key. The bookmarks stay on this machine and
can be read and edited; --forget removes them, unless the server lacks edits, and
with them a profile that was named. It works signed out, too.`,
		Example: `  bm auth logout
  bm auth logout --forget
  bm auth logout --forget --profile work    # the profile goes, too
  bm auth logout --local      # the server can't be reached, or the key is gone already`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLogout(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.forget, "forget", false, "remove the bookmarks from this machine, too")
	cmd.Flags().BoolVar(&o.force, "force", false, "with --forget: also those that the server never got")
	cmd.Flags().BoolVar(&o.local, "local", false, "forget the key here, and leave it valid on the server")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "don't ask")
	return cmd
}

func runLogout(ctx context.Context, o *logoutOptions) (err error) {
	a := o.app
	c, err := a.Config()
	if err != nil {
		return err
	}
	account := c.Account()
	if !account.SignedIn() && !o.forget {
		e := app.Fail(app.SignIn, "Profile %q is not signed in.", c.ProfileName())
		return e.Try("bm auth logout --forget   removes what it holds on this machine")
	}
	if o.forget {
		if err := o.mayForget(ctx); err != nil {
			return err
		}
	}
	// A daemon has the key in memory, and would bring back what is removed: it
	// lets go, and finds nobody signed in when it goes on. One that does not
	// answer learns it with its next round.
	awake, err := a.Quiet(ctx)
	if err != nil && o.forget {
		return err
	}
	if err == nil {
		defer func() { err = errors.Join(err, awake()) }()
	}
	if o.forget {
		if _, err := o.losesNothing(ctx); err != nil {
			return err
		}
	}
	if account.SignedIn() {
		if err := o.signOut(ctx); err != nil {
			return err
		}
	}
	if o.forget {
		return o.forgetAll(ctx)
	}
	return nil
}

// signOut ends the key. The server stays the profile's: the next sign-in need
// not name it.
func (o *logoutOptions) signOut(ctx context.Context) (err error) {
	a := o.app
	release, err := a.Alone(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	c, err := a.Config()
	if err != nil {
		return err
	}
	account := c.Account()
	if !account.SignedIn() {
		return nil // by another, meanwhile
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	if !o.local && account.KeyID != "" {
		if err := revoke(ctx, a, c, keys); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = app.Half("The key was revoked, and is not forgotten on this machine", err).Try("bm auth logout once more, once that is mended")
			}
		}()
	}
	if !account.Borrowed {
		err := keys.Delete(credentials.Name(c.ProfileName(), account.TenantID))
		if o.local && errors.Is(err, credentials.ErrNoKeyring) {
			// A keyring that is locked is what --local is for.
			fmt.Fprintf(a.IO.Err, "The key is still where it was, since %s: bm key revoke %s ends it, where somebody is signed in.\n", credentials.Explain(err), output.Clean(cmp.Or(account.KeyID, "KEY")))
			err = nil
		}
		if err != nil {
			return err
		}
	}
	if err := c.Save(config.Account{Server: account.Server}, c.Chosen()); err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Signed out of %s.\n", output.Clean(account.Server))
	if account.KeyID == "" && !account.Borrowed {
		fmt.Fprintln(a.IO.Err, "The key was given to bm and not made by it, and is still valid: bm key revoke KEY ends it, where somebody is signed in.")
	}
	return nil
}

// revoke ends this machine's key, at its own server and by itself, whatever the
// environment names. One that the server does not accept any more has ended
// already.
func revoke(ctx context.Context, a *app.App, c *config.Config, keys *credentials.Keeper) error {
	account := c.Account()
	key, _, err := keys.Kept(credentials.Name(c.ProfileName(), account.TenantID))
	switch {
	case errors.Is(err, credentials.ErrNotFound):
		return app.Fail(app.SignIn, "There is no key for %s.", output.Clean(account.Server)).
			Try("bm auth logout --local   signs out without it").Because(err)
	case errors.Is(err, credentials.ErrNoKeyring):
		return app.Fail(app.SignIn, "The key for %s can't be read: %s.", output.Clean(account.Server), credentials.Explain(err)).
			Try("%s; or bm auth logout --local leaves the key valid", credentials.Remedy(err)).Because(err)
	case err != nil:
		return err
	}
	caller, err := a.Caller(account.Server, key, account.Insecure || c.Is(config.InsecureHTTP))
	if err != nil {
		return err
	}
	err = caller.RevokeAPIKey(ctx, account.KeyID)
	if _, away := errors.AsType[*client.Unreachable](err); away {
		return app.Fail(app.Offline, "The key can't be revoked: %s can't be reached.", output.Clean(account.Server)).
			Try("bm auth logout --local   forgets it here, and leaves it valid there").Because(err)
	}
	if code := api.CodeOf(err); code == api.CodeUnauthorized || code == api.CodeNotFound {
		return nil
	}
	return err
}

type standing struct {
	profile, server, email, organization, key, state string
}

func newStatus(a *app.App) *cobra.Command {
	type field = output.Field[standing]
	format := &output.Format[standing]{Fields: []field{
		{Name: "profile", Get: func(s standing) any { return s.profile }},
		{Name: "server", Get: func(s standing) any { return s.server }},
		{Name: "email", Get: func(s standing) any { return s.email }},
		{Name: "organization", Get: func(s standing) any { return s.organization }},
		{Name: "key", Get: func(s standing) any { return s.key }},
		{Name: "state", Get: func(s standing) any { return s.state }},
	}}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show who is signed in, where, and where the key is kept",
		Example: "  bm auth status\n  bm auth status --json server,email,state",
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
	account, err := a.SignedIn()
	if err != nil {
		return err
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	s := standing{profile: c.ProfileName(), server: account.Server, email: account.Email, state: "signed in"}
	if _, source, err := keys.Get(credentials.Name(c.ProfileName(), account.TenantID)); err == nil {
		s.key = map[credentials.Source]string{
			credentials.FromEnvironment: "BM_TOKEN", credentials.FromKeyring: "keyring",
			credentials.FromFile: "file " + keys.File() + " (not protected by a keyring)",
		}[source]
	}
	trouble := s.ask(ctx, a)
	if errors.Is(trouble, context.Canceled) {
		return trouble // nothing was learned
	}
	if wanted {
		err = format.One(a.IO.Out, a.IO, s)
	} else {
		err = a.IO.Details(a.IO.Out,
			output.Detail{Name: "profile", Value: s.profile}, output.Detail{Name: "server", Value: s.server, Style: output.Link},
			output.Detail{Name: "account", Value: s.email, Style: output.Strong}, output.Detail{Name: "organization", Value: s.organization},
			output.Detail{Name: "key", Value: s.key}, output.Detail{Name: "state", Value: s.state})
	}
	return errors.Join(err, trouble)
}

// ask asks the server; being offline is a state, and no failure.
func (s *standing) ask(ctx context.Context, a *app.App) error {
	caller, err := a.Client(ctx)
	if err != nil {
		s.state = "not signed in"
		if e, ok := errors.AsType[*app.Error](err); ok && e.Kind == app.Offline {
			s.state = "offline"
			return nil
		}
		if errors.Is(err, credentials.ErrNoKeyring) {
			s.state = "the key can't be read"
		}
		return err
	}
	me, err := caller.Me(ctx)
	if _, away := errors.AsType[*client.Unreachable](err); away {
		s.state = "the server can't be reached"
		return nil
	}
	if err != nil {
		s.state = "not known"
		if api.CodeOf(err) == api.CodeUnauthorized {
			s.state = "the key is not accepted"
		}
		return a.Refused(err)
	}
	s.email, s.organization = me.Email, me.OrganizationName
	return nil
}

func newToken(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "token",
		Short:   "Print this machine's key",
		Long:    "Print this machine's key, for a program that calls the server itself. Whoever has\nit can do what you can.",
		Example: `  curl -H "Authorization: Bearer $(bm auth token)" https://bookmarks.example.com/api/v1/me`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			account, err := a.SignedIn()
			if err != nil {
				return err
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			keys, err := a.Keys()
			if err != nil {
				return err
			}
			key, _, err := keys.Get(credentials.Name(c.ProfileName(), account.TenantID))
			if errors.Is(err, credentials.ErrNotFound) {
				return app.Fail(app.SignIn, "There is no key for %s.", output.Clean(account.Server)).Try("bm auth login").Because(err)
			}
			if err != nil {
				return err
			}
			return a.IO.Line(key.Reveal())
		},
	}
}
