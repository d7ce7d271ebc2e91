package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/daemon/control"
)

// A daemon that holds the lock and does not answer runs all the same: it may be
// letting go of its files.
func TestWhoHasTheLockRuns(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "d.sock")
	other := flock.New(Lock(socket))
	if taken, err := other.TryLock(); !taken || err != nil {
		t.Fatal(taken, err)
	}
	deps := Deps{Version: "1.0.0", Socket: socket, Log: quietLog(), Profiles: func() ([]string, error) { return nil, nil }}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := Run(ctx, deps); !errors.Is(err, ErrRunning) {
		t.Errorf("beside one that has the lock: %v", err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it took the socket's place: %v", err)
	}
	if err := other.Unlock(); err != nil {
		t.Error(err)
	}
}

// Whoever can reach the socket can have the daemon stopped.
func TestTheSocketsFolderIsClosedToOthers(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("this system does not say it so")
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755)); err != nil { //nolint:gosec // which is what is mended
		t.Fatal(err)
	}
	launch(t, filepath.Join(dir, "d.sock"), "1.0.0", &fakeMirror{})
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
}

// slowToClose takes its time to let go of its files.
type slowToClose struct{ *fakeMirror }

func (m slowToClose) Close() error {
	time.Sleep(100 * time.Millisecond)
	return m.fakeMirror.Close()
}

// A daemon that has ended has let go of all that it had, whoever still talks to it.
func TestTheEndIsTheEnd(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "d.sock")
	m := &fakeMirror{workspaces: []string{"a"}}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(context.WithoutCancel(t.Context()), Deps{
			Version: "1.0.0", Socket: socket, Log: quietLog(),
			Profiles: func() ([]string, error) { return []string{"p"}, nil },
			Open:     func(context.Context, string) (Mirror, error) { return slowToClose{m}, nil },
		})
	}()
	c := &control.Client{Socket: socket, Version: "1.0.0"}
	for len(m.taken()) == 0 {
		time.Sleep(time.Millisecond) // until it is open
	}
	silent, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // nothing is said
	say(t, c, control.Request{Command: control.Stop})
	select {
	case err = <-ended:
	case <-time.After(requestLimit / 2):
		t.Fatal("it waits for a caller that says nothing")
	}
	if err != nil || m.released() != 1 {
		t.Errorf("ended with %v, and let go of its profile %d times", err, m.released())
	}
	lock := flock.New(Lock(socket))
	if taken, err := lock.TryLock(); !taken || err != nil {
		t.Errorf("the lock is free: %v, %v", taken, err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

// Who listens and does not read holds nobody up.
func TestASlowListenerMissesSome(t *testing.T) {
	h := hub{listeners: map[chan control.Event]bool{}}
	events := h.join()
	told := make(chan bool)
	go func() {
		for range 2 * cap(events) {
			h.tell(control.Event{})
		}
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for who does not read")
	}
	h.leave(events)
	if len(h.listeners) > 0 {
		t.Error("who left is told still")
	}
}
