package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
		Use: "auth", Short: "Sign in to a server, and out",
		Example: "  bm auth login --server https://bookmarks.example.com\n  bm auth status\n  bm auth switch work",
	}
	cmd.AddCommand(newLogin(a), newRegister(a), newLogout(a), newStatus(a), newToken(a), newSwitch(a))
	return cmd
}

type loginOptions struct {
	app *app.App

	email        string
	name         string
	organization string
	withToken    bool
	register     bool
	token        api.Secret // BM_TOKEN
}

// borrows reports whether the key of the environment signs in, so that none
// needs to be kept.
func (o *loginOptions) borrows() bool {
	return o.token != "" && !o.register && !o.withToken && o.email == ""
}

const passwordHelp = `The password is asked for without showing it, or read as the first line of the
standard input; it is never a flag, which other users of the machine could see.`

func newLogin(a *app.App) *cobra.Command {
	o := &loginOptions{app: a, token: api.Secret(a.Getenv("BM_TOKEN"))}
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Sign in to a server",
		Long: `Sign in to a server. What was kept here without one goes along.

` + passwordHelp + `

A key of this machine's own is made and kept in the keyring. Where there is no
keyring, --insecure-storage keeps it in a file that only you can read. With
BM_TOKEN set, that key signs in and is kept nowhere.`,
		Example: `  bm auth login --server https://bookmarks.example.com
  bm auth login --server https://bookmarks.example.com --email me@example.com < password
  bm auth login --server https://bookmarks.example.com --with-token < key
  bm auth login --profile work --server https://work.example.com`,
		Args: noAddress,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLogin(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.email, "email", "", "the account's e-mail `address`")
	cmd.Flags().BoolVar(&o.withToken, "with-token", false, "read an API key from the standard input instead")
	return cmd
}

