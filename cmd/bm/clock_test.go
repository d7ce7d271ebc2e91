package main_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The clock is set back a year, on the server and on both machines: what they
// have kept comes from the future then. Nothing decides by it: sign-ins hold,
// edits are kept and sent, and the trash can be emptied by nobody but its time.
func TestClockSetBackAYear(t *testing.T) {
	w := newWorld(t)
	a, b := w.machine("a"), w.machine("b")
	a.register()
	b.login()
	a.run("import", w.generated(300))
	kept := a.run("add", "https://kept.example", "--json", "id", "--jq", ".id")
	trashed := a.run("add", "https://trashed.example", "--json", "id", "--jq", ".id")
	a.run("rm", trashed, "--yes")
	a.run("sync")
	b.run("sync")
	b.run("edit", kept, "--description", "not sent yet")
	token := a.run("auth", "token")

	w.server.kill()
	moved := 0
	for _, dir := range []string{w.data, filepath.Join(w.dir, "a"), filepath.Join(w.dir, "b")} {
		moved += fromTheFuture(t, dir)
	}
	if moved < 1000 {
		t.Fatalf("%d times were moved: the columns are called otherwise", moved)
	}
	w.serve()

	if got := a.run("api", "GET", "/api/v1/me", "--jq", ".email"); !strings.Contains(got, worldEmail) {
		t.Errorf("the key of before: %s", got)
	}
	if a.run("auth", "token") != token {
		t.Error("the machine has another key")
	}
	b.run("add", "https://new.example")
	b.run("undo")
	b.run("redo")
	for _, m := range []*machine{b, a, b} {
		m.run("sync")
	}
	if a.contents() != b.contents() {
		t.Errorf("a and b differ:\n%s\n%s", a.contents(), b.contents())
	}
	if n := a.count(); n != 302 {
		t.Errorf("%d bookmarks, want 302", n)
	}
	if got := a.run("get", kept, "--json", "description", "--jq", ".description"); got != "not sent yet" {
		t.Errorf("the edit became %q", got)
	}
	w.server.kill() // purging needs no server, and a start with such a clock is tried again
	if output, err := exec.Command(w.program, "serve", "admin", "purge", "--data-dir", w.data).CombinedOutput(); err != nil {
		t.Fatalf("purge: %v\n%s", err, output)
	}
	w.serve()
	a.run("restore", trashed)
	a.run("sync")
	b.run("sync")
	if n := b.count(); n != 303 {
		t.Errorf("%d bookmarks with the one from the trash, want 303", n)
	}
	c := w.machine("c")
	c.login() // a new session, beside those from the future
	c.run("sync")
	if c.count() != 303 {
		t.Errorf("a new machine has %d", c.count())
	}
	w.check()
}

// fromTheFuture moves every time in the databases below a folder a year ahead,
// and says how many there were.
func fromTheFuture(t *testing.T, dir string) (moved int) {
	t.Helper()
	const year = int64(365 * 24 * time.Hour / time.Microsecond)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".db" {
			return err
		}
		db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		rows, err := db.QueryContext(t.Context(), `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.sql LIKE 'CREATE TABLE%' AND (c.name LIKE '%\_at' ESCAPE '\' OR c.name = 'at')`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		var updates []string
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				return err
			}
			updates = append(updates, fmt.Sprintf(`UPDATE %q SET %q = %[2]q + %d WHERE %[2]q > 1000000000000000`, table, column, year))
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for _, update := range updates {
			result, err := db.ExecContext(t.Context(), update)
			if err != nil {
				return fmt.Errorf("%s: %w", update, err)
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			moved += int(n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return moved
}
