package syncer_test

import (
	"context"
	"testing"
	"time"

	"bm/localstore"
	"bm/syncer"
)

// What was deleted stays so where a server is put back to a backup of before, also
// by a replica that was repaired and whose compare was cut off, or had just ended.
func TestADeletionOutlivesARepairAndARestore(t *testing.T) {
	for what, c := range map[string]struct {
		doubtful bool
		cutOff   func(a *device) *syncer.Syncer
	}{
		"a compare that was cut off": {false, func(a *device) *syncer.Syncer {
			killed := func(context.Context, time.Duration) error { return errKill }
			return syncer.New(syncer.Config{Store: a.store, Remote: a.w.server, IDs: a.ids, Pause: killed})
		}},
		"a compare that had just ended": {true, func(a *device) *syncer.Syncer {
			return a.against(duringPages{a, func() {
				if a.stands().SharedRev == nil {
					a.refused = errLine
				}
			}}, 0)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 98, 1)
			a := w.replicas[0]
			kept, gone := a.add("https://kept.example/", "kept", ""), a.add("https://gone.example/", "gone", "")
			w.peace()
			backup := w.server.clone()
			a.rm(gone)
			a.round1()
			a.repaired(kept, c.doubtful, func(*localstore.Entity) {})
			if _, err := c.cutOff(a).Round(t.Context(), a.n); err == nil {
				t.Fatal("the round was not cut off")
			}
			a.refused = nil
			w.restore(backup, "e2")
			if report := a.round1(); report.Compared == nil || a.alive(gone) || !a.alive(kept) {
				t.Errorf("%+v; what was deleted is there: %v", report.Compared, a.alive(gone))
			}
			w.peace()
		})
	}
}
