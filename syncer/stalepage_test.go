package syncer_test

import (
	"testing"

	"bm/server/api"
)

// A page of the past, out of a cache on the way say, takes nothing back.
func TestAnOlderPageTakesNothingBack(t *testing.T) {
	w := newWorld(t, 86, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "before", "")
	w.peace()
	past := w.server.rows[id].wire()
	a.title(id, "after")
	w.peace()
	stale := tampered{w.server, func(page *api.ChangesPage) { page.Data = append(page.Data, past) }}
	report, err := a.against(stale, 0).Round(t.Context(), a.n)
	if got := a.get(id); err != nil || got.Title != "after" || got.Unsent || report.Compared != nil {
		t.Errorf("%+v; %+v, %v", got, report, err)
	}
	w.peace()
}
