package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

// rounds runs rounds of each device in turn, without the checks of peace: the
// server refuses something.
func (w *world) rounds() {
	w.t.Helper()
	for range 3 {
		for _, d := range w.replicas {
			if _, err := d.sync.Round(w.t.Context(), d.n); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func TestWhatIsUnitedLosesNothing(t *testing.T) {
	w := newWorld(t, 4, 2)
	a, b := w.replicas[0], w.replicas[1]
	twin := func(d *device, folder map[string]string, in api.BookmarkInput) {
		d.must(func(ed *localstore.Editor) error {
			f, err := ed.AddFolder(api.FolderInput{Name: api.Some("Dev"), Extra: api.Some(folder)})
			if err != nil {
				return err
			}
			in.URL, in.FolderID = api.Some("https://go.dev/"), api.Some(f.ID)
			_, err = ed.AddBookmark(in)
			return err
		})
	}
	old := api.At(time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC))
	twin(a, map[string]string{"COLOR": "red"}, api.BookmarkInput{})
	twin(b, map[string]string{"COLOR": "blue", "TOOLBAR": "true"}, api.BookmarkInput{SnapshotEnabled: api.Some(true), CreatedAt: api.Some(old)})
	w.peace()
	for i, d := range w.replicas {
		bookmarks, tree := d.bookmarks(), d.tree()
		if len(bookmarks) != 1 || len(tree) != 1 {
			t.Fatalf("%d: %d bookmarks, %d folders", i, len(bookmarks), len(tree))
		}
		if got := bookmarks[0]; !got.SnapshotEnabled || !got.CreatedAt.Equal(old.Time) {
			t.Errorf("%d: the bookmark lost its date or its snapshot: %+v", i, got)
		}
		if got := tree[0].Extra; got["TOOLBAR"] != "true" || got["COLOR"] != "red" {
			t.Errorf("%d: the folder has %v", i, got)
		}
	}
	conflicts, err := b.store.Conflicts(t.Context(), b.n)
	if err != nil || len(conflicts) != 1 || conflicts[0].Field != "extra.COLOR" || string(conflicts[0].Mine) != `"blue"` {
		t.Errorf("conflicts %+v, %v", conflicts, err)
	}
}

func TestUndoOfAFolderLeavesWhatOthersPutIn(t *testing.T) {
	w := newWorld(t, 9, 2)
	a, b := w.replicas[0], w.replicas[1]
	f := a.mkdir("Shared")
	w.peace()
	b.add("https://theirs.example/", "somebody else's", f)
	w.peace()
	if did, err := a.store.Undo(t.Context(), nil); err != nil || len(did.Skipped) != 1 {
		t.Errorf("undo %+v, %v", did, err)
	}
	w.peace()
	if len(b.bookmarks()) != 1 {
		t.Error("the undo deleted what another device had put into the folder, everywhere")
	}
}

// What went into a folder that was united with another's is in that one, and is
// found there by an undo.
func TestUndoFindsTheFolderThatSurvived(t *testing.T) {
	setUp := func(t *testing.T, do func(a *device, elsewhere string)) (w *world, a, b *device, theirs string) {
		w = newWorld(t, 13, 2)
		a, b = w.replicas[0], w.replicas[1]
		elsewhere := a.mkdir("Elsewhere")
		w.peace()
		theirs = b.mkdir("Dev")
		b.add("https://theirs.example/", "theirs", theirs)
		do(a, elsewhere)
		if _, err := b.sync.Round(t.Context(), b.n); err != nil {
			t.Fatal(err)
		}
		w.peace()
		return w, a, b, theirs
	}
	undo := func(t *testing.T, a *device, rows int, skipped ...string) {
		t.Helper()
		did, err := a.store.Undo(t.Context(), nil)
		if err != nil || did.Rows != rows || !slices.Equal(did.Skipped, skipped) {
			t.Errorf("undo %+v, %v; want %d rows and %q left alone", did, err, rows, skipped)
		}
	}
	t.Run("an add", func(t *testing.T) {
		w, a, b, theirs := setUp(t, func(a *device, _ string) {
			a.must(func(ed *localstore.Editor) error {
				f, err := ed.FolderBelow("", "Dev", "Go")
				if err != nil {
					return err
				}
				if _, err = ed.AddBookmark(api.BookmarkInput{URL: api.Some("https://mine.example/"), FolderID: api.Some(f.ParentID)}); err != nil {
					return err
				}
				_, err = ed.AddBookmark(api.BookmarkInput{URL: api.Some("https://deep.example/"), FolderID: api.Some(f.ID)})
				return err
			})
		})
		undo(t, a, 3, theirs)
		w.peace()
		if len(b.bookmarks()) != 1 || len(b.tree()) != 2 {
			t.Errorf("left: %d bookmarks, %d folders", len(b.bookmarks()), len(b.tree()))
		}
		if did, err := a.store.Redo(t.Context(), nil); err != nil || did.Rows != 3 || len(did.Skipped) > 0 {
			t.Errorf("redo %+v, %v", did, err)
		}
		w.peace()
		if len(b.bookmarks()) != 3 || len(b.tree()) != 3 {
			t.Errorf("done again: %d bookmarks, %d folders", len(b.bookmarks()), len(b.tree()))
		}
	})
	t.Run("a move into it", func(t *testing.T) {
		var id, from string
		w, a, b, _ := setUp(t, func(a *device, elsewhere string) {
			from = elsewhere
			id = a.add("https://moved.example/", "moved", elsewhere)
			mine := a.mkdir("Dev")
			a.must(func(ed *localstore.Editor) error {
				_, err := ed.MoveBookmarks([]string{id}, mine)
				return err
			})
		})
		undo(t, a, 1)
		w.peace()
		if got := b.get(id).FolderID; got != from {
			t.Errorf("it is in %q", got)
		}
	})
	t.Run("a move out of it", func(t *testing.T) {
		var id string
		w, a, b, theirs := setUp(t, func(a *device, elsewhere string) {
			id = a.add("https://moved.example/", "moved", a.mkdir("Dev"))
			a.must(func(ed *localstore.Editor) error {
				_, err := ed.MoveBookmarks([]string{id}, elsewhere)
				return err
			})
		})
		undo(t, a, 1)
		w.peace()
		if got := b.get(id).FolderID; got != theirs {
			t.Errorf("it is in %q, want %q", got, theirs)
		}
	})
}

func TestUndoOfAnAdd(t *testing.T) {
	w := newWorld(t, 10, 2)
	a, b := w.replicas[0], w.replicas[1]
	a.add("https://go.dev/", "untouched", "")
	w.peace()
	if did, err := a.store.Undo(t.Context(), nil); err != nil || did.Rows != 1 {
		t.Errorf("undo of what was sent: %+v, %v", did, err)
	}
	w.peace()
	if len(b.bookmarks()) != 0 {
		t.Error("the undo did not arrive")
	}
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	b.title(id, "an hour of somebody's work")
	w.peace()
	if did, err := a.store.Undo(t.Context(), nil); err != nil || len(did.Skipped) != 1 {
		t.Errorf("undo of what was edited elsewhere: %+v, %v", did, err)
	}
	w.peace()
	if len(b.bookmarks()) != 1 {
		t.Error("the undo deleted what another device had edited, everywhere")
	}
}

// Two machines import the same before they hear of each other: it becomes one in
// small transactions, with room for an edit between them, and killed between any
// two of them it goes on.
func TestManyTwinsAreUnitedInParts(t *testing.T) {
	w := newWorld(t, 34, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.peace()
	w.server.page = 1000
	const each = 300
	export := func(d *device) {
		d.must(func(ed *localstore.Editor) error {
			f, err := ed.FolderBelow("", "Imported")
			if err != nil {
				return err
			}
			for i := range 2 * each {
				in := api.BookmarkInput{URL: api.Some(fmt.Sprintf("https://example.com/%d", i)), Title: api.Some("x")}
				if i < each {
					in.FolderID = api.Some(f.ID)
				}
				if _, err := ed.AddBookmark(in); err != nil {
					return err
				}
			}
			return nil
		})
	}
	export(a)
	export(b)
	if _, err := a.against(w.server, 0).Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	pauses, killed := 0, 0
	ids := api.NewIDs(w.now, seeded{w.rng})
	parts := syncer.New(syncer.Config{Store: b.store, Remote: w.server, IDs: ids, Batch: 50, Pause: func(context.Context, time.Duration) error {
		pauses++
		b.must(func(*localstore.Editor) error { return nil }) // nobody holds the lock
		if pauses%7 == 0 {
			killed++
			return errKill
		}
		return nil
	}})
	for {
		_, err := parts.Round(t.Context(), b.n)
		if err == nil {
			break
		}
		if !errors.Is(err, errKill) {
			t.Fatal(err)
		}
	}
	if pauses < 2*each/50 || killed == 0 {
		t.Errorf("%d pauses, killed %d times", pauses, killed)
	}
	w.server.page = 1000
	w.peace()
	if len(b.bookmarks()) != 2*each || len(b.tree()) != 1 || len(b.conflicts()) > 0 {
		t.Errorf("%d bookmarks, %d folders, %d conflicts", len(b.bookmarks()), len(b.tree()), len(b.conflicts()))
	}
}

// Three machines make the same thing without a network: whoever unites it dates
// it back to the oldest, and two that do so at once agree.
func TestUnitedAtTheSameMomentItHasTheOldestDate(t *testing.T) {
	w := newWorld(t, 33, 3)
	w.peace()
	first := time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC)
	for i, day := range []int{9, 3, 6} {
		w.replicas[i].must(func(ed *localstore.Editor) error {
			_, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some("https://go.dev/"), Title: api.Some("Go"), CreatedAt: api.Some(api.At(first.AddDate(0, 0, day)))})
			return err
		})
	}
	a, b, c := w.replicas[0], w.replicas[1], w.replicas[2]
	if _, err := a.sync.Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	// c has pulled what a made, united it and is about to send that, while b's
	// version of it arrives.
	late := &beforePush{device: c, first: func() { w.rounds() }}
	w.replicas = []*device{b}
	if _, err := c.against(late, 0).Round(t.Context(), c.n); err != nil {
		t.Fatal(err)
	}
	w.replicas = []*device{a, b, c}
	w.peace()
	for i, d := range w.replicas {
		list := d.bookmarks()
		if len(list) != 1 || !list[0].CreatedAt.Equal(first.AddDate(0, 0, 3)) {
			t.Errorf("%d: %+v", i, list)
		}
		if conflicts, err := d.store.Conflicts(t.Context(), d.n); err != nil || len(conflicts) > 0 {
			t.Errorf("%d: conflicts %+v, %v", i, conflicts, err)
		}
	}
}

