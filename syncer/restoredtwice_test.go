package syncer_test

import (
	"fmt"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// A server that was put back to a backup is put back to an older one, whatever the
// compare has asked so far: what the second lost is offered again, and what was deleted
// before it stays so.
func TestASecondRestoreBeforeACompareIsUnderWay(t *testing.T) {
	for request := 2; request <= 5; request++ {
		t.Run(fmt.Sprint("before request ", request), func(t *testing.T) {
			w := newWorld(t, 83, 2)
			a, b := w.replicas[0], w.replicas[1]
			a.add("https://first.example/", "first", "")
			gone := a.add("https://gone.example/", "gone", "")
			w.peace()
			b.rm(gone)
			b.round1()
			w.server.purge() // a does not know of it
			oldest := w.server.clone()
			lost := b.add("https://lost.example/", "lost", "")
			b.round1()
			older := w.server.clone()
			b.add("https://later.example/", "later", "")
			b.round1()
			w.restore(older, "e2")
			requests := 0
			again := duringPages{b, func() {
				if requests++; requests == request {
					w.restore(oldest, "e3")
				}
			}}
			_, err := b.against(again, 0).Round(t.Context(), b.n)
			if requests < request {
				t.Skip("there are no more requests")
			}
			if report, failed := b.sync.Round(t.Context(), b.n); failed != nil {
				t.Fatalf("%+v, %v; before it %v", report, failed, err)
			}
			if row := w.server.rows[lost]; !b.alive(lost) || row == nil || row.Deleted || w.server.epoch != "e3" {
				t.Errorf("what the second restore had lost was taken for deleted; the first round: %v", err)
			}
			w.peace()
			if a.alive(gone) {
				t.Error("what was deleted before both is back")
			}
		})
	}
}

// Of several resets the smallest rev counts, whatever the last server says that all
// of its epochs share.
func TestAServerThatSharesMoreThanTheOneBefore(t *testing.T) {
	w := newWorld(t, 84, 1)
	a := w.replicas[0]
	a.add("https://first.example/", "first", "")
	w.peace()
	backup := w.server.clone()
	lost := a.add("https://lost.example/", "lost", "")
	w.peace()
	w.restore(backup, "e2")
	requests := 0
	dies := duringPages{a, func() {
		if requests++; requests == 2 {
			a.refused = errLine
		}
	}}
	if _, err := a.against(dies, 0).Round(t.Context(), a.n); err == nil {
		t.Fatal("the round was not cut off")
	}
	a.refused = nil
	w.restore(w.server.clone(), "e3")
	more := tampered{w.server, func(page *api.ChangesPage) { page.Head.SharedRev = 1 << 40 }}
	if _, err := a.against(more, 0).Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	if !a.alive(lost) || w.server.rows[lost] == nil {
		t.Error("what the first restore had lost was taken for deleted")
	}
	w.peace()
}

// A server is put back to an older copy of its files by hand, which mints no epoch:
// what it had acknowledged is offered again, rows and edits, by a replica that was
// repaired meanwhile too.
func TestAServerPutBackByHand(t *testing.T) {
	for _, repaired := range []bool{false, true} {
		t.Run(fmt.Sprint("repaired: ", repaired), func(t *testing.T) {
			w := newWorld(t, 85, 1)
			a := w.replicas[0]
			edited, kept := a.add("https://edited.example/", "before", ""), a.add("https://kept.example/", "kept", "")
			w.peace()
			copied := w.server.clone()
			a.title(edited, "after")
			lost := a.add("https://lost.example/", "lost", "")
			w.peace()
			w.server = copied
			if repaired {
				a.repaired(kept, false, func(*localstore.Entity) {})
			}
			report := a.round1()
			if c := report.Compared; c == nil || c.Offered != 2 {
				t.Errorf("%+v, %+v", report, c)
			}
			w.peace()
			if row := w.server.rows[lost]; row == nil || row.Deleted || w.server.rows[edited].Bookmark.Title != "after" || !a.alive(kept) {
				t.Errorf("the server has %+v and %+v", row, w.server.rows[edited].Bookmark)
			}
			if s := a.stands().State; s != localstore.StateLive {
				t.Errorf("state %q", s)
			}
		})
	}
}

// putBackByHand puts the server's files back, and has another machine take it beyond
// what anybody knew of it.
func (w *world) putBackByHand(copied *fakeServer, other *device) {
	w.server = copied
	for i := range 5 {
		other.add(fmt.Sprintf("https://%d.example/", i), "b", "")
	}
	other.round1()
}

// A server that was put back by hand and has gone on since, beyond what a replica knew
// of it, is noticed by an edit first: what it had acknowledged before that is neither
// undone by what it has, nor is a deletion.
func TestAServerPutBackByHandThatWentOn(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprint("deleted: ", deleted), func(t *testing.T) {
			w := newWorld(t, 88, 2)
			a, b := w.replicas[0], w.replicas[1]
			id := a.add("https://edited.example/", "before", "")
			w.peace()
			copied := w.server.clone()
			a.title(id, "after")
			a.round1()
			w.putBackByHand(copied, b)
			if deleted {
				a.rm(id)
			} else {
				a.must(func(ed *localstore.Editor) error {
					_, err := ed.UpdateBookmark(id, api.BookmarkInput{Tags: api.Some([]string{"go"})})
					return err
				})
			}
			a.round1()
			w.peace()
			for i, d := range w.replicas {
				if deleted {
					if d.alive(id) {
						t.Errorf("%d: what was deleted is back", i)
					}
				} else if got := d.get(id); got.Title != "after" || len(got.Tags) != 1 {
					t.Errorf("%d has %q with the tags %q", i, got.Title, got.Tags)
				}
			}
		})
	}
}

