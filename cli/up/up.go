package up

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/mirror"
	"bm/cli/output"
	"bm/daemon/control"
	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
)

// Host serves the backend on a data folder and an address until ctx ends. It
// calls ready with the address once it answers.
type Host func(ctx context.Context, dataDir, addr string, ready func(addr string)) error

// Import brings a file's bookmarks along, as bm import does.
type Import func(ctx context.Context, a *app.App, file string) error

type options struct {
	app       *app.App
	host      Host
	bring     Import
	addr      string
	importing string
}

// New is the command.
func New(a *app.App, host Host, bring Import) *cobra.Command {
	o := &options{app: a, host: host, bring: bring}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "A server, an account and sync for this machine, in one command",
		Long: `A server, an account and sync for this machine, in one command. It asks nothing:
it makes the account and its key, serves on this machine alone, mirrors, and says
what to type next. Ctrl-C ends it. Running it again is harmless; --import is for
the first time, later it brings back what was moved or deleted since.`,
		Example: `  bm up
  bm up --import bookmarks.html
  bm up --addr 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.addr, "addr", "127.0.0.1:8787", "the `address` to serve on")
	cmd.Flags().StringVar(&o.importing, "import", "", "begin with the bookmarks of an exported `file`")
	return cmd
}

func run(ctx context.Context, o *options) error {
	// It has a key of its own, which a token of the environment would go before.
	getenv := o.app.Getenv
	if getenv("BM_TOKEN") != "" {
		fmt.Fprintln(o.app.IO.Err, "BM_TOKEN is not heeded here: bm up has a key of its own. Unset it for the other commands.")
		o.app.Getenv = func(name string) string {
			if name == "BM_TOKEN" {
				return ""
			}
			return getenv(name)
		}
		o.app.Reload()
	}
	c, err := o.app.Config()
	if err != nil {
		return err
	}
	if own := c.Account(); own.SignedIn() && !client.IsLocal(own.Server) {
		return app.Fail(app.Conflict, "Profile %q is signed in to %s.", c.ProfileName(), output.Clean(own.Server)).
			Try("%s   keeps both apart", inAnother(c))
	}
	if _, err := os.Stat(o.importing); o.importing != "" && o.importing != "-" && errors.Is(err, os.ErrNotExist) {
		return app.NoFile(o.importing, err)
	}
	folder := dataDir(c)
	if err := config.MakePrivate(folder); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	ready := make(chan string, 1)
	go func() { served <- o.host(ctx, folder, o.addr, func(addr string) { ready <- addr }) }()
	select {
	case err := <-served:
		at, waited := o.upAlready(ctx, errors.Is(err, server.ErrHeld))
		if at != "" {
			fmt.Fprintf(o.app.IO.Err, "It is up already, at %s.\n", output.Clean(at))
			return o.begin(ctx)
		}
		if waited != nil {
			return waited
		}
		if e, ok := errors.AsType[*app.Error](err); ok && errors.Is(err, server.ErrHeld) {
			return e.Try("stop that one; or bm auth login --server with its address")
		}
		return err
	case addr := <-ready:
		// This process is the daemon: an edit must start no other.
		o.app.Flags[config.Autostart] = "false"
		o.app.Reload()
		if err = o.settle(ctx, "http://"+addr); err == nil {
			err = o.begin(ctx)
		}
	}
	if err != nil {
		stop()
		return errors.Join(err, <-served)
	}
	return o.stay(ctx, stop, served)
}

// begin brings the file along that was asked for. What of it cannot be kept is
// told, and no reason to stop.
func (o *options) begin(ctx context.Context) error {
	if o.importing == "" {
		return nil
	}
	err := o.bring(ctx, o.app, o.importing)
	if e, ok := errors.AsType[*app.Error](err); ok && e.Kind == app.Partly {
		fmt.Fprintln(o.app.IO.Err, e.Message)
		return nil
	}
	return err
}

// starting is how long another bm up may take until its server answers and the
// profile is signed in to it.
const starting = 5 * time.Second

// upAlready is where another process serves this profile; "" where none does. If
// somebody has the data folder, that may be one that has just been started.
func (o *options) upAlready(ctx context.Context, held bool) (string, error) {
	for deadline := time.Now().Add(starting); ; {
		o.app.Reload()
		c, err := o.app.Config()
		if err != nil {
			return "", err
		}
		at := c.Account()
		if at.SignedIn() && o.answers(ctx, at.Server) {
			return at.Server, nil
		}
		if !held || time.Now().After(deadline) {
			return "", nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answers reports whether the server of the profile is up in another process.
func (o *options) answers(ctx context.Context, server string) bool {
	if server == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	caller, err := o.app.Caller(server, "", false)
	if err != nil {
		return false
	}
	info, err := caller.Info(ctx)
	return err == nil && info.Name != ""
}

// settle signs the profile in to the server, with an account that it makes
// where there is none.
func (o *options) settle(ctx context.Context, server string) error {
	a := o.app
	c, err := a.Config()
	if err != nil {
		return err
	}
	keys, err := a.Keys()
	if err != nil {
		return err
	}
	caller, err := a.Caller(server, "", false)
	if err != nil {
		return err
	}
	if done, err := o.settled(ctx, c, keys, caller); done || err != nil {
		return err
	}
	// The server's data lies on the same disk: a key beside it tells nothing
	// that the data does not.
	if keys.Probe() != nil {
		a.Flags[config.InsecureStorage] = "true"
		a.Reload()
	}
	info, err := caller.Info(ctx)
	if err != nil {
		return err
	}
	notice, err := a.Notice(info)
	if err != nil {
		return err
	}
	session, err := o.session(ctx, caller, keys, notice)
	if err != nil {
		return err
	}
	return a.KeepSession(ctx, caller, session, notice)
}

// settled reports whether the profile is signed in to this server already,
// wherever it served when that was done.
func (o *options) settled(ctx context.Context, c *config.Config, keys *credentials.Keeper, caller *client.Client) (bool, error) {
	account := c.Account()
	if !account.SignedIn() {
		return false, nil
	}
	key, _, err := keys.Get(credentials.Name(c.ProfileName(), account.TenantID))
	if err != nil {
		return false, nil //nolint:nilerr // without a key it signs in anew
	}
	if me, err := caller.As(key).Me(ctx); err != nil || me.ActiveTenantID != account.TenantID {
		return false, nil //nolint:nilerr // the key is of another server, or has ended
	}
	if account.Server == caller.Server() {
		return true, nil
	}
	account.Server = caller.Server()
	err = c.Save(account, c.Chosen())
	o.app.Reload()
	return true, err
}

// session signs in with the password that is kept, or makes the account.
func (o *options) session(ctx context.Context, caller *client.Client, keys *credentials.Keeper, notice string) (api.Session, error) {
	c, err := o.app.Config()
	if err != nil {
		return api.Session{}, err
	}
	email := address()
	locked := ""
	for _, name := range o.passwordNames(c, caller.Server()) {
		kept, _, err := keys.Kept(name)
		if errors.Is(err, credentials.ErrNoKeyring) {
			locked = "unlock the keyring, where the password is kept there, and bm up; or else "
		}
		if err != nil {
			continue
		}
		session, err := caller.Login(ctx, api.Login{Email: email, Password: kept})
		if api.CodeOf(err) != api.CodeUnauthorized {
			return session, err
		}
	}
	// An account comes with an organization of its own: what the profile holds
	// of another must be known before it is made.
	if err := o.app.MayHold(ctx, ""); err != nil {
		return api.Session{}, taken(c, err, locked)
	}
	// Kept before it is used: an account whose password nobody has is lost. It
	// is kept aside until the account is there, since another one's may be kept.
	password := api.Secret(rand.Text())
	name := o.passwordNames(c, caller.Server())[0]
	if _, err := keys.Set(name+" (new)", password, c.Is(config.InsecureStorage)); err != nil {
		return api.Session{}, err
	}
	session, err := caller.Register(ctx, api.Register{
		Email: email, Password: password, NoticeVersion: notice,
		DisplayName: api.Some(strings.Split(email, "@")[0]),
	})
	if api.CodeOf(err) == api.CodeConflict || api.CodeOf(err) == api.CodeForbidden {
		return session, app.Fail(app.SignIn, "The server has an account %s whose password is not known here.", email).
			Try("%sbm serve admin user password %s   gives it another; then bm serve, and beside it bm auth login --server %s --email %s",
				locked, email, caller.Server(), email).Because(err)
	}
	if err != nil {
		return session, err
	}
	if _, err := keys.Set(name, password, c.Is(config.InsecureStorage)); err != nil {
		return session, err
	}
	return session, keys.Delete(name + " (new)")
}

// taken says why the profile can't be an account's that is yet to be made, where
// err says that it holds a copy of something else.
func taken(c *config.Config, err error, locked string) error {
	e, ok := errors.AsType[*app.Error](err)
	if !ok || e.Kind != app.Conflict {
		return err
	}
	if own := c.Account(); own.SignedIn() && !strings.HasSuffix(own.Email, app.UpDomain) {
		return app.Fail(app.Conflict, "Profile %q is signed in to %s as %s, and bm up makes an account of its own.",
			c.ProfileName(), output.Clean(own.Server), output.Clean(own.Email)).Try("%s   keeps both apart", inAnother(c)).Because(err)
	}
	e.Next = locked + e.Next + fmt.Sprintf("; or, if it is a copy of the server in %s itself, bm serve admin user password %s lets you sign in to that", dataDir(c), address())
	return e
}

// inAnother is this command with another profile.
func inAnother(c *config.Config) string {
	const usual = "local"
	if c.ProfileName() == usual {
		return "bm up --profile NAME"
	}
	return "bm up --profile " + usual
}

// dataDir is the folder of the server that this command hosts.
func dataDir(c *config.Config) string { return filepath.Join(c.Folders.Data, "server") }

// passwordNames are the names under which the account's password may be kept:
// by the server's data, which is the same server wherever it serves and whoever
// signs in, and as it was done before.
func (o *options) passwordNames(c *config.Config, server string) []string {
	here := "password of the server in " + dataDir(c)
	return []string{
		here, here + " (new)",
		credentials.Name(c.ProfileName(), "password of "+server),
		credentials.Name(c.ProfileName(), "password of "+c.Account().Server),
		credentials.Name(config.DefaultProfile, "password of "+server),
	}
}

// address is the e-mail address of an account that is this machine's alone.
func address() string {
	name := "me"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return plain(name) + "@" + plain(app.Hostname()) + app.UpDomain
}

// plain keeps what an address may hold in any case.
func plain(text string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, text)
	if kept = strings.Trim(kept, "-"); kept == "" {
		return "me"
	}
	return kept
}

// stay keeps the machine in step until somebody ends it.
func (o *options) stay(ctx context.Context, stop context.CancelFunc, served <-chan error) error {
	a := o.app
	c, err := a.Config()
	if err != nil {
		stop()
		return errors.Join(err, <-served)
	}
	account := c.Account()
	fmt.Fprintf(a.IO.Err, `bm is up: %s, signed in as %s.

  bm add https://go.dev        keep a bookmark
  bm search go                 find it again
  bm sync status               see how this machine stands with the server
  bm auth token                the key, for another program

Ctrl-C ends it.
`, output.Clean(account.Server), output.Clean(account.Email))
	synced := make(chan error, 1)
	go func() { synced <- o.sync(ctx) }()
	err = <-served // the server ends when it is told to, or when it fails
	stop()
	return errors.Join(err, <-synced)
}

// sync is the daemon, unless one runs already.
func (o *options) sync(ctx context.Context) error {
	a := o.app
	err := mirror.RunDaemon(ctx, a)
	if e, ok := errors.AsType[*app.Error](err); ok && e.Kind == app.Conflict {
		d, err := a.Daemon()
		if err != nil {
			return err
		}
		_, err = d.Ask(ctx, control.Request{Command: control.Nudge})
		return err
	}
	return err
}
