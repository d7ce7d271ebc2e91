package main_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bm/daemon/control"
	"bm/server/api/needtest"
)

const (
	pullRoute = "GET /workspaces/{workspaceId}/changes"
	pushRoute = "POST /workspaces/{workspaceId}/changes"
)

// The main job: an export from a browser is brought along, sent to a server,
// mirrored to a second machine, edited on both without a network, and is the
// same on both afterwards.
func TestTwoMachines(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine("a"), w.machine("b")
	files, _ := filepath.Glob(filepath.Join(needtest.Beside(t, "samples/netscape"), "*.htm"))
	if len(files) == 0 {
		files = []string{w.generated(500)}
	}
	for _, file := range files {
		a.run("import", file, "--folder", strings.TrimSuffix(filepath.Base(file), ".htm"))
	}
	a.register()
	a.run("sync")
	b.login()
	b.run("sync")
	if a.count() == 0 || a.contents() != b.contents() {
		t.Fatalf("a has %d bookmarks, b has %d, and they differ", a.count(), b.count())
	}

	// Without the server, both change things, one of them the same thing.
	w.server.kill()
	a.run("add", "https://from-a.example", "--title", "From A", "--tag", "both")
	b.run("add", "https://from-b.example", "--title", "From B", "--folder", "New/Folder")
	shared := strings.Fields(a.run("ls", "--limit", "1", "--sort", "createdAt", "--json", "id", "--jq", ".[].id"))[0]
	a.run("edit", shared, "--title", "Title of A", "--add-tag", "from-a")
	b.run("edit", shared, "--description", "Description of B", "--add-tag", "from-b")
	if _, err := a.try("", "sync"); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("without a server, a sync ends with %v", err)
	}
	w.serve()
	for _, m := range []*machine{a, b, a, b} {
		m.run("sync")
	}
	if a.contents() != b.contents() {
		t.Errorf("a and b differ:\n%s\n%s", a.contents(), b.contents())
	}
	merged := a.run("get", shared, "--json", "title,description,tags")
	for _, part := range []string{"Title of A", "Description of B", "from-a", "from-b"} {
		if !strings.Contains(merged, part) {
			t.Errorf("both sides' edits make %s, without %q", merged, part)
		}
	}

	// With daemons, an edit is there by itself.
	for _, m := range []*machine{a, b} {
		m.daemon()
	}
	a.run("add", "https://live.example", "--title", "Live")
	until(t, "the edit on the other machine", func() bool { return strings.Contains(b.run("search", "live.example"), "Live") })
	b.run("rm", "https://live.example", "--yes")
	until(t, "the deletion", func() bool { return !strings.Contains(a.run("search", "live.example"), "Live") })
	w.check()
}

// daemon starts the machine's daemon, and ends it with the test.
func (m *machine) daemon() {
	m.w.t.Helper()
	m.run("daemon", "start")
	m.w.t.Cleanup(func() { _, _ = m.try("", "daemon", "stop") })
}

// Whoever is killed in the middle of whatever: the next start carries on, and
// everything is there once.
func TestKilledBetweenMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("it moves thousands of rows")
	}
	const rows = 6000
	w := newWorld(t)
	a, b := w.machine("a"), w.machine("b")
	a.run("import", w.generated(rows))
	a.register()
	b.login()

	for round := range 3 {
		before := w.seen(pushRoute)
		pushing := w.start(a.env, "sync")
		until(t, "a push", func() bool { return w.seen(pushRoute) > before || len(pushing.done) > 0 })
		if round%2 == 0 {
			pushing.kill()
			continue
		}
		w.server.kill()
		if err := <-pushing.done; err == nil {
			t.Error("a sync whose server was killed says that it is done")
		} else {
			pushing.done <- err
		}
		w.serve()
	}
	a.run("sync")
	w.check()

	for round := range 2 {
		before := w.seen(pullRoute)
		pulling := w.start(b.env, "sync")
		until(t, "a page", func() bool { return w.seen(pullRoute) > before || len(pulling.done) > 0 })
		if round == 0 {
			pulling.kill()
			continue
		}
		w.server.kill()
		pulling.done <- <-pulling.done
		w.serve()
	}
	b.run("sync")
	if n := b.count(); n != rows || a.count() != rows {
		t.Errorf("a has %d bookmarks and b %d of %d", a.count(), n, rows)
	}
	if a.contents() != b.contents() {
		t.Error("a and b differ")
	}

	// The daemon is killed with edits in its hands.
	b.daemon()
	a.daemon()
	for i := range 20 {
		a.run("add", fmt.Sprintf("https://daemon.example/%d", i))
		if i == 10 {
			a.killDaemon()
			a.daemon()
		}
	}
	until(t, "every edit", func() bool { return b.count() == rows+20 })
	w.check()
}

