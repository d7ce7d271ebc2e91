package admin_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bm/server"
	"bm/server/admin"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// SQLite takes the square of the values of a statement that have names.
func TestACopyNamesFewValuesToSQLite(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := servertest.Start(t, server.Config{Dir: dir})
	p := servertest.Join(t, s, "ada")
	var file bytes.Buffer
	file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	for i := range 300 {
		fmt.Fprintf(&file, "<DT><A HREF=\"https://example.com/%d\" TAGS=\"one,two,n%d\">n%d</A>\n", i, i, i)
	}
	file.WriteString("</DL>")
	if _, err := p.Key.Import(ctx, client.InWorkspace(p.Workspace.ID), "x.html", &file, ""); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := admin.Backup(ctx, sqldbtest.Open(t, sqldb.Config{Dir: dir}), backup); err != nil {
		t.Fatal(err)
	}
	to := sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()})
	bookmarks := 0
	to.Watch(func(text string) {
		if strings.HasPrefix(text, "INSERT INTO bookmark (") {
			bookmarks++
		}
		if n := strings.Count(text, "$"); n > 100 {
			t.Errorf("%d named values in %.60s…", n, text)
		}
	})
	if err := admin.RestoreInto(ctx, to, backup, rand.Text); err != nil {
		t.Fatal(err)
	}
	if bookmarks != 2 {
		t.Errorf("%d statements copied 300 bookmarks", bookmarks)
	}
}

// What servers that begin at one backup give out is told apart: an edit that the one
// was lost with is not taken for one of the other's.
func TestEachRestoreNumbersChangesItsOwnWay(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	servertest.Join(t, servertest.Start(t, server.Config{Dir: dir}), "ada")
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := admin.Backup(ctx, sqldbtest.Open(t, sqldb.Config{Dir: dir}), backup); err != nil {
		t.Fatal(err)
	}
	revOf := func(db *sqldb.DB) (rev int64) {
		t.Helper()
		err := db.Read(ctx, func(tx *sqldb.Tx) error { return tx.Row(ctx, `SELECT rev FROM workspace_head`, nil, &rev) })
		if err != nil {
			t.Fatal(err)
		}
		return rev
	}
	revs := []int64{revOf(sqldbtest.Open(t, sqldb.Config{Dir: dir}))}
	for range 3 {
		to := sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()})
		if err := admin.RestoreInto(ctx, to, backup, rand.Text); err != nil {
			t.Fatal(err)
		}
		revs = append(revs, revOf(to))
	}
	slices.Sort(revs)
	for i, rev := range revs[1:] {
		if rev-revs[i] < 1<<20 || rev > 1<<45 {
			t.Errorf("the epochs begin at %v", revs)
		}
	}
}
