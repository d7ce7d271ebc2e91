package localstore_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/rules"
)

func mirror(t *testing.T, s *localstore.Store, id string) int64 {
	t.Helper()
	r, err := s.Mirror(t.Context(), api.Workspace{ID: id, Name: id}, true)
	if err != nil {
		t.Fatal(err)
	}
	return r.N
}

func syncing(t *testing.T, s *localstore.Store, replica int64, fn func(tx *localstore.SyncTx) error) {
	t.Helper()
	if err := s.Sync(t.Context(), replica, fn); err != nil {
		t.Fatal(err)
	}
}

// conflictAbout makes a conflict and answers it as it is listed.
func conflictAbout(t *testing.T, s *localstore.Store, replica int64, kind api.EntityType, id, field string, mine, theirs any) localstore.Conflict {
	t.Helper()
	syncing(t, s, replica, func(tx *localstore.SyncTx) error { return tx.AddConflict(kind, id, field, mine, theirs) })
	all, err := s.Conflicts(t.Context(), replica)
	if err != nil || len(all) != 1 {
		t.Fatalf("conflicts %+v, %v", all, err)
	}
	return all[0]
}

func TestADecisionIsUndone(t *testing.T) {
	for _, decision := range []string{"theirs", "mine"} {
		t.Run(decision, func(t *testing.T) {
			ctx := t.Context()
			s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
			r := mirror(t, s, "w")
			b := add(t, s, r, bookmark("https://new.example/", "theirs"))
			c := conflictAbout(t, s, r, api.TypeBookmark, b.ID, "title", "mine", "theirs")
			value := c.Mine
			if decision == "theirs" {
				value = nil
			}
			check := func(what string, listed int, title string) {
				t.Helper()
				all, err := s.Conflicts(ctx, r)
				if err != nil || len(all) != listed || listed == 1 && (all[0].N != c.N || string(all[0].Mine) != `"mine"` || !all[0].At.Equal(c.At.Time)) {
					t.Errorf("%s: conflicts %+v, %v", what, all, err)
				}
				wantTitles(t, what, list(t, s, localstore.List{Replica: r}), title)
			}
			if err := s.Resolve(ctx, c.N, value); err != nil {
				t.Fatal(err)
			}
			check("decided", 0, decision)
			did, err := s.Undo(ctx, nil)
			if err != nil || did.Command != "sync resolve title" || did.Rows == 0 {
				t.Errorf("undo %+v, %v", did, err)
			}
			check("undone", 1, "theirs")
			if _, err := s.Redo(ctx, nil); err != nil {
				t.Fatal(err)
			}
			check("redone", 0, decision)
		})
	}
}

func TestAConflictAboutAFoldersDate(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var f localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		f, err = ed.AddFolder(api.FolderInput{Name: api.Some("F")})
		return err
	})
	mine := api.At(time.Unix(1000, 0))
	c := conflictAbout(t, s, r, api.TypeFolder, f.ID, "createdAt", mine, api.At(time.Unix(2000, 0)))
	if err := s.Resolve(t.Context(), c.N, c.Mine); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Folder(t.Context(), r, f.ID); err != nil || !f.CreatedAt.Equal(mine.Time) {
		t.Errorf("created at %v, %v", f.CreatedAt, err)
	}
}

func TestUndoBesideAFrozenWorkspace(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	a, b := mirror(t, s, "a"), mirror(t, s, "b")
	add(t, s, a, bookmark("https://a.example/", "a"))
	add(t, s, b, bookmark("https://b.example/", "b"))
	if err := s.SetState(ctx, b, localstore.StateFrozen, "it is gone"); err != nil {
		t.Fatal(err)
	}
	if did, err := s.Undo(ctx, nil); err != nil || did.Replica != a {
		t.Errorf("undo %+v, %v", did, err)
	}
	if _, err := s.Undo(ctx, nil); api.CodeOf(err) != api.CodeForbidden {
		t.Errorf("undo where only the frozen one is left: %v", err)
	}
}

