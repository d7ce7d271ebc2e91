package sqldb_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// A table that has grown is looked at once, and not again before it has
// changed again.
func TestLearn(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		if db.Dialect() != sqldb.Postgres {
			if err := db.Learn(ctx); err != nil {
				t.Error(err)
			}
			return
		}
		err := db.Write(ctx, func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx, "ALTER TABLE server_secret SET (autovacuum_enabled = false)"); err != nil {
				return err
			}
			for i := range 2000 {
				if err := put(ctx, tx, fmt.Sprint(i), "x"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The database counts what changed a moment after it did.
		deadline := time.Now().Add(time.Minute)
		for looks(t, db) == 0 {
			if time.Now().After(deadline) {
				t.Fatal("nobody looked at a table of 2,000 new rows")
			}
			if err := db.Learn(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if err := db.Learn(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := looks(t, db); n != 1 {
			t.Errorf("looked %d times at a table that did not change", n)
		}
	})
}

// looks is how often somebody has asked to look at the table.
func looks(t *testing.T, db *sqldb.DB) (n int) {
	t.Helper()
	ctx := context.Background()
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT analyze_count FROM pg_stat_user_tables WHERE relname = 'server_secret'", nil, &n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
