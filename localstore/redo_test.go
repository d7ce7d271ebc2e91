package localstore_test

import (
	"path/filepath"
	"slices"
	"testing"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

// Of two undos of one command that meet, one does the rest, and the other says so.
func TestTwoUndosOfOneCommand(t *testing.T) {
	s, r := open(t)
	reader, err := exchange.NewReader(manyIn(1500))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), reader, localstore.Import{Replica: r, Command: "import"}); err != nil {
		t.Fatal(err)
	}
	met := false
	_, err = s.Undo(t.Context(), func(int, int) {
		if !met {
			met = true
			if _, err := s.Undo(t.Context(), nil); err != nil {
				t.Error(err)
			}
			add(t, s, r, bookmark("https://after.example/", "after"))
		}
	})
	if !met || api.CodeOf(err) != api.CodeConflict {
		t.Errorf("met: %v; %v", met, err)
	}
	wantTitles(t, "after both", list(t, s, localstore.List{Replica: r}), "after")
	if did, err := s.Undo(t.Context(), nil); err != nil || did.Rows != 1 {
		t.Errorf("undo of what came after: %+v, %v", did, err)
	}
}

// aFolder makes a folder with two bookmarks, in a command of their own each.
func aFolder(t *testing.T, s *localstore.Store, replica int64) string {
	t.Helper()
	var id string
	edit(t, s, replica, func(ed *localstore.Editor) error {
		f, err := ed.FolderBelow("", localstore.SplitPath("Dev/Go")...)
		id = f.ParentID
		if err != nil {
			return err
		}
		in := bookmark("https://deep.example/", "deep")
		in.FolderID = api.Some(f.ID)
		if _, err := ed.AddBookmark(in); err != nil {
			return err
		}
		in = bookmark("https://go.dev/", "Go")
		in.FolderID = api.Some(id)
		_, err = ed.AddBookmark(in)
		return err
	})
	return id
}

func remove(t *testing.T, s *localstore.Store, replica int64, folder string) {
	t.Helper()
	edit(t, s, replica, func(ed *localstore.Editor) error {
		_, _, err := ed.DeleteFolder(folder)
		return err
	})
}

func TestUndoOfADeletionWhoseFolderIsBack(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	folder := aFolder(t, s, r)
	remove(t, s, r, folder)
	elsewhere(t, s, r, api.TypeFolder, folder, func(e *localstore.Entity) { e.DeletedAt, e.Deletion = api.Time{}, "" })
	did, err := s.Undo(t.Context(), nil)
	if err != nil || did.Rows != 3 {
		t.Errorf("undo %+v, %v; want 3 rows", did, err)
	}
	wantTitles(t, "after the undo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "deep")
	if _, err := s.Redo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "after the redo", list(t, s, localstore.List{Replica: r}))
	if _, err := s.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "after another undo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "deep")
}

func TestRedoOfADeletionLeavesWhatOthersDidSince(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	folder := aFolder(t, s, r)
	remove(t, s, r, folder)
	if _, err := s.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	page, err := s.Bookmarks(t.Context(), localstore.List{Replica: r, SortBy: "title"})
	if err != nil || len(page.Bookmarks) != 2 {
		t.Fatalf("after the undo: %+v, %v", page, err)
	}
	before := page.Bookmarks
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		e := localstore.Entity{Type: api.TypeBookmark, ID: "theirs", Rev: 9}
		e.Title, e.URL, e.Parent = "theirs", "https://theirs.example/", folder
		return tx.Insert([]localstore.Entity{e})
	})
	elsewhere(t, s, r, api.TypeBookmark, before[0].ID, func(e *localstore.Entity) { e.Description = "an hour of somebody's work" })
	did, err := s.Redo(t.Context(), nil)
	slices.Sort(did.Skipped)
	want := []string{before[0].ID, folder}
	slices.Sort(want)
	if err != nil || !slices.Equal(did.Skipped, want) || did.Rows != 2 {
		t.Errorf("redo %+v, %v; want %q left alone", did, err, want)
	}
	wantTitles(t, "after the redo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "theirs")
	// What it did can be taken back, and done again, as often as one likes.
	for range 2 {
		if did, err := s.Undo(t.Context(), nil); err != nil || did.Rows != 2 || len(did.Skipped) > 0 {
			t.Errorf("undo %+v, %v", did, err)
		}
		wantTitles(t, "after another undo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "deep", "theirs")
		if did, err := s.Redo(t.Context(), nil); err != nil || did.Rows != 2 {
			t.Errorf("redo %+v, %v", did, err)
		}
		wantTitles(t, "after another redo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "theirs")
	}
}

func TestUndoOfARestoreLeavesWhatOthersPutIn(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	folder := aFolder(t, s, r)
	remove(t, s, r, folder)
	edit(t, s, r, func(ed *localstore.Editor) error { return ed.RestoreFolder(folder) })
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		e := localstore.Entity{Type: api.TypeBookmark, ID: "theirs", Rev: 9}
		e.Title, e.URL, e.Parent = "theirs", "https://theirs.example/", folder
		return tx.Insert([]localstore.Entity{e})
	})
	did, err := s.Undo(t.Context(), nil)
	if err != nil || !slices.Equal(did.Skipped, []string{folder}) || did.Rows != 3 {
		t.Errorf("undo %+v, %v", did, err)
	}
	wantTitles(t, "after the undo", list(t, s, localstore.List{Replica: r}), "theirs")
}

// A deletion finds its rows by what they have in common, and where they were. A
// restoration that is taken back puts both as they were.
func TestUndoOfADeletionOfWhichSomethingWasRestored(t *testing.T) {
	for name, restore := range map[string]func(ed *localstore.Editor, folder, deep string) error{
		"a folder":   func(ed *localstore.Editor, folder, _ string) error { return ed.RestoreFolder(folder) },
		"a bookmark": func(ed *localstore.Editor, _, deep string) error { return ed.RestoreBookmarks(deep) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
			r := mirror(t, s, "w")
			folder := aFolder(t, s, r)
			look := func() (found []localstore.Bookmark) {
				t.Helper()
				page, err := s.Bookmarks(t.Context(), localstore.List{Replica: r, SortBy: "title"})
				if err != nil {
					t.Fatal(err)
				}
				return page.Bookmarks
			}
			places := func(all []localstore.Bookmark) (text string) {
				for _, b := range all {
					text += b.Title + " in " + b.FolderID + "\n"
				}
				return text
			}
			before := look()
			if len(before) != 2 || before[1].Title != "deep" || before[1].FolderID == folder || before[1].FolderID == "" {
				t.Fatalf("there is %s", places(before))
			}
			remove(t, s, r, folder)
			edit(t, s, r, func(ed *localstore.Editor) error { return restore(ed, folder, before[1].ID) })
			restored := places(look())
			for range 2 {
				for range 2 {
					if did, err := s.Undo(t.Context(), nil); err != nil || did.Rows == 0 || len(did.Skipped) > 0 {
						t.Fatalf("undo %+v, %v", did, err)
					}
				}
				if got := places(look()); got != places(before) {
					t.Errorf("after both were taken back there is\n%swant\n%s", got, places(before))
				}
				for range 2 {
					if did, err := s.Redo(t.Context(), nil); err != nil || did.Rows == 0 || len(did.Skipped) > 0 {
						t.Fatalf("redo %+v, %v", did, err)
					}
				}
				if got := places(look()); got != restored {
					t.Errorf("after both were done again there is\n%swant\n%s", got, restored)
				}
			}
		})
	}
}
