package syncer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

// restore puts an older copy of the server back.
func (w *world) restore(backup *fakeServer, epoch string) {
	w.server = backup.restored(w.server, epoch)
}

// Same epoch: what a purge behind the cursor explains stays deleted.
func TestWhatWasPurgedStaysDeleted(t *testing.T) {
	w := newWorld(t, 71, 2)
	a, b := w.replicas[0], w.replicas[1]
	gone, kept := a.add("https://gone.example/", "gone", ""), a.add("https://kept.example/", "kept", "")
	w.peace()
	b.rm(gone)
	b.round1()
	w.server.purge()
	report := a.round1()
	if report.Compared == nil || report.Compared.Defect || report.Compared.Offered != 0 {
		t.Errorf("compared %+v", report.Compared)
	}
	if a.alive(gone) || !a.alive(kept) || w.server.rows[gone] != nil {
		t.Error("what was purged came back")
	}
	w.peace()
}

// An edit of it is made anew.
func TestAnEditOfWhatWasPurgedIsMadeAnew(t *testing.T) {
	w := newWorld(t, 72, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://gone.example/", "gone", "")
	w.peace()
	b.rm(id)
	b.round1()
	a.title(id, "edited")
	if _, err := a.against(deadLine{a}, 0).Round(t.Context(), a.n); err == nil { // it has the tombstone now
		t.Fatal("it was sent")
	}
	err := a.store.Sync(t.Context(), a.n, func(tx *localstore.SyncTx) error {
		flights, err := tx.InFlight()
		if err != nil {
			return err
		}
		return tx.Land(flights) // of the restore that never arrived
	})
	if err != nil {
		t.Fatal(err)
	}
	w.server.purge()
	seen := w.ops()
	a.round1()
	if len(*seen) != 1 || (*seen)[0] != "create bookmark" || w.server.rows[id] == nil {
		t.Errorf("sent %q", *seen)
	}
	w.peace()
}

// After a restore: what the backup lacks is offered, what was purged before it is
// not, and an edit that it lost is one again.
func TestAfterARestore(t *testing.T) {
	w := newWorld(t, 73, 2)
	a, b := w.replicas[0], w.replicas[1]
	purged, edited, both := a.add("https://purged.example/", "purged", ""), a.add("https://edited.example/", "before", ""), a.add("https://both.example/", "before", "")
	w.peace()
	// a knows nothing of the deletion, and goes on from what it has.
	b.rm(purged)
	b.round1()
	w.server.purge()
	backup := w.server.clone()
	later := b.add("https://later.example/", "later", "")
	b.title(edited, "after")
	b.title(both, "after")
	b.round1()
	w.restore(backup, "e2")
	row := w.server.rows[both]
	row.Bookmark.Title = "otherwise"
	w.server.touch(row)
	report := b.round1()
	if report.Compared == nil || report.Compared.Defect || report.Compared.Offered != 2 {
		t.Errorf("compared %+v", report.Compared)
	}
	w.peace()
	if a.alive(purged) || !a.alive(later) {
		t.Errorf("purged before the backup: alive %v; made after it: alive %v", a.alive(purged), a.alive(later))
	}
	if got := a.get(edited).Title; got != "after" {
		t.Errorf("an edit that the server lost: %q", got)
	}
	// Changed again since, there is no common version: both are kept.
	if got, all := a.get(both).Title, b.conflicts(); got != "otherwise" || len(all) != 1 || all[0].ID != both || string(all[0].Mine) != `"after"` {
		t.Errorf("%q, conflicts %+v", got, all)
	}
}

// The server says what each epoch shares with its own, which is more than what
// all of them share.
func TestEachEpochSharesItsOwn(t *testing.T) {
	w := newWorld(t, 74, 2)
	a, b := w.replicas[0], w.replicas[1]
	a.add("https://first.example/", "first", "")
	w.peace()
	w.restore(w.server.clone(), "e2") // which the replicas follow
	w.peace()
	id := b.add("https://gone.example/", "gone", "")
	w.peace()
	b.rm(id)
	b.round1()
	w.server.purge()
	w.restore(w.server.clone(), "e3")
	report := a.round1()
	if report.Compared == nil || report.Compared.Offered != 0 || a.alive(id) {
		t.Errorf("%+v; what was deleted before the second restore is alive: %v", report.Compared, a.alive(id))
	}
	w.peace()
}

// Two restores before one compare is through: what the first lost is lost still,
// although the second shares what came after it.
func TestOfSeveralResetsTheSmallestCounts(t *testing.T) {
	w := newWorld(t, 75, 1)
	a := w.replicas[0]
	a.add("https://first.example/", "first", "")
	w.peace()
	backup := w.server.clone()
	lost := a.add("https://lost.example/", "lost", "")
	w.peace()
	w.restore(backup, "e2")
	killed := syncer.New(syncer.Config{Store: a.store, Remote: w.server, IDs: api.NewIDs(w.now, seeded{w.rng}), Pause: func(context.Context, time.Duration) error { return errKill }})
	if _, err := killed.Round(t.Context(), a.n); err == nil {
		t.Fatal("the compare was not cut off")
	}
	w.restore(w.server.clone(), "e3")
	a.round1()
	if !a.alive(lost) || w.server.rows[lost] == nil {
		t.Error("what the first restore had lost was taken for deleted")
	}
	w.peace()
}

// The same while the compare is under way.
func TestARestoreDuringACompare(t *testing.T) {
	w := newWorld(t, 80, 1)
	a := w.replicas[0]
	for _, url := range []string{"https://1.example/", "https://2.example/", "https://3.example/", "https://4.example/"} {
		a.add(url, "x", "")
	}
	w.peace()
	backup := w.server.clone()
	lost := a.add("https://lost.example/", "lost", "")
	w.peace()
	w.restore(backup, "e2")
	pages := 0
	again := duringPages{a, func() {
		if pages++; pages == 5 { // the second of the compare
			w.restore(w.server.clone(), "e3")
		}
	}}
	report, err := a.against(again, 0).Round(t.Context(), a.n)
	if err != nil || !a.alive(lost) || w.server.epoch != "e3" {
		t.Errorf("%+v, %v; epoch %s; what the first restore had lost is there: %v", report, err, w.server.epoch, a.alive(lost))
	}
	w.peace()
}

// duringPages does something before each page.
type duringPages struct {
	*device
	do func()
}

func (s duringPages) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	s.do()
	return s.device.Changes(ctx, w, cursor, limit, wait)
}

