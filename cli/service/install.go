package service

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/daemon/control"
	"bm/daemon/unit"
)

func newInstall(a *app.App) *cobra.Command {
	show := false
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Start the daemon whenever you sign in to this machine",
		Long: `Start the daemon whenever you sign in to this machine, and now: as a systemd user
unit, a launchd agent on macOS, a logon task on Windows. One that runs already
leaves for it. Where bm is moved elsewhere, install it again.`,
		Example: "  bm daemon install\n  bm daemon install --print",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := unit.New(a.Getenv)
			if err != nil {
				return err
			}
			if show {
				_, err := io.WriteString(a.IO.Out, u.Text)
				return err
			}
			return install(cmd.Context(), a, u)
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "only print what would be installed")
	return cmd
}

// install has the system start the daemon. The one that runs has to leave first:
// a second one would.
func install(ctx context.Context, a *app.App, u *unit.Unit) error {
	if err := u.Lasts(); err != nil {
		return told(u, err, "")
	}
	began, err := alone(ctx, a, true)
	if err != nil {
		return err
	}
	defer began()
	err = stop(ctx, a)
	ran := err == nil
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		return err
	}
	if err := u.Install(ctx); err != nil {
		if ran {
			restore(context.WithoutCancel(ctx), a)
		}
		if errors.Is(err, context.Canceled) {
			return app.Unchanged(err)
		}
		return told(u, err, "bm daemon start   starts it now; it also starts by itself on the first edit, unless daemon.autostart is false")
	}
	reply, err := a.DaemonAnswers(ctx)
	if err != nil {
		return silent(err, "") // the system has what it said
	}
	fmt.Fprintf(a.IO.Err, "Installed %s. The daemon runs (process %d).\n", u.Path, reply.PID)
	return nil
}

// restore has a daemon run where one did, if it can: why nothing was installed is
// what is to be told.
func restore(ctx context.Context, a *app.App) {
	c, err := a.Config()
	if err == nil && a.RestartDaemon(ctx, c.Folders) == nil {
		_, _ = a.DaemonAnswers(ctx)
	}
}

func newUninstall(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Undo bm daemon install",
		Long: `Undo bm daemon install. The daemon that the system started ends; the next edit
starts one, unless daemon.autostart is false.`,
		Example: "  bm daemon uninstall",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := unit.New(a.Getenv)
			if err != nil {
				return err
			}
			if err := u.Uninstall(cmd.Context()); err != nil {
				return told(u, err, "the same command once the system answers; or rm "+app.Typed(u.Path)+"   and it starts no daemon from the next start on")
			}
			fmt.Fprintf(a.IO.Err, "Removed %s.\n", u.Path)
			return nil
		},
	}
}

// told says what to do about what the system would not do: next, where it did not do
// what it was told.
func told(u *unit.Unit, err error, next string) error {
	refused, no := errors.AsType[*unit.Refused](err)
	switch {
	case errors.Is(err, unit.ErrNotInstalled):
		return app.Fail(app.NotFound, "The daemon is not installed.").Try("bm daemon install")
	case errors.Is(err, unit.ErrNotKept):
		return app.Fail(app.Failed, "This is a program that \"go run\" made: the system would not find it again.").
			Try("go install ./cmd/bm   and then bm daemon install, with that bm").Because(err)
	case errors.Is(err, unit.ErrAnothers):
		return app.Fail(app.Conflict, "%s starts another program.", u.Path).Try("move that away, and the same command again").Because(err)
	case no:
		return app.Fail(app.Failed, "The system can't be told of the daemon: %s.", output.CleanText(refused.Error())).
			Try("%s", next).Because(err)
	}
	return err
}