func newRegister(a *app.App) *cobra.Command {
	o := &loginOptions{app: a, token: api.Secret(a.Getenv("BM_TOKEN")), register: true}
	cmd := &cobra.Command{
		Use:   "register",
		Short: "Make an account on a server, and sign in",
		Long:  "Make an account on a server, with an organization and a workspace, and sign in.\n\n" + passwordHelp,
		Example: `  bm auth register --server https://bookmarks.example.com
  bm auth register --server localhost:8787 --email me@example.com --name Me < password`,
		Args: noAddress,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRegister(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.email, "email", "", "the account's e-mail `address`")
	flags.StringVar(&o.name, "name", "", "the `name` that others see")
	flags.StringVar(&o.organization, "organization", "", "the organization's `name`")
	return cmd
}

// noAddress refuses arguments, and says where an address goes.
func noAddress(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && strings.Contains(args[0], "@") {
		return app.Fail(app.Usage, "%s takes the e-mail address as a flag.", cmd.CommandPath()).
			Try("%s --email %s", cmd.CommandPath(), app.Typed(args[0]))
	}
	return cobra.NoArgs(cmd, args)
}

// visit is a server that is about to be signed in to.
type visit struct {
	*loginOptions
	caller *client.Client
	server string
	info   api.ServerInfo
}

// visit finds the server and sees whether a key could be kept, before anybody
// types a password.
func (o *loginOptions) visit(ctx context.Context) (*visit, error) {
	c, err := o.app.Config()
	if err != nil {
		return nil, err
	}
	keys, err := o.app.Keys()
	if err != nil {
		return nil, err
	}
	v := &visit{loginOptions: o}
	if v.server = c.Get(config.Server); v.server == "" {
		v.server, err = o.app.IO.Ask("Server")
		if errors.Is(err, output.ErrNoTerminal) {
			return nil, app.Fail(app.Usage, "Say which server to sign in to.").Try("--server https://…")
		}
		if err != nil {
			return nil, err
		}
	}
	address, err := client.ParseServer(v.server)
	if err != nil {
		return nil, err
	}
	v.server = address.String()
	if own := c.Account(); own.SignedIn() && own.Server != v.server {
		return nil, app.Fail(app.Conflict, "Profile %q is signed in to %s.", c.ProfileName(), output.Clean(own.Server)).
			Try("--profile NAME keeps both apart; or bm auth logout first")
	}
	if !c.Is(config.InsecureStorage) && !o.borrows() {
		if err := keys.Probe(); err != nil {
			next := "--insecure-storage keeps it in " + keys.File() + ", which only you can read"
			switch {
			case o.register:
			case o.token == "":
				next += "; or set BM_TOKEN"
			default:
				next += "; or leave --email and --with-token out, since BM_TOKEN is set"
			}
			return nil, app.Fail(app.Failed, "A key can't be kept: %s.", credentials.Explain(err)).Try("%s", next).Because(err)
		}
	}
	if v.caller, err = o.app.Caller(v.server, "", c.Is(config.InsecureHTTP)); err != nil {
		return nil, err
	}
	// A password is as secret as a key.
	if strings.HasPrefix(v.server, "http://") && !client.IsLocal(v.server) && !c.Is(config.InsecureHTTP) {
		if o.withToken || o.borrows() {
			return nil, client.ErrInsecure
		}
		return nil, app.Fail(app.Brake, "The password would go over plain http, readable to anyone on the way.").
			Try("use https, or --insecure-http if you know the network").Because(client.ErrInsecure)
	}
	v.info, err = v.caller.Info(ctx)
	if _, away := errors.AsType[*client.Unreachable](err); away {
		return nil, app.Fail(app.Offline, "%s", output.Sentence(err.Error())).
			Try("bm doctor --server %s   looks into it; or another --server", app.Typed(v.server)).Because(err)
	}
	return v, err
}

// nothingThere says that whatever answers is no bm: an address with a path is a
// usual mistake.
func (v *visit) nothingThere(err error) error {
	e := app.Fail(app.NotFound, "There is no bm server at %s.", output.Clean(v.server)).Because(err)
	if address, parsed := client.ParseServer(v.server); parsed == nil && address.Path != "" {
		address.Path = ""
		return e.Try("--server %s", address.String())
	}
	return e.Try("another --server")
}

// again is a command of this group at the same server, as it has to be typed.
func (v *visit) again(verb string) string {
	next := "bm auth " + verb
	c, err := v.app.Config()
	if err != nil {
		return next + " --server " + app.Typed(v.server)
	}
	given := func(key string) bool { return strings.HasPrefix(c.Value(key).Origin, "flag ") }
	if given(config.Profile) {
		next += " --profile " + c.ProfileName()
	}
	if c.Account().Server != v.server {
		next += " --server " + app.Typed(v.server)
	}
	if given(config.InsecureStorage) {
		next += " --insecure-storage"
	}
	if given(config.InsecureHTTP) {
		next += " --insecure-http"
	}
	return next
}

func (o *loginOptions) askEmail() error {
	if o.email != "" {
		return nil
	}
	email, err := o.app.IO.Ask("E-mail")
	if errors.Is(err, output.ErrNoTerminal) {
		return app.Fail(app.Usage, "Say who signs in.").Try("--email me@example.com")
	}
	o.email = strings.TrimSpace(email)
	return err
}

func runLogin(ctx context.Context, o *loginOptions) error {
	v, err := o.visit(ctx)
	if err != nil {
		return err
	}
	switch {
	case o.withToken:
		return v.withKey(ctx)
	case o.borrows():
		return v.borrow(ctx)
	}
	if err := o.askEmail(); err != nil {
		return err
	}
	password, err := o.app.AskSecret("password", "Password of "+o.email)
	if err != nil {
		return err
	}
	login := api.Login{Email: o.email, Password: password}
	session, err := v.caller.Login(ctx, login)
	if api.CodeOf(err) == api.CodeSecondFactorRequired {
		code, asked := o.app.IO.Ask("Code of the second factor")
		if errors.Is(asked, output.ErrNoTerminal) {
			code, asked = o.app.IO.ReadLine()
		}
		if asked != nil {
			return err
		}
		login.Code = api.Some(api.Secret(strings.TrimSpace(code)))
		session, err = v.caller.Login(ctx, login)
	}
	if api.CodeOf(err) == api.CodeNotFound {
		return v.nothingThere(err)
	}
	if api.CodeOf(err) == api.CodeUnauthorized {
		return app.Fail(app.SignIn, "%s does not know this e-mail address and password.", output.Clean(v.server)).
			Try("%s once more, or %s", v.again("login"), v.again("register")).Because(err)
	}
	if err != nil {
		return err
	}
	return v.withSession(ctx, session)
}

func runRegister(ctx context.Context, o *loginOptions) error {
	v, err := o.visit(ctx)
	if err != nil {
		return err
	}
	// An account comes with an organization of its own: what the profile holds
	// of another must be known before it is made.
	if err := o.app.MayHold(ctx, ""); err != nil {
		return v.taken(err)
	}
	if err := o.askEmail(); err != nil {
		return err
	}
	// What the server would refuse is told before anybody types a password twice.
	if err := app.MustBeEmail(o.email, v.again("register")+" --email me@example.com"); err != nil {
		return err
	}
	password, err := o.app.NewPassword("Password", v.again("register"))
	if err != nil {
		return err
	}
	notice, err := o.app.Notice(v.info)
	if err != nil {
		return err
	}
	in := api.Register{Email: o.email, Password: password, NoticeVersion: notice}
	if o.name != "" {
		in.DisplayName = api.Some(o.name)
	}
	if o.organization != "" {
		in.OrganizationName = api.Some(o.organization)
	}
	session, err := v.caller.Register(ctx, in)
	switch api.CodeOf(err) {
	case api.CodeNotFound:
		return v.nothingThere(err)
	case api.CodeForbidden:
		return app.Fail(app.Failed, "%s takes no registrations.", output.Clean(v.server)).
			Try("whoever runs it types bm serve admin user add %s there; then %s", app.Typed(o.email), v.again("login")).Because(err)
	case api.CodeConflict:
		return app.Fail(app.Conflict, "%s has an account %s already.", output.Clean(v.server), output.Clean(o.email)).Try("%s", v.again("login")).Because(err)
	case api.CodeValidation:
		return app.Named(err, map[string]string{
			"password": "The password", "email": strconv.Quote(output.Clean(o.email)), "displayName": "--name", "organizationName": "--organization",
		})
	}
	if err != nil {
		return err
	}
	return v.withSession(ctx, session)
}

// taken says whose the profile is that was to be a new account's, where err says that
// it is somebody's.
func (v *visit) taken(err error) error {
	c, failed := v.app.Config()
	if failed != nil {
		return failed
	}
	e, ok := errors.AsType[*app.Error](err)
	if own := c.Account(); ok && e.Kind == app.Conflict && own.SignedIn() {
		return app.Fail(app.Conflict, "Profile %q is signed in to %s as %s, and another account needs another profile.",
			c.ProfileName(), output.Clean(own.Server), output.Clean(own.Email)).Try("%s --profile NAME", v.again("register")).Because(err)
	}
	return err
}

// withSession keeps a key instead of the session.
func (v *visit) withSession(ctx context.Context, session api.Session) error {
	notice, err := v.app.Notice(v.info)
	if err != nil {
		return err
	}
	if err := v.app.KeepSession(ctx, v.caller, session, notice); err != nil {
		return err
	}
	return v.welcome(ctx, session.Account)
}

// withKey signs in with a key that somebody made.
func (v *visit) withKey(ctx context.Context) error {
	key, err := v.app.AskSecret("key", "API key")
	if err != nil {
		return err
	}
	key = api.Secret(strings.TrimSpace(key.Reveal()))
	if err := credentials.Check(key); err != nil {
		return app.Fail(app.SignIn, "That is no API key: %v.", err).
			Try("bm key create   makes one, on a machine that is signed in").Because(err)
	}
	profile, err := v.caller.As(key).Me(ctx)
	if api.CodeOf(err) == api.CodeNotFound {
		return v.nothingThere(err)
	}
	if api.CodeOf(err) == api.CodeUnauthorized {
		return app.Fail(app.SignIn, "%s does not accept this key.", output.Clean(v.server)).
			Try("bm key create   makes one, on a machine that is signed in; or bm auth login with a password").Because(err)
	}
	if err != nil {
		return err
	}
	if err := v.app.KeepKey(ctx, v.caller, profile, key, ""); err != nil {
		return err
	}
	return v.welcome(ctx, profile)
}

// borrow signs in with the key of the environment.
func (v *visit) borrow(ctx context.Context) error {
	if err := credentials.Check(v.token); err != nil {
		return err
	}
	caller := v.caller.As(v.token)
	profile, err := caller.Me(ctx)
	if api.CodeOf(err) == api.CodeNotFound {
		return v.nothingThere(err)
	}
	if api.CodeOf(err) == api.CodeUnauthorized {
		return app.Fail(app.SignIn, "%s does not accept the key in BM_TOKEN.", output.Clean(v.server)).
			Try("another key in BM_TOKEN; or unset it, and bm auth login with a password").Because(err)
	}
	if err != nil {
		return err
	}
	if err := v.app.BorrowKey(ctx, caller, profile); err != nil {
		return err
	}
	return v.welcome(ctx, profile)
}

func (v *visit) welcome(ctx context.Context, who api.AccountProfile) error {
	store, err := v.app.Store(ctx)
	if err != nil {
		return err
	}
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(v.app.IO.Err, "Signed in to %s as %s, with %s.\n",
		output.Clean(v.server), output.Clean(who.Email), output.Plural(len(replicas), "workspace"))
	v.app.Edited(ctx)
	return nil
}
