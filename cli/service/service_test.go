package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/app"
	"bm/cli/output"
	"bm/daemon"
)

// closing is an app whose daemon is asked to stop once, answers that, and then goes
// on with what it does until its lock is given back.
func closing(t *testing.T) (*app.App, *flock.Flock) {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home, "BM_CONFIG_DIR": home + "/c", "BM_DATA_DIR": home + "/d"}
	a := app.New("test", output.Fixed(strings.NewReader(""), io.Discard, io.Discard, time.Now), func(key string) string { return env[key] })
	d, err := a.Daemon()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(d.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(daemon.Lock(d.Socket))
	if taken, err := lock.TryLock(); err != nil || !taken {
		t.Fatal(taken, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // it answers, and is gone
		if conn, err := listener.Accept(); err == nil {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			fmt.Fprintln(conn, `{"protocol":1,"version":"test","pid":1}`)
			_ = listener.Close()
			_ = conn.Close()
		}
	}()
	return a, lock
}

// A daemon stops listening before it has finished what it does; it has stopped
// when its lock is free.
func TestStopWaitsForTheLock(t *testing.T) {
	a, lock := closing(t)
	stopped := make(chan error, 1)
	go func() { stopped <- stop(t.Context(), a) }()
	select {
	case err := <-stopped:
		t.Fatalf("it said that the daemon has stopped while its lock was held: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// said is what a command says, while it goes on.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Who starts the daemon while another does so waits, and is told why; unless that is
// nothing to wait for.
func TestOneAtATimeStartsTheDaemon(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir(), "BM_DATA_DIR": t.TempDir()}
	var told said
	a := app.New("test", output.Fixed(strings.NewReader(""), io.Discard, &told, time.Now), func(key string) string { return env[key] })
	first, err := alone(t.Context(), a, true)
	if err != nil || told.String() != "" {
		t.Fatalf("%v, and said %q", err, told.String())
	}
	if _, err := alone(t.Context(), a, false); !errors.Is(err, errBegun) {
		t.Errorf("one that does not wait: %v", err)
	}
	ended := make(chan error)
	for _, interrupted := range []bool{true, false} {
		ctx, interrupt := context.WithCancel(t.Context())
		before := told.String()
		go func() {
			second, err := alone(ctx, a, true)
			if err == nil {
				second()
			}
			ended <- err
		}()
		for told.String() == before {
			time.Sleep(time.Millisecond)
		}
		if interrupted {
			interrupt()
		} else {
			first()
		}
		if err := <-ended; errors.Is(err, context.Canceled) != interrupted || !interrupted && err != nil {
			t.Errorf("one that waits, and is interrupted: %v: %v", interrupted, err)
		}
		interrupt()
	}
	if want := strings.Repeat("Another bm starts the daemon: this one waits for it.\n", 2); told.String() != want {
		t.Errorf("it said %q", told.String())
	}
}

// Who has enough of waiting for the daemon is not told that something failed.
func TestWaitsForTheDaemonThatAreInterrupted(t *testing.T) {
	a, _ := closing(t)
	ctx, interrupt := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- stop(ctx, a) }()
	d, err := a.Daemon()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(d.Socket); errors.Is(err, fs.ErrNotExist) {
			break // it was asked
		}
		time.Sleep(time.Millisecond)
	}
	interrupt()
	_, silence := a.DaemonAnswers(ctx)
	for what, err := range map[string]error{"its end": <-stopped, "its answer": silent(silence, "")} {
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Interrupted {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What a daemon says that ends before it has a log is told by who started it.
func TestADaemonThatEndsAtOnceSaysWhy(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir(), "BM_DATA_DIR": t.TempDir()}
	a := app.New("test", output.Fixed(strings.NewReader(""), io.Discard, io.Discard, time.Now), func(key string) string { return env[key] })
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(c.Folders.Logs(), "daemon.start")
	text := "time=now msg=\"daemon started\"\nbm: Can't open the log: no\x1b[31m room.\n  try: df -h\n"
	if err := errors.Join(os.MkdirAll(c.Folders.Logs(), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Minute)
	said := silent(context.DeadlineExceeded, a.LastWords(began)).Error()
	if !strings.Contains(said, "has ended: Can't open the log: no") || strings.Contains(said, "\x1b") {
		t.Errorf("it says %q", said)
	}
	if why := a.LastWords(time.Now().Add(time.Minute)); why != "" {
		t.Errorf("of one before that: %q", why)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{
		"":                     "",
		"one\n":                "one\n",
		"one\ntwo\nthree\n":    "two\nthree\n",
		"one\ntwo\nunfinished": "two\nunfinished",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := tail(path, 2); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := tail(path+"x", 2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
}
