package service

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/app"
	"bm/cli/output"
	"bm/daemon"
)

// A daemon stops listening before it has finished what it does; it has stopped
// when its lock is free.
func TestStopWaitsForTheLock(t *testing.T) {
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
