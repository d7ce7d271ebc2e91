package syncer_test

import (
	"context"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// differs has the next round find that the digests differ.
func (d *device) differs() {
	d.w.t.Helper()
	err := d.store.Sync(d.w.t.Context(), d.n, func(tx *localstore.SyncTx) error {
		tx.Replica().Live++
		return nil
	})
	if err != nil {
		d.w.t.Fatal(err)
	}
}

// begins counts how often all is asked for from the start.
type begins struct {
	tampered
	times *int
}

func (s begins) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	if cursor == "" {
		*s.times++
	}
	return s.tampered.Changes(ctx, w, cursor, limit, wait)
}

// Pages of two histories are no comparison.
func TestAnotherEpochWithinACompareBeginsAnew(t *testing.T) {
	w := newWorld(t, 88, 1)
	a := w.replicas[0]
	for _, url := range []string{"https://1.example/", "https://2.example/", "https://3.example/", "https://4.example/"} {
		a.add(url, "x", "")
	}
	w.peace()
	a.differs()
	pages, times := 0, 0
	other := begins{tampered{w.server, func(p *api.ChangesPage) {
		if pages++; pages == 3 { // the second of the compare
			p.Head.Epoch = "e9"
		}
	}}, &times}
	if report, err := a.against(other, 0).Round(t.Context(), a.n); err != nil || times != 2 {
		t.Errorf("it was begun %d times; %+v, %v", times, report, err)
	}
	w.peace()
}

// A compare knows what the server had when it began, and no more: what is deleted
// beside it has yet to be pulled, be the replica repaired before that or not.
func TestACompareKnowsTheHeadItBeganAt(t *testing.T) {
	w := newWorld(t, 89, 2)
	a, b := w.replicas[0], w.replicas[1]
	gone := a.add("https://gone.example/", "gone", "")
	kept := a.add("https://1.example/", "x", "")
	for _, url := range []string{"https://2.example/", "https://3.example/", "https://4.example/"} {
		a.add(url, "x", "")
	}
	w.peace()
	a.differs()
	pages := 0
	cutOff := duringPages{a, func() {
		switch pages++; pages {
		case 3: // the second of the compare
			b.rm(gone)
			b.round1()
		case 4: // the pull behind it
			a.refused = errLine
		}
	}}
	if _, err := a.against(cutOff, 0).Round(t.Context(), a.n); err == nil || a.stands().SharedRev != nil || !a.alive(gone) {
		t.Fatalf("%v; %+v; it is alive: %v", err, a.stands(), a.alive(gone))
	}
	a.refused = nil
	a.repaired(kept, false, func(*localstore.Entity) {})
	if report := a.round1(); report.Compared == nil || report.Compared.Offered > 0 || a.alive(gone) {
		t.Errorf("%+v, %+v; what was deleted is there: %v", report, report.Compared, a.alive(gone))
	}
	w.peace()
}
