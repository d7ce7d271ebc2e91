package syncer_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

// past is a replica in step with its server, and what became of the bookmarks that
// another machine made.
type past struct {
	*world
	a, b   *device
	backup *fakeServer
	// older is the replica's file as it was at the backup.
	older []byte
	file  []byte
	// dead were deleted before the backup, brief made after it and deleted, and
	// later made after it.
	dead, brief, later []string
	edited             []string // after the backup
}

// pageSize is that of a replica's file.
const pageSize = 4096

func newPast(t *testing.T) *past {
	p := &past{world: newWorld(t, 91, 2)}
	p.a, p.b, p.server.page = p.replicas[0], p.replicas[1], 5000
	old := p.add("old", 30)
	p.dead = p.add("dead", 10)
	p.peace()
	p.rm(p.dead[:5])
	p.peace()
	p.server.purge()
	p.rm(p.dead[5:])
	p.peace()
	p.backup = p.server.clone()
	p.older = p.a.closed()
	p.a.open()
	p.later, p.brief = p.add("later", 30), p.add("brief", 10)
	p.edited = old[:10]
	p.b.must(func(ed *localstore.Editor) error {
		for _, id := range p.edited {
			if _, err := ed.UpdateBookmark(id, api.BookmarkInput{Title: api.Some("edited")}); err != nil {
				return err
			}
		}
		return nil
	})
	p.peace()
	p.rm(p.brief)
	p.rm(old[20:])
	p.peace()
	p.file = p.a.closed()
	p.a.open()
	return p
}

// add makes bookmarks of which two fit into a page.
func (p *past) add(what string, n int) (ids []string) {
	p.b.must(func(ed *localstore.Editor) error {
		for i := range n {
			b, err := ed.AddBookmark(api.BookmarkInput{
				URL: api.Some(fmt.Sprintf("https://%s.example/%d", what, i)), Title: api.Some(what), Description: api.Some(strings.Repeat("some words ", 150)),
			})
			if err != nil {
				return err
			}
			ids = append(ids, b.ID)
		}
		return nil
	})
	return ids
}

func (p *past) rm(ids []string) {
	p.b.must(func(ed *localstore.Editor) error {
		_, err := ed.DeleteBookmarks(ids...)
		return err
	})
}

// gone are those of some bookmarks that the server has not, and alive the others.
func (p *past) gone(ids []string) (gone, alive []string) {
	for _, id := range ids {
		if row := p.server.rows[id]; row == nil || row.Deleted {
			gone = append(gone, id)
		} else {
			alive = append(alive, id)
		}
	}
	return gone, alive
}

// each page of the file is damaged in turn, and judge called for those where
// that was found.
func (p *past) each(damaged func(page int) []byte, judge func(t *testing.T, page int)) {
	t, newest := p.t.(*testing.T), p.server
	found, nameless, every := 0, 0, 7
	if *simSeeds > 100 {
		every = 1
	}
	for page := 0; page < len(p.file)/pageSize; page += every {
		p.server = newest.clone()
		p.a.closed()
		if !p.a.mends(damaged(page)) {
			continue
		}
		if r, err := p.a.store.Replica(t.Context(), p.a.n); err != nil || r.RemoteID == "" {
			nameless++ // what says of which workspace it is, is lost
			continue
		}
		found++
		if judge(t, page); t.Failed() {
			t.Fatalf("page %d of %d", page+1, len(p.file)/pageSize)
		}
	}
	if found < 30/every || nameless > 1 {
		t.Errorf("%d damaged pages were found, and %d left no workspace", found, nameless)
	}
}

// spoilt is the file without one of its pages.
func (p *past) spoilt(page int) []byte {
	content := bytes.Clone(p.file)
	copy(content[page*pageSize:], bytes.Repeat([]byte{0xee}, pageSize))
	return content
}

// torn is the file with one page as it was at the backup, and a page spoilt that
// holds no rows, so that it is found.
func (p *past) torn(page int) []byte {
	content := bytes.Clone(p.file)
	if at := page * pageSize; at+pageSize <= len(p.older) {
		copy(content[at:], p.older[at:at+pageSize])
	}
	for at := len(content) - pageSize; at > 0; at -= pageSize {
		if content[at] == 10 && at != page*pageSize { // a leaf of an index
			copy(content[at:], bytes.Repeat([]byte{0xee}, pageSize))
			return content
		}
	}
	p.t.Fatal("no page to spoil")
	return nil
}

// What the server has is not touched by a repair, whichever page it lost.
func TestARepairSendsNothing(t *testing.T) {
	p := newPast(t)
	for what, damaged := range map[string]func(int) []byte{"spoilt": p.spoilt, "torn": p.torn} {
		newest := p.server
		p.each(damaged, func(t *testing.T, _ int) {
			before := p.server.clone()
			report := p.a.round1()
			if report.Pushed > 0 || report.Compared == nil || report.Compared.Defect || report.Compared.Offered > 0 {
				t.Errorf("%s: %+v, %+v", what, report, report.Compared)
			}
			if !maps.EqualFunc(before.rows, p.server.rows, func(x, y *fakeRow) bool { return x.Rev == y.Rev && x.Deleted == y.Deleted }) {
				t.Errorf("%s: the server's rows are others", what)
			}
			p.same(0, p.a)
		})
		p.server = newest
	}
}