// Nor is it lost where what was deleted since is brought back here: then nobody knows
// which of the two came later, and both are shown.
func TestAServerPutBackByHandThatHasWhatWasDeleted(t *testing.T) {
	w := newWorld(t, 89, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://edited.example/", "before", "")
	w.peace()
	copied := w.server.clone()
	a.title(id, "after")
	a.round1()
	a.rm(id)
	a.round1()
	w.putBackByHand(copied, b)
	if _, err := a.store.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	a.round1()
	w.peace()
	if conflicts := a.conflicts(); a.get(id).Title != "before" || len(conflicts) != 1 || string(conflicts[0].Mine) != `"after"` {
		t.Errorf("the title is %q, with the conflicts %+v", a.get(id).Title, conflicts)
	}
}

// A server that is put back to the same backup twice may count on from less than
// what it lost the second time: what comes anew there is news all the same, also of
// something whose deletion was lost with the rest.
func TestASecondRestoreThatCountsOnFromLess(t *testing.T) {
	for _, sent := range []bool{false, true} {
		t.Run(fmt.Sprint("the deletion was sent: ", sent), func(t *testing.T) {
			w := newWorld(t, 86, 2)
			a, b := w.replicas[0], w.replicas[1]
			a.add("https://first.example/", "first", "")
			w.peace()
			backup := w.server.clone()
			w.restore(backup, "e2")
			begins := w.server.rev
			id := a.add("https://again.example/", "before", "")
			w.peace()
			a.title(id, "after")
			b.rm(id)
			if sent {
				b.round1()
			}
			w.restore(backup, "e3")
			w.server.rev = begins - 100
			b.round1()
			a.round1()
			w.peace()
			for i, d := range w.replicas {
				if !d.alive(id) || d.get(id).Title != "after" {
					t.Errorf("%d lacks what was edited beside the deletion", i)
				}
			}
		})
	}
}

// What was deleted before the backup, and again after it, can be restored here
// after the server has lost the second deletion.
func TestARestoreOfWhatWasDeletedTwice(t *testing.T) {
	w := newWorld(t, 87, 2)
	a := w.replicas[0]
	id := a.add("https://again.example/", "again", "")
	w.peace()
	a.rm(id)
	w.peace()
	backup := w.server.clone()
	for range 2 {
		if _, err := a.store.Undo(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		a.round1()
		a.rm(id)
		a.round1()
	}
	w.restore(backup, "e2")
	w.peace()
	if _, err := a.store.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.peace()
	if n, err := a.store.Pending(t.Context(), a.n); n != 0 || err != nil || !a.alive(id) {
		t.Errorf("%d edits are unsent, %v; it is alive: %v", n, err, a.alive(id))
	}
}
