package op_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// maker counts the effects of its operations.
type maker struct {
	made atomic.Int64
	fail atomic.Bool
	// gate, where there is one, holds the operation until it is closed.
	entered, gate chan struct{}
}

func (m *maker) declare(r *op.Router) {
	make1 := func(ctx context.Context, call *op.Call, in *struct{ Body thing }) (op.Tagged[map[string]string], error) {
		if m.gate != nil {
			m.entered <- struct{}{}
			<-m.gate
		}
		if m.fail.Load() {
			return op.Tagged[map[string]string]{}, api.Errorf(api.CodeConflict, "not now")
		}
		n := m.made.Add(1)
		return op.Tagged[map[string]string]{
			Value: map[string]string{"name": in.Body.Name, "n": fmt.Sprint(n), "workspace": call.Scope.WorkspaceID},
			ETag:  op.RevTag(n),
		}, nil
	}
	s := spec("make", http.MethodPost, "/make")
	s.Status = http.StatusCreated
	op.Register(r, s, make1)

	by := s
	by.ID, by.Path, by.Auth, by.Scope, by.Permission = "make-by-key", "/key/make", op.KeyOnly, op.KeyWorkspace, access.BookmarksWrite
	op.Register(r, by, make1)

	silent := s
	silent.ID, silent.Path, silent.Status, silent.BodyOptional = "poke", "/poke", http.StatusNoContent, true
	op.Register(r, silent, func(context.Context, *op.Call, *struct{ Body struct{} }) (op.None, error) {
		m.made.Add(1)
		return op.None{}, nil
	})

	once := s
	once.ID, once.Path, once.OnceOnly = "make-secret", "/secret", true
	op.Register(r, once, func(context.Context, *op.Call, *struct{ Body thing }) (map[string]string, error) {
		if m.fail.Load() {
			return nil, api.Errorf(api.CodeConflict, "not now")
		}
		return map[string]string{"secret": fmt.Sprint("hunter", m.made.Add(1))}, nil
	})

	never := s
	never.ID, never.Path, never.NoReplay = "sign-in", "/sign-in", true
	op.Register(r, never, func(context.Context, *op.Call, *struct{ Body thing }) (map[string]string, error) {
		return map[string]string{"token": fmt.Sprint("hunter", m.made.Add(1))}, nil
	})

	patch := s
	patch.ID, patch.Method, patch.Status = "patch", http.MethodPatch, http.StatusOK
	op.Register(r, patch, make1)

	broken := s
	broken.ID, broken.Path = "break", "/break"
	op.Register(r, broken, func(context.Context, *op.Call, *struct{ Body thing }) (map[string]string, error) {
		if m.made.Add(1) == 1 {
			panic("the first breaks")
		}
		return map[string]string{}, nil
	})
}

func TestReplay(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		m, c := &maker{}, newClock()
		w := newWorld(t, m.declare, withReplays(db, c))
		post := func(path, token, key, body string, headers ...string) answer {
			return w.do(t, "POST", path, token, body, append(headers, "Idempotency-Key", key)...)
		}
		effects := func(want int64) {
			t.Helper()
			if got := m.made.Load(); got != want {
				t.Fatalf("%d effects, want %d", got, want)
			}
		}
		first := post("/make", "ada", "k", `{"name":"x"}`).ok(t, 201)
		again := post("/make", "ada", "k", `{"name":"x"}`).ok(t, 201)
		effects(1)
		if again.body != first.body || again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get("Content-Type") != "application/json" {
			t.Errorf("the replay is %+v, the first was %+v", again, first)
		}
		if again.header.Get("X-Correlation-ID") == first.header.Get("X-Correlation-ID") || again.header.Get("Idempotent-Replay") != "true" {
			t.Errorf("headers of the replay: %v", again.header)
		}

		// Something else with the key: another body, path, query or workspace.
		post("/make", "ada", "k", `{"name":"y"}`).want(t, api.CodeConflict)
		post("/make?x=1", "ada", "k", `{"name":"x"}`).want(t, api.CodeConflict)
		post("/poke", "ada", "k", "").want(t, api.CodeConflict)
		effects(1)
		post("/key/make", "wide", "w", `{"name":"x"}`, "X-Workspace-ID", home).ok(t, 201)
		post("/key/make", "narrow", "w", `{"name":"x"}`).ok(t, 201)
		effects(2)
		post("/key/make", "wide", "w", `{"name":"x"}`, "X-Workspace-ID", other).want(t, api.CodeConflict)
		effects(2)

		// A key belongs to an account in a tenant.
		post("/make", "bob", "k", `{"name":"x"}`).ok(t, 201)
		post("/make", "eve", "k", `{"name":"x"}`).ok(t, 201)
		effects(4)
		post("/make", "", "k", `{"name":"x"}`).want(t, api.CodeUnauthorized)

		// Without a body, and where nothing is answered.
		post("/poke", "ada", "p", "").ok(t, 204)
		if a := post("/poke", "ada", "p", "").ok(t, 204); a.body != "" || a.header.Get("Idempotent-Replay") != "true" {
			t.Errorf("a replayed 204: %+v", a)
		}
		effects(5)

		// What failed had no effect, and may be tried again.
		m.fail.Store(true)
		post("/make", "ada", "f", `{"name":"x"}`).want(t, api.CodeConflict)
		post("/make", "ada", "f", `{`).want(t, api.CodeValidation)
		m.fail.Store(false)
		post("/make", "ada", "f", `{"name":"x"}`).ok(t, 201)
		effects(6)
		m.made.Store(0)
		post("/break", "ada", "b", `{"name":"x"}`).want(t, api.CodeInternal)
		post("/break", "ada", "b", `{"name":"x"}`).ok(t, 201)

		// Only a POST has one.
		m.made.Store(0)
		for range 2 {
			w.do(t, "PATCH", "/make", "ada", `{"name":"x"}`, "Idempotency-Key", "k").ok(t, 200)
		}
		effects(2)

		m.made.Store(0)
		for _, key := range []string{strings.Repeat("k", 257), "\xff"} {
			post("/make", "ada", key, `{"name":"x"}`).field(t, "header.Idempotency-Key")
		}
		w.do(t, "POST", "/make", "ada", `{"name":"x"}`, "Idempotency-Key", "a", "Idempotency-Key", "b").field(t, "header.Idempotency-Key")
		effects(0)
		post("/make", "ada", strings.Repeat("k", 256), `{"name":"x"}`).ok(t, 201)

		// Seven days, and no longer.
		m.made.Store(0)
		c.advance(7*24*time.Hour - time.Second)
		post("/make", "ada", "k", `{"name":"x"}`).ok(t, 201)
		effects(0)
		c.advance(2 * time.Second)
		post("/make", "ada", "k", `{"name":"y"}`).ok(t, 201)
		effects(1)
	})
}

