package events_test

import (
	"log/slog"
	"testing"

	"bm/server/api"
	"bm/server/events"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

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
