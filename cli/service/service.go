package service

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/daemon"
	"bm/daemon/control"
)

// New is the command group. run is the daemon itself.
func New(a *app.App, run func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Keep this machine and the server in step, in the background",
		Long: `Keep this machine and the server in step, in the background: one process for all
profiles. It starts by itself on the first edit of a profile that is signed in,
unless daemon.autostart is false. It does not heed what is set for one command, such
as BM_TOKEN and BM_SERVER.`,
		Example: `  bm daemon status
  bm daemon install        # whenever you sign in to this machine
  bm daemon pause`,
	}
	cmd.AddCommand(newStart(a), newStop(a), newRestart(a), newStatus(a), newLogs(a),
		newSwitch(a, control.Pause, "pause", "Let the daemon do nothing until it is resumed", "Paused."),
		newSwitch(a, control.Resume, "resume", "Let the daemon go on", "Resumed."),
		newRun(run), newInstall(a), newUninstall(a))
	return cmd
}

func newRun(run func(context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use:     "run",
		Short:   "Be the daemon, in this terminal",
		Example: "  bm daemon run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) },
	}
}

func newStart(a *app.App) *cobra.Command {
	unlessBegun := false
	cmd := &cobra.Command{
		Use:     "start",
		Short:   "Start the daemon",
		Example: "  bm daemon start",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := start(cmd.Context(), a, !unlessBegun)
			if errors.Is(err, errBegun) {
				return nil
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&unlessBegun, app.UnlessBegun, false, "leave it to whoever starts the daemon already")
	_ = cmd.Flags().MarkHidden(app.UnlessBegun)
	return cmd
}

// start starts the daemon. Where somebody else does so just now it waits, or else
// fails with [errBegun].
func start(ctx context.Context, a *app.App, wait bool) error {
	began, err := alone(ctx, a, wait)
	if err != nil {
		return err
	}
	defer began()
	d, err := a.Daemon()
	if err != nil {
		return err
	}
	if reply, err := d.Ask(ctx, control.Request{Command: control.Status}); err == nil && !control.Newer(a.Version, reply.Version) {
		fmt.Fprintf(a.IO.Err, "The daemon runs already (process %d).\n", reply.PID)
		return nil
	}
	c, err := a.Config()
	if err != nil {
		return err
	}
	since := time.Now().Add(-time.Second) // clocks of files are coarse
	if err := a.RestartDaemon(ctx, c.Folders); err != nil {
		return err
	}
	reply, err := a.DaemonAnswers(ctx)
	if err != nil {
		return silent(err, a.LastWords(since))
	}
	fmt.Fprintf(a.IO.Err, "The daemon runs (process %d).\n", reply.PID)
	return nil
}

// silent says that a daemon does not answer, and why, where it said so.
func silent(err error, why string) error {
	if errors.Is(err, context.Canceled) {
		return app.Fail(app.Interrupted, "Interrupted. The daemon was started, and has not answered yet.").Try("bm daemon status").Because(err)
	}
	if why != "" {
		return app.Fail(app.Failed, "The daemon was started and has ended: %s.", why).Try("bm doctor").Because(err)
	}
	return app.Fail(app.Failed, "The daemon was started and does not answer.").Try("bm daemon logs").Because(err)
}

var errBegun = errors.New("somebody else starts the daemon just now")

// alone has nobody else start the daemon meanwhile: who comes second finds it there,
// and does not have the system start it anew. Where somebody does just now it waits,
// or else fails with [errBegun].
func alone(ctx context.Context, a *app.App, wait bool) (done func(), err error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	if err := config.MakePrivate(c.Folders.Runtime); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(c.Folders.Runtime, "start.lock"))
	taken, err := lock.TryLock()
	if err == nil && !taken {
		if !wait {
			return nil, errBegun
		}
		fmt.Fprintln(a.IO.Err, "Another bm starts the daemon: this one waits for it.")
		_, err = lock.TryLockContext(ctx, 20*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for another start of the daemon: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil // which its file's end does, too
}

func newStop(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "stop",
		Short:   "Stop the daemon",
		Example: "  bm daemon stop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := stop(cmd.Context(), a)
			if errors.Is(err, control.ErrNotRunning) {
				fmt.Fprintln(a.IO.Err, "The daemon does not run.")
				return nil
			}
			if err == nil {
				fmt.Fprintln(a.IO.Err, "The daemon has stopped.")
			}
			return err
		},
	}
}

// stop asks the daemon to leave, and waits until it has: it stops listening
// first, then finishes what it does, and gives its lock back last.
func stop(ctx context.Context, a *app.App) error {
	d, err := a.Daemon()
	if err != nil {
		return err
	}
	given := ctx
	interrupted := func() error {
		return app.Fail(app.Interrupted, "Interrupted. A daemon that was asked to leave does, once it has finished what it does.").Try("bm daemon status").Because(given.Err())
	}
	asked, err := d.Ask(ctx, control.Request{Command: control.Stop})
	switch {
	case err != nil && ctx.Err() != nil:
		return interrupted()
	case err != nil:
		return err
	}
	lock := flock.New(daemon.Lock(d.Socket))
	ctx, cancel := context.WithTimeout(given, 45*time.Second)
	defer cancel()
	for {
		free, err := lock.TryLock()
		if err != nil {
			return fmt.Errorf("see whether the daemon has ended: %w", err)
		}
		if free {
			return lock.Unlock()
		}
		// Another one may have begun meanwhile: the lock is its own.
		if now, err := d.Ask(ctx, control.Request{Command: control.Status}); err == nil && now.PID != asked.PID {
			return nil
		}
		select {
		case <-ctx.Done():
			if given.Err() != nil {
				return interrupted()
			}
			return app.Fail(app.Failed, "The daemon is still finishing what it does.").Try("bm daemon logs").Because(ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func newRestart(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "restart",
		Short:   "Stop the daemon where it runs, and start it",
		Example: "  bm daemon restart",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := stop(cmd.Context(), a); err != nil && !errors.Is(err, control.ErrNotRunning) {
				return err
			}
			return start(cmd.Context(), a, true)
		},
	}
}

func newSwitch(a *app.App, command control.Command, name, short, said string) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Example: "  bm daemon " + name,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := a.Daemon()
			if err != nil {
				return err
			}
			if _, err := d.Ask(cmd.Context(), control.Request{Command: command}); err != nil {
				return err
			}
			fmt.Fprintln(a.IO.Err, said)
			return nil
		},
	}
}