// tampered changes what a page says of the whole.
type tampered struct {
	*fakeServer
	change func(page *api.ChangesPage)
}

func (s tampered) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	page, err := s.fakeServer.Changes(ctx, w, cursor, limit, wait)
	s.change(&page)
	return page, err
}

// stray makes a bookmark what the server has not, as a defect would.
func (d *device) stray(id string) {
	d.w.t.Helper()
	err := d.store.Sync(d.w.t.Context(), d.n, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(api.TypeBookmark, id)
		if err != nil {
			return err
		}
		next := row.Entity
		next.Rev--
		next.Title = "not what the server has"
		return tx.Write(row, next, nil)
	})
	if err != nil {
		d.w.t.Fatal(err)
	}
}

func TestADigestThatDiffersIsADefect(t *testing.T) {
	w := newWorld(t, 76, 1)
	a := w.replicas[0]
	a.add("https://first.example/", "first", "")
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.stray(id)
	report := a.round1()
	if c := report.Compared; c == nil || !c.Defect || c.Differ != 1 || c.Missing != 0 || c.Unknown != 0 {
		t.Errorf("compared %+v", c)
	}
	// It is told of where the user looks.
	notes, err := a.store.Notes(t.Context(), a.n, 1)
	if err != nil || len(notes) != 1 || notes[0].Kind != syncer.NoteDefect ||
		!strings.Contains(notes[0].Message, "compare of 2 rows mended it: 0 were here alone, 0 there alone, 1 differed") {
		t.Errorf("noted %+v, %v", notes, err)
	}
	w.peace()
	// One that differs all the same after that is said, and is no success.
	for what, change := range map[string]func(*api.ChangesPage){
		"digest": func(p *api.ChangesPage) { p.Head.Digest = "0000000000000000" },
		"count":  func(p *api.ChangesPage) { p.Head.Count++ },
	} {
		if _, err := a.against(tampered{w.server, change}, 0).Round(t.Context(), a.n); err == nil {
			t.Errorf("another %s is taken for the same", what)
		}
		if r := a.stands(); r.State != localstore.StateFailing {
			t.Errorf("%s: %q, %q", what, r.State, r.Reason)
		}
	}
	w.peace()
}

