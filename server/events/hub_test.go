package events_test

import (
	"log/slog"
	"slices"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/events"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// What was published is told once, however often and late it is heard again, to
// whoever was there; and a stream that nobody reads holds one event a workspace.
func TestWhatWasToldIsNoNews(t *testing.T) {
	hub := events.NewHub(sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()}), slog.New(slog.DiscardHandler))
	defer hub.Close()
	subscribe := func(tenant string) *events.Subscription {
		s, err := hub.Subscribe(tenant)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	takes := func(s *events.Subscription, want ...api.Event) {
		t.Helper()
		if got := s.Take(); !slices.Equal(got, want) {
			t.Errorf("%v is told, want %v", got, want)
		}
	}
	publish := func(tenant, workspace string, rev int64) {
		hub.Publish(access.Scope{TenantID: tenant, WorkspaceID: workspace}, rev)
	}
	first, second, other := subscribe("t"), subscribe("t"), subscribe("o")
	publish("t", "w", 3)
	publish("t", "w", 3)
	publish("t", "w", 2)
	takes(first, api.Event{WorkspaceID: "w", Rev: 3})
	publish("t", "w", 3)
	takes(first)
	publish("t", "w", 5)
	takes(first, api.Event{WorkspaceID: "w", Rev: 5})
	takes(second, api.Event{WorkspaceID: "w", Rev: 5})
	takes(other)
	if n := hub.Remembered(); n != 1 {
		t.Errorf("%d revs are remembered for three streams and one workspace", n)
	}
	first.Cancel()
	second.Cancel()
	if n := hub.Remembered(); n != 0 {
		t.Errorf("%d revs are remembered for nobody", n)
	}
	// What is below what nobody remembers is news again.
	third := subscribe("t")
	publish("t", "w", 4)
	takes(third, api.Event{WorkspaceID: "w", Rev: 4})
}

// One tenant's streams are bounded, and take nothing from another's.
func TestSubscriptionsAreBounded(t *testing.T) {
	hub := events.NewHub(sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()}), slog.New(slog.DiscardHandler))
	defer hub.Close()
	var all []*events.Subscription
	for {
		s, err := hub.Subscribe("crowd")
		if err != nil {
			if api.CodeOf(err) != api.CodeRateLimited || len(all) < 100 {
				t.Fatalf("after %d: %v", len(all), err)
			}
			break
		}
		if all = append(all, s); len(all) > 100_000 {
			t.Fatal("there is no bound")
		}
	}
	if _, err := hub.Subscribe("other"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	all[0].Cancel()
	if _, err := hub.Subscribe("crowd"); err != nil {
		t.Errorf("once one has left: %v", err)
	}
}
