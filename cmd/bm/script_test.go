package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bm/cli"
	"bm/daemon/control"
	"bm/localstore/places/placestest"
)

// The scripts run the real program: the test's own binary, under its name.
func TestMain(m *testing.M) {
	testscript.Main(building{m}, map[string]func(){
		"bm": func() { os.Exit(cli.Main("test")) },
	})
}

// TestScripts runs testdata/script: one for each command, and those about bad
// input. Each has a home of its own, and no network but this machine's.
func TestScripts(t *testing.T) {
	browsers := &firefoxes{running: map[string]*placestest.Running{}, before: map[string]string{}}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o700); err != nil {
				return fmt.Errorf("make the home: %w", err)
			}
			// Everything that bm heeds and a developer may have set is gone:
			// testscript starts from an empty environment.
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("BM_CONFIG_DIR", filepath.Join(home, "config"))
			env.Setenv("BM_DATA_DIR", filepath.Join(home, "data"))
			env.Setenv("BM_DAEMON_AUTOSTART", "false")
			env.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(home, "no-bus"))
			env.Defer(func() { endDaemon(env) })
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"bmexit":   bmExit,
			"bmquoted": bmQuoted,
			"bmlong":   bmLong,
			"capture":  capture,

			"killdaemon": killDaemon,

			"firefox":     browsers.start,
			"firefoxdoes": browsers.does,
			"untouched":   browsers.untouched,

			"damage":     damage,
			"httpstatus": httpStatus,
			"serving":    serving,
			"terminate":  terminate,
			"untilfile":  untilFile,
			"untilout":   untilOut,
		},
	})
}

// endDaemon ends the daemon that a script which failed has left running.
func endDaemon(env *testscript.Env) {
	for dir := range strings.SplitSeq(env.Getenv("PATH"), string(os.PathListSeparator)) {
		program := filepath.Join(dir, "bm")
		if _, err := os.Stat(program); err != nil {
			continue
		}
		stop := exec.Command(program, "daemon", "stop")
		stop.Env = env.Vars
		_ = stop.Run() // mostly there is none
		return
	}
}

// bmExit runs bm and wants the exit code that is its first argument:
//
//	bmexit 5 add https://go.dev
func bmExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: bmexit CODE ARGUMENT…")
	}
	err := ts.Exec("bm", args[1:]...)
	code := 0
	if exit := (*exec.ExitError)(nil); asExit(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("run bm: %v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("bm %s: exit code %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// bmQuoted is bmexit whose arguments may hold Go's escapes, within double
// quotes that testscript leaves alone.
func bmQuoted(ts *testscript.TestScript, neg bool, args []string) {
	for i, arg := range args {
		if text, err := strconv.Unquote(`"` + strings.Trim(arg, `"`) + `"`); err == nil {
			args[i] = text
		}
	}
	bmExit(ts, neg, args)
}

// bmLong adds a bookmark with so many letters in a flag:
//
//	bmlong CODE FLAG COUNT
func bmLong(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: bmlong CODE FLAG COUNT")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	bmExit(ts, neg, []string{args[0], "add", "https://long.example/", "--" + args[1], strings.Repeat("x", n)})
}

// capture keeps what a pattern's group finds in the last output:
//
//	capture ID '"id":"([^"]+)"'
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("%s is not in the output", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// killDaemon ends the daemon of the script as kill -9 does.
func killDaemon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: killdaemon")
	}
	client := &control.Client{Socket: filepath.Join(ts.Getenv("BM_DATA_DIR"), "run", "daemon.sock")}
	if len(client.Socket) > 103 {
		ts.Fatalf("the socket of this script lies elsewhere: %s is too long", client.Socket)
	}
	reply, err := client.Ask(context.Background(), control.Request{Command: control.Status})
	ts.Check(err)
	process, err := os.FindProcess(reply.PID)
	ts.Check(err)
	ts.Check(process.Kill())
	// It is the child of a command that has ended: nobody here can wait for it.
	for {
		if _, err := client.Ask(context.Background(), control.Request{Command: control.Status}); errors.Is(err, control.ErrNotRunning) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func asExit(err error, target **exec.ExitError) bool {
	exit, ok := err.(*exec.ExitError) //nolint:errorlint // testscript answers it bare
	*target = exit
	return ok
}