func TestAnotherEpochWithinAPullBeginsAnew(t *testing.T) {
	w := newWorld(t, 77, 2)
	a, b := w.replicas[0], w.replicas[1]
	for _, url := range []string{"https://1.example/", "https://2.example/", "https://3.example/", "https://4.example/"} {
		a.add(url, "x", "")
	}
	a.round1()
	pages := 0
	other := tampered{w.server, func(p *api.ChangesPage) {
		if pages++; pages == 2 {
			p.Head.Epoch = "e9"
		}
	}}
	report, err := b.against(other, 0).Round(t.Context(), b.n)
	if err != nil || report.Compared == nil {
		t.Errorf("%+v, %v", report, err)
	}
	w.peace()
}

// atHead answers a push as the real server does: where the next pull may go on,
// if nothing else has changed.
type atHead struct{ *device }

func (s atHead) Push(_ context.Context, _ string, push api.PushRequest) func() (api.PushResponse, error) {
	server := s.w.server
	before := *cursorOf(server.epoch, "feed", server.rev, 0)
	response, err := server.judge(push)
	if err == nil && push.Cursor == before {
		response.NextCursor = *cursorOf(server.epoch, "feed", server.rev, 0)
	}
	return answer(response, err)
}

func TestWhatWasSentIsNotPulledBack(t *testing.T) {
	w := newWorld(t, 78, 2)
	a := w.replicas[0]
	w.peace()
	a.add("https://go.dev/", "Go", "")
	report, err := a.against(atHead{a}, 0).Round(t.Context(), a.n)
	if err != nil || report.Pushed != 1 || report.Pulled != 0 || report.Compared != nil {
		t.Errorf("%+v, %v", report, err)
	}
	w.peace()
}

