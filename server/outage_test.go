package server_test

import (
	"net/url"
	"strings"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// While the database is away every answer is "try again later"; when it is
// back, so is the server.
func TestDatabaseAway(t *testing.T) {
	address := sqldbtest.Postgres(t)
	s := servertest.Start(t, server.Config{DatabaseURL: address})
	ada := register(t, s, "ada@example.test")
	token := string(ada.AccessToken)
	decode[api.AccountProfile](t, call(t, "GET", s.URL+"/api/v1/me", token, ""), 200)

	beside, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(beside.Path, "/")
	beside.Path = "/postgres"
	admin, err := sqldb.Open(t.Context(), sqldb.Config{URL: beside.String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	allow := func(connections string) {
		t.Helper()
		err := admin.Write(t.Context(), func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(t.Context(), `ALTER DATABASE `+name+` ALLOW_CONNECTIONS `+connections); err != nil {
				return err
			}
			return tx.Rows(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, []any{name}, func(sqldb.Scanner) error { return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	allow("false")
	for range 3 { // connections that are kept, and new ones
		for _, a := range []answer{
			call(t, "GET", s.URL+"/readyz", "", ""),
			call(t, "GET", s.URL+"/api/v1/me", token, ""),
			call(t, "GET", s.URL+"/api/v1/me", "bmk_unknown", ""),
			call(t, "POST", s.URL+"/workspaces", token, `{"name":"x"}`),
			call(t, "POST", s.URL+"/workspaces", token, `{"name":"x"}`, "Idempotency-Key", "k"),
			call(t, "POST", s.URL+"/auth/login", "", `{"email":"ada@example.test","password":"a long enough phrase"}`),
			call(t, "POST", s.URL+"/auth/refresh", "", `{"refreshToken":"x"}`),
		} {
			code(t, a, api.CodeUnavailable)
			if a.header.Get("Retry-After") == "" || a.header.Get("X-RateLimit-Limit") == "" {
				t.Errorf("headers %v", a.header)
			}
		}
	}
	// What needs no database is served.
	for _, path := range []string{"/healthz", "/openapi.json", "/docs", "/.well-known/bm"} {
		if a := call(t, "GET", s.URL+path, "", ""); a.status != 200 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	allow("true")
	if a := call(t, "GET", s.URL+"/readyz", "", ""); a.status != 200 {
		t.Errorf("/readyz: %d %s", a.status, a.body)
	}
	decode[api.AccountProfile](t, call(t, "GET", s.URL+"/api/v1/me", token, ""), 200)
	decode[api.Workspace](t, call(t, "POST", s.URL+"/workspaces", token, `{"name":"x"}`, "Idempotency-Key", "k"), 201)
}
