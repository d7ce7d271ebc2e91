package localstore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// Whatever of a row somebody changed since it was made, the row is theirs too, and
// no undo takes it. Another order of the same tags is no change.
func TestUndoLeavesARowOfWhichAnythingChanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(e *localstore.Entity)
		kept   bool
	}{
		"nothing":      {func(*localstore.Entity) {}, false},
		"tags' order":  {func(e *localstore.Entity) { slices.Reverse(e.Tags) }, false},
		"tags' case":   {func(e *localstore.Entity) { e.Tags[0] = "ONE" }, false},
		"tags":         {func(e *localstore.Entity) { e.Tags = e.Tags[:1] }, true},
		"title":        {func(e *localstore.Entity) { e.Title += "!" }, true},
		"url":          {func(e *localstore.Entity) { e.URL += "next" }, true},
		"description":  {func(e *localstore.Entity) { e.Description = "more" }, true},
		"date":         {func(e *localstore.Entity) { e.CreatedAt = api.At(e.CreatedAt.Add(-time.Hour)) }, true},
		"snapshot":     {func(e *localstore.Entity) { e.Snapshot = !e.Snapshot }, true},
		"other name":   {func(e *localstore.Entity) { e.Extra = map[string]string{"PRIVATE": "made"} }, true},
		"attribute":    {func(e *localstore.Entity) { e.Extra["SHORTCUTURL"] = "other" }, true},
		"no attribute": {func(e *localstore.Entity) { e.Extra = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
			r := mirror(t, s, "w")
			in := bookmark("https://made.example/", "made", "one", "two")
			in.Extra = api.Some(map[string]string{"SHORTCUTURL": "made"})
			b := add(t, s, r, in)
			elsewhere(t, s, r, api.TypeBookmark, b.ID, test.change)
			did, err := s.Undo(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			left := len(list(t, s, localstore.List{Replica: r}))
			if test.kept != (left == 1) || test.kept != slices.Equal(did.Skipped, []string{b.ID}) {
				t.Errorf("%d are left, skipped %q", left, did.Skipped)
			}
		})
	}
}

// A move goes back to where the row was, or to what is left of that.
func TestUndoOfAMoveWhoseWayBackIsGone(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var above, was localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if above, err = ed.FolderBelow("", "Above"); err == nil {
			was, err = ed.FolderBelow(above.ID, "Was")
		}
		return err
	})
	in := bookmark("https://moved.example/", "moved")
	in.FolderID = api.Some(was.ID)
	b := add(t, s, r, in)
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.MoveBookmarks([]string{b.ID}, "")
		return err
	})
	elsewhere(t, s, r, api.TypeFolder, was.ID, func(e *localstore.Entity) { e.DeletedAt = api.At(time.Unix(1, 0)) })
	if _, err := s.Undo(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Bookmark(ctx, r, b.ID); err != nil || after.FolderID != above.ID {
		t.Errorf("it went to %q, not %q; %v", after.FolderID, above.ID, err)
	}
}

// Where another machine has meanwhile moved the former place of a folder into that
// folder, an undo leaves it where it is.
func TestUndoOfAMoveThatWouldCloseACircle(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var was, moved localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if was, err = ed.FolderBelow("", "Was"); err == nil {
			moved, err = ed.FolderBelow(was.ID, "Moved")
		}
		return err
	})
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.UpdateFolder(moved.ID, api.FolderInput{ParentID: api.Some("")})
		return err
	})
	elsewhere(t, s, r, api.TypeFolder, was.ID, func(e *localstore.Entity) { e.Parent = moved.ID })
	if _, err := s.Undo(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Folder(ctx, r, moved.ID); err != nil || after.ParentID != "" {
		t.Errorf("it went into %q; %v", after.ParentID, err)
	}
	if tree, err := s.Tree(ctx, r); err != nil || len(tree) != 2 {
		t.Errorf("the tree has %d folders; %v", len(tree), err)
	}
}

// A tree has its bound for what is made in it and for what is moved, with all that
// is below.
func TestATreeHasItsBound(t *testing.T) {
	s, r := open(t)
	names := make([]string, api.MaxTreeDepth)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	var deepest, above, tall localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if deepest, err = ed.FolderBelow("", names...); err != nil {
			return err
		}
		if above, err = ed.FolderBelow("", names[:len(names)-1]...); err != nil {
			return err
		}
		if _, err = ed.FolderBelow("", "tall", "below"); err == nil {
			tall, err = ed.FolderBelow("", "tall")
		}
		return err
	})
	fails := func(what string, fn func(ed *localstore.Editor) error) {
		t.Helper()
		if err := s.Edit(t.Context(), r, "test", fn); api.CodeOf(err) != api.CodeValidation {
			t.Errorf("%s: %v", what, err)
		}
	}
	fails("a folder below the deepest", func(ed *localstore.Editor) error {
		_, err := ed.FolderBelow(deepest.ID, "deeper")
		return err
	})
	fails("a folder with one below it, where there is room for one", func(ed *localstore.Editor) error {
		_, err := ed.UpdateFolder(tall.ID, api.FolderInput{ParentID: api.Some(above.ID)})
		return err
	})
}

// What lives is not restored, and a folder's id is one folder's.
func TestWhatIsThereIsNotMadeAgain(t *testing.T) {
	s, r := open(t)
	var f localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		f, err = ed.FolderBelow("", "There")
		return err
	})
	edit(t, s, r, func(ed *localstore.Editor) error { return ed.RestoreFolder(f.ID) })
	if log, err := s.Log(t.Context(), 10); err != nil || len(log) != 1 {
		t.Errorf("logged %+v, %v", log, err)
	}
	err := s.Edit(t.Context(), r, "test", func(ed *localstore.Editor) error {
		_, err := ed.AddFolder(api.FolderInput{ID: api.Some(f.ID), Name: api.Some("Another")})
		return err
	})
	if api.CodeOf(err) != api.CodeConflict {
		t.Errorf("a second folder with an id: %v", err)
	}
}

// The log has the last thousand commands, the newest first.
func TestTheLogHasTheLastCommands(t *testing.T) {
	s, r := open(t)
	const kept, more = 1000, 3
	for n := range kept + more {
		err := s.Edit(t.Context(), r, fmt.Sprint(n), func(ed *localstore.Editor) error {
			_, err := ed.AddFolder(api.FolderInput{Name: api.Some("x")})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := s.Log(t.Context(), 2*kept)
	if err != nil || len(log) != kept || log[0].Command != fmt.Sprint(kept+more-1) || log[kept-1].Command != fmt.Sprint(more) {
		t.Errorf("%d commands, from %q to %q; %v", len(log), log[0].Command, log[len(log)-1].Command, err)
	}
	if log, err = s.Log(t.Context(), 1); err != nil || len(log) != 1 || log[0].Command != fmt.Sprint(kept+more-1) {
		t.Errorf("the last one: %+v, %v", log, err)
	}
}
