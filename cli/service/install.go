package service

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
)

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

// unit is how this system starts a program when its user signs in: a file,
// and the commands that make the system heed it.
type unit struct {
	path string
	text string
	on   [][]string
	off  [][]string
}

// describe describes the daemon's unit for this system and executable.
func describe(a *app.App) (*unit, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	env, err := whereToLook(a.Getenv)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home folder: %w", err)
	}
	switch runtime.GOOS {
	case "darwin":
		return launchAgent(home, self, env)
	case "windows":
		return logonTask(home, self), nil
	}
	dir := filepath.Join(home, ".config")
	if v := a.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(v) {
		dir = v
	}
	return systemdUnit(dir, self, env), nil
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
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		if value := getenv(name); filepath.IsAbs(value) { // another is not heeded
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}

func systemdUnit(configDir, self string, env []string) *unit {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=bm keeps bookmarks in step\n\n[Service]\n")
	fmt.Fprintf(&b, "ExecStart=%s daemon run\n", systemdQuote(self))
	for _, pair := range env {
		fmt.Fprintf(&b, "Environment=%s\n", systemdQuote(pair))
	}
	b.WriteString("Restart=on-failure\nUMask=0077\n\n[Install]\nWantedBy=default.target\n")
	return &unit{
		path: filepath.Join(configDir, "systemd", "user", "bm.service"), text: b.String(),
		on:  [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", "bm.service"}},
		off: [][]string{{"systemctl", "--user", "disable", "--now", "bm.service"}},
	}
}

// systemdQuote keeps % and $, which mean something in a unit, what they are.
func systemdQuote(text string) string {
	return strings.NewReplacer("%", "%%", "$", "$$").Replace(strconv.Quote(text))
}

const agentName = "bm.daemon"

func launchAgent(home, self string, env []string) (*unit, error) {
	var b bytes.Buffer
	text := func(tag, value string) error {
		b.WriteString("<" + tag + ">")
		if err := xml.EscapeText(&b, []byte(value)); err != nil {
			return err
		}
		b.WriteString("</" + tag + ">\n")
		return nil
	}
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\"><dict>\n")
	errs := []error{text("key", "Label"), text("string", agentName), text("key", "ProgramArguments")}
	b.WriteString("<array>\n")
	for _, arg := range []string{self, "daemon", "run"} {
		errs = append(errs, text("string", arg))
	}
	b.WriteString("</array>\n")
	if len(env) > 0 {
		errs = append(errs, text("key", "EnvironmentVariables"))
		b.WriteString("<dict>\n")
		for _, pair := range env {
			name, value, _ := strings.Cut(pair, "=")
			errs = append(errs, text("key", name), text("string", value))
		}
		b.WriteString("</dict>\n")
	}
	b.WriteString("<key>RunAtLoad</key><true/>\n<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n</dict></plist>\n")
	path := filepath.Join(home, "Library", "LaunchAgents", agentName+".plist")
	domain := fmt.Sprintf("gui/%d", os.Getuid())
	return &unit{
		path: path, text: b.String(),
		on:  [][]string{{"launchctl", "bootstrap", domain, path}},
		off: [][]string{{"launchctl", "bootout", domain + "/" + agentName}},
	}, errors.Join(errs...)
}

// logonTask needs no file of ours but a note of the command: the task itself
// lies with the system.
func logonTask(home, self string) *unit {
	command := `"` + self + `" daemon run`
	return &unit{
		path: filepath.Join(home, "AppData", "Local", "bm", "logon-task.txt"), text: command + "\r\n",
		on: [][]string{
			{"schtasks", "/Create", "/F", "/SC", "ONLOGON", "/RL", "LIMITED", "/TN", "bm daemon", "/TR", command},
			{"schtasks", "/Run", "/TN", "bm daemon"},
		},
		off: [][]string{{"schtasks", "/Delete", "/F", "/TN", "bm daemon"}},
	}
}

// install writes the unit and has the system heed it. Where the system won't,
// all is as it was.
func (u *unit) install(ctx context.Context) error {
	before, err := os.ReadFile(u.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("install the daemon: %w", err)
	}
	made, err := makeFolders(filepath.Dir(u.path))
	if err == nil {
		err = os.WriteFile(u.path, []byte(u.text), 0o644)
	}
	if err != nil {
		return fmt.Errorf("install the daemon: %w", err)
	}
	failed := execute(ctx, u.on)
	if failed == nil {
		return nil
	}
	if before != nil {
		err = os.WriteFile(u.path, before, 0o644)
	} else {
		err = os.Remove(u.path)
		for _, dir := range made {
			_ = os.Remove(dir) // it is left where something else came into it
		}
	}
	if err != nil {
		return errors.Join(failed, fmt.Errorf("undo the installation: %w", err))
	}
	return failed
}

// makeFolders makes a folder, and answers which there were not, the last first.
func makeFolders(dir string) (made []string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			return made, os.MkdirAll(dir, 0o755)
		}
		made = append(made, at)
	}
}

func (u *unit) uninstall(ctx context.Context) error {
	if _, err := os.Stat(u.path); errors.Is(err, os.ErrNotExist) {
		return app.Fail(app.NotFound, "The daemon is not installed.").Try("bm daemon install")
	}
	if err := execute(ctx, u.off); err != nil {
		return err
	}
	if err := os.Remove(u.path); err != nil {
		return fmt.Errorf("uninstall the daemon: %w", err)
	}
	return nil
}

func execute(ctx context.Context, commands [][]string) error {
	for _, words := range commands {
		said, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
		if err == nil {
			continue
		}
		why := output.Clean(strings.TrimSpace(string(said)))
		if errors.Is(err, exec.ErrNotFound) {
			why = "there is no " + words[0] + " here"
		}
		return app.Fail(app.Failed, "The system can't be told of the daemon: %s: %s.", strings.Join(words, " "), strings.TrimSuffix(why, ".")).
			Try("bm daemon start   starts it now; it also starts by itself on the first edit, unless daemon.autostart is false").Because(err)
	}
	return nil
}
