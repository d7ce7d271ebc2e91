package syncer_test

import (
	"context"
	"slices"
	"testing"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

// ops lets the server note what comes, as "create bookmark".
func (w *world) ops() *[]string {
	seen := new([]string)
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		*seen = append(*seen, string(op.Action)+" "+string(op.Type))
		return nil
	}
	return seen
}

func (d *device) round1() syncer.Report {
	d.w.t.Helper()
	report, err := d.sync.Round(d.w.t.Context(), d.n)
	if err != nil {
		d.w.t.Fatal(err)
	}
	return report
}

func (d *device) rmdir(id string) {
	d.w.t.Helper()
	d.must(func(ed *localstore.Editor) error {
		_, _, err := ed.DeleteFolder(id)
		return err
	})
}

func (d *device) rm(id string) {
	d.w.t.Helper()
	d.must(func(ed *localstore.Editor) error {
		_, err := ed.DeleteBookmarks(id)
		return err
	})
}

func (d *device) move(id, folder string) {
	d.w.t.Helper()
	d.must(func(ed *localstore.Editor) error {
		_, err := ed.MoveBookmarks([]string{id}, folder)
		return err
	})
}

func (d *device) moveFolder(id, parent string) {
	d.must(func(ed *localstore.Editor) error {
		_, err := ed.UpdateFolder(id, api.FolderInput{ParentID: api.Some(parent)})
		return err
	})
}

func (d *device) conflicts() []localstore.Conflict {
	d.w.t.Helper()
	all, err := d.store.Conflicts(d.w.t.Context(), d.n)
	if err != nil {
		d.w.t.Fatal(err)
	}
	return all
}

func (d *device) alive(id string) bool {
	return slices.ContainsFunc(d.bookmarks(), func(b localstore.Bookmark) bool { return b.ID == id })
}

func TestWhatTheSystemSaysIsNoEdit(t *testing.T) {
	w := newWorld(t, 51, 1)
	a := w.replicas[0]
	kept, gone := a.add("https://kept.example/", "kept", ""), a.add("https://gone.example/", "gone", "")
	w.peace()
	for _, id := range []string{kept, gone} {
		row := w.server.rows[id]
		row.Bookmark.LinkStatus, row.Bookmark.ReaderExcerpt = api.LinkDead, "it says"
		w.server.touch(row)
	}
	a.title(kept, "edited")
	a.rm(gone)
	w.peace()
	if got := a.get(kept); got.LinkStatus != api.LinkDead || got.ReaderExcerpt != "it says" || got.Title != "edited" {
		t.Errorf("%+v", got)
	}
	if a.alive(gone) || len(a.conflicts()) > 0 || len(a.notes()) > 0 {
		t.Errorf("the deletion was undone (%v), or something is told of: %+v, %q", a.alive(gone), a.conflicts(), a.notes())
	}
}

func TestADeletionIsTakenBackForWhatOthersPutIn(t *testing.T) {
	w := newWorld(t, 52, 2)
	a, b := w.replicas[0], w.replicas[1]
	f := a.mkdir("Shared")
	w.peace()
	theirs := b.add("https://theirs.example/", "theirs", f)
	b.add("https://another.example/", "another", f)
	b.round1()
	a.must(func(ed *localstore.Editor) error { // which is an edit still
		_, err := ed.UpdateFolder(f, api.FolderInput{Name: api.Some("Renamed")})
		return err
	})
	a.rmdir(f)
	a.round1()
	if got := a.notes(); !slices.Equal(got, []string{syncer.NoteRevived}) {
		t.Errorf("notes %q", got)
	}
	w.peace()
	if got := a.get(theirs).FolderID; got != f {
		t.Errorf("it is in %q, not in the folder", got)
	}
	if got := w.server.rows[f].Folder.Name; got != "Renamed" {
		t.Errorf("there the folder is %q", got)
	}
}

func TestAFolderThatOthersDeletedLetsGoOfWhatIsNew(t *testing.T) {
	w := newWorld(t, 53, 2)
	a, b := w.replicas[0], w.replicas[1]
	top := a.mkdir("Top")
	f := a.mkdir("Top/Gone")
	w.peace()
	b.rmdir(f)
	b.round1()
	mine := a.add("https://mine.example/", "mine", f)
	a.round1()
	if got := a.notes(); !slices.Equal(got, []string{syncer.NoteRehomed}) || a.get(mine).FolderID != top {
		t.Errorf("notes %q; it is in %q, want the nearest folder above", got, a.get(mine).FolderID)
	}
	w.peace()
}

