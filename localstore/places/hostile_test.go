package places_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"bm/localstore/places"
	"bm/localstore/places/placestest"
	"bm/server/api/exchange"
)

// A database from elsewhere may have been made to keep its reader for ever, or to
// fill the disk. What its schema would have worked out is not, and it is refused.
func TestBackupOfAHostileDatabaseEnds(t *testing.T) {
	const (
		// Another table of bookmarks, which holds what the real one did.
		rows    = `type, fk, parent, position, dateAdded, lastModified, guid`
		kept    = `ALTER TABLE moz_bookmarks RENAME TO kept; DROP INDEX moz_bookmarks_parentindex; `
		again   = `; INSERT INTO moz_bookmarks(id, ` + rows + `) SELECT id, ` + rows + ` FROM kept; CREATE INDEX by_parent ON moz_bookmarks (parent)`
		endless = `ALTER TABLE moz_places RENAME TO kept; CREATE VIEW endless AS
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'https://a.example/' AS url FROM n; `
	)
	for name, test := range map[string]struct {
		make string
		want error
	}{
		"a view":          {endless + `CREATE VIEW moz_places AS SELECT * FROM endless`, places.ErrForeign},
		"a virtual table": {endless + `CREATE VIRTUAL TABLE moz_places USING fts5(id, url, content='endless', content_rowid='id')`, places.ErrForeign},
		"folders of one number": {kept + `CREATE TABLE moz_bookmarks (id INTEGER, title TEXT, ` + rows + `)` + again +
			`; INSERT INTO moz_bookmarks(id, type, parent) VALUES (500, 2, 2), (500, 2, 500)`, places.ErrDamaged},
		"titles that are worked out": {kept + `CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, title TEXT AS (hex(zeroblob(1000000))), ` + rows + `)` + again, places.ErrForeign},
		"rows that are worked out":   {kept + `CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, title TEXT, ` + rows + `, CHECK (length(hex(zeroblob(1000000))) = 1))` + again, nil},
		"an index that says folders lie in themselves": {`INSERT INTO moz_bookmarks(id, type, parent, position, title) VALUES (500, 2, 2, 1, 'a'), (501, 2, 500, 0, 'b'), (502, 2, 501, 0, 'c');
			CREATE TABLE lies (parent, position, id, PRIMARY KEY (parent, position, id)) WITHOUT ROWID;
			INSERT INTO lies SELECT parent, position, id FROM moz_bookmarks WHERE id <> 101; INSERT INTO lies VALUES (502, 0, 500);
			PRAGMA writable_schema = ON;
			UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'lies') WHERE name = 'moz_bookmarks_parentindex';
			DELETE FROM sqlite_master WHERE name = 'lies'; PRAGMA writable_schema = RESET`, places.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "places.sqlite")
			running, err := placestest.Start(t.Context(), path, placestest.Profile{Menu: []placestest.Node{{Title: "A", URL: "https://a.example/"}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(running.Exec(t.Context(), `PRAGMA ignore_check_constraints = ON; `+test.make), running.End()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := places.Backup(ctx, path, &disk{room: 1 << 20}, nil); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// Of a text of megabytes no more is read than shows that it is too long.
func TestBackupOfHugeTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places.sqlite")
	running, err := placestest.Start(t.Context(), path, placestest.Profile{Old: true, Menu: []placestest.Node{{Title: "A", URL: "https://a.example/", Description: "d"}}})
	if err != nil {
		t.Fatal(err)
	}
	const huge = `CAST(replace(hex(zeroblob(5000000)), '0', 'x') AS TEXT)`
	if err := errors.Join(running.Exec(t.Context(), `UPDATE moz_bookmarks SET title = `+huge+` WHERE type = 1; UPDATE moz_places SET url = `+huge+
		`; UPDATE moz_items_annos SET content = `+huge), running.End()); err != nil {
		t.Fatal(err)
	}
	got := textSizes(t, backup(t, path))
	if len(got) != 1 || got[0] != [3]int{1 << 20, 1 << 20, 1 << 20} {
		t.Errorf("titles, URLs and descriptions of %v", got)
	}
}

// textSizes are how long the title, the URL and the description of each bookmark are.
func textSizes(t *testing.T, backup []byte) (sizes [][3]int) {
	t.Helper()
	reader, err := exchange.NewReader(bytes.NewReader(backup))
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == exchange.Bookmark {
			sizes = append(sizes, [3]int{len(e.Title), len(e.URL), len(e.Description)})
		}
	}
	return sizes
}

// disk is one that is full at some time.
type disk struct{ room int }

func (d *disk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}
