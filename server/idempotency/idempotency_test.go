package idempotency_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"bm/server/api"
	"bm/server/idempotency"
	"bm/server/op"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// rows is how many keys are kept.
func rows(t *testing.T, db *sqldb.DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Row(t.Context(), `SELECT count(*) FROM idempotency`, nil, &n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStore(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, now := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := idempotency.NewStore(db, func() time.Time { return now })
		begin := func(principal, key, hash string) *op.StoredResponse {
			t.Helper()
			kept, err := s.Begin(ctx, principal, key, hash)
			if err != nil {
				t.Fatal(err)
			}
			return kept
		}
		conflict := func(principal, key, hash string) {
			t.Helper()
			if kept, err := s.Begin(ctx, principal, key, hash); !errors.Is(err, &api.Error{Code: api.CodeConflict}) {
				t.Errorf("%v, %v, want a conflict", kept, err)
			}
		}
		if begin("a", "k", "h") != nil {
			t.Fatal("a new key has an answer")
		}
		// While it runs, or after its process was killed, its outcome is unknown.
		conflict("a", "k", "h")
		conflict("a", "k", "other")
		if begin("b", "k", "other") != nil {
			t.Error("another's key has an answer")
		}
		answer := op.StoredResponse{Status: 201, Header: http.Header{"Etag": {`"7"`}}, Body: []byte(`{"ü":"\u0000 <>&"}`)}
		if err := s.Finish(ctx, "a", "k", answer); err != nil {
			t.Fatal(err)
		}
		kept := begin("a", "k", "h")
		if kept == nil || kept.Status != 201 || string(kept.Body) != string(answer.Body) || kept.Header.Get("ETag") != `"7"` {
			t.Errorf("kept %+v", kept)
		}
		conflict("a", "k", "other")

		// What was finished is not given up; what failed is free again.
		if err := s.Abandon(ctx, "a", "k"); err != nil {
			t.Fatal(err)
		}
		if begin("a", "k", "h") == nil {
			t.Error("the answer was given up")
		}
		if err := s.Abandon(ctx, "b", "k"); err != nil {
			t.Fatal(err)
		}
		if begin("b", "k", "third") != nil {
			t.Error("a failed request has an answer")
		}
		if err := s.Finish(ctx, "b", "k", op.StoredResponse{Status: 204}); err != nil {
			t.Fatal(err)
		}
		if kept := begin("b", "k", "third"); kept == nil || kept.Status != 204 || len(kept.Body) != 0 {
			t.Errorf("kept %+v", kept)
		}

		// Seven days. A clock that is set back ends nothing.
		now = now.Add(-365 * 24 * time.Hour)
		if begin("a", "k", "h") == nil {
			t.Error("the clock was set back, and the answer is gone")
		}
		now = now.Add(365*24*time.Hour + idempotency.Kept)
		if err := s.Purge(ctx); err != nil || rows(t, db) != 2 {
			t.Errorf("on the seventh day %d rows are kept: %v", rows(t, db), err)
		}
		now = now.Add(time.Microsecond)
		if begin("a", "k", "other") != nil {
			t.Error("it is answered after seven days")
		}
		if err := s.Purge(ctx); err != nil || rows(t, db) != 1 {
			t.Errorf("after seven days %d rows are kept: %v", rows(t, db), err)
		}
	})
}