// A server is put back to an older backup while the only replica that knows what
// came later is damaged: what can be read of that is offered again, and what was
// deleted stays so.
func TestARepairBesideARestore(t *testing.T) {
	p := newPast(t)
	most := len(p.later) + len(p.edited)
	for what, c := range map[string]struct {
		damaged func(int) []byte
		lost    int // at most, of all pages
	}{
		// Each row lies in one page, and what holds the replica's record, or the
		// first page with another, says nothing of its history.
		"spoilt": {p.spoilt, most * 5 / 2},
		"torn":   {p.torn, most * 5 / 2},
	} {
		newest, lost := p.server, 0
		p.each(c.damaged, func(t *testing.T, page int) {
			p.server = p.backup.restored(p.server, "e2")
			p.a.round1()
			if _, alive := p.gone(slices.Concat(p.dead, p.brief)); len(alive) > 0 {
				t.Errorf("%s: %d that were deleted are back", what, len(alive))
			}
			gone, _ := p.gone(p.later)
			edits := 0
			for _, id := range p.edited {
				if p.server.rows[id].Bookmark.Title != "edited" {
					edits++
				}
			}
			if page == 0 && len(gone)+edits > 0 {
				t.Errorf("%s: without the first page %d rows and %d edits are lost", what, len(gone), edits)
			}
			lost += len(gone) + edits
			p.same(0, p.a)
		})
		if lost > c.lost {
			t.Errorf("%s: %d rows and edits were lost by damage to each page in turn, want at most %d", what, lost, c.lost)
		}
		t.Logf("%s: %d lost of %d", what, lost, most)
		p.server = newest
	}
}

// repaired makes the replica one that was repaired, in doubt or not, with a row
// that is not as it was.
func (d *device) repaired(id string, doubtful bool, change func(next *localstore.Entity)) {
	d.w.t.Helper()
	err := d.store.Sync(d.w.t.Context(), d.n, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(api.TypeBookmark, id)
		if err != nil {
			return err
		}
		next, at, due := row.Entity, tx.Replica(), int64(-1)
		if change(&next); doubtful {
			at.Rev = -1
		}
		at.SharedRev = &due
		return tx.Write(row, next, nil)
	})
	if err != nil {
		d.w.t.Fatal(err)
	}
}

// A row of which the damage may have made anything says nothing against what the
// server has.
func TestARowInDoubt(t *testing.T) {
	other := func(next *localstore.Entity) {
		next.Rev, next.Title, next.Tags = next.Rev+500, "of the past", []string{"past"}
	}
	deleted := func(next *localstore.Entity) {
		next.Rev, next.DeletedAt = next.Rev+500, next.CreatedAt
	}
	restored := func(w *world) { w.restore(w.server.clone(), "e2") }
	touched := func(w *world) {
		restored(w)
		for _, row := range w.server.rows {
			w.server.touch(row)
		}
	}
	for what, c := range map[string]struct {
		doubtful bool
		change   func(*localstore.Entity)
		meantime func(*world)
		want     string
		sent     int
	}{
		"in the same epoch":                     {true, other, func(*world) {}, "Go", 0},
		"changed after a restore":               {true, other, touched, "Go", 0},
		"later than what was restored":          {true, other, restored, "of the past", 1},
		"its deletion":                          {true, deleted, restored, "Go", 0},
		"its deletion, in no doubt":             {false, deleted, restored, "", 1},
		"later, in no doubt":                    {false, other, restored, "of the past", 1},
		"in the same epoch, and in no doubt":    {false, other, func(*world) {}, "Go", 0},
		"of an epoch that nobody ever heard of": {true, other, func(w *world) { restored(w); w.server.lineage = nil }, "Go", 0},
		"of such an epoch, in no doubt":         {false, other, func(w *world) { restored(w); w.server.lineage = nil }, "of the past", 1},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 92, 1)
			a := w.replicas[0]
			id := a.add("https://go.dev/", "Go", "", "go")
			w.peace()
			a.repaired(id, c.doubtful, c.change)
			c.meantime(w)
			report := a.round1()
			if report.Pushed != c.sent || report.Conflicts > 0 {
				t.Errorf("%+v, %+v", report, report.Compared)
			}
			w.same(0, a)
			if got := w.server.rows[id]; got.Deleted != (c.want == "") || !got.Deleted && got.Bookmark.Title != c.want {
				t.Errorf("the server has %+v, want %q", got.Bookmark, c.want)
			}
		})
	}
}

