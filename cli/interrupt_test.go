package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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

// An edit of many that is interrupted changes nothing, and says so: how far it
// was, which it shows, is how much was taken back.
func TestAnInterruptedEditOfMany(t *testing.T) {
	home := t.TempDir()
	var urls strings.Builder
	for i := range 600 {
		fmt.Fprintf(&urls, "https://x%d.example/\n", i)
	}
	for range 2 {
		if code, _, errs := bm(t, home, urls.String(), "add", "--duplicate", "--tag", "many"); code != exitDone {
			t.Fatal(errs)
		}
	}
	_, ids, _ := bm(t, home, "", "ls", "--tag", "many", "--limit", "2000", "--json", "id", "--jq", ".[].id")
	for _, line := range []string{"dupes --merge --yes", "rm --query tag:many --yes", "restore " + strings.Join(strings.Fields(ids), " ")} {
		args := strings.Fields(line)
		if args[0] == "restore" {
			bm(t, home, "", "rm", "--query", "tag:many", "--yes")
		}
		_, before, _ := bm(t, home, "", "ls", "--count")
		ctx, interrupt := context.WithCancel(t.Context())
		looked := 0
		clock := func() time.Time {
			if looked++; looked == 2 { // it has begun, and tells of its first step
				interrupt()
			}
			return time.Unix(1700000000, 0)
		}
		var errs bytes.Buffer
		env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data"}
		a := app.New("test", output.Fixed(strings.NewReader(""), &errs, &errs, clock), func(key string) string { return env[key] })
		if code := Run(ctx, a, args); code != exitInterrupted || errs.String() != "bm: Interrupted. Nothing was changed.\n" {
			t.Errorf("%s: exit %d: %s", args[0], code, errs.String())
		}
		if _, after, _ := bm(t, home, "", "ls", "--count"); after != before {
			t.Errorf("%s: there were %s, and are %s", args[0], before, after)
		}
	}
}
