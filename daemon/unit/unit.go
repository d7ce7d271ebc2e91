package unit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Unit is what has the system start the daemon: a file, and the commands that make
// the system heed it.
type Unit struct {
	Path string
	Text string

	program string
	mark    string // is in every text of ours

	enable  [][]string
	disable [][]string
	forget  [][]string // once the file is gone
	restart []string   // nil where the system does no more than start it

	patience time.Duration // a test's, in place of the constant
}

// Refused says that the system did not do what it was told.
type Refused struct {
	Command string
	Why     string
	Err     error
}

func (r *Refused) Error() string { return r.Command + ": " + r.Why }

func (r *Refused) Unwrap() error { return r.Err }

// ErrNotInstalled says that there is nothing to take away.
var ErrNotInstalled = errors.New("the daemon is not installed")

// ErrAnothers says that what is installed under the daemon's name is none of ours.
var ErrAnothers = errors.New("it starts another program")

// ErrNotKept says that the program is gone once it has ended.
var ErrNotKept = errors.New("this program is one that \"go run\" made, and not kept")

// New describes the unit for this system, this program, and where it looks.
func New(getenv func(string) string) (*Unit, error) {
	programs, err := programs()
	if err != nil {
		return nil, err
	}
	return describe(getenv, programs[0])
}

// Installed is what the system starts the daemon by; nil where it doesn't. own is
// whether that starts this very program, for the same folders.
func Installed(getenv func(string) string) (installed *Unit, own bool) {
	programs, err := programs()
	if err != nil {
		return nil, false
	}
	for _, program := range programs {
		u, err := describe(getenv, program)
		if err != nil {
			return nil, false
		}
		text, err := os.ReadFile(u.Path)
		if err != nil {
			return nil, false
		}
		if string(text) == u.Text {
			return u, true
		}
		installed = u
	}
	return installed, false
}

// Keeper is the unit by which the system starts, ends and watches this very
// program; nil where it doesn't.
func Keeper(getenv func(string) string) *Unit {
	if u, own := Installed(getenv); own && u.restart != nil {
		return u
	}
	return nil
}

// programs are the paths of this program, the one to name first: that by which a
// shell finds it stays when a newer one comes, which what it links to may not.
func programs() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	found := []string{self}
	if named, err := exec.LookPath("bm"); err == nil && same(named, self) {
		if named, err = filepath.Abs(named); err == nil && named != self {
			found = []string{named, self}
		}
	}
	return found, nil
}

// Lasts is [ErrNotKept] where the program that the unit names does not stay.
func (u *Unit) Lasts() error {
	if passing(u.program) {
		return ErrNotKept
	}
	return nil
}

func same(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

func describe(getenv func(string) string, program string) (*Unit, error) {
	env, err := whereToLook(getenv)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home folder: %w", err)
	}
	switch runtime.GOOS {
	case "darwin":
		return launchAgent(home, program, env)
	case "windows":
		return logonTask(home, program), nil
	}
	dir := filepath.Join(home, ".config")
	if v := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(v) {
		dir = v
	}
	return systemdUnit(dir, program, env), nil
}

// whereToLook is the environment that has the daemon look where the commands look:
// what a shell's own files set does not reach what the system starts.
func whereToLook(getenv func(string) string) (env []string, err error) {
	for _, name := range []string{"BM_CONFIG_DIR", "BM_DATA_DIR"} {
		if value := getenv(name); value != "" {
			abs, err := filepath.Abs(value)
			if err != nil {
				return nil, fmt.Errorf("find %s: %w", name, err)
			}
			env = append(env, name+"="+abs)
		}
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		if value := getenv(name); filepath.IsAbs(value) { // another is not heeded
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}

// Install writes the unit and has the system heed it, which starts the daemon.
// Where the system won't, all is as it was.
func (u *Unit) Install(ctx context.Context) error {
	before, err := u.there()
	if err != nil {
		return err
	}
	if before != nil {
		_ = u.execute(ctx, u.disable) // where it was taken away by hand there is none
	}
	made, failed := makeFolders(filepath.Dir(u.Path))
	if failed == nil {
		failed = os.WriteFile(u.Path, []byte(u.Text), 0o644)
	}
	if failed == nil {
		failed = u.execute(ctx, u.enable)
	}
	if failed == nil {
		return nil
	}
	if err := u.takeBack(context.WithoutCancel(ctx), before, made); err != nil {
		return fmt.Errorf("undo the installation, which failed (%s): %w", failed.Error(), err)
	}
	return failed
}

// there is the unit that is installed, which may be another bm's; nil where none is.
func (u *Unit) there() ([]byte, error) {
	text, err := os.ReadFile(u.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("see what the system starts: %w", err)
	case !strings.Contains(string(text), u.mark):
		return nil, ErrAnothers
	}
	return text, nil
}

// takeBack undoes an installation, as far as it came: before is the unit that there
// was, nil for none, and made are the folders that there were not.
func (u *Unit) takeBack(ctx context.Context, before []byte, made []string) error {
	if before != nil {
		err := os.WriteFile(u.Path, before, 0o644)
		_ = u.execute(ctx, u.enable)
		return err
	}
	_ = u.execute(ctx, u.disable)
	err := os.Remove(u.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it did not come that far
	}
	for _, dir := range made {
		_ = os.Remove(dir) // it is left where something else came into it
	}
	_ = u.execute(ctx, u.forget)
	return err
}

// passing reports whether a program is one of go run's.
func passing(program string) bool {
	return slices.ContainsFunc(strings.Split(program, string(filepath.Separator)), func(part string) bool {
		number, found := strings.CutPrefix(part, "go-build")
		return found && strings.Trim(number, "0123456789") == ""
	})
}

// makeFolders makes a folder, and answers which there were not, the last first.
func makeFolders(dir string) (made []string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return made, os.MkdirAll(dir, 0o755)
		}
		made = append(made, at)
	}
}

// Uninstall ends the daemon that the system started, and takes the unit away.
func (u *Unit) Uninstall(ctx context.Context) error {
	if text, err := u.there(); err != nil {
		return err
	} else if text == nil {
		return ErrNotInstalled
	}
	if err := u.execute(ctx, u.disable); err != nil {
		return err
	}
	if err := os.Remove(u.Path); err != nil {
		return fmt.Errorf("uninstall the daemon: %w", err)
	}
	return u.execute(ctx, u.forget)
}

// Restart has the system end its daemon, where it runs, and start it.
func (u *Unit) Restart(ctx context.Context) error { return u.execute(ctx, [][]string{u.restart}) }

// patience is how long the system may take for a command: it waits for the end of a
// daemon, and kills it after a minute and a half.
const patience = 2 * time.Minute

func (u *Unit) execute(ctx context.Context, commands [][]string) error {
	for _, words := range commands {
		if err := u.executeOne(ctx, words); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unit) executeOne(ctx context.Context, words []string) error {
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(u.patience, patience))
	defer cancel()
	cmd := exec.CommandContext(bounded, words[0], words[1:]...)
	cmd.WaitDelay = time.Second // for what it started itself
	said, err := cmd.CombinedOutput()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() < 0 && bounded.Err() == nil {
		select { // a Ctrl-C goes to every process of the terminal, and may reach it first
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := strings.TrimSpace(string(said))
	switch {
	case bounded.Err() != nil:
		why = "it does not answer"
	case errors.Is(err, exec.ErrNotFound):
		why = "there is no " + words[0] + " here"
	case why == "":
		why = err.Error()
	}
	return &Refused{Command: strings.Join(words, " "), Why: why, Err: err}
}