// A push that takes the server from one head to the next says nothing to a
// replica that has yet to pull what lies before.
func TestAPushMovesNoCursorButItsOwn(t *testing.T) {
	w := newWorld(t, 79, 2)
	a, b := w.replicas[0], w.replicas[1]
	theirs := b.add("https://theirs.example/", "theirs", "")
	w.peace()
	a.add("https://mine.example/", "mine", "")
	if _, err := a.against(deadLine{a}, 0).Round(t.Context(), a.n); err == nil {
		t.Fatal("it was sent")
	}
	// As after a repair: what was sent is known, and nothing of the server is.
	err := a.store.Sync(t.Context(), a.n, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(api.TypeBookmark, theirs)
		if err != nil {
			return err
		}
		next := row.Entity
		next.Rev = 0
		if err := tx.Write(row, next, nil); err != nil {
			return err
		}
		at := tx.Replica()
		at.Cursor, at.Whole = "", ""
		return tx.Remove(row)
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := a.against(atHead{a}, 0).Round(t.Context(), a.n)
	if err != nil || report.Compared != nil || !a.alive(theirs) {
		t.Errorf("%+v, %v; what the server has is there: %v", report, err, a.alive(theirs))
	}
	w.peace()
}

// A digest that differs says nothing of a row that was deleted elsewhere while
// the rows are compared: only where nothing has changed since did the server lose it.
func TestWhatIsDeletedBesideACompareStaysDeleted(t *testing.T) {
	for _, at := range []int{2, 3} { // before the compare's first page, and within it
		w := newWorld(t, 81, 2)
		a, b := w.replicas[0], w.replicas[1]
		for _, url := range []string{"https://1.example/", "https://2.example/", "https://3.example/", "https://4.example/"} {
			a.add(url, "x", "")
		}
		gone := a.add("https://gone.example/", "gone", "")
		w.peace()
		err := a.store.Sync(t.Context(), a.n, func(tx *localstore.SyncTx) error {
			tx.Replica().Live++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		pages := 0
		deleting := duringPages{a, func() {
			if pages++; pages == at {
				b.rm(gone)
				b.round1()
			}
		}}
		report, err := a.against(deleting, 0).Round(t.Context(), a.n)
		if err != nil || report.Compared == nil || !report.Compared.Defect || report.Compared.Offered > 0 || a.alive(gone) {
			t.Errorf("page %d: %+v, %+v, %v; it is alive: %v", at, report, report.Compared, err, a.alive(gone))
		}
		w.peace()
	}
}

// A compare after a restore that is cut off has taken over what came since: an
// edit of that, before the compare is repeated, is one.
func TestAnEditBetweenTwoCompares(t *testing.T) {
	w := newWorld(t, 82, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "Go", "", "one")
	w.peace()
	w.restore(w.server.clone(), "e2")
	row := w.server.rows[id]
	row.Bookmark.Title = "otherwise"
	w.server.touch(row)
	killed := syncer.New(syncer.Config{Store: a.store, Remote: w.server, IDs: api.NewIDs(w.now, seeded{w.rng}), Pause: func(context.Context, time.Duration) error { return errKill }})
	if _, err := killed.Round(t.Context(), a.n); err == nil {
		t.Fatal("the compare was not cut off")
	}
	if got := a.get(id).Title; got != "otherwise" {
		t.Fatalf("the compare was cut off before that: %q", got)
	}
	a.title(id, "mine")
	if report := a.round1(); report.Conflicts > 0 || w.server.rows[id].Bookmark.Title != "mine" {
		t.Errorf("%+v; the server has %q", report, w.server.rows[id].Bookmark.Title)
	}
	w.peace()
}

// A full compare that is cut off is told of when it is complete, with all that its
// parts found; and one that mends nothing is not.
func TestADefectIsToldThoughItsCompareIsCutOff(t *testing.T) {
	w := newWorld(t, 83, 1)
	a := w.replicas[0]
	a.add("https://first.example/", "first", "")
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.stray(id)
	notes := func() []localstore.Note {
		t.Helper()
		all, err := a.store.Notes(t.Context(), a.n, 9)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	killed := syncer.New(syncer.Config{Store: a.store, Remote: w.server, IDs: api.NewIDs(w.now, seeded{w.rng}), Pause: func(context.Context, time.Duration) error { return errKill }})
	if report, err := killed.Round(t.Context(), a.n); err == nil || report.Compared == nil || report.Compared.Defect || len(notes()) > 0 {
		t.Fatalf("the compare was not cut off: %+v", report)
	}
	if got := a.get(id).Title; got != "Go" {
		t.Fatalf("the compare was cut off before that: %q", got)
	}
	differing := tampered{w.server, func(p *api.ChangesPage) { p.Head.Digest = "0000000000000000" }}
	for range 2 {
		if report, err := a.against(differing, 0).Round(t.Context(), a.n); err == nil || report.Compared.Defect || len(notes()) > 0 {
			t.Errorf("%+v, %v, and noted %+v", report.Compared, err, notes())
		}
	}
	report := a.round1()
	if c := report.Compared; c == nil || !c.Defect || c.Rows != 2 || c.Differ != 1 {
		t.Errorf("compared %+v", c)
	}
	if told := notes(); len(told) != 1 || !strings.Contains(told[0].Message, "compare of 2 rows mended it: 0 were here alone, 0 there alone, 1 differed") {
		t.Errorf("noted %+v", told)
	}
	if report := a.round1(); report.Compared != nil || len(notes()) != 1 {
		t.Errorf("it is told again: %+v, %+v", report, notes())
	}
	w.peace()
}

// Who may only read, and has edits of a time before that, is told of a defect, too.
func TestADefectIsToldToWhoMayOnlyRead(t *testing.T) {
	w := newWorld(t, 82, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.add("https://mine.example/", "mine", "")
	a.stray(id)
	report, err := a.against(readOnly{a}, 0).Round(t.Context(), a.n)
	if api.CodeOf(err) != api.CodeForbidden || report.Compared == nil || !report.Compared.Defect {
		t.Errorf("compared %+v, %v", report.Compared, err)
	}
	if notes, err := a.store.Notes(t.Context(), a.n, 1); err != nil || len(notes) != 1 || notes[0].Kind != syncer.NoteDefect {
		t.Errorf("noted %+v, %v", notes, err)
	}
	if r := a.stands(); r.State != localstore.StateFrozen || r.Reason != "you may only read" {
		t.Errorf("%q, %q", r.State, r.Reason)
	}
	w.peace()
}

// What was in the trash of the backup, and came back and was edited after it, is as
// it was when the server lost that: what the trash holds is not known here, and no
// newer.
func TestAfterARestoreWhatWasDeletedInTheBackup(t *testing.T) {
	w := newWorld(t, 79, 2)
	a := w.replicas[0]
	id := a.add("https://back.example/", "before", "", "old")
	w.peace()
	a.rm(id)
	w.peace()
	backup := w.server.clone()
	a.must(func(ed *localstore.Editor) error { return ed.RestoreBookmarks(id) })
	a.title(id, "after")
	a.must(func(ed *localstore.Editor) error {
		_, err := ed.TagBookmarks([]string{id}, []string{"new"}, []string{"old"})
		return err
	})
	w.peace()
	w.restore(backup, "e2")
	w.peace()
	for i, d := range w.replicas {
		if got := d.get(id); got.Title != "after" || len(got.Tags) != 1 || got.Tags[0] != "new" {
			t.Errorf("%d: %q, tags %q", i, got.Title, got.Tags)
		}
		if all := d.conflicts(); len(all) != 0 {
			t.Errorf("%d: conflicts %+v", i, all)
		}
	}
}

// A server that gives a rev out again, which the one that was lost had given to
// something else, has not said the same thing twice.
func TestAfterARestoreOneRevMeansTwoThings(t *testing.T) {
	w := newWorld(t, 80, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://twice.example/", "before", "")
	w.peace()
	backup := w.server.clone()
	w.restore(backup, "e2")
	begins := w.server.rev
	a.title(id, "of a")
	a.round1()
	lost := w.server.rows[id].Rev
	w.restore(backup, "e3")
	w.server.rev = begins
	b.title(id, "of b")
	b.round1()
	if now := w.server.rows[id].Rev; now != lost {
		t.Fatalf("rev %d, not %d", now, lost)
	}
	w.peace()
	if got, all := a.get(id).Title, a.conflicts(); got != "of b" || len(all) != 1 || all[0].ID != id || string(all[0].Mine) != `"of a"` {
		t.Errorf("%q, conflicts %+v", got, all)
	}
}

// What another machine offered again just as it was is no edit of it: one that was
// made here meanwhile is in force, and no conflict.
func TestAfterARestoreAnEditOfWhatAnotherOffered(t *testing.T) {
	w := newWorld(t, 81, 2)
	a, b := w.replicas[0], w.replicas[1]
	older := a.add("https://older.example/", "first", "")
	w.peace()
	backup := w.server.clone()
	lost := a.add("https://lost.example/", "before", "")
	a.title(older, "before")
	w.peace()
	w.restore(backup, "e2")
	for _, id := range []string{older, lost} {
		b.title(id, "after")
	}
	a.round1()
	w.peace()
	for _, id := range []string{older, lost} {
		if got := a.get(id).Title; got != "after" {
			t.Errorf("%q", got)
		}
	}
	if all := b.conflicts(); len(all) != 0 {
		t.Errorf("conflicts %+v", all)
	}
}
