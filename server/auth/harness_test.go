package auth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

const year = 365 * 24 * time.Hour

// configs are the databases that a test runs on.
func configs(t *testing.T, test func(t *testing.T, config server.Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, server.Config{Dir: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, server.Config{DatabaseURL: sqldbtest.Postgres(t)})
	})
}

// behind opens the database of a running server, as an administrator's command
// beside it does.
func behind(t *testing.T, config server.Config) *sqldb.DB {
	t.Helper()
	return sqldbtest.Open(t, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL})
}

func exec(t *testing.T, db *sqldb.DB, text string, args ...any) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(t.Context(), text, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// during sends a request while another transaction, on PostgreSQL, has run text and
// not committed it yet: it waits for that, and finds what it has done.
func during(t *testing.T, db *sqldb.DB, text string, send func() answer) answer {
	t.Helper()
	got := make(chan answer, 1)
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(t.Context(), text); err != nil {
			return err
		}
		go func() { got <- send() }()
		for waiting := 0; waiting == 0; {
			if len(got) > 0 {
				return errors.New("the request did not wait for the other")
			}
			var err error
			if waiting, err = blocked(t, db); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return <-got
}

// blocked is how many connections wait for a lock of another, on PostgreSQL.
func blocked(t *testing.T, db *sqldb.DB) (waiting int, err error) {
	t.Helper()
	err = db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Row(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`, nil, &waiting)
	})
	return waiting, err
}

type answer struct {
	status int
	header http.Header
	body   string
}

func send(t testing.TB, s *servertest.Server, method, path, token, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(raw)}
}

func (a answer) ok(t testing.TB, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	return a
}

func (a answer) want(t testing.TB, code api.Code) api.EnvelopeError {
	t.Helper()
	var envelope api.Envelope
	if err := json.Unmarshal([]byte(a.body), &envelope); err != nil {
		t.Fatalf("%d: %v in %.200s", a.status, err, a.body)
	}
	if a.status != code.Status() || envelope.Error.Code != code {
		t.Errorf("%d %s (%s), want %s", a.status, envelope.Error.Code, envelope.Error.Message, code)
	}
	return envelope.Error
}

func decode[T any](t testing.TB, a answer, status int) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.ok(t, status).body), &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// who asks the server who a credential belongs to.
func who(t testing.TB, s *servertest.Server, token string) answer {
	t.Helper()
	return send(t, s, "GET", "/api/v1/me", token, "")
}

const phrase = "a long enough phrase"

func join(t testing.TB, s *servertest.Server, name string) api.Session {
	t.Helper()
	return decode[api.Session](t, send(t, s, "POST", "/auth/register", "",
		fmt.Sprintf(`{"email":"%s@example.test","password":%q,"noticeVersion":"1"}`, name, phrase)), 201)
}

func logIn(t testing.TB, s *servertest.Server, name string) api.Session {
	t.Helper()
	return decode[api.Session](t, send(t, s, "POST", "/auth/login", "",
		fmt.Sprintf(`{"email":"%s@example.test","password":%q}`, name, phrase)), 200)
}

func renew(t testing.TB, s *servertest.Server, session api.Session) answer {
	t.Helper()
	return send(t, s, "POST", "/auth/refresh", "", fmt.Sprintf(`{"refreshToken":%q}`, session.RefreshToken.Reveal()))
}

func makeKey(t testing.TB, s *servertest.Server, token, fields string) api.APIKeySecret {
	t.Helper()
	return decode[api.APIKeySecret](t, send(t, s, "POST", "/api/v1/api-keys", token, `{"noticeVersion":"1"`+fields+`}`), 201)
}
