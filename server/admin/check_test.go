package admin_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/server"
	"bm/server/admin"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// furnish fills a workspace with folders in folders, and with bookmarks that
// live and that do not.
func furnish(t *testing.T, p *servertest.Person) {
	t.Helper()
	ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
	var parent string
	for _, name := range []string{"Dev", "Go"} {
		f, err := p.Key.CreateFolder(ctx, p.Workspace.ID, api.FolderInput{Name: api.Some(name), ParentID: api.Some(parent)})
		if err != nil {
			t.Fatal(err)
		}
		parent = f.ID
	}
	for i := range 6 {
		b, err := p.Key.CreateBookmark(ctx, at, api.BookmarkInput{
			URL: api.Some(fmt.Sprintf("https://a.example/%d", i)), Title: api.Some(fmt.Sprintf("Number %d", i)),
			Tags: api.Some([]string{"Tag", fmt.Sprintf("t%d", i)}), FolderID: api.Some(parent),
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 5 {
			if err := p.Key.DeleteBookmark(ctx, at, b.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var errUndo = errors.New("undo the damage")

// Every kind of damage to the rows is found.
func TestCheckFinds(t *testing.T) {
	const one = `id = (SELECT MIN(id) FROM bookmark WHERE deleted_at = 0)`
	damages := []struct {
		text, want string
		only       sqldb.Dialect
	}{
		{text: `UPDATE workspace_head SET digest = '0000000000000001'`, want: "the head says"},
		{text: `UPDATE workspace_head SET live_count = live_count + 1`, want: "the head says"},
		{text: `UPDATE workspace_head SET rev = 1`, want: "beyond the head's 1"},
		{text: `DELETE FROM workspace_head`, want: "has no head"},
		{text: `UPDATE bookmark SET folder_id = 'nowhere' WHERE ` + one, want: "lies in a folder that does not live"},
		{text: `UPDATE folder SET deleted_at = 1 WHERE name = 'Go'`, want: "lies in a folder that does not live"},
		{text: `UPDATE folder SET parent_id = 'nowhere' WHERE name = 'Go'`, want: "lies in one that does not live"},
		{text: `UPDATE folder SET parent_id = id WHERE name = 'Go'`, want: "lies below itself"},
		{text: `DELETE FROM bookmark_tag WHERE tag_seq = (SELECT seq FROM tag WHERE tag_key = 't2')`, want: "not found by its tags"},
		{text: `INSERT INTO bookmark_tag (tag_seq, bookmark_seq, tag) SELECT t.seq, b.seq, 't2' FROM tag t, bookmark b WHERE t.tag_key = 't2' AND b.deleted_at > 0`, want: "is deleted, and still found by its tags"},
		{text: `UPDATE bookmark_tag SET tag = 'other' WHERE tag_seq = (SELECT seq FROM tag WHERE tag_key = 't2')`, want: "not found by its tags"},
		{text: `UPDATE tag SET tag_key = 'other' WHERE tag_key = 't2'`, want: "not found by its tags"},
		{text: `DELETE FROM tag WHERE tag_key = 't2'`, want: "1 bookmarks carry a tag that is none"},
		{text: `INSERT INTO bookmark_tag (tag_seq, bookmark_seq, tag) SELECT seq, 999999, 't2' FROM tag WHERE tag_key = 't2'`, want: "1 bookmarks that it does not have carry its tags"},
		{text: `UPDATE bookmark SET url_key = 'x' WHERE ` + one, want: "not found by its URL"},
		{text: `UPDATE bookmark SET tenant_id = 'x' WHERE ` + one, want: "in no workspace of their organization"},
		{text: `UPDATE membership SET is_owner = FALSE`, want: "has no owner"},
		{text: `UPDATE workspace SET is_default = FALSE`, want: "has no default workspace"},
		{text: `DELETE FROM bookmark_fts WHERE rowid = (SELECT seq FROM bookmark WHERE ` + one + `)`, want: "1 bookmarks are not in the search index", only: sqldb.SQLite},
		{text: `INSERT INTO bookmark_fts (rowid, title) SELECT seq, 'x' FROM bookmark WHERE deleted_at > 0`, want: "deleted bookmarks are in the search index", only: sqldb.SQLite},
		{text: `INSERT INTO bookmark_fts (rowid, title) VALUES (999999, 'x')`, want: "are of no bookmark", only: sqldb.SQLite},
		{text: `UPDATE bookmark SET search = NULL WHERE ` + one, want: "1 bookmarks are not in the search index", only: sqldb.Postgres},
	}
	run := func(t *testing.T, config server.Config) {
		ctx := t.Context()
		furnish(t, servertest.Join(t, servertest.Start(t, config), "ada"))
		db := sqldbtest.Open(t, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL})
		if findings, err := admin.Check(ctx, db, time.Now()); err != nil || len(findings) > 0 {
			t.Fatalf("nothing is wrong yet: %v, %v", findings, err)
		}
		for _, damage := range damages {
			if damage.only != "" && damage.only != db.Dialect() {
				continue
			}
			var findings []admin.Finding
			err := db.Write(ctx, func(tx *sqldb.Tx) (err error) {
				n, err := tx.Exec(ctx, damage.text)
				if err != nil || n == 0 {
					return fmt.Errorf("%d rows were damaged: %w", n, err)
				}
				if findings, err = admin.CheckRows(ctx, tx); err != nil {
					return err
				}
				return errUndo
			})
			if !errors.Is(err, errUndo) || !strings.Contains(fmt.Sprint(findings), damage.want) {
				t.Errorf("%s: found %v, %v, want %q", damage.text, findings, err, damage.want)
			}
		}
		if findings, err := admin.Check(ctx, db, time.Now()); err != nil || len(findings) > 0 {
			t.Errorf("all damage was undone, and yet: %v, %v", findings, err)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, server.Config{Dir: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, server.Config{DatabaseURL: sqldbtest.Postgres(t)})
	})
}

// A page of the file that was written over is found too.
func TestCheckFindsDamagedFile(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := sqldbtest.Open(t, sqldb.Config{Dir: dir})
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		for i := range 500 {
			_, err := tx.Exec(ctx, `INSERT INTO server_secret (name, value) VALUES ($1, $2)`, fmt.Sprintf("marker-%03d", i), strings.Repeat("x", 100))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), sqldb.FileName)
	if err := db.CopyTo(ctx, copied); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	at := bytes.Index(raw, []byte("marker-250"))
	at -= at % page
	for i := range 64 {
		raw[at+i] ^= 0x5a
	}
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged, err := sqldb.Open(ctx, sqldb.Config{Dir: filepath.Dir(copied)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := damaged.Close(); err != nil {
			t.Error(err)
		}
	})
	if findings, err := admin.Check(ctx, damaged, time.Now()); err == nil && len(findings) == 0 {
		t.Error("the damage was not found")
	}
}

// So is a row that refers to one that there is not, which no statement of the
// server's could have left.
func TestCheckFindsLostReferences(t *testing.T) {
	ctx := t.Context()
	db := sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()})
	heedless, err := sql.Open("sqlite", db.Path())
	if err != nil {
		t.Fatal(err)
	}
	_, err = heedless.ExecContext(ctx, `INSERT INTO tag (workspace_id, tag_key) VALUES ('gone', 'x'), ('gone', 'y')`)
	if err := errors.Join(err, heedless.Close()); err != nil {
		t.Fatal(err)
	}
	findings, err := admin.Check(ctx, db, time.Now())
	if want := (admin.Finding{Where: "tag", What: "2 rows refer to what does not exist"}); err != nil || len(findings) != 1 || findings[0] != want {
		t.Errorf("found %v, %v, want %v", findings, err, want)
	}
}
