package main_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/daemon/control"
)

// A newer bm brings the local copy to its schema once the older one's daemon has
// left, and its own goes on in that one's place.
func TestALocalCopyIsMigratedAlone(t *testing.T) {
	w := newWorld(t)
	older, newer := buildVersion(t, "1.0.0"), buildVersion(t, "1.1.0")
	a := w.machine("a")
	w.program = older
	a.register()
	a.run("add", "https://before.example")
	a.daemon()
	first := a.daemonStatus().PID
	var version int
	schema := func(change string) {
		t.Helper()
		a.copied(func(db *sql.DB) error {
			_, err := db.Exec(change)
			return errors.Join(err, db.QueryRow(`PRAGMA user_version`).Scan(&version))
		})
	}
	schema("")
	latest := version
	schema(`DROP INDEX journal_undone; PRAGMA user_version = 2`)

	w.program = newer
	if said := a.run("ls", "--json", "url", "--jq", ".[].url"); said != "https://before.example" {
		t.Errorf("it lists %q", said)
	}
	if schema(""); version != latest {
		t.Errorf("its schema is %d, not %d", version, latest)
	}
	until(t, "the newer daemon", func() bool {
		reply, err := a.control().Ask(t.Context(), control.Request{Command: control.Status})
		return err == nil && reply.Version == "1.1.0" && reply.PID != first
	})
	a.run("add", "https://after.example")
	until(t, "what the newer one sends", func() bool {
		return a.run("sync", "status", "--json", "unsent", "--jq", ".[].unsent") == "0"
	})

	// What the first command asks of the daemon, the new one does.
	w.program = older
	a.run("daemon", "restart")
	schema(`DROP INDEX journal_undone; PRAGMA user_version = 2`)
	w.program = newer
	a.run("sync", "--wait")

	// Of several at once one does it, and no other waits for the daemon that it
	// then starts.
	schema(`DROP INDEX journal_undone; PRAGMA user_version = 2`)
	var crowd []*process
	for range 8 {
		crowd = append(crowd, w.start(a.env, "ls"))
	}
	for _, p := range crowd {
		if err := <-p.done; err != nil {
			t.Errorf("%v: %s", err, p.text())
		}
		p.done <- nil
	}
	if schema(""); version != latest {
		t.Errorf("its schema is %d, not %d", version, latest)
	}
	until(t, "the daemon after several", func() bool { _, err := a.try("", "daemon", "status"); return err == nil })

	// Whoever else syncs the profile is waited for. Who gives that up leaves
	// things as they were.
	schema(`DROP INDEX journal_undone; PRAGMA user_version = 2`)
	taking := flock.New(filepath.Join(filepath.Dir(a.replica()[0]), "sync.lock"))
	taken := make(chan error, 1)
	go func() {
		_, err := taking.TryLockContext(t.Context(), time.Millisecond)
		taken <- err
	}()
	waiting := w.start(a.env, "ls")
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if err := waiting.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting.done; err == nil {
		t.Error("it did not wait")
	}
	waiting.done <- nil
	if err := taking.Unlock(); err != nil {
		t.Fatal(err)
	}
	until(t, "the daemon again", func() bool { _, err := a.try("", "daemon", "status"); return err == nil })
	a.run("ls")
	a.run("daemon", "stop")
	schema(`DROP INDEX journal_undone; PRAGMA user_version = 2`)
	busy := flock.New(filepath.Join(filepath.Dir(a.replica()[0]), "sync.lock"))
	if taken, err := busy.TryLock(); !taken || err != nil {
		t.Fatal(taken, err)
	}
	listing := w.start(a.env, "ls")
	time.Sleep(300 * time.Millisecond)
	if schema(""); version != 2 || len(listing.done) > 0 {
		t.Errorf("while another bm syncs it the schema becomes %d", version)
	}
	if err := busy.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-listing.done; err != nil {
		t.Errorf("%v: %s", err, listing.text())
	}
	listing.done <- nil
	if schema(""); version != latest {
		t.Errorf("its schema is %d, not %d", version, latest)
	}
}