// No secret is stored: not for a replay, not in the log.
func TestReplayKeepsNoSecret(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		m, c := &maker{}, newClock()
		w := newWorld(t, m.declare, withReplays(db, c))
		post := func(path string) answer {
			return w.do(t, "POST", path, "ada", `{"name":"x"}`, "Idempotency-Key", "once")
		}
		m.fail.Store(true)
		post("/secret").want(t, api.CodeConflict)
		m.fail.Store(false)
		post("/secret").ok(t, 201)
		if e := post("/secret").want(t, api.CodeConflict); strings.Contains(e.Message, "hunter") {
			t.Errorf("the refusal holds the secret: %s", e.Message)
		}
		if m.made.Load() != 1 {
			t.Errorf("%d secrets were made", m.made.Load())
		}
		// Where a key is not honoured it changes nothing.
		post("/sign-in").ok(t, 201)
		post("/sign-in").ok(t, 201)
		err := db.Read(context.Background(), func(tx *sqldb.Tx) error {
			rows := 0
			err := tx.Rows(context.Background(), `SELECT principal, idem_key, headers, body FROM idempotency`, nil, func(row sqldb.Scanner) error {
				var principal, key, headers, body string
				if err := row.Scan(&principal, &key, &headers, &body); err != nil {
					return err
				}
				rows++
				if strings.Contains(principal+key+headers+body, "hunter") {
					t.Errorf("stored: %s %s %s %s", principal, key, headers, body)
				}
				return nil
			})
			if rows != 1 {
				t.Errorf("%d rows are stored, want the one of /secret", rows)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(w.log.String(), "hunter") {
			t.Errorf("the log holds a secret: %s", w.log)
		}
	})
}

// Of many that come at once one has the effect; the others are told that it
// runs, or get its answer.
func TestReplayAtOnce(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		m, c := &maker{entered: make(chan struct{}, 1), gate: make(chan struct{})}, newClock()
		// Two routers over one database are two processes.
		worlds := []*world{newWorld(t, m.declare, withReplays(db, c)), newWorld(t, m.declare, withReplays(db, c))}
		post := func(i int) answer {
			return worlds[i%2].do(t, "POST", "/make", "ada", `{"name":"x"}`, "Idempotency-Key", "k")
		}
		var first answer
		done := make(chan struct{})
		go func() { first = post(0); close(done) }()
		<-m.entered
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() { post(i).want(t, api.CodeConflict) })
		}
		wait.Wait()
		close(m.gate)
		<-done
		first.ok(t, 201)
		for i := range 2 {
			if a := post(i).ok(t, 201); a.body != first.body {
				t.Errorf("process %d answers %s, the first was %s", i, a.body, first.body)
			}
		}
		if m.made.Load() != 1 {
			t.Errorf("%d effects", m.made.Load())
		}
	})
}

// What was kept outlives its process.
func TestReplayAfterRestart(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	m := &maker{}
	var first answer
	t.Run("before", func(t *testing.T) {
		w := newWorld(t, m.declare, withReplays(sqldbtest.Open(t, sqldb.Config{Dir: dir}), c))
		first = w.do(t, "POST", "/make", "ada", `{"name":"x"}`, "Idempotency-Key", "k").ok(t, 201)
	})
	t.Run("after", func(t *testing.T) {
		w := newWorld(t, m.declare, withReplays(sqldbtest.Open(t, sqldb.Config{Dir: dir}), c))
		if a := w.do(t, "POST", "/make", "ada", `{"name":"x"}`, "Idempotency-Key", "k").ok(t, 201); a.body != first.body {
			t.Errorf("%s, before it was %s", a.body, first.body)
		}
	})
	if m.made.Load() != 1 {
		t.Errorf("%d effects", m.made.Load())
	}
}
