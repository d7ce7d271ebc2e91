package places_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bm/localstore/places"
	"bm/localstore/places/placestest"
)

// While the browser runs nothing of its profile changes by being read, and what
// it has only in its log is read.
func TestAProfileInUseIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "places.sqlite")
	running, err := placestest.Start(t.Context(), path, profile(false))
	if err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	if size := before["places.sqlite-wal"].Size(); size < 1000 {
		t.Fatalf("the log has %d bytes", size)
	}
	content := read(t, dir)
	if got := outline(t, backup(t, path)); len(got) < len(want) {
		t.Errorf("got\n%s", got)
	}
	after := listing(t, dir)
	if len(after) != len(before) {
		t.Errorf("%v became %v", before, after)
	}
	for name, was := range before {
		is := after[name]
		if is == nil || is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime()) || is.Mode() != was.Mode() {
			t.Errorf("%s was %v and is %v", name, was, is)
		}
	}
	if !bytes.Equal(read(t, dir), content) {
		t.Error("what is in the files changed")
	}
	if err := running.End(); err != nil {
		t.Error(err)
	}
}

func listing(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]fs.FileInfo{}
	for _, entry := range entries {
		if files[entry.Name()], err = entry.Info(); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// read is all that the files of a folder hold.
func read(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	for _, name := range slices.Sorted(maps.Keys(listing(t, dir))) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, content...)
	}
	return all
}

// A browser may bring its log into the file, and begin it anew, between any two
// reads of a copy. Whatever it does, what is copied is of one moment: each of
// its transactions gives every bookmark the same title.
func TestACopyIsOfOneMoment(t *testing.T) {
	for name, test := range map[string]struct {
		does []string
		want string // of a copy during which it is done once
	}{
		"appended to":  {[]string{retitle}, "2"},
		"brought over": {[]string{retitle, `PRAGMA wal_checkpoint(PASSIVE)`}, "2"},
		"begun anew":   {[]string{retitle, `PRAGMA wal_checkpoint(RESTART)`, elsewhere}, "2"},
		"emptied":      {[]string{retitle, `PRAGMA wal_checkpoint(TRUNCATE)`}, "2"},
		"given up":     {[]string{`PRAGMA journal_mode = DELETE`, retitle}, "2"},
		"taken up":     {[]string{`PRAGMA journal_mode = DELETE`, retitle, `PRAGMA journal_mode = WAL`, elsewhere}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "places.sqlite")
			running, err := placestest.Start(t.Context(), path, placestest.Profile{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(running.Add(t.Context(), bookmarks, "1"), running.Exec(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`), running.Exec(t.Context(), elsewhere)); err != nil {
				t.Fatal(err)
			}
			reads := 0
			ctx := meddling{t.Context(), func() {
				if reads++; reads != 8 {
					return
				}
				for _, statement := range test.does {
					if err := running.Exec(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
			}}
			copied, err := places.Copy(ctx, path, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if reads < 8 {
				t.Fatalf("it was copied in %d reads", reads)
			}
			var b bytes.Buffer
			if err := places.Backup(t.Context(), copied, &b, nil); err != nil {
				t.Fatal(err)
			}
			if got := oneTitle(t, b.Bytes()); got != test.want {
				t.Errorf("the moment %s, want %s", got, test.want)
			}
			if err := running.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One that never leaves time for a copy is said, rather than read wrong.
func TestADatabaseThatIsRewrittenAllTheTimeIsSaidToBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places.sqlite")
	running, err := placestest.Start(t.Context(), path, placestest.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := meddling{t.Context(), func() {
		for _, statement := range []string{`PRAGMA wal_checkpoint(RESTART)`, `UPDATE moz_bookmarks SET position = position`} {
			if err := running.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}}
	if _, err := places.Copy(ctx, path, t.TempDir()); !errors.Is(err, places.ErrBusy) {
		t.Error(err)
	}
	if err := running.End(); err != nil {
		t.Error(err)
	}
}

const (
	bookmarks = 3000
	retitle   = `UPDATE moz_bookmarks SET title = CAST(title + 1 AS TEXT) WHERE type = 1`
	elsewhere = `INSERT INTO moz_anno_attributes(name) SELECT 'note' || COUNT(*) FROM moz_anno_attributes`
)

// meddling does something whenever a copy looks whether it shall go on.
type meddling struct {
	context.Context
	meddle func()
}

func (m meddling) Err() error {
	m.meddle()
	return m.Context.Err()
}

func oneTitle(t *testing.T, backup []byte) string {
	t.Helper()
	titles := map[string]int{}
	for _, piece := range bytes.Split(backup, []byte(`"title":"`))[1:] {
		title, rest, _ := bytes.Cut(piece, []byte(`"`))
		if bytes.Contains(rest, []byte(`"typeCode":1,`)) {
			titles[string(title)]++
		}
	}
	if len(titles) != 1 {
		t.Fatalf("bookmarks of several moments: %v", titles)
	}
	for title, n := range titles {
		if n != bookmarks {
			t.Fatalf("%d bookmarks, want %d", n, bookmarks)
		}
		return title
	}
	return ""
}

// The journal of a transaction that was cut off goes along, so that it is taken
// back in the copy.
func TestACutOffTransactionIsTakenBack(t *testing.T) {
	dir, cut := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "places.sqlite")
	running, err := placestest.Start(t.Context(), path, placestest.Profile{Menu: []placestest.Node{{Title: "before", URL: "https://a.example/"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`PRAGMA journal_mode = DELETE`, `PRAGMA cache_size = 1`, `PRAGMA cache_spill = 1`, `BEGIN`,
		`UPDATE moz_bookmarks SET title = 'half'`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
			INSERT INTO moz_bookmarks(type, parent, position, title) SELECT 2, 2, i, 'half' FROM n`,
	} {
		if err := running.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := places.Copy(t.Context(), path, cut); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(running.Exec(t.Context(), "ROLLBACK"), running.End()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(cut, "places.sqlite-journal")); err != nil || info.Size() == 0 {
		t.Fatalf("there is no journal: %v, %v", info, err)
	}
	if got := outline(t, backup(t, filepath.Join(cut, "places.sqlite"))); got != "before <https://a.example/>\n" {
		t.Errorf("got\n%.500s", got)
	}
}
