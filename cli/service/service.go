package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
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
	return &cobra.Command{
		Use:     "start",
		Short:   "Start the daemon",
		Example: "  bm daemon start",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return start(cmd.Context(), a)
		},
	}
}

func start(ctx context.Context, a *app.App) error {
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
	if err := app.StartDaemon(c.Folders); err != nil {
		return err
	}
	reply, err := a.DaemonAnswers(ctx)
	if err != nil {
		return app.Fail(app.Failed, "The daemon was started and does not answer.").Try("bm daemon logs").Because(err)
	}
	fmt.Fprintf(a.IO.Err, "The daemon runs (process %d).\n", reply.PID)
	return nil
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
	asked, err := d.Ask(ctx, control.Request{Command: control.Stop})
	if err != nil {
		return err
	}
	lock := flock.New(daemon.Lock(d.Socket))
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
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
			return start(cmd.Context(), a)
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

// row is a workspace as the daemon sees it.
type row struct {
	profile control.ProfileInfo
	control.WorkspaceInfo
}

func newStatus(a *app.App) *cobra.Command {
	type field = output.Field[row]
	format := &output.Format[row]{Fields: []field{
		{Name: "profile", Get: func(r row) any { return r.profile.Name }},
		{Name: "server", Get: func(r row) any { return r.profile.Server }},
		{Name: "trouble", Get: func(r row) any { return r.profile.Trouble }},
		{Name: "live", Get: func(r row) any { return r.profile.Live }},
		{Name: "workspace", Get: func(r row) any { return r.Name }},
		{Name: "workspaceId", Get: func(r row) any { return r.ID }},
		{Name: "state", Get: func(r row) any { return r.State }},
		{Name: "reason", Get: func(r row) any { return r.Reason }},
		{Name: "syncedAt", Get: func(r row) any { return r.SyncedAt }},
		{Name: "nextTry", Get: func(r row) any { return r.NextTry }},
	}}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show what the daemon does",
		Example: "  bm daemon status\n  bm daemon status --json workspace,state",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a, format) },
	}
	format.Bind(cmd)
	return cmd
}

func runStatus(ctx context.Context, a *app.App, format *output.Format[row]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	d, err := a.Daemon()
	if err != nil {
		return err
	}
	reply, err := d.Ask(ctx, control.Request{Command: control.Status})
	if err != nil {
		return err
	}
	var rows []row
	for _, p := range reply.Status.Profiles {
		if len(p.Workspaces) == 0 {
			rows = append(rows, row{profile: p})
		}
		for _, w := range p.Workspaces {
			rows = append(rows, row{p, w})
		}
	}
	if wanted {
		return format.List(a.IO.Out, a.IO, rows)
	}
	state := "running"
	if reply.Status.Paused {
		state = "paused"
	}
	fmt.Fprintf(a.IO.Err, "The daemon is %s: version %s, process %d, started %s.\n", state, output.Clean(reply.Version), reply.PID, output.Ago(a.Now(), reply.Status.Started))
	if len(rows) == 0 {
		why := "No profile is signed in: there is nothing to keep in step."
		if signed, err := anySignedIn(a); err != nil {
			return err
		} else if signed && reply.Status.Paused {
			why = "Nothing is kept in step until bm daemon resume."
		}
		fmt.Fprintln(a.IO.Err, why)
		return nil
	}
	table := a.IO.NewTable(a.IO.Out, output.Heading{Name: "profile"}, output.Heading{Name: "workspace", Flexible: true}, output.Heading{Name: "state", Flexible: true}, output.Heading{Name: "synced"})
	for _, r := range rows {
		text := r.State
		switch {
		case r.profile.Trouble != "":
			text = r.profile.Trouble
		case r.Reason != "":
			text += ": " + r.Reason
		}
		synced := output.Text("")
		if !r.SyncedAt.IsZero() {
			synced = output.Cell{Value: r.SyncedAt.Format(time.RFC3339), Shown: output.Ago(a.Now(), r.SyncedAt), Style: output.Faint}
		}
		err := table.Row(output.Styled(output.Strong, r.profile.Name), output.Text(r.Name), output.Text(text), synced)
		if err != nil {
			return err
		}
	}
	return table.End()
}

// anySignedIn reports whether a profile of this machine has a server to be in
// step with. A daemon that is paused looks at none.
func anySignedIn(a *app.App) (bool, error) {
	c, err := a.Config()
	if err != nil {
		return false, err
	}
	names, err := c.Profiles()
	if err != nil {
		return false, err
	}
	for _, name := range names {
		of, err := c.ForProfile(name)
		if err != nil {
			return false, err
		}
		if of.Account().SignedIn() {
			return true, nil
		}
	}
	return false, nil
}

func newLogs(a *app.App) *cobra.Command {
	lines := 50
	cmd := &cobra.Command{
		Use:     "logs",
		Short:   "Show the end of the daemon's log",
		Example: "  bm daemon logs\n  bm daemon logs -n 500",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if lines < 1 {
				return app.Fail(app.Usage, "--lines %d: a number from 1 is wanted.", lines)
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			path := filepath.Join(c.Folders.Logs(), "daemon.log")
			text, err := tail(path, lines)
			if errors.Is(err, os.ErrNotExist) {
				return app.Fail(app.NotFound, "The daemon has written no log yet: %s.", path).Try("bm daemon start").Because(err)
			}
			if err != nil {
				return err
			}
			if a.IO.OutTTY {
				text = output.CleanText(text)
			}
			_, err = io.WriteString(a.IO.Out, text)
			return err
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "so `many`")
	return cmd
}

// maxTail is how much of the end of a log is looked at.
const maxTail = 1 << 20

// tail is the last lines of a file.
func tail(path string, lines int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	text := make([]byte, min(info.Size(), maxTail))
	if _, err := file.ReadAt(text, info.Size()-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the log: %w", err)
	}
	from := len(text)
	for ; from > 0; from-- {
		if text[from-1] == '\n' && from < len(text) {
			if lines--; lines <= 0 {
				break
			}
		}
	}
	return string(text[from:]), nil
}

func newInstall(a *app.App) *cobra.Command {
	show := false
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Start the daemon whenever you sign in to this machine",
		Long: `Start the daemon whenever you sign in to this machine: as a systemd user unit, a
launchd agent on macOS, a logon task on Windows.`,
		Example: "  bm daemon install\n  bm daemon install --print",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := describe(a)
			if err != nil {
				return err
			}
			if show {
				_, err := io.WriteString(a.IO.Out, s.text)
				return err
			}
			if err := s.install(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintf(a.IO.Err, "Installed %s.\n", s.path)
			return nil
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "only print what would be installed")
	return cmd
}

func newUninstall(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "uninstall",
		Short:   "Undo bm daemon install",
		Example: "  bm daemon uninstall",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := describe(a)
			if err != nil {
				return err
			}
			if err := s.uninstall(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintf(a.IO.Err, "Removed %s.\n", s.path)
			return nil
		},
	}
}
