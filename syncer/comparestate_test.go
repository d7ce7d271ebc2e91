package syncer_test

import (
	"errors"
	"fmt"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// Who looks at a replica meanwhile sees that it is being compared; and that nothing
// can be edited in it, where that was so before.
func TestACompareIsSeen(t *testing.T) {
	for before, refused := range map[localstore.ReplicaState]error{
		localstore.StateLive:   nil,
		localstore.StateFrozen: api.Errorf(api.CodeForbidden, "no more"),
	} {
		t.Run(string(before), func(t *testing.T) {
			w := newWorld(t, 92, 1)
			a := w.replicas[0]
			for i := range 4 {
				a.add(fmt.Sprintf("https://%d.example/", i), "x", "")
			}
			w.peace()
			a.refused = refused
			if _, err := a.sync.Round(t.Context(), a.n); !errors.Is(err, refused) {
				t.Fatalf("the round: %v", err)
			}
			a.refused = nil
			a.differs()
			want := localstore.StateComparing
			if before == localstore.StateFrozen {
				want = localstore.StateFrozen
			}
			var seen []localstore.ReplicaState
			looks := duringPages{a, func() { seen = append(seen, a.stands().State) }}
			report, err := a.against(looks, 0).Round(t.Context(), a.n)
			if err != nil || report.Compared == nil || len(seen) < 3 {
				t.Fatalf("%+v, %v; it asked %d times", report, err, len(seen))
			}
			if seen[1] != want { // the first page of the compare
				t.Errorf("the states were %v, want %q at the second request", seen, want)
			}
			if s := a.stands().State; s != localstore.StateLive {
				t.Errorf("it ends as %q", s)
			}
		})
	}
}

// A line that breaks while a server is asked up to where it shares its history has
// said nothing of that: what was purged stays so.
func TestAQuestionOfHistoryThatIsNotAnswered(t *testing.T) {
	for request := 2; ; request++ {
		w := newWorld(t, 93, 2)
		a, b := w.replicas[0], w.replicas[1]
		gone := a.add("https://gone.example/", "gone", "")
		a.add("https://kept.example/", "kept", "")
		w.peace()
		b.rm(gone)
		b.round1()
		w.server.purge() // a does not know of it
		backup := w.server.clone()
		lost := b.add("https://lost.example/", "lost", "")
		b.round1()
		w.restore(backup, "e2")
		requests := 0
		cutOff := duringPages{a, func() {
			if requests++; requests == request {
				a.refused = errLine
			}
		}}
		_, err := a.against(cutOff, 0).Round(t.Context(), a.n)
		if requests < request {
			break // it was not cut off any more
		}
		if err == nil {
			t.Fatalf("request %d: the round was not cut off", request)
		}
		a.refused = nil
		w.peace()
		if a.alive(gone) || w.server.rows[gone] != nil {
			t.Errorf("request %d: what was purged is back", request)
		}
		if row := w.server.rows[lost]; row == nil || row.Deleted {
			t.Errorf("request %d: what was lost was not offered again", request)
		}
	}
}
