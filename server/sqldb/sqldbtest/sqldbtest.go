// Package sqldbtest gives any test a fresh, migrated database: SQLite always,
// PostgreSQL where its binaries are found. It is imported by tests alone.
package sqldbtest

import (
	"context"
	"testing"

	"bm/server/sqldb"
)

// Each runs test once for every database that is to be had.
func Each(t *testing.T, test func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, Open(t, sqldb.Config{Dir: t.TempDir()}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Open(t, sqldb.Config{URL: Postgres(t)}))
	})
}

// Open opens and migrates a database, and closes it at the end of the test.
func Open(t testing.TB, cfg sqldb.Config) *sqldb.DB {
	t.Helper()
	ctx := context.Background()
	db, err := sqldb.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	if _, err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return db
}
