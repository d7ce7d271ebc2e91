package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
)

func TestInterruptsEnd(t *testing.T) {
	ctx := &interrupts{}
	ctx.end()
	if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("a context that ended says %v", ctx.Err())
	}
}

// What does not look at the context, such as a wait for input, is ended by the
// second signal.
func TestTheSecondSignalEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself there")
	}
	if os.Getenv("BM_TEST_INTERRUPTED") == "" {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		program := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestTheSecondSignalEnds$")
		program.Env = append(os.Environ(), "BM_TEST_INTERRUPTED=1")
		said, err := program.StdoutPipe()
		if err == nil {
			err = program.Start()
		}
		if err == nil {
			_, err = bufio.NewReader(said).ReadString('\n')
		}
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- program.Wait() }()
		// One that comes while the first is still being taken in counts as the same.
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				_ = program.Process.Signal(os.Interrupt) // it may just have ended
				continue
			case err = <-ended:
			}
			break
		}
		status, ok := program.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
			t.Errorf("it ended with %v", err)
		}
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ctx := &interrupts{}
	if ctx.Err() != nil { // from now on it is heeded
		t.Fatal(ctx.Err())
	}
	if err := self.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	fmt.Println("interrupted")
	time.Sleep(time.Minute) // what does not look at the context
}

// Whoever looks at the context, or at one that was made from it, learns of a
// signal.
func TestInterruptsHeedSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself there")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func(context.Context) context.Context{
		"done":  func(ctx context.Context) context.Context { _ = ctx.Done(); return ctx },
		"err":   func(ctx context.Context) context.Context { _ = ctx.Err(); return ctx },
		"value": func(ctx context.Context) context.Context { _ = ctx.Value("any"); return ctx },
		"child": func(ctx context.Context) context.Context {
			child, cancel := context.WithCancel(ctx)
			t.Cleanup(cancel)
			return child
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := &interrupts{}
			defer ctx.end()
			looked := look(ctx)
			// Were it not heeded yet, this would end the tests.
			if err := self.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			<-looked.Done()
			if !errors.Is(looked.Err(), context.Canceled) || context.Cause(looked) == nil {
				t.Errorf("after it: %v, because of %v", looked.Err(), context.Cause(looked))
			}
		})
	}
}