// killDaemon ends the machine's daemon as kill -9 does.
func (m *machine) killDaemon() {
	m.w.t.Helper()
	process, err := os.FindProcess(m.daemonStatus().PID)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		m.w.t.Fatal(err)
	}
	until(m.w.t, "the daemon's end", func() bool {
		_, err := m.control().Ask(m.w.t.Context(), control.Request{Command: control.Status})
		return errors.Is(err, control.ErrNotRunning)
	})
}

// replica are the files of the machine's local copy, while its daemon runs.
func (m *machine) replica() []string {
	file := filepath.Join(m.w.dir, m.name, "d", "profiles", "default", "replica.db")
	return []string{file, file + "-wal"}
}

// daemonStatus is what the machine's daemon says of itself.
func (m *machine) daemonStatus() control.Reply {
	m.w.t.Helper()
	reply, err := m.control().Ask(m.w.t.Context(), control.Request{Command: control.Status})
	if err != nil {
		m.w.t.Fatal(err)
	}
	return reply
}

func (m *machine) control() *control.Client {
	return &control.Client{Socket: filepath.Join(m.w.dir, m.name, "d", "run", "daemon.sock")}
}

// copied runs something on the file of the machine's local copy.
func (m *machine) copied(do func(*sql.DB) error) {
	m.w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+m.replica()[0]+"?_pragma=busy_timeout(10000)")
	if err != nil {
		m.w.t.Fatal(err)
	}
	if err := errors.Join(do(db), db.Close()); err != nil {
		m.w.t.Fatal(err)
	}
}

// A local copy that is not what the server has, for whatever reason, is mended by
// the next round, and that is told: somewhere is a defect.
func TestACopyThatDiffersIsMendedAndTold(t *testing.T) {
	w := newWorld(t)
	a := w.machine("a")
	a.register()
	a.run("add", "https://one.example", "--title", "One")
	a.run("add", "https://two.example", "--title", "Two")
	a.run("sync")
	a.copied(func(db *sql.DB) error {
		_, err := db.Exec(`UPDATE bookmark SET title = 'not so', rev = rev - 1 WHERE title = 'Two'; UPDATE replica SET digest = digest + 1`)
		return err
	})
	const told = "the copy was not what the server has, and nothing says why; a full compare of 2 rows mended it: 0 were here alone, 0 there alone, 1 differed"
	sync := w.start(a.env, "sync")
	if err := <-sync.done; err != nil || !strings.Contains(sync.text(), "warning: ") || !strings.Contains(sync.text(), ": "+told+".\n") {
		t.Errorf("%v: %s", err, sync.text())
	}
	sync.done <- nil
	if titles := a.run("ls", "--sort", "title", "--json", "title", "--jq", ".[].title"); !strings.Contains(titles, "Two") {
		t.Errorf("there are %q", titles)
	}
	if noted := a.run("sync", "status", "--json", "notes", "--jq", ".[].notes[].message"); noted != told {
		t.Errorf("noted: %q", noted)
	}
	w.check()
}