func TestATwinTakesConflictsAlong(t *testing.T) {
	w := newWorld(t, 54, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.peace()
	theirs := b.add("https://go.dev/", "Go", "")
	b.round1()
	mine := a.add("https://go.dev/", "Go", "")
	err := a.store.Sync(t.Context(), a.n, func(tx *localstore.SyncTx) error {
		// Several values of one field are all kept, each once.
		for _, value := range []string{"one", "two", "one"} {
			if err := tx.AddConflict(api.TypeBookmark, mine, "title", value, "Go"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.round1()
	all := a.conflicts()
	if len(all) != 2 || all[0].ID != theirs || all[1].ID != theirs || string(all[0].Mine) != `"one"` || string(all[1].Mine) != `"two"` {
		t.Errorf("conflicts %+v", all)
	}
	if got := a.notes(); !slices.Equal(got, []string{syncer.NoteUnited}) {
		t.Errorf("notes %q", got)
	}
}

// What may be there already is united with nothing.
func TestWhatIsInFlightHasNoTwin(t *testing.T) {
	w := newWorld(t, 55, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.peace()
	mine, dir := a.add("https://go.dev/", "Go", ""), a.mkdir("Dev")
	lost := a.against(deadLine{a}, 0)
	if _, err := lost.Round(t.Context(), a.n); err == nil { // the folder is in flight
		t.Fatal("it arrived")
	}
	b.add("https://go.dev/", "Go", "")
	b.mkdir("Dev")
	b.round1()
	launch := func(id string) { // and so is the bookmark
		err := a.store.Sync(t.Context(), a.n, func(tx *localstore.SyncTx) error {
			row, err := tx.Find(api.TypeBookmark, id)
			if err != nil {
				return err
			}
			return tx.Launch([]localstore.Flight{{Op: api.Op{OpID: "op", Action: api.OpCreate, Type: api.TypeBookmark, ID: id}, Sent: localstore.Sent{Fields: row.Fields}}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	launch(mine)
	if _, err := a.against(readOnly{a}, 0).Round(t.Context(), a.n); api.CodeOf(err) != api.CodeForbidden {
		t.Fatal(err)
	}
	if !a.alive(mine) || len(a.bookmarks()) != 2 || len(a.tree()) != 2 || !slices.ContainsFunc(a.tree(), func(n localstore.Node) bool { return n.ID == dir }) {
		t.Errorf("%d bookmarks, %d folders, want both of each", len(a.bookmarks()), len(a.tree()))
	}
}

// deadLine lets no push through.
type deadLine struct{ *device }

func (deadLine) Push(context.Context, string, api.PushRequest) func() (api.PushResponse, error) {
	return answer(api.PushResponse{}, errLine)
}

// A verdict that comes after what followed it is of the past.
func TestAnOldVerdictTakesNothingBack(t *testing.T) {
	w := newWorld(t, 56, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.title(id, "mine")
	if _, err := a.against(&loseAnswer{device: a}, 0).Round(t.Context(), a.n); err == nil {
		t.Fatal("the answer was not lost")
	}
	b.round1()
	b.title(id, "theirs, after mine")
	b.round1()
	if _, err := a.against(readOnly{a}, 0).Round(t.Context(), a.n); api.CodeOf(err) != api.CodeForbidden {
		t.Fatal(err)
	}
	report := a.round1()
	if got := a.get(id).Title; got != "theirs, after mine" || report.Compared != nil || report.Stale != 0 {
		t.Errorf("%q, %+v", got, report)
	}
	w.peace()
}

func TestWhatTheServerDoesNotKnowAnyMore(t *testing.T) {
	w := newWorld(t, 57, 1)
	a := w.replicas[0]
	edited, deleted := a.add("https://edited.example/", "Go", ""), a.add("https://deleted.example/", "Go", "")
	w.peace()
	a.title(edited, "edited")
	a.rm(deleted)
	delete(w.server.rows, edited)
	delete(w.server.rows, deleted)
	report := a.round1()
	if report.Compared != nil || report.Waiting != 0 || report.Parked != 0 || w.server.rows[edited] == nil || w.server.rows[edited].Bookmark.Title != "edited" || w.server.rows[deleted] != nil {
		t.Errorf("%+v; the server has %+v and %+v", report, w.server.rows[edited], w.server.rows[deleted])
	}
	w.peace()
}

// A refusal is of what was sent: when something later got through, it is over.
func TestARefusalEndsWithWhatGotThrough(t *testing.T) {
	w := newWorld(t, 58, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "refused", "")
	w.server.refuse = func(api.Op) *api.EnvelopeError { return &api.EnvelopeError{Code: api.CodeForbidden} }
	a.round1()
	a.title(id, "taken")
	w.server.refuse = func(api.Op) *api.EnvelopeError {
		a.title(id, "edited meanwhile")
		return nil
	}
	if _, err := a.against(&loseSecond{device: a}, 0).Round(t.Context(), a.n); err == nil {
		t.Fatal("the second push got through")
	}
	if parked, err := a.store.Parked(t.Context(), a.n); err != nil || len(parked) != 0 {
		t.Errorf("parked %+v, %v", parked, err)
	}
}

// loseSecond lets one push through.
type loseSecond struct {
	*device
	pushes int
}

func (l *loseSecond) Push(ctx context.Context, workspace string, push api.PushRequest) func() (api.PushResponse, error) {
	if l.pushes++; l.pushes > 1 {
		return answer(api.PushResponse{}, errLine)
	}
	return answer(l.device.Push(ctx, workspace, push)())
}

func TestAnEditThatWasPutBackIsNone(t *testing.T) {
	w := newWorld(t, 63, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.title(id, "otherwise")
	a.title(id, "Go")
	seen := w.ops()
	if n, err := a.store.Pending(t.Context(), a.n); err != nil || n != 0 || a.get(id).Unsent {
		t.Errorf("%d edits to send, %v", n, err)
	}
	if a.round1(); len(*seen) > 0 {
		t.Errorf("sent %q", *seen)
	}
	b.rm(id)
	b.round1()
	*seen = nil
	a.round1()
	if a.alive(id) || len(*seen) > 0 || len(a.notes()) > 0 {
		t.Errorf("alive %v, sent %q, notes %q", a.alive(id), *seen, a.notes())
	}
}
