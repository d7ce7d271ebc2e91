package syncer_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

func TestFoldersGoTopDownAndDeletesLast(t *testing.T) {
	w := newWorld(t, 59, 1)
	a := w.replicas[0]
	old := a.mkdir("Old")
	gone := a.add("https://gone.example/", "gone", "")
	w.peace()
	a.rm(gone)
	a.rmdir(old)
	child, parent := a.mkdir("Child"), a.mkdir("Parent")
	a.moveFolder(child, parent)
	a.add("https://new.example/", "new", child)
	seen := w.ops()
	report, err := a.against(w.server, 0).Round(t.Context(), a.n)
	want := []string{"create folder", "create folder", "create bookmark", "delete bookmark", "delete folder"}
	if err != nil || report.Stale != 0 || !slices.Equal(*seen, want) {
		t.Errorf("%q, want %q; %+v, %v", *seen, want, report, err)
	}
}

// A row comes back in one op that says where to, and what its folder brings back
// needs none.
func TestARestoreIsOneOp(t *testing.T) {
	w := newWorld(t, 60, 1)
	a := w.replicas[0]
	f := a.mkdir("Dev")
	for _, url := range []string{"https://1.example/", "https://2.example/"} {
		a.add(url, "x", f)
	}
	w.peace()
	a.rmdir(f)
	w.peace()
	if _, err := a.store.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var sets [][]byte
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		sets = append(sets, op.Set)
		return nil
	}
	report, err := a.against(w.server, 0).Round(t.Context(), a.n)
	if err != nil || report.Pushed != 1 || report.Stale != 0 || len(sets) != 1 || !bytes.Contains(sets[0], []byte("parentId")) {
		t.Errorf("%+v, %v; sent %q", report, err, sets)
	}
	w.server.refuse = nil
	w.peace()
}

// A folder's delete would take along what only its move out of it, which is
// refused, saves.
func TestADeleteWaitsForWhatIsStillInIt(t *testing.T) {
	w := newWorld(t, 61, 2)
	a, b := w.replicas[0], w.replicas[1]
	f := a.mkdir("Old")
	id, gone := a.add("https://kept.example/", "kept", f), a.add("https://gone.example/", "gone", f)
	w.peace()
	a.move(id, "")
	a.rmdir(f)
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		if op.ID == id {
			return &api.EnvelopeError{Code: api.CodeForbidden, Message: "not that one"}
		}
		return nil
	}
	a.round1()
	b.round1()
	if w.server.rows[f].Deleted || !b.alive(id) {
		t.Error("the folder was deleted with what is kept here")
	}
	if !w.server.rows[gone].Deleted {
		t.Error("what else was in it waits too")
	}
	w.server.refuse = nil
	if err := a.store.Unpark(t.Context(), a.n, id); err != nil {
		t.Fatal(err)
	}
	w.peace()
	if !w.server.rows[f].Deleted || !b.alive(id) {
		t.Error("the folder is still there, or what was kept is not")
	}
}

// It waits for one of very many, too.
func TestADeleteWaitsForOneOfMany(t *testing.T) {
	w := newWorld(t, 69, 1)
	w.server.page = 1000
	a := w.replicas[0]
	f := a.mkdir("Old")
	var ids []string
	a.must(func(ed *localstore.Editor) error {
		for i := range 501 {
			b, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some(fmt.Sprintf("https://%d.example/", i)), FolderID: api.Some(f)})
			if err != nil {
				return err
			}
			ids = append(ids, b.ID)
		}
		return nil
	})
	whole := a.against(w.server, 0)
	if _, err := whole.Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	kept := ids[500]
	a.move(kept, "")
	a.rmdir(f)
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		if op.ID == kept {
			return &api.EnvelopeError{Code: api.CodeForbidden, Message: "not that one"}
		}
		return nil
	}
	if _, err := whole.Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	if w.server.rows[f].Deleted || w.server.rows[kept].Deleted {
		t.Error("the folder was deleted with what is kept here")
	}
}

// An edit that is refused is no reason not to delete the row.
func TestWhatWasRefusedCanBeDeleted(t *testing.T) {
	w := newWorld(t, 70, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.title(id, "refused")
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		if op.Action == api.OpUpdate {
			return &api.EnvelopeError{Code: api.CodeForbidden, Message: "no edits"}
		}
		return nil
	}
	a.round1()
	a.rm(id)
	a.round1()
	if !w.server.rows[id].Deleted {
		t.Error("it is still there")
	}
	w.peace()
}

