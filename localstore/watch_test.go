package localstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// look is what somebody saw of a command of many rows.
type look struct{ done, total int }

// hundred are a hundred rows: a folder with all the others in it.
func hundred(t *testing.T) (s *localstore.Store, replica int64, folder string, ids []string) {
	t.Helper()
	s = openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	edit(t, s, r.N, func(ed *localstore.Editor) error {
		f, err := ed.AddFolder(api.FolderInput{Name: api.Some("Many")})
		if err != nil {
			return err
		}
		folder = f.ID
		for i := range 99 {
			in := bookmark(fmt.Sprintf("https://example.com/%d", i), "x")
			in.FolderID, in.Tags = api.Some(folder), api.Some([]string{"kept"})
			b, err := ed.AddBookmark(in)
			if err != nil {
				return err
			}
			ids = append(ids, b.ID)
		}
		return nil
	})
	return s, r.N, folder, ids
}

// Whoever watches a command sees its last row as the last of all.
func TestTheLastRowIsTheLastOfAll(t *testing.T) {
	s, replica, folder, _ := hundred(t)
	var seen []look
	watch := func(done, total int) { seen = append(seen, look{done, total}) }
	saw := func(what string) {
		t.Helper()
		if len(seen) == 0 || seen[len(seen)-1] != (look{100, 100}) {
			t.Errorf("%s: seen was %v", what, seen)
		}
		seen = nil
	}
	remove := func() {
		t.Helper()
		edit(t, s, replica, func(ed *localstore.Editor) error {
			ed.Watch(0, watch)
			_, _, err := ed.DeleteFolder(folder)
			return err
		})
	}
	remove()
	saw("a deletion")
	if _, err := s.Undo(t.Context(), watch); err != nil {
		t.Fatal(err)
	}
	saw("its undo")
	if _, err := s.Redo(t.Context(), watch); err != nil {
		t.Fatal(err)
	}
	saw("its redo")
	edit(t, s, replica, func(ed *localstore.Editor) error {
		ed.Watch(0, watch)
		return ed.RestoreFolder(folder)
	})
	saw("a restore")
	edit(t, s, replica, func(ed *localstore.Editor) error {
		ed.Watch(99, watch) // of bookmarks alone, whatever is made beside them
		f, err := ed.AddFolder(api.FolderInput{Name: api.Some("More")})
		for i := 0; i < 99 && err == nil; i++ {
			in := bookmark(fmt.Sprintf("https://more.example/%d", i), "x")
			in.FolderID = api.Some(f.ID)
			_, err = ed.AddBookmark(in)
		}
		return err
	})
	if len(seen) != 1 || seen[0] != (look{99, 99}) {
		t.Errorf("bookmarks in a new folder: seen was %v", seen)
	}
}

// A hundred thousand rows take seconds to look at, even where none has to change.
func TestRowsThatNeedNothingHeedAnInterrupt(t *testing.T) {
	s, replica, folder, ids := hundred(t)
	ids = append(ids, ids[0]) // a hundred
	gone := func(ed *localstore.Editor) error {
		_, err := ed.DeleteBookmarks(ids...)
		return err
	}
	for what, does := range map[string]func(*localstore.Editor) error{
		"a move to where they are": func(ed *localstore.Editor) error {
			_, err := ed.MoveBookmarks(ids, folder)
			return err
		},
		"tags that they have": func(ed *localstore.Editor) error {
			_, err := ed.TagBookmarks(ids, []string{"kept"}, []string{"none"})
			return err
		},
		"a spelling that they have": func(ed *localstore.Editor) error {
			for range 2 { // there are 99
				if _, err := ed.MergeTags([]string{"kept"}, "kept"); err != nil {
					return err
				}
			}
			return nil
		},
		"a restore of what is there": func(ed *localstore.Editor) error { return ed.RestoreBookmarks(ids...) },
	} {
		t.Run(what, func(t *testing.T) { interrupted(t, s, replica, does) })
	}
	edit(t, s, replica, gone)
	t.Run("a deletion of what is gone", func(t *testing.T) { interrupted(t, s, replica, gone) })
}

// interrupted runs an edit that nobody waits for any more.
func interrupted(t *testing.T, s *localstore.Store, replica int64, does func(*localstore.Editor) error) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	err := s.Edit(ctx, replica, "test", func(ed *localstore.Editor) error {
		interrupt()
		return does(ed)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