// elsewhere does what a pull does to a row that another machine changed.
func elsewhere(t *testing.T, s *localstore.Store, replica int64, kind api.EntityType, id string, change func(e *localstore.Entity)) {
	t.Helper()
	syncing(t, s, replica, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(kind, id)
		if err != nil {
			return err
		}
		next := row.Entity
		next.Rev++
		change(&next)
		return tx.Write(row, next, nil)
	})
}

func TestUndoOfWhatWasMadeLeavesWhatOthersDidSince(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var folder, empty string
	var added [2]string
	edit(t, s, r, func(ed *localstore.Editor) error {
		for i, into := range []*string{&folder, &empty} {
			f, err := ed.AddFolder(api.FolderInput{Name: api.Some("made")})
			if err != nil {
				return err
			}
			*into = f.ID
			in := bookmark("https://example.com/"+f.ID, "added")
			in.FolderID = api.Some(f.ID)
			b, err := ed.AddBookmark(in)
			if err != nil {
				return err
			}
			added[i] = b.ID
		}
		return nil
	})
	elsewhere(t, s, r, api.TypeBookmark, added[0], func(e *localstore.Entity) { e.Title = "an hour of somebody's work" })
	// Its place in a folder is nothing that anybody would miss.
	elsewhere(t, s, r, api.TypeBookmark, added[1], func(e *localstore.Entity) { e.SortOrder += 7 })
	did, err := s.Undo(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(did.Skipped)
	want := []string{folder, added[0]}
	slices.Sort(want)
	if !slices.Equal(did.Skipped, want) || did.Rows != 2 {
		t.Errorf("undone %+v, want %q skipped", did, want)
	}
	wantTitles(t, "after the undo", list(t, s, localstore.List{Replica: r}), "an hour of somebody's work")
	if tree, err := s.Tree(ctx, r); err != nil || len(tree) != 1 || tree[0].ID != folder {
		t.Errorf("tree %+v, %v", tree, err)
	}
	if _, err := s.Redo(ctx, nil); err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "after the redo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "added", "an hour of somebody's work")
}

// Others may have put nothing but a folder into one that was made here.
func TestUndoOfAFolderLeavesFoldersPutIn(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var made localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		made, err = ed.AddFolder(api.FolderInput{Name: api.Some("made")})
		return err
	})
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		return tx.Insert([]localstore.Entity{{Type: api.TypeFolder, ID: "theirs", Rev: 5, Fields: localstore.Fields{Title: "theirs", Parent: made.ID}}})
	})
	did, err := s.Undo(t.Context(), nil)
	if err != nil || did.Rows != 0 || !slices.Equal(did.Skipped, []string{made.ID}) {
		t.Errorf("undone %+v, %v", did, err)
	}
	if tree, err := s.Tree(t.Context(), r); err != nil || len(tree) == 0 || tree[0].ID != made.ID {
		t.Errorf("tree %+v, %v", tree, err)
	}
}

func TestAnOrderStaysWithinItsBound(t *testing.T) {
	s, local := open(t)
	in := bookmark("https://a.example/", "a")
	in.SortOrder = api.Some[int64](rules.MaxInteger)
	add(t, s, local, in)
	if b := add(t, s, local, bookmark("https://b.example/", "b")); b.SortOrder != rules.MaxInteger {
		t.Errorf("sort order %d", b.SortOrder)
	}
}

// A merge orders tags anew: what was tagged is untagged all the same.
func TestUndoOfTagsInAnotherOrder(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	b := add(t, s, r, bookmark("https://go.dev/", "Go", "a", "b"))
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(b.ID, api.BookmarkInput{Tags: api.Some([]string{"b", "c"})})
		return err
	})
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(api.TypeBookmark, b.ID)
		if err != nil {
			return err
		}
		next := row.Entity
		next.Tags = []string{"c", "B"}
		return tx.Write(row, next, row.Base)
	})
	did, err := s.Undo(t.Context(), nil)
	if err != nil || len(did.Skipped) > 0 {
		t.Fatalf("%+v, %v", did, err)
	}
	if got, err := s.Bookmark(t.Context(), r, b.ID); err != nil || !slices.Equal(got.Tags, []string{"a", "b"}) {
		t.Errorf("%q, %v", got.Tags, err)
	}
}