// A folder's delete takes along what was known when it was decided, and no more.
func TestADeleteTakesNothingAlongThatCameMeanwhile(t *testing.T) {
	w := newWorld(t, 62, 2)
	a, b := w.replicas[0], w.replicas[1]
	f := a.mkdir("Shared")
	a.add("https://mine.example/", "mine", f)
	w.peace()
	a.rmdir(f)
	var theirs string
	meanwhile := &beforePush{device: a, first: func() {
		theirs = b.add("https://theirs.example/", "theirs", f)
		b.round1()
	}}
	if _, err := a.against(meanwhile, 0).Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	w.peace()
	if !a.alive(theirs) || !b.alive(theirs) {
		t.Error("the delete took along what it did not know of")
	}
}

// A folder whose delete is refused holds no delete up of what was in it.
func TestARefusedDeleteHoldsNothingUp(t *testing.T) {
	w := newWorld(t, 64, 1)
	a := w.replicas[0]
	f := a.mkdir("Old")
	id := a.add("https://gone.example/", "gone", f)
	w.peace()
	a.rmdir(f)
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		if op.Type == api.TypeFolder {
			return &api.EnvelopeError{Code: api.CodeForbidden, Message: "no folders"}
		}
		return nil
	}
	a.round1()
	if !w.server.rows[id].Deleted || w.server.rows[f].Deleted {
		t.Errorf("bookmark deleted: %v, folder deleted: %v", w.server.rows[id].Deleted, w.server.rows[f].Deleted)
	}
	if report := a.round1(); report.Parked != 0 {
		t.Error("it is sent again as it is")
	}
	w.server.refuse = nil
	if err := a.store.Unpark(t.Context(), a.n, f); err != nil {
		t.Fatal(err)
	}
	w.peace()
}

// Two moves that close a circle hold up neither of what lies below them.
func TestWhatIsMovedBelowACircle(t *testing.T) {
	w := newWorld(t, 65, 2)
	a, b := w.replicas[0], w.replicas[1]
	below := a.mkdir("Below") // the first to be looked at
	one, other := a.mkdir("One"), a.mkdir("Other")
	w.peace()
	a.moveFolder(below, one)
	a.moveFolder(one, other)
	b.moveFolder(other, one)
	b.round1()
	w.peace()
	if in := w.server.rows[below].parent(); in != one || w.server.rows[one].parent() != "" {
		t.Errorf("it lies in %q, which lies in %q", in, w.server.rows[one].parent())
	}
}

// What was made and deleted before a round, and what is in the trash on both
// sides, is nothing to send.
func TestWhatIsGoneOnBothSidesIsNotSent(t *testing.T) {
	w := newWorld(t, 66, 1)
	a := w.replicas[0]
	f := a.mkdir("Old")
	id := a.add("https://old.example/", "old", "")
	w.peace()
	a.rmdir(f)
	a.rm(id)
	w.peace()
	a.must(func(ed *localstore.Editor) error { return errors.Join(ed.RestoreFolder(f), ed.RestoreBookmarks(id)) })
	a.title(id, "edited")
	a.must(func(ed *localstore.Editor) error {
		_, err := ed.UpdateFolder(f, api.FolderInput{Name: api.Some("Edited")})
		return err
	})
	a.rmdir(f)
	a.rm(id)
	a.rmdir(a.mkdir("Never"))
	a.rm(a.add("https://never.example/", "never", ""))
	seen := w.ops()
	if report := a.round1(); len(*seen) > 0 || report.Waiting != 0 {
		t.Errorf("sent %q, %d wait", *seen, report.Waiting)
	}
	w.server.refuse = nil
	w.peace()
}

// A folder whose restore is refused keeps nothing that was in it from coming back
// elsewhere.
func TestARefusedRestoreHoldsNothingUp(t *testing.T) {
	w := newWorld(t, 67, 1)
	a := w.replicas[0]
	f := a.mkdir("Old")
	id := a.add("https://kept.example/", "kept", f)
	w.peace()
	a.rmdir(f)
	w.peace()
	a.must(func(ed *localstore.Editor) error { return ed.RestoreFolder(f) })
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		if op.ID == f {
			return &api.EnvelopeError{Code: api.CodeForbidden, Message: "not that one"}
		}
		return nil
	}
	a.round1()
	a.move(id, "")
	a.round1()
	if w.server.rows[id].Deleted {
		t.Error("it waits for the folder that it is not in any more")
	}
	w.server.refuse = nil
	if err := a.store.Unpark(t.Context(), a.n, f); err != nil {
		t.Fatal(err)
	}
	w.peace()
}