// What the server has no more was deleted, unless it was put back to an older
// backup, and a server says so only of what it knows.
func TestWhatARepairedReplicaAloneHas(t *testing.T) {
	for what, c := range map[string]struct {
		meantime func(w *world, a, b *device, id string)
		offered  bool
		certain  bool // only where it is in no doubt
	}{
		"deleted elsewhere":  {func(w *world, _, b *device, id string) { b.rm(id); b.round1() }, false, false},
		"deleted and purged": {func(w *world, _, b *device, id string) { b.rm(id); b.round1(); w.server.purge() }, false, false},
		"lost": {func(w *world, _, _ *device, id string) {
			backup := w.server.clone()
			delete(backup.rows, id)
			backup.rev--
			w.restore(backup, "e2")
		}, true, false},
		"lost by a server that knows no former epoch": {func(w *world, _, _ *device, id string) {
			delete(w.server.rows, id)
			w.restore(w.server, "e2")
			w.server.lineage, w.server.shared = nil, 0
		}, true, true},
		"deleted before the backup": {func(w *world, _, b *device, id string) {
			b.rm(id)
			b.round1()
			w.server.purge()
			w.restore(w.server.clone(), "e2")
		}, false, false},
	} {
		for _, doubtful := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in doubt: %v", what, doubtful), func(t *testing.T) {
				w := newWorld(t, 93, 2)
				a, b := w.replicas[0], w.replicas[1]
				a.add("https://first.example/", "first", "")
				w.peace()
				id := a.add("https://go.dev/", "Go", "")
				w.peace()
				a.repaired(id, doubtful, func(*localstore.Entity) {})
				c.meantime(w, a, b, id)
				if report := a.round1(); report.Compared == nil || report.Compared.Defect {
					t.Errorf("%+v, %+v", report, report.Compared)
				}
				w.same(0, a)
				offered := c.offered && (!c.certain || !doubtful)
				if row := w.server.rows[id]; offered != (row != nil && !row.Deleted) {
					t.Errorf("the server has it: %+v", row)
				}
			})
		}
	}
}

// The server is put back just after it was asked: what it was asked of has to be
// asked anew.
func TestARestoreAsARepairedReplicaIsCompared(t *testing.T) {
	w := newWorld(t, 94, 2)
	a, b := w.replicas[0], w.replicas[1]
	a.add("https://first.example/", "first", "")
	w.peace()
	w.restore(w.server.clone(), "e2") // all epochs together share nothing of what comes
	w.peace()
	gone := a.add("https://gone.example/", "gone", "")
	w.peace()
	a.repaired(gone, false, func(*localstore.Entity) {})
	asked := 0
	swapping := duringPages{a, func() {
		if asked++; asked == 2 {
			b.rm(gone)
			b.round1()
			w.server.purge()
			w.restore(w.server.clone(), "e3")
		}
	}}
	if _, err := a.against(swapping, 0).Round(t.Context(), a.n); err == nil {
		t.Error("another history was taken for the one that was asked of")
	}
	if report := a.round1(); report.Compared == nil || report.Compared.Offered > 0 || a.alive(gone) {
		t.Errorf("%+v; what was deleted is alive: %v", report.Compared, a.alive(gone))
	}
	w.peace()
}

// The same after a compare that was cut off.
func TestARestoreAfterARepairedReplicasCompareWasCutOff(t *testing.T) {
	w := newWorld(t, 96, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	backup := w.server.clone()
	lost := a.add("https://lost.example/", "lost", "")
	w.peace()
	a.repaired(id, false, func(*localstore.Entity) {})
	killed := syncer.New(syncer.Config{Store: a.store, Remote: w.server, IDs: a.ids, Pause: func(context.Context, time.Duration) error { return errKill }})
	if _, err := killed.Round(t.Context(), a.n); err == nil {
		t.Fatal("the compare was not cut off")
	}
	w.restore(backup, "e2")
	if report := a.round1(); report.Compared == nil || !a.alive(lost) || w.server.rows[lost] == nil {
		t.Errorf("%+v; what the server lost is there: %v", report, a.alive(lost))
	}
	w.peace()
}

// What was sent and not answered, by who may only read now, is forgotten by a
// compare: an answer that comes behind it is of the past.
func TestAnAnswerThatIsOlderThanACompare(t *testing.T) {
	w := newWorld(t, 97, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.title(id, "edited")
	if _, err := a.against(&loseAnswer{device: a}, 0).Round(t.Context(), a.n); err == nil {
		t.Fatal("the answer was not lost")
	}
	b.round1()
	b.rm(id)
	b.round1()
	err := a.store.Sync(t.Context(), a.n, func(tx *localstore.SyncTx) error {
		due := int64(-1)
		tx.Replica().SharedRev = &due
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.against(readOnly{a}, 0).Round(t.Context(), a.n); api.CodeOf(err) != api.CodeForbidden {
		t.Fatal(err)
	}
	if report := a.round1(); report.Compared != nil || !a.alive(id) || a.get(id).Title != "edited" {
		t.Errorf("%+v, %+v; it is there: %v", report, report.Compared, a.alive(id))
	}
	w.peace()
}
