package syncer_test

import (
	"bytes"
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
	a.must(func(ed *localstore.Editor) error {
		_, err := ed.UpdateFolder(child, api.FolderInput{ParentID: api.Some(parent)})
		return err
	})
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
	w.server.refuse = nil
	if err := a.store.Unpark(t.Context(), a.n, f); err != nil {
		t.Fatal(err)
	}
	w.peace()
}
