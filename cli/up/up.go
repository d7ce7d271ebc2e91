package up

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/mirror"
	"bm/cli/output"
	"bm/daemon/control"
	"bm/server"
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
		held := errors.Is(err, server.ErrHeld)
		at, waited := o.upAlready(ctx, held)
		if at != "" && !held && elsewhere(c) {
			return apart(c).Because(err) // what answers there is no bm up's
		}
		if at != "" {
			fmt.Fprintf(o.app.IO.Err, "It is up already, at %s.\n", output.Clean(at))
			return o.begin(ctx)
		}
		if waited != nil {
			return waited
		}
		if e, ok := errors.AsType[*app.Error](err); ok && held {
			return e.Try("stop that one; or bm auth login with its address as --server, or bm auth register for another account")
		}
		return err
	case addr := <-ready:
		// This process is the daemon: an edit must start no other.
		o.app.Flags[config.Autostart] = "false"
		o.app.Reload()
		if err = o.settle(ctx, "http://"+addr, o.session); err == nil {
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
// somebody has the data folder, that may be one that has just been started, or one
// of another profile, whose account is this one's too.
func (o *options) upAlready(ctx context.Context, held bool) (string, error) {
	refused := map[string]bool{}
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
		if other := o.ofAnother(ctx, c); held && !at.SignedIn() && other != "" && !refused[other] {
			if err := o.settle(ctx, other, o.known); err == nil {
				return other, nil
			}
			refused[other] = true // it is asked once: the server counts attempts
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

// ofAnother is where bm up serves another profile of this machine; "" where it
// serves none.
func (o *options) ofAnother(ctx context.Context, c *config.Config) string {
	names, err := c.Profiles()
	if err != nil {
		return ""
	}
	for _, name := range names {
		of, err := c.ForProfile(name)
		if err != nil || name == c.ProfileName() {
			continue
		}
		if at := of.Account(); at.SignedIn() && strings.HasSuffix(at.Email, app.UpDomain) && client.IsLocal(at.Server) && o.answers(ctx, at.Server) {
			return at.Server
		}
	}
	return ""
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
