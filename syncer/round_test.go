package syncer_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

func (d *device) must(fn func(ed *localstore.Editor) error) {
	d.w.t.Helper()
	if err := d.store.Edit(d.w.t.Context(), d.n, "test", fn); err != nil {
		d.w.t.Fatal(err)
	}
}

func (d *device) add(url, title string, folder string, tags ...string) string {
	var id string
	d.must(func(ed *localstore.Editor) error {
		b, err := ed.AddBookmark(api.BookmarkInput{
			URL: api.Some(url), Title: api.Some(title), FolderID: api.Some(folder), Tags: api.Some(tags),
		})
		id = b.ID
		return err
	})
	return id
}

func (d *device) mkdir(path string) string {
	var id string
	d.must(func(ed *localstore.Editor) error {
		f, err := ed.FolderBelow("", localstore.SplitPath(path)...)
		id = f.ID
		return err
	})
	return id
}

func (d *device) title(id, title string) {
	d.must(func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(id, api.BookmarkInput{Title: api.Some(title)})
		return err
	})
}

func (d *device) get(id string) localstore.Bookmark {
	d.w.t.Helper()
	b, err := d.store.Bookmark(d.w.t.Context(), d.n, id)
	if err != nil {
		d.w.t.Fatal(err)
	}
	return b
}

