package unit

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestUnitsNameTheProgramAsItIs(t *testing.T) {
	const self = `/opt/my "bm" 100%/$bin/bm`
	env := []string{`BM_DATA_DIR=/data & <more> 100%/$HOME`}

	u := systemdUnit("/home/me/.config", self, env)
	if want := filepath.Join("/home/me/.config", "systemd", "user", "bm.service"); u.Path != want {
		t.Errorf("path %s, want %s", u.Path, want)
	}
	for _, want := range []string{
		`ExecStart="/opt/my \"bm\" 100%%/$bin/bm" daemon run` + "\n",
		`Environment="BM_DATA_DIR=/data & <more> 100%%/$HOME"` + "\n",
		"WantedBy=default.target\n",
	} {
		if !strings.Contains(u.Text, want) {
			t.Errorf("the unit lacks %q:\n%s", want, u.Text)
		}
	}

	agent, err := launchAgent("/Users/me", self, env)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for decoder := xml.NewDecoder(strings.NewReader(agent.Text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the agent is not XML: %v\n%s", err, agent.Text)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, string(data))
		}
	}
	if !strings.Contains(agent.Text, agent.mark) {
		t.Errorf("the agent lacks %q", agent.mark)
	}
	if all := strings.Join(texts, "|"); !strings.Contains(all, self+"|daemon|run") || !strings.Contains(all, "BM_DATA_DIR|/data & <more> 100%/$HOME") {
		t.Errorf("the agent says %s", all)
	}

	task := logonTask(`C:\Users\me`, `C:\Program Files\bm.exe`)
	if got := task.enable[0][len(task.enable[0])-1]; got != `"C:\Program Files\bm.exe" daemon run` {
		t.Errorf("the task runs %s", got)
	}
}

// What the system starts has none of what a shell's own files set.
func TestTheDaemonLooksWhereTheCommandsLook(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"BM_CONFIG_DIR": "c", "BM_DATA_DIR": "/d", "XDG_CONFIG_HOME": "/x/config", "XDG_DATA_HOME": "/x/data", "XDG_STATE_HOME": "not/absolute", "HOME": "/h",
		"XDG_RUNTIME_DIR": "/run/user/1000", // another one has another daemon in it
	}
	got, err := whereToLook(func(name string) string { return env[name] })
	want := []string{"BM_CONFIG_DIR=" + filepath.Join(here, "c"), "BM_DATA_DIR=/d", "XDG_CONFIG_HOME=/x/config", "XDG_DATA_HOME=/x/data", "XDG_RUNTIME_DIR=/run/user/1000"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// What go run makes is gone when it ends.
func TestAProgramThatIsNotKept(t *testing.T) {
	for program, kept := range map[string]bool{
		"/usr/bin/bm":                           true,
		"/tmp/go-build2819/b001/exe/bm":         false,
		"/home/me/.cache/go-build/4f/4f00-d/bm": false,
		"/home/me/src/go-build-tools/bm":        true,
		"/home/me/go-builds/bm":                 true,
	} {
		u := systemdUnit("/home/me/.config", filepath.FromSlash(program), nil)
		if err := u.Lasts(); (err == nil) != kept {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// systemctl is a script in the place of the system's: it keeps what it was told, and
// the lines of does see to the rest.
func systemctl(t *testing.T, does string) (told func() string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it has no systemd, nor scripts")
	}
	dir := t.TempDir()
	kept := filepath.Join(dir, "told")
	script := "#!/bin/sh\nshift\necho \"$*\" >>'" + kept + "'\ncase $1 in\n" + does + "\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() string {
		text, _ := os.ReadFile(kept) // there is none before it is told anything
		return string(text)
	}
}

// Who has enough of an installation finds all as it was, with the system too.
func TestAnInterruptedInstallationIsUndone(t *testing.T) {
	told := systemctl(t, "restart) exec sleep 60;;")
	u := systemdUnit(t.TempDir(), "/usr/bin/bm", nil)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for !strings.Contains(told(), "restart") {
			time.Sleep(time.Millisecond)
		}
		interrupt()
	}()
	if err := u.Install(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if got, want := told(), "daemon-reload\nenable bm.service\nrestart bm.service\ndisable --now bm.service\ndaemon-reload\n"; got != want {
		t.Errorf("the system was told\n%s, want\n%s", got, want)
	}
	if _, err := os.Stat(filepath.Dir(u.Path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unit's folder is there: %v", err)
	}
}

// What another program has the system start is neither replaced nor taken away.
func TestTheUnitOfAnotherProgram(t *testing.T) {
	told := systemctl(t, "")
	u := systemdUnit(t.TempDir(), "/usr/bin/bm", nil)
	const other = "[Service]\nExecStart=/usr/bin/bm --monitor\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(u.Path), 0o755), os.WriteFile(u.Path, []byte(other), 0o644)); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"install": u.Install(t.Context()), "uninstall": u.Uninstall(t.Context())} {
		if !errors.Is(err, ErrAnothers) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if text, err := os.ReadFile(u.Path); err != nil || string(text) != other || told() != "" {
		t.Errorf("it is %q, %v; the system was told %q", text, err, told())
	}
	// Another bm's is one of ours.
	if err := os.WriteFile(u.Path, []byte(systemdUnit("/", "/opt/bm", nil).Text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(u.Install(t.Context()), u.Uninstall(t.Context())); err != nil {
		t.Error(err)
	}
}

// A Ctrl-C goes to every process of the terminal, and may end the system's first.
func TestASystemThatIsInterruptedFirst(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	systemctl(t, "restart) echo $$ >'"+pid+"'; kill -INT $$;;")
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for !ended(pid) {
			time.Sleep(time.Millisecond)
		}
		interrupt()
	}()
	if err := systemdUnit(t.TempDir(), "/usr/bin/bm", nil).Restart(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// ended reports whether the process whose number a file holds was there, and has ended.
func ended(pid string) bool {
	text, _ := os.ReadFile(pid) // there is none before the process writes it
	number, err := strconv.Atoi(strings.TrimSuffix(string(text), "\n"))
	if err != nil || !strings.HasSuffix(string(text), "\n") {
		return false
	}
	process, err := os.FindProcess(number)
	return err != nil || process.Signal(syscall.Signal(0)) != nil
}

func TestASystemThatDoesNotAnswer(t *testing.T) {
	systemctl(t, "restart) sleep 60;;")
	u := systemdUnit(t.TempDir(), "/usr/bin/bm", nil)
	u.patience = 50 * time.Millisecond
	began := time.Now()
	err := u.Restart(t.Context())
	if refused, ok := errors.AsType[*Refused](err); !ok || refused.Why != "it does not answer" || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
