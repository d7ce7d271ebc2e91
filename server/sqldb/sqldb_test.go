package sqldb_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

func put(ctx context.Context, tx *sqldb.Tx, name, value string) error {
	_, err := tx.Exec(ctx, "INSERT INTO server_secret (name, value) VALUES ($1, $2)", name, value)
	return err
}

func count(t *testing.T, db *sqldb.DB) (n int) {
	t.Helper()
	ctx := context.Background()
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM server_secret", nil, &n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestErrorsAreMapped(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := context.Background()
		err := db.Write(ctx, func(tx *sqldb.Tx) error { return put(ctx, tx, "a", "1") })
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(ctx, func(tx *sqldb.Tx) error { return put(ctx, tx, "a", "2") })
		if !errors.Is(err, sqldb.ErrConflict) {
			t.Errorf("the same key twice: %v", err)
		}
		err = db.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO membership (tenant_id, account_id, role, created_at) VALUES ('x', 'y', 'admin', 1)")
			return err
		})
		if !errors.Is(err, sqldb.ErrReference) {
			t.Errorf("a member of no tenant: %v", err)
		}
		err = db.Read(ctx, func(tx *sqldb.Tx) error {
			var value string
			return tx.Row(ctx, "SELECT value FROM server_secret WHERE name = $1", []any{"b"}, &value)
		})
		if !errors.Is(err, sqldb.ErrNotFound) {
			t.Errorf("no row: %v", err)
		}
	})
}

// Many writers at once: each that succeeds is there, each that fails or
// panics leaves nothing and takes nothing of the others along.
func TestWritersShareCommitsButNotFailures(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := context.Background()
		refused := errors.New("refused")
		var wg sync.WaitGroup
		var mu sync.Mutex
		committed := 0
		for i := range 200 {
			wg.Go(func() {
				name := strings.Repeat("k", i+1)
				err := db.Write(ctx, func(tx *sqldb.Tx) error {
					tx.AfterCommit(func() { mu.Lock(); committed++; mu.Unlock() })
					if err := put(ctx, tx, name, ""); err != nil {
						return err
					}
					if i%4 == 1 {
						return refused
					}
					if i%40 == 3 && db.Dialect() == sqldb.SQLite {
						panic("on purpose")
					}
					return nil
				})
				switch {
				case i%4 == 1 && !errors.Is(err, refused):
					t.Errorf("writer %d: %v, want its own error", i, err)
				case i%40 == 3 && db.Dialect() == sqldb.SQLite:
					if err == nil || !strings.Contains(err.Error(), "on purpose") {
						t.Errorf("writer %d: %v, want its panic", i, err)
					}
				case i%4 != 1 && err != nil:
					t.Errorf("writer %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		want := 150
		if db.Dialect() == sqldb.SQLite {
			want -= 5
		}
		if got := count(t, db); got != want || committed != want {
			t.Errorf("%d rows and %d callbacks, want %d", got, committed, want)
		}
	})
}

func TestCancelledWriteLeavesNothing(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		err := db.Write(ctx, func(tx *sqldb.Tx) error {
			if err := put(ctx, tx, "a", ""); err != nil {
				return err
			}
			cancel()
			return put(ctx, tx, "b", "")
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if got := count(t, db); got != 0 {
			t.Errorf("%d rows were left", got)
		}
	})
}

// A reader sees one state, whatever is written meanwhile.
func TestReadIsASnapshot(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := context.Background()
		err := db.Read(ctx, func(tx *sqldb.Tx) error {
			var before, after int
			if err := tx.Row(ctx, "SELECT count(*) FROM server_secret", nil, &before); err != nil {
				return err
			}
			if err := db.Write(ctx, func(tx *sqldb.Tx) error { return put(ctx, tx, "a", "") }); err != nil {
				return err
			}
			if err := tx.Row(ctx, "SELECT count(*) FROM server_secret", nil, &after); err != nil {
				return err
			}
			if before != after {
				t.Errorf("the reader saw %d rows and then %d", before, after)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := count(t, db); got != 1 {
			t.Errorf("%d rows afterwards", got)
		}
	})
}

func TestMigrateTwiceIsHarmless(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := context.Background()
		n, err := db.Migrate(ctx)
		if err != nil || n != 0 {
			t.Errorf("ran %d migrations again: %v", n, err)
		}
		if pending, err := db.Pending(ctx); err != nil || pending != 0 {
			t.Errorf("%d pending: %v", pending, err)
		}
	})
}

// Whatever changes who may do what must move the generation.
func TestAccessGenerationMoves(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := context.Background()
		generation := func() (n int64) {
			err := db.Read(ctx, func(tx *sqldb.Tx) error {
				return tx.Row(ctx, "SELECT generation FROM access_generation", nil, &n)
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, step := range []struct {
			statement string
			moves     bool
		}{
			{"INSERT INTO tenant (id, name, name_key, slug, created_at) VALUES ('t', 'T', 't', 't', 1)", false},
			{"INSERT INTO account (id, email, email_key, home_tenant_id, created_at, updated_at) VALUES ('a', 'A', 'a', 't', 1, 1)", false},
			{"INSERT INTO membership (tenant_id, account_id, role, created_at) VALUES ('t', 'a', 'admin', 1)", true},
			{"UPDATE membership SET role = 'member'", true},
			{"UPDATE account SET display_name = 'x'", false},
			{"UPDATE account SET password_hash = 'x'", true},
			{"INSERT INTO api_key (id, tenant_id, account_id, label, secret_hash, created_at) VALUES ('k', 't', 'a', '', 'h', 1)", true},
			{"UPDATE api_key SET last_used_at = 5", false},
			{"UPDATE api_key SET revoked_at = 5", true},
			{"INSERT INTO session (id, account_id, tenant_id, workspace_id, created_at, expires_at) VALUES ('s', 'a', 't', '', 1, 9)", false},
			{"UPDATE session SET revoked_at = 2", true},
			{"INSERT INTO role (id, tenant_id, name, name_key, created_at) VALUES ('r', 't', 'R', 'r', 1)", true},
			{"INSERT INTO role_assignment (id, tenant_id, account_id, role_id, scope_type, created_at) VALUES ('ra', 't', 'a', 'r', 'org', 1)", true},
			{"DELETE FROM role_assignment", true},
			{"DELETE FROM membership", true},
		} {
			before := generation()
			err := db.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, step.statement)
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", step.statement, err)
			}
			if moved := generation() != before; moved != step.moves {
				t.Errorf("%s: moved %v, want %v", step.statement, moved, step.moves)
			}
		}
	})
}

// A panic ends its transaction: what that had locked is free.
func TestPanicEndsItsTransaction(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		// As an import has it: nothing cancels it.
		ctx := context.WithoutCancel(t.Context())
		touch := func(ctx context.Context, then func()) error {
			return db.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, `UPDATE access_generation SET generation = generation + 1`)
				then()
				return err
			})
		}
		func() {
			defer func() { _ = recover() }()
			if err := touch(ctx, func() { panic("on purpose") }); err == nil {
				t.Error("the write succeeded")
			}
		}()
		soon, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := touch(soon, func() {}); err != nil {
			t.Errorf("the row is locked still: %v", err)
		}
	})
}