// peace runs rounds of each device in turn until all have everything.
func (w *world) peace() {
	w.t.Helper()
	for range 3 {
		for _, d := range w.replicas {
			if _, err := d.sync.Round(w.t.Context(), d.n); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for i, d := range w.replicas {
		w.same(i, d)
	}
}

func (d *device) notes() []string {
	notes, err := d.store.Notes(d.w.t.Context(), d.n, 20)
	if err != nil {
		d.w.t.Fatal(err)
	}
	var kinds []string
	for _, n := range notes {
		kinds = append(kinds, n.Kind)
	}
	return kinds
}

func TestConflictIsKeptAndMineCanBeReapplied(t *testing.T) {
	w := newWorld(t, 1, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.title(id, "from a")
	b.title(id, "from b")
	w.peace()
	conflicts, err := b.store.Conflicts(t.Context(), b.n)
	if err != nil || len(conflicts) != 1 || string(conflicts[0].Mine) != `"from b"` {
		t.Fatalf("conflicts %+v, %v", conflicts, err)
	}
	if got := b.get(id).Title; got != "from a" {
		t.Errorf("title %q: the server's should stand", got)
	}
	if err := b.store.Resolve(t.Context(), conflicts[0].N, conflicts[0].Mine); err != nil {
		t.Fatal(err)
	}
	w.peace()
	if got := a.get(id).Title; got != "from b" {
		t.Errorf("title %q after re-applying mine", got)
	}
}

func TestAnEditWhileItsPushIsUnderWayStays(t *testing.T) {
	w := newWorld(t, 2, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "sent", "")
	edited := false
	w.server.refuse = func(api.Op) *api.EnvelopeError {
		if !edited {
			edited = true
			a.title(id, "edited meanwhile")
		}
		return nil
	}
	w.peace()
	if got := w.server.rows[id].Bookmark.Title; got != "edited meanwhile" {
		t.Errorf("the server has %q", got)
	}
}

func TestALostAnswerIsAskedForAgain(t *testing.T) {
	w := newWorld(t, 3, 1)
	a := w.replicas[0]
	w.peace()
	id := a.add("https://go.dev/", "Go", "")
	a.sync = syncer.New(syncer.Config{
		Store: a.store, Remote: &loseAnswer{device: a}, IDs: api.NewIDs(w.now, rand.Reader), Pause: a.pause,
	})
	if _, err := a.sync.Round(t.Context(), a.n); !errors.Is(err, errLine) {
		t.Fatalf("round without an answer: %v", err)
	}
	if r, err := a.store.Replica(t.Context(), a.n); err != nil || r.State != localstore.StateOffline {
		t.Errorf("state %q, %v", r.State, err)
	}
	rev := w.server.rev
	report, err := a.sync.Round(t.Context(), a.n)
	if err != nil || report.Pushed != 1 || report.Stale != 0 || w.server.rev != rev {
		t.Errorf("second round %+v, %v; rev %d, want %d", report, err, w.server.rev, rev)
	}
	if w.server.rows[id] == nil {
		t.Error("the bookmark is not there")
	}
	w.same(0, a)
}

func TestARefusedEditIsParkedAndBlocksNothing(t *testing.T) {
	w := newWorld(t, 4, 1)
	a := w.replicas[0]
	w.server.refuse = func(op api.Op) *api.EnvelopeError {
		if bytes.Contains(op.Set, []byte("bad.example")) {
			return &api.EnvelopeError{Code: api.CodeForbidden, Message: "not that one"}
		}
		return nil
	}
	bad := a.add("https://bad.example/", "bad", "")
	good := a.add("https://good.example/", "good", "")
	for range 2 {
		if _, err := a.sync.Round(t.Context(), a.n); err != nil {
			t.Fatal(err)
		}
	}
	parked, err := a.store.Parked(t.Context(), a.n)
	if err != nil || len(parked) != 1 || parked[0].ID != bad || parked[0].Message != "not that one" {
		t.Fatalf("parked %+v, %v", parked, err)
	}
	if w.server.rows[good] == nil || w.server.rows[bad] != nil {
		t.Error("what came behind it was not sent")
	}
	a.must(func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(bad, api.BookmarkInput{URL: api.Some("https://fine.example/"), Title: api.Some("fine")})
		return err
	})
	w.peace()
	if parked, err := a.store.Parked(t.Context(), a.n); err != nil || len(parked) != 0 {
		t.Errorf("still parked after the edit: %+v, %v", parked, err)
	}
}

func TestTheSameThingMadeOnBothSidesIsOne(t *testing.T) {
	w := newWorld(t, 5, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.peace()
	mine := a.add("https://go.dev/", "Go", a.mkdir("Dev"), "one")
	b.add("https://go.dev", "The Go language", b.mkdir("Dev"), "two")
	w.peace()
	if n := len(b.bookmarks()); n != 1 || len(b.tree()) != 1 {
		t.Fatalf("%d bookmarks and %d folders, want one each", n, len(b.tree()))
	}
	got := a.get(mine)
	if !slices.Equal(got.Tags, []string{"one", "two"}) || got.Title != "Go" {
		t.Errorf("united: %q, tags %q", got.Title, got.Tags)
	}
	if conflicts, err := b.store.Conflicts(t.Context(), b.n); err != nil || len(conflicts) != 1 || conflicts[0].Field != "title" || conflicts[0].ID != mine {
		t.Errorf("the other title: %+v, %v", conflicts, err)
	}
	// A duplicate that was made on purpose, beside one that was known, stays.
	a.add("https://go.dev/", "again", got.FolderID)
	w.peace()
	if n := len(b.bookmarks()); n != 2 {
		t.Errorf("%d bookmarks after adding one on purpose, want 2", n)
	}
}

func TestAFolderGoesInOneOpAndComesBackWhole(t *testing.T) {
	w := newWorld(t, 6, 2)
	a, b := w.replicas[0], w.replicas[1]
	dev := a.mkdir("Dev")
	inner := a.mkdir("Dev/Go")
	for _, name := range []string{"1", "2", "3"} {
		a.add("https://example.com/"+name, name, inner)
	}
	w.peace()
	a.must(func(ed *localstore.Editor) error {
		_, _, err := ed.DeleteFolder(dev)
		return err
	})
	report, err := a.sync.Round(t.Context(), a.n)
	if err != nil || report.Pushed != 1 {
		t.Errorf("deleting took %d ops, want 1; %v", report.Pushed, err)
	}
	w.peace()
	if len(b.bookmarks()) != 0 || len(b.tree()) != 0 {
		t.Error("the folder is still there elsewhere")
	}
	if _, err := a.store.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	report, err = a.sync.Round(t.Context(), a.n)
	if err != nil || report.Pushed != 1 || report.Stale != 0 {
		t.Errorf("restoring took %d ops, want 1; %v", report.Pushed+report.Stale, err)
	}
	w.peace()
	if len(b.bookmarks()) != 3 || len(b.tree()) != 2 {
		t.Errorf("%d bookmarks, %d folders came back, want 3 and 2", len(b.bookmarks()), len(b.tree()))
	}
}

func TestStructureThatBothSidesChanged(t *testing.T) {
	w := newWorld(t, 7, 2)
	a, b := w.replicas[0], w.replicas[1]
	x, y := a.mkdir("x"), a.mkdir("y")
	old := a.mkdir("old")
	kept := a.add("https://kept.example/", "kept", old)
	w.peace()
	move := func(d *device, id, parent string) {
		d.must(func(ed *localstore.Editor) error {
			_, err := ed.UpdateFolder(id, api.FolderInput{ParentID: api.Some(parent)})
			return err
		})
	}
	move(a, x, y)
	move(b, y, x)
	a.must(func(ed *localstore.Editor) error {
		_, _, err := ed.DeleteFolder(old)
		return err
	})
	late := b.add("https://late.example/", "late", old)
	b.title(kept, "edited in the dead folder")
	w.peace()
	if got := b.notes(); !slices.Contains(got, "unmoved") {
		t.Errorf("notes %q lack the move that was taken back", got)
	}
	for _, id := range []string{late, kept} {
		if row := w.server.rows[id]; row == nil || row.Deleted || !w.server.living(row.parent()) {
			t.Errorf("%s was lost: %+v", id, row)
		}
	}
}

func TestALocalProfileIsTakenAlong(t *testing.T) {
	w := newWorld(t, 9, 2)
	a, b := w.replicas[0], w.replicas[1]
	shared := a.add("https://shared.example/", "shared", a.mkdir("Dev"), "theirs")
	w.peace()
	local, err := b.store.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	home := b.n
	b.n = local.N
	b.add("https://shared.example/", "shared", b.mkdir("Dev"), "mine")
	b.add("https://local.example/", "only here", b.mkdir("Private/Deep"))
	attached, err := b.store.Attach(t.Context(), api.Workspace{ID: "w", Name: "Home"})
	if err != nil || attached.N != home {
		t.Fatalf("attached to %+v, %v", attached, err)
	}
	b.n = home
	w.peace()
	if n := len(a.bookmarks()); n != 2 || len(a.tree()) != 3 {
		t.Errorf("%d bookmarks, %d folders, want 2 and 3", n, len(a.tree()))
	}
	if got := a.get(shared).Tags; !slices.Equal(got, []string{"theirs", "mine"}) {
		t.Errorf("tags %q", got)
	}
}

// loseAnswer loses the answer to the first push.
type loseAnswer struct {
	*device
	lost bool
}

func (l *loseAnswer) Push(ctx context.Context, workspace string, push api.PushRequest) func() (api.PushResponse, error) {
	response, err := l.device.Push(ctx, workspace, push)()
	if !l.lost {
		l.lost = true
		return answer(api.PushResponse{}, errLine)
	}
	return answer(response, err)
}

// A round that has nothing to do waits for nothing.
func TestAnIdleRoundMakesNoPause(t *testing.T) {
	w := newWorld(t, 10, 1)
	a := w.replicas[0]
	a.add("https://go.dev/", "Go", "")
	w.peace()
	pauses := 0
	idle := syncer.New(syncer.Config{Store: a.store, Remote: a, IDs: a.ids, Pause: func(context.Context, time.Duration) error {
		pauses++
		return nil
	}})
	if _, err := idle.Round(t.Context(), a.n); err != nil || pauses > 0 {
		t.Errorf("%d pauses, %v", pauses, err)
	}
}

// waits has every transaction of the replica believe that an edit waits for it,
// so that bulk work makes a pause after each step, until end.
func (d *device) waits() (end func()) {
	d.w.t.Helper()
	lock := flock.New(d.path + "-waiting")
	if ok, err := lock.TryRLock(); err != nil || !ok {
		d.w.t.Fatal("the file says not that somebody waits: ", err)
	}
	return func() { _ = lock.Close() }
}

// The index costs by the word: of long rows one transaction that is waited for
// takes few, whether they are pulled or compared.
func TestLongRowsComeInShortTransactions(t *testing.T) {
	w := newWorld(t, 95, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.server.page = 5000
	for i := range 20 {
		a.must(func(ed *localstore.Editor) error {
			_, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some(fmt.Sprintf("https://long.example/%d", i)), Description: api.Some(strings.Repeat("some words ", 5000))})
			return err
		})
	}
	a.round1()
	defer b.waits()()
	pauses := 0
	paced := syncer.New(syncer.Config{Store: b.store, Remote: b, IDs: b.ids, Pause: func(context.Context, time.Duration) error {
		pauses++
		return nil
	}})
	// A page that a round was killed in comes again.
	killed := syncer.New(syncer.Config{Store: b.store, Remote: b, IDs: b.ids, Pause: func(context.Context, time.Duration) error { return errKill }})
	if _, err := killed.Round(t.Context(), b.n); !errors.Is(err, errKill) {
		t.Fatal(err)
	}
	for _, what := range []string{"pulled", "compared"} {
		pauses = 0
		report, err := paced.Round(t.Context(), b.n)
		if err != nil {
			t.Fatal(err)
		}
		if (report.Compared != nil) != (what == "compared") {
			t.Errorf("%s: compared %v", what, report.Compared)
		}
		if want := 20 * 55_000 / localstore.PaceText; pauses < want {
			t.Errorf("%s: %d pauses, want at least %d", what, pauses, want)
		}
		w.server = w.server.restored(w.server, "e2")
		for _, row := range w.server.rows { // so that all of them differ
			w.server.touch(row)
		}
	}
}
