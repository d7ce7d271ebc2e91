package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/ratelimit"
	"bm/server/servertest"
)

func TestPages(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir(), Limits: ratelimit.Limits{Key: 7, IP: 1000}})
	for path, c := range map[string]struct{ kind, holds string }{
		"/healthz":      {"text/plain; charset=utf-8", "ok"},
		"/readyz":       {"text/plain; charset=utf-8", "ready"},
		"/openapi.json": {"application/json", `"openapi": "3.1.0"`},
		"/openapi.yaml": {"application/yaml", "openapi: 3.1.0"},
		"/docs":         {"text/html; charset=utf-8", "Requests of an API key</td><td>7 in 60 seconds"},
	} {
		a := call(t, "GET", s.URL+path, "", "")
		if a.status != 200 || a.header.Get("Content-Type") != c.kind || !strings.Contains(a.body, c.holds) {
			t.Errorf("%s: %d %s %.80s", path, a.status, a.header.Get("Content-Type"), a.body)
		}
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("X-Correlation-ID") == "" {
			t.Errorf("%s: headers %v", path, a.header)
		}
		if head := call(t, "HEAD", s.URL+path, "", ""); head.status != 200 || head.body != "" {
			t.Errorf("HEAD %s: %d %.80s", path, head.status, head.body)
		}
		code(t, call(t, "POST", s.URL+path, "", "{}"), api.CodeMethodNotAllowed)
	}
	docs := call(t, "GET", s.URL+"/docs", "", "")
	for _, spec := range s.Specs() {
		if !strings.Contains(docs.body, `<article id="`+spec.ID+`"`) {
			t.Errorf("/docs does not show %s", spec.ID)
		}
	}
	if policy := docs.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || docs.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("/docs: headers %v", docs.header)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if limit := call(t, "GET", s.URL+path, "", "").header.Get("X-RateLimit-Limit"); limit != "1000" {
			t.Errorf("%s tells a limit of %s", path, limit)
		}
	}

	var described struct {
		Info struct{ Description, Version string }
	}
	if err := json.Unmarshal([]byte(call(t, "GET", s.URL+"/openapi.json", "", "").body), &described); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`title`: 8192", "`importRows`: 500000", "Requests of an API key: 7 in 60 seconds", "sign in or register: no limit"} {
		if !strings.Contains(described.Info.Description, want) {
			t.Errorf("the description lacks %q: %s", want, described.Info.Description)
		}
	}
	if described.Info.Version != "0.0.1" {
		t.Errorf("version %s", described.Info.Version)
	}
}
