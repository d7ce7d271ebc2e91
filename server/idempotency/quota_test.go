package idempotency_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"bm/server/idempotency"
	"bm/server/op"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// Nobody fills the database with answers: of each caller the latest are kept,
// and another's stay as they are.
func TestAnswersOfACallerAreBounded(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, now := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := idempotency.NewStore(db, func() time.Time { return now })
		answer := func(principal, key string, size int) {
			t.Helper()
			now = now.Add(time.Second)
			if kept, err := s.Begin(ctx, principal, key, "h"); err != nil || kept != nil {
				t.Fatalf("%v, %v", kept, err)
			}
			if err := s.Finish(ctx, principal, key, op.StoredResponse{Status: 200, Body: bytes.Repeat([]byte("x"), size)}); err != nil {
				t.Fatal(err)
			}
		}
		keeps := func(principal, key string, want bool) {
			t.Helper()
			kept, err := s.Begin(ctx, principal, key, "h")
			if err != nil || (kept != nil) != want {
				t.Errorf("%s of %s is kept: %v (%v), want %v", key, principal, kept != nil, err, want)
			}
			if err := s.Abandon(ctx, principal, key); err != nil {
				t.Fatal(err)
			}
		}
		answer("b", "first", 10)
		if kept, err := s.Begin(ctx, "a", "running", "h"); err != nil || kept != nil {
			t.Fatalf("%v, %v", kept, err)
		}
		const size, times = 1 << 20, 100
		for n := range times {
			answer("a", fmt.Sprint(n), size)
			if n%10 == 0 {
				if held := rows(t, db) * size; held > 2*idempotency.Quota {
					t.Fatalf("%d bytes are kept", held)
				}
			}
		}
		keeps("a", "0", false)
		keeps("a", fmt.Sprint(times-1), true)
		keeps("a", fmt.Sprint(times-1-idempotency.Quota/size/2), true)
		keeps("b", "first", true)
		// What still runs has no answer that could be dropped.
		if _, err := s.Begin(ctx, "a", "running", "h"); err == nil {
			t.Error("what runs was forgotten")
		}
	})
}

// One answer that is larger than all that a caller may have is not kept, and it
// takes no other's place.
func TestAHugeAnswerIsNotKept(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, now := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := idempotency.NewStore(db, func() time.Time { return now })
		sizes := map[string]int{"small": 10, "huge": idempotency.Quota + 1}
		for _, key := range []string{"small", "huge"} {
			if _, err := s.Begin(ctx, "a", key, "h"); err != nil {
				t.Fatal(err)
			}
			if err := s.Finish(ctx, "a", key, op.StoredResponse{Status: 200, Body: bytes.Repeat([]byte("x"), sizes[key])}); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Second)
		}
		for key, want := range map[string]bool{"small": true, "huge": false} {
			if kept, err := s.Begin(ctx, "a", key, "h"); err != nil || (kept != nil) != want {
				t.Errorf("%s is kept: %v (%v), want %v", key, kept != nil, err, want)
			}
		}
	})
}

// Many small answers count too.
func TestManySmallAnswersAreBounded(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, now := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := idempotency.NewStore(db, func() time.Time { return now })
		if _, err := s.Begin(ctx, "a", "secret", "h"); err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(ctx, "a", "secret", op.StoredResponse{Status: 201}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
		const before = 50_000
		err := db.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO idempotency (principal, idem_key, request_hash, status, created_at)
				WITH RECURSIVE n (i) AS (SELECT CAST($1 AS INTEGER) UNION ALL SELECT i - 1 FROM n WHERE i > 1) SELECT 'a', 'k' || CAST(i AS TEXT), 'h', 204, CAST($2 AS BIGINT) - i FROM n`, before, now.UnixMicro())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 5 { // as much as makes a process look
			key := fmt.Sprint(n)
			if _, err := s.Begin(ctx, "a", key, "h"); err != nil {
				t.Fatal(err)
			}
			if err := s.Finish(ctx, "a", key, op.StoredResponse{Status: 200, Body: bytes.Repeat([]byte("x"), 1<<20)}); err != nil {
				t.Fatal(err)
			}
		}
		if left := rows(t, db); left > idempotency.Quota/1024 || left < idempotency.Quota/1024/2 {
			t.Errorf("%d are kept", left)
		}
		if kept, err := s.Begin(ctx, "a", "secret", "h"); err != nil || kept == nil {
			t.Errorf("that a secret was made was forgotten: %v", err)
		}
	})
}
