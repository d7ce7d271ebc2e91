package auth

import (
	"context"
	"strconv"
	"testing"
	"time"

	"bm/server/access"
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

// What is remembered of credentials is bounded by what it holds: each has a
// place for every workspace of its organization.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	a := &Authenticator{known: map[string]entry{}}
	rights := func(n int) access.Rights {
		workspaces := make(map[string]access.Set, n)
		for i := range n {
			workspaces[strconv.Itoa(i)] = access.Everything()
		}
		return access.Rights{Workspaces: workspaces}
	}
	large := &access.Principal{Rights: rights(maxRights / 10)}
	for i := range 100 {
		hash := strconv.Itoa(i)
		a.keep(hash, entry{principal: large}, 0)
		if _, ok := a.remembered(hash); !ok {
			t.Fatalf("the credential number %d is forgotten as soon as it is found", i)
		}
		held := 0
		for _, known := range a.known {
			held += len(known.principal.Rights.Workspaces)
		}
		if held > maxRights {
			t.Fatalf("%d credentials hold %d rights, want at most %d", len(a.known), held, maxRights)
		}
	}
	small := entry{principal: &access.Principal{}}
	for i := range maxKnown + 10 {
		a.keep("small "+strconv.Itoa(i), small, 0)
		if len(a.known) > maxKnown {
			t.Fatalf("%d credentials are remembered, want at most %d", len(a.known), maxKnown)
		}
	}
	// One that is too large alone takes nobody else's place.
	a.keep("a", small, 0)
	a.keep("huge", entry{principal: &access.Principal{Rights: rights(maxRights + 1)}}, 0)
	if _, ok := a.remembered("huge"); ok {
		t.Error("what is too large by itself is remembered")
	}
	if _, ok := a.remembered("a"); !ok {
		t.Error("another is forgotten for it")
	}
	a.keep("old", small, a.generation+1)
	if _, ok := a.remembered("old"); ok {
		t.Error("what was found under another generation is remembered")
	}
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
