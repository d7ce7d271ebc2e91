package auth_test

import (
	"log/slog"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// Whatever ends, moves or renews a session at the same moment takes what it locks
// in one order: PostgreSQL would look for a deadlock only after a second, in which
// nobody else's access could change either.
func TestNobodyWaitsForEachOther(t *testing.T) {
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t) + "&deadlock_timeout=1h"}
	s := servertest.Start(t, config)
	config.Now, config.Logger = time.Now, slog.New(slog.DiscardHandler)
	admin, err := server.OpenAdmin(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(t.Context()) })
	join(t, s, "ada")
	change := func(how func() error) func() {
		return func() {
			if err := how(); err != nil {
				t.Error(err)
			}
		}
	}
	lock := change(func() error { return admin.SetLocked(t.Context(), "ada@example.test", true) })
	password := change(func() error { return admin.SetPassword(t.Context(), "ada@example.test", phrase) })
	const (
		theSession    = `UPDATE session SET expires_at = expires_at`
		theGeneration = `UPDATE access_generation SET generation = generation`
	)
	for _, c := range []struct {
		held  string
		first func(api.Session) func()
		then  func(api.Session) func()
	}{
		{theSession, switching(t, s), renewing(t, s)},
		{theSession, renewing(t, s), switching(t, s)},
		{theGeneration, of(lock), leaving(t, s)},
		{theGeneration, leaving(t, s), of(lock)},
		{theGeneration, of(password), switching(t, s)},
	} {
		exec(t, behind(t, config), `UPDATE account SET locked_at = 0`)
		session := decode[api.Session](t, send(t, s, "POST", "/auth/login", "", `{"email":"ada@example.test","password":"`+phrase+`"}`), 200)
		queued(t, behind(t, config), c.held, c.first(session), c.then(session))
	}
}

func of(work func()) func(api.Session) func() { return func(api.Session) func() { return work } }

func switching(t *testing.T, s *servertest.Server) func(api.Session) func() {
	return func(session api.Session) func() {
		token := session.AccessToken.Reveal()
		home := decode[[]api.Workspace](t, send(t, s, "GET", "/workspaces", token, ""), 200)[0].ID
		return func() { send(t, s, "POST", "/auth/switch-workspace", token, `{"workspaceId":"`+home+`"}`) }
	}
}

func renewing(t *testing.T, s *servertest.Server) func(api.Session) func() {
	return func(session api.Session) func() { return func() { renew(t, s, session) } }
}

func leaving(t *testing.T, s *servertest.Server) func(api.Session) func() {
	return func(session api.Session) func() {
		return func() { send(t, s, "POST", "/auth/logout", session.AccessToken.Reveal(), "") }
	}
}

// queued starts works one after the other while another transaction has run text
// and not committed it yet, each once those before it wait, and fails where they do
// not end once it has.
func queued(t *testing.T, db *sqldb.DB, text string, works ...func()) {
	t.Helper()
	done := make(chan struct{}, len(works))
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(t.Context(), text); err != nil {
			return err
		}
		for n, work := range works {
			go func() { work(); done <- struct{}{} }()
			for waiting := 0; waiting <= n; {
				var err error
				if waiting, err = blocked(t, db); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	late := time.After(10 * time.Second)
	for range works {
		select {
		case <-done:
		case <-late:
			t.Fatal("they wait for each other")
		}
	}
}
