package localstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"bm/localstore"
)

func openByTurns(t *testing.T, path string, byTurns bool) *localstore.Store {
	t.Helper()
	opts := options(path)
	opts.OneAtATime = byTurns
	s, err := localstore.Open(t.Context(), opts)
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

func byTurns(t *testing.T) (*localstore.Store, *localstore.Replica) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replica.db")
	if err := openAt(t, path).Close(); err != nil { // made by another command
		t.Fatal(err)
	}
	s := openByTurns(t, path, true)
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// A command that does one thing after another needs one connection, which is at
// each of them what a connection of its own would be.
func TestOneConnectionByTurns(t *testing.T) {
	s, r := byTurns(t)
	apart := openAt(t, filepath.Join(t.TempDir(), "apart.db"))
	wantWriting, wantReading := localstore.Settings(t, apart)
	wantReading[2] = 1 // nothing is written to hold to it
	for i := range 3 {
		add(t, s, r.N, bookmark(fmt.Sprintf("https://%d.example/", i), "x"))
		if n := len(list(t, s, localstore.List{Replica: r.N})); n != i+1 {
			t.Errorf("%d are listed after %d edits", n, i+1)
		}
		writing, reading := localstore.Settings(t, s)
		wantReading[0] = writing[0]
		if writing != wantWriting || reading != wantReading {
			t.Errorf("set up as %d and %d, want %d and %d", writing, reading, wantWriting, wantReading)
		}
		if err := localstore.WriteWhileReading(t, s); !errors.Is(err, localstore.ErrReadOnly) {
			t.Errorf("written while reading: %v", err)
		}
		if n := localstore.Connections(s); n != 1 {
			t.Errorf("%d connections", n)
		}
	}
}

// What is in use is lent to nobody: an edit beside what is read neither waits for
// it nor changes it.
func TestAnEditWhileReadingByTurns(t *testing.T) {
	s, r := byTurns(t)
	err := s.Moment(t.Context(), func(before *localstore.Store) error {
		wantTitles(t, "before", list(t, before, localstore.List{Replica: r.N}))
		add(t, s, r.N, bookmark("https://a.example/", "a"))
		wantTitles(t, "then", list(t, before, localstore.List{Replica: r.N}))
		wantTitles(t, "now", list(t, s, localstore.List{Replica: r.N}), "a")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken off")
	err = s.Edit(t.Context(), r.N, "test", func(*localstore.Editor) error {
		wantTitles(t, "beside an edit", list(t, s, localstore.List{Replica: r.N}), "a")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	add(t, s, r.N, bookmark("https://b.example/", "b"))
	wantTitles(t, "at the end", list(t, s, localstore.List{Replica: r.N}), "b", "a")
}

// What is read within an edit is read beside it.
func TestReadingWithinAnEditByTurns(t *testing.T) {
	s, r := byTurns(t)
	edit(t, s, r.N, func(ed *localstore.Editor) error {
		if _, err := ed.AddBookmark(bookmark("https://a.example/", "a")); err != nil {
			return err
		}
		wantTitles(t, "within the edit", list(t, s, localstore.List{Replica: r.N}))
		return nil
	})
	wantTitles(t, "after it", list(t, s, localstore.List{Replica: r.N}), "a")
}

func TestManyByTurns(t *testing.T) {
	s, r := byTurns(t)
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%5 == w%5 {
					cancel() // somebody loses patience
				}
				_, err := s.Bookmarks(ctx, localstore.List{Replica: r.N, Limit: 3})
				if err == nil {
					err = s.Edit(ctx, r.N, "add", func(ed *localstore.Editor) error {
						_, err := ed.AddBookmark(bookmark(fmt.Sprintf("https://example.com/%d/%d", w, i), "x"))
						return err
					})
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if n := len(list(t, s, localstore.List{Replica: r.N})); n != 6*16 {
		t.Errorf("%d are there, want %d", n, 6*16)
	}
}

// What can be fetched again waits for no disk, and an edit behind it does.
func TestAnEditIsDurableWhateverWasWrittenBefore(t *testing.T) {
	for _, byTurns := range []bool{false, true} {
		s := openByTurns(t, filepath.Join(t.TempDir(), "replica.db"), byTurns)
		r := mirror(t, s, "w")
		for range 3 {
			syncing(t, s, r, func(*localstore.SyncTx) error { return nil })
			if n := localstore.Refetchable(t, s); n != 1 {
				t.Errorf("by turns %v: what can be fetched again is written with synchronous %d", byTurns, n)
			}
			if writing, _ := localstore.Settings(t, s); writing[0] != 2 {
				t.Errorf("by turns %v: an edit is written with synchronous %d", byTurns, writing[0])
			}
		}
	}
}

// A connection that is given up in no known state is not used again.
func TestAGivenUpConnection(t *testing.T) {
	for _, byTurns := range []bool{false, true} {
		s := openByTurns(t, filepath.Join(t.TempDir(), "replica.db"), byTurns)
		r, err := s.Local(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		localstore.Abandon(t, s)
		add(t, s, r.N, bookmark("https://a.example/", "a"))
		wantTitles(t, "after it", list(t, s, localstore.List{Replica: r.N}), "a")
	}
}
