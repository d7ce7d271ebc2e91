package mirror

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"bm/cli/app"
	"bm/daemon"
)

// The daemon idles over large replicas: it gives memory back rather than to
// grow, and collects more often than a command that ends soon.
const (
	daemonMemory  = 36 << 20
	daemonPercent = 50
)

// Frugal makes the process give memory back rather than grow.
func Frugal() {
	debug.SetMemoryLimit(daemonMemory)
	debug.SetGCPercent(daemonPercent)
}

// RunDaemon is the daemon, until it is told to stop.
func RunDaemon(ctx context.Context, a *app.App) error {
	c, err := a.Config()
	if err != nil {
		return err
	}
	file, err := daemon.OpenLog(c.Folders.Logs())
	if err != nil {
		return err
	}
	err = daemon.Run(ctx, daemon.Deps{
		Version: a.Version,
		Socket:  c.Folders.Socket(),
		Log:     slog.New(slog.NewTextHandler(file, nil)),
		Profiles: func() ([]string, error) {
			return c.Profiles()
		},
		Open: func(ctx context.Context, profile string) (daemon.Mirror, error) {
			of, err := a.ForProfile(profile)
			if err != nil {
				return nil, err
			}
			return Open(ctx, of)
		},
	})
	if errors.Is(err, daemon.ErrRunning) {
		err = app.Fail(app.Conflict, "The daemon runs already.").Try("bm daemon status").Because(err)
	}
	return errors.Join(err, file.Close())
}
