package server_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// Who guesses credentials costs the database nothing any more once an address
// has no requests left; who is known from there goes on.
func TestGuessesAreCountedFirst(t *testing.T) {
	for name, config := range map[string]func(t *testing.T) server.Config{
		"sqlite":   func(t *testing.T) server.Config { return server.Config{Dir: t.TempDir()} },
		"postgres": func(t *testing.T) server.Config { return server.Config{DatabaseURL: sqldbtest.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			const limit = 20
			config := config(t)
			var minutes atomic.Int64
			config.Now = func() time.Time {
				return time.Date(2026, 3, 1, 12, int(minutes.Load()), 0, 0, time.UTC)
			}
			config.Limits = server.Limits{Key: 1000, Tenant: 1000, IP: limit}
			s := servertest.Start(t, config)
			p := servertest.Join(t, s, "ada")
			fresh := must[api.APIKeySecret](t)(p.JWT.CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1"})).APIKey.Reveal()
			var statements atomic.Int64
			s.DB().Watch(func(string) { statements.Add(1) })
			defer s.DB().Watch(nil)
			ask := func(token string) answer { return call(t, "GET", s.URL+"/workspaces", token, "") }
			minutes.Add(10)
			if a := ask(string(p.Secret)); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			for n := range limit {
				code(t, ask(fmt.Sprintf("guess %d", n)), api.CodeUnauthorized)
			}
			before := statements.Load()
			for n := range limit {
				a := ask(fmt.Sprintf("another %d", n))
				code(t, a, api.CodeRateLimited)
				if a.header.Get("Retry-After") == "" {
					t.Error("without Retry-After")
				}
			}
			code(t, ask(fresh), api.CodeRateLimited) // nobody knows it yet
			if n := statements.Load() - before; n > 0 {
				t.Errorf("%d statements were run for guesses", n)
			}
			if a := ask(string(p.Secret)); a.status != 200 {
				t.Errorf("a known key: %d %s", a.status, a.body)
			}
			minutes.Add(2)
			if a := ask(fresh); a.status != 200 {
				t.Errorf("afterwards: %d %s", a.status, a.body)
			}
		})
	}
}
