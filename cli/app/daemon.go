package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bm/cli/config"
	"bm/cli/output"
	"bm/daemon/control"
	"bm/daemon/unit"
)

// nudgeLimit bounds what telling the daemon may cost an edit.
const nudgeLimit = 200 * time.Millisecond

// Edited tells the daemon that there is something to send, and starts it where
// it should run and doesn't, or where the one that runs is older: it leaves for
// the new one. The edit is safe whatever comes of it, so that a failure is no
// failure of the command, which does not wait for it before [App.Close]. What was
// kept before somebody interrupted the command is to be sent, too.
func (a *App) Edited(ctx context.Context) {
	if a.edited = true; a.Wait {
		return // the command goes on to wait for a round, see [App.Awaits]
	}
	c, err := a.Config()
	if err != nil || !c.Account().SignedIn() || c.Is(config.Offline) {
		return
	}
	daemon, err := a.Daemon()
	if err != nil {
		return
	}
	a.told()
	telling := make(chan struct{})
	a.telling = telling
	nudge := control.Request{Command: control.Nudge, Profile: c.ProfileName(), Workspace: a.workspace}
	start := c.Is(config.Autostart) && !c.Account().Borrowed
	go func() {
		defer close(telling)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nudgeLimit)
		defer cancel()
		reply, err := daemon.Ask(ctx, nudge)
		missing := errors.Is(err, control.ErrNotRunning) || err == nil && control.Newer(a.Version, reply.Version)
		if missing && start {
			_ = a.StartDaemon(c.Folders) // the next edit, or bm sync, tries again
		}
	}()
}

// told waits until the daemon was told of the last edit.
func (a *App) told() {
	if a.telling != nil {
		<-a.telling
	}
}

// Awaits reports whether something was edited whose arrival on the server shall
// be waited for.
func (a *App) Awaits() bool { return a.Wait && a.edited }

// ofOneCommand are the variables that are about the command they were set for.
// The daemon serves every profile, and outlives the command: a token that was
// meant for another server must not go along.
var ofOneCommand = []string{"BM_TOKEN", "BM_SERVER", "BM_PROFILE", "BM_WORKSPACE", "BM_OFFLINE", "BM_INSECURE_HTTP", "BM_INSECURE_STORAGE"}

// daemonEnvironment is what a daemon heeds of an environment. It runs in another
// folder than the command: what was said to lie beside that lies there still.
func daemonEnvironment(environ []string, folders config.Folders) []string {
	var heeded []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case slices.Contains(ofOneCommand, name):
			continue
		case name == "BM_CONFIG_DIR" && value != "":
			pair = name + "=" + folders.Config
		case name == "BM_DATA_DIR" && value != "":
			pair = name + "=" + folders.Data
		}
		heeded = append(heeded, pair)
	}
	return heeded
}

// UnlessBegun is the flag of bm daemon start that leaves it to whoever starts the
// daemon already.
const UnlessBegun = "unless-begun"

// StartDaemon starts the daemon as a process of its own and does not wait for
// it: whoever comes second finds the lock taken, and leaves. The daemon of a
// system that was told to keep it is that system's to start, which takes a while:
// bm daemon start sees to it, and nobody waits in line for that.
func (a *App) StartDaemon(folders config.Folders) error {
	if unit.Keeper(a.Getenv) != nil {
		return spawn(folders, "daemon", "start", "--"+UnlessBegun)
	}
	return spawn(folders, "daemon", "run")
}

// RestartDaemon starts a daemon in the place of the one that runs and is older, or
// of none, as the system does it where it was told to keep the daemon.
func (a *App) RestartDaemon(ctx context.Context, folders config.Folders) error {
	if u := unit.Keeper(a.Getenv); u != nil {
		err := u.Restart(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		a.Warn(fmt.Errorf("the system does not start the daemon, which runs without it: %w", err))
	}
	return spawn(folders, "daemon", "run") // asks an older one to leave
}

// lastWords is the file of what a daemon says that can't begin its log, or is not
// to begin at all.
func lastWords(folders config.Folders) string { return filepath.Join(folders.Logs(), "daemon.start") }

// LastWords is why a daemon ended that this program started after a moment, as far as
// it said so; "" where it did not.
func (a *App) LastWords(since time.Time) string {
	c, err := a.Config()
	if err != nil {
		return ""
	}
	path := lastWords(c.Folders)
	info, err := os.Stat(path)
	if err != nil || info.ModTime().Before(since) || info.Size() > maxLastWords {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if why, said := strings.CutPrefix(strings.TrimSpace(line), "bm: "); said {
			return output.CleanText(strings.TrimRight(why, "."))
		}
	}
	return ""
}

const maxLastWords = 64 << 10

// spawn runs this program as a process of its own.
func spawn(folders config.Folders, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if err := config.MakePrivate(folders.Logs()); err != nil {
		return err
	}
	log, err := os.OpenFile(lastWords(folders), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd := exec.Command(self, args...) //nolint:noctx // it outlives this command
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = string(filepath.Separator)
	cmd.Env = daemonEnvironment(os.Environ(), folders)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	return cmd.Process.Release()
}

// startLimit is how long a daemon that was started may take to answer.
const startLimit = 10 * time.Second

// DaemonAnswers waits until a daemon answers that is no older than this bm.
func (a *App) DaemonAnswers(ctx context.Context) (control.Reply, error) {
	d, err := a.Daemon()
	if err != nil {
		return control.Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		reply, err := d.Ask(ctx, control.Request{Command: control.Status})
		if err == nil && !control.Newer(a.Version, reply.Version) {
			return reply, nil
		}
		select {
		case <-ctx.Done():
			return reply, errors.Join(err, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
