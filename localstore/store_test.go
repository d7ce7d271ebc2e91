package localstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// clock is a clock that each look moves by a second.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

func openAt(t testing.TB, path string) *localstore.Store {
	t.Helper()
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s, err := localstore.Open(t.Context(), localstore.Options{
		Path: path, Now: c.now, IDs: api.NewIDs(c.now, rand.Reader),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func open(t testing.TB) (*localstore.Store, int64) {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "bm", "replica.db"))
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, r.N
}

// edit runs one command that must not fail.
func edit(t testing.TB, s *localstore.Store, replica int64, fn func(ed *localstore.Editor) error) {
	t.Helper()
	if err := s.Edit(t.Context(), replica, "test", fn); err != nil {
		t.Fatal(err)
	}
}

func bookmark(url, title string, tags ...string) api.BookmarkInput {
	in := api.BookmarkInput{URL: api.Some(url), Title: api.Some(title)}
	if tags != nil {
		in.Tags = api.Some(tags)
	}
	return in
}

func add(t testing.TB, s *localstore.Store, replica int64, in api.BookmarkInput) localstore.Bookmark {
	t.Helper()
	var b localstore.Bookmark
	edit(t, s, replica, func(ed *localstore.Editor) (err error) {
		b, err = ed.AddBookmark(in)
		return err
	})
	return b
}

func titles(bookmarks []localstore.Bookmark) []string {
	all := make([]string, len(bookmarks))
	for i := range bookmarks {
		all[i] = bookmarks[i].Title
	}
	return all
}

func list(t testing.TB, s *localstore.Store, q localstore.List) []string {
	t.Helper()
	page, err := s.Bookmarks(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return titles(page.Bookmarks)
}

func wantTitles(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestOpenMakesAPrivateFileAndKeepsWhatIsInIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "bm", "replica.db")
	s := openAt(t, path)
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, r.N, bookmark("https://go.dev/", "Go"))
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	again := openAt(t, path)
	same, err := again.Local(t.Context())
	if err != nil || same.N != r.N {
		t.Fatalf("local replica %v, %v; want the same as before", same, err)
	}
	wantTitles(t, "after opening again", list(t, again, localstore.List{Replica: r.N}), "Go")
}

func TestReadOnlyRefusesEdits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s := openAt(t, path)
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reading, err := localstore.Open(t.Context(), localstore.Options{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reading.Close() }()
	err = reading.Edit(context.Background(), r.N, "test", func(*localstore.Editor) error { return nil })
	if !errors.Is(err, localstore.ErrReadOnly) {
		t.Errorf("edit of a read-only store: %v", err)
	}
	if _, err := localstore.Open(t.Context(), localstore.Options{Path: path + ".none", ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening a file that is not there for reading: %v", err)
	}
}

// A file of an older build is brought up to date, with what is in it, once whoever
// else has it open was told.
func TestAnOlderFileIsBroughtUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	var told []string
	var refusal error
	opts := options(path)
	opts.Migrating = func(_ context.Context, due func() bool) (func() error, error) {
		if told = append(told, "before"); !due() {
			t.Error("it is not due")
		}
		return func() error { told = append(told, "after"); return nil }, refusal
	}
	reopen := func() (*localstore.Store, error) {
		told = nil
		return localstore.Open(t.Context(), opts)
	}
	s, err := reopen()
	if err != nil || len(told) > 0 {
		t.Fatalf("a new file: %v, told %q", err, told)
	}
	local, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, local.N, bookmark("https://kept.example/", "kept"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // the test is over
	_, err = db.Exec(`DROP INDEX folder_trash; DROP INDEX bookmark_trash; DROP INDEX journal_undone; PRAGMA user_version = 1`)
	if err != nil {
		t.Fatal(err)
	}
	stands := func() (version, indexes int) {
		t.Helper()
		err := errors.Join(
			db.QueryRow(`PRAGMA user_version`).Scan(&version),
			db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name IN ('folder_trash', 'bookmark_trash', 'journal_undone')`).Scan(&indexes))
		if err != nil {
			t.Fatal(err)
		}
		return version, indexes
	}

	refusal = errors.New("somebody is still at it")
	if _, err := reopen(); !errors.Is(err, refusal) {
		t.Errorf("opened although nobody may: %v", err)
	}
	if version, indexes := stands(); version != 1 || indexes != 0 {
		t.Errorf("it was brought to schema %d all the same, with %d indexes", version, indexes)
	}
	refusal = nil
	opts.ReadOnly = true
	if s, err = reopen(); err != nil || len(told) > 0 || s.Close() != nil {
		t.Errorf("for reading: %v, told %q", err, told)
	}
	opts.ReadOnly = false
	if s, err = reopen(); err != nil || !slices.Equal(told, []string{"before", "after"}) {
		t.Fatalf("%v, told %q", err, told)
	}
	wantTitles(t, "kept", list(t, s, localstore.List{Replica: local.N}), "kept")
	if version, indexes := stands(); version != s.SchemaVersion() || indexes != 3 {
		t.Errorf("schema %d, %d of 3 indexes", version, indexes)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s, err = reopen(); err != nil || len(told) > 0 || s.Close() != nil {
		t.Errorf("once it is up to date: %v, told %q", err, told)
	}
}
