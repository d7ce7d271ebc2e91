package control

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// A daemon that is there and says nothing is no reason to wait for ever.
func TestSilentDaemon(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nobody accepts: as of a suspended process
	c := &Client{Socket: socket, Version: "test", soon: 50 * time.Millisecond}
	for _, command := range []Command{Status, Sync} {
		began := time.Now()
		_, err := c.Ask(t.Context(), Request{Command: command})
		if took := time.Since(began); !errors.Is(err, ErrSilent) || took > soon {
			t.Errorf("%s: %v after %v", command, err, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Ask(ctx, Request{Command: Status}); errors.Is(err, ErrSilent) {
		t.Error("who gave up is told that the daemon is silent")
	}
}

// A daemon that ends lets go of whoever comes meanwhile, before what they ask was
// sent or behind that: it runs no more.
func TestADaemonThatIsLeaving(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	c := &Client{Socket: socket, Version: "test"}
	for range 500 {
		if _, err := c.Ask(t.Context(), Request{Command: Stop}); !errors.Is(err, ErrNotRunning) {
			t.Fatal(err)
		}
	}
}