// A terminal that is closed ends in order what runs in it, unless that is to outlive
// it.
func TestAClosedTerminalIsHeeded(t *testing.T) {
	if runtime.GOOS == "windows" || signal.Ignored(syscall.SIGHUP) {
		t.Skip("there is no such signal")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	heeds := &interrupts{}
	defer heeds.end()
	looked := heeds.Done()
	// Were it not heeded, this would end the tests.
	if err := self.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-looked

	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	outlives := &interrupts{}
	defer outlives.end()
	if err := outlives.Err(); err != nil || !signal.Ignored(syscall.SIGHUP) {
		t.Errorf("what was to outlive its terminal heeds it: %v", err)
	}
}

// An edit of many shows how far it is, and one that is interrupted changes
// nothing, and says so: how far it was is how much was taken back.
func TestAnInterruptedEditOfMany(t *testing.T) {
	home := t.TempDir()
	var urls strings.Builder
	for i := range 150 {
		fmt.Fprintf(&urls, "https://x%d.example/\n", i)
	}
	for range 2 {
		if code, _, errs := bm(t, home, urls.String(), "add", "--duplicate", "--tag", "many", "--folder", "Many/Below"); code != exitDone {
			t.Fatal(errs)
		}
	}
	_, all, _ := bm(t, home, "", "ls", "--tag", "many", "--limit", "2000", "--json", "id", "--jq", ".[].id")
	ids := strings.Fields(all)
	state := func() (text string) {
		for _, args := range [][]string{{"ls", "--limit", "2000", "--json", "id,url,tags,folder"}, {"ls", "--deleted", "--limit", "2000", "--json", "id"}, {"folder", "ls"}} {
			code, out, errs := bm(t, home, "", args...)
			if code != exitDone {
				t.Fatal(errs)
			}
			text += out
		}
		return text
	}
	for _, test := range []struct {
		before, command, shows string
	}{
		{"", "add --duplicate", "Adding: 100 of 150 bookmarks"},
		{"", "dupes --merge --yes", "Uniting: 100 of 300 bookmarks"},
		{"", "rm --query tag:many --yes", "Deleting: 100 of 300 bookmarks"},
		{"", "mv IDS /", "Moving: 100 of 300 bookmarks"},
		{"", "tag add more IDS", "Changing: 100 of 300 bookmarks"},
		{"", "tag rm many IDS", "Changing: 100 of 300 bookmarks"},
		{"", "tag rm many --all --yes", "Changing: 100 of 300 bookmarks"},
		{"", "tag rename many lots", "Changing: 100 of 300 bookmarks"},
		{"", "tag merge many much lots", "Changing: 100 of 300 bookmarks"},
		{"", "folder rm Many --yes", "Deleting: 100 of 302 folders and bookmarks"},
		{"rm --query tag:many --yes", "restore IDS", "Restoring: 100 of 300 bookmarks"},
		{"folder rm Many --yes", "folder restore Many", "Restoring: 100 of 302 folders and bookmarks"},
		{"folder rm Many --yes", "undo", "Taking back: 100 of 302 changes"},
		{"folder rm Many --yes; undo", "redo", "Doing again: 100 of 302 changes"},
	} {
		t.Run(test.command, func(t *testing.T) {
			run := func(line string) (int, string) {
				code, _, errs := bm(t, home, urls.String(), words(line, ids)...)
				return code, errs
			}
			inForce := 0
			do := func(line string) {
				if code, errs := run(line); code != exitDone {
					t.Fatalf("%s: exit %d: %s", line, code, errs)
				}
				if inForce++; line == "undo" {
					inForce -= 2
				}
			}
			for line := range strings.SplitSeq(test.before, "; ") {
				if line != "" {
					do(line)
				}
			}
			before := state()

			ctx, interrupt := context.WithCancel(t.Context())
			errs := &listener{heard: test.shows, then: interrupt}
			minute := time.Unix(1700000000, 0)
			clock := func() time.Time {
				minute = minute.Add(time.Minute) // each step is one to tell of
				return minute
			}
			env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "BM_DAEMON_AUTOSTART": "false"}
			a := app.New("test", output.Fixed(strings.NewReader(urls.String()), io.Discard, errs, clock), func(key string) string { return env[key] })
			if code := Run(ctx, a, words(test.command, ids)); code != exitInterrupted {
				t.Errorf("exit %d: %s", code, errs.String())
			}
			if _, said, _ := strings.Cut(errs.String(), "\n"); said != "bm: Interrupted. Nothing was changed.\n" {
				t.Errorf("it says:\n%s", errs.String())
			}
			if state() != before {
				t.Error("it changed something")
			}

			if do(test.command); state() == before {
				t.Error("it can't be done after that")
			}
			for inForce > 0 {
				do("undo")
			}
		})
	}
}

// An undo of many is done in steps: one that is interrupted says how many are taken
// back, which stay so, and the next one goes on with the rest.
func TestAnInterruptedUndoSaysHowFarItIs(t *testing.T) {
	home := t.TempDir()
	var urls strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&urls, "https://x%d.example/\n", i)
	}
	for _, command := range []string{"add", "rm --query site:example --yes"} {
		if code, _, errs := bm(t, home, urls.String(), strings.Fields(command)...); code != exitDone {
			t.Fatal(errs)
		}
	}
	left := func() int {
		_, out, _ := bm(t, home, "", "ls", "--count")
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := left(); n != 0 {
		t.Fatalf("%d are left", n)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	errs := &listener{heard: "Taking back: ", then: interrupt}
	minute := time.Unix(1700000000, 0)
	clock := func() time.Time {
		minute = minute.Add(time.Minute)
		return minute
	}
	env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "BM_DAEMON_AUTOSTART": "false"}
	a := app.New("test", output.Fixed(strings.NewReader(""), io.Discard, errs, clock), func(key string) string { return env[key] })
	code, back := Run(ctx, a, []string{"undo"}), left()
	want := fmt.Sprintf("bm: Interrupted. Took back so far: rm --query site:example (%d changes).\n  try: the same command again goes on\n", back)
	if _, said, _ := strings.Cut(errs.String(), "\n"); code != exitInterrupted || back == 0 || said != want {
		t.Errorf("exit %d with %d back:\n%s", code, back, errs.String())
	}
	if code, _, errs := bm(t, home, "", "undo"); code != exitDone || left() != 1500 {
		t.Errorf("exit %d with %d back:\n%s", code, left(), errs)
	}
}

// words are those of a command line, with ids in the place of IDS.
func words(line string, ids []string) []string {
	var args []string
	for word := range strings.FieldsSeq(line) {
		if word == "IDS" {
			args = append(args, ids...)
			continue
		}
		args = append(args, word)
	}
	return args
}

// listener does something once it has heard something.
type listener struct {
	bytes.Buffer

	heard string
	then  func()
}

func (l *listener) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.heard) {
		l.then()
	}
	return l.Buffer.Write(p)
}