// beforePush does something when the first push is about to reach the server.
type beforePush struct {
	*device
	first func()
}

func (p *beforePush) Push(ctx context.Context, workspace string, push api.PushRequest) func() (api.PushResponse, error) {
	if do := p.first; do != nil {
		p.first = nil
		do()
	}
	return p.device.Push(ctx, workspace, push)
}

// Of several folders with one name in one place the first is the first there,
// as in an import: what two machines have imported is there once.
func TestNamesakesAreUnitedInTheirOrder(t *testing.T) {
	w := newWorld(t, 11, 2)
	for _, d := range w.replicas {
		for _, url := range []string{"https://one.example/", "https://two.example/"} {
			d.must(func(ed *localstore.Editor) error {
				f, err := ed.AddFolder(api.FolderInput{Name: api.Some("Same")})
				if err != nil {
					return err
				}
				_, err = ed.AddBookmark(api.BookmarkInput{URL: api.Some(url), FolderID: api.Some(f.ID)})
				return err
			})
		}
	}
	w.peace()
	for i, d := range w.replicas {
		bookmarks, tree := d.bookmarks(), d.tree()
		if len(bookmarks) != 2 || len(tree) != 2 || bookmarks[0].FolderID == bookmarks[1].FolderID {
			t.Errorf("%d: %+v in %+v", i, bookmarks, tree)
		}
	}
	notes, err := w.replicas[1].store.Notes(t.Context(), w.replicas[1].n, 10)
	if err != nil || !slices.ContainsFunc(notes, func(n localstore.Note) bool {
		return strings.HasPrefix(n.Message, `"https://one.example/" was made on both sides`)
	}) {
		t.Errorf("what has no title is told of by its URL: %+v, %v", notes, err)
	}
}
