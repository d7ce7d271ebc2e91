package auth

import (
	"context"
	"testing"
	"time"

	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// When a key was used is not forgotten where it could not be written, and a
// later use is not undone by one that is written late.
func TestUseOfKeysIsWrittenLate(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		err := db.Write(ctx, func(tx *sqldb.Tx) error {
			for _, text := range []string{
				`INSERT INTO account (id, email, email_key, home_tenant_id, created_at, updated_at) VALUES ('a', 'a', 'a', 't', 1, 1)`,
				`INSERT INTO tenant (id, name, name_key, slug, created_at) VALUES ('t', 't', 't', 't', 1)`,
				`INSERT INTO membership (tenant_id, account_id, role, created_at) VALUES ('t', 'a', 'admin', 1)`,
				`INSERT INTO api_key (id, tenant_id, account_id, label, secret_hash, created_at) VALUES ('k1', 't', 'a', '', 'h1', 1), ('k2', 't', 'a', '', 'h2', 1)`,
			} {
				if _, err := tx.Exec(ctx, text); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		a := &Authenticator{db: db, now: func() time.Time { return at }, used: map[string]time.Time{}}
		a.touch("k1")
		a.touch("k2")
		ended, end := context.WithCancel(ctx)
		end()
		if err := a.FlushUse(ended); err == nil {
			t.Fatal("it was written though it could not be")
		}
		first := at
		at = at.Add(time.Hour)
		a.touch("k2")
		if err := a.FlushUse(ctx); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]time.Time{"k1": first, "k2": at} {
			var got int64
			err := db.Read(ctx, func(tx *sqldb.Tx) error {
				return tx.Row(ctx, `SELECT last_used_at FROM api_key WHERE id = $1`, []any{id}, &got)
			})
			if err != nil || got != want.UnixMicro() {
				t.Errorf("%s was last used at %v, want %v (%v)", id, time.UnixMicro(got).UTC(), want, err)
			}
		}
	})
}

// While nothing can be written, what waits is bounded by the keys that there
// are, and a use that came since the failure stands.
func TestAFailedFlushKeepsTheLatestUse(t *testing.T) {
	db := sqldbtest.Open(t, sqldb.Config{Dir: t.TempDir()})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := &Authenticator{db: db, now: func() time.Time { return at }, used: map[string]time.Time{}}
	ended, end := context.WithCancel(t.Context())
	end()
	for range 3 {
		a.touch("k")
		if err := a.FlushUse(ended); err == nil {
			t.Fatal("it was written though it could not be")
		}
		if got := a.used["k"]; len(a.used) != 1 || !got.Equal(at) {
			t.Errorf("%v is kept, want %v", a.used, at)
		}
		at = at.Add(time.Minute)
	}
}
