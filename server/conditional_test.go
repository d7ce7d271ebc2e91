package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// What has no rev is guarded by a tag of its content.
func TestTagsOfContent(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		send := func(method, path, body string, tags ...string) answer {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header = http.Header{"Authorization": {"Bearer " + string(p.Secret)}, "Content-Type": {"application/json"}, "If-Match": tags}
			return do(t, request)
		}
		for path, change := range map[string]string{
			"/workspaces/" + p.Workspace.ID: `{"name":"Other"}`, "/api/v1/me": `{"displayName":"Other"}`,
		} {
			tag := call(t, "GET", s.URL+path, string(p.Secret), "").header.Get("ETag")
			if a := call(t, "GET", s.URL+path, string(p.Secret), "", "If-None-Match", tag); tag == "" || a.status != http.StatusNotModified {
				t.Errorf("GET %s with the tag %q: %d", path, tag, a.status)
			}
			code(t, send("PATCH", path, change, `"999"`), api.CodePreconditionFailed)
			a := send("PATCH", path, change, `"999"`, tag) // in two lines
			if a.status != 200 || a.header.Get("ETag") == tag {
				t.Errorf("PATCH %s with its tag: %d, then %q", path, a.status, a.header.Get("ETag"))
			}
			code(t, send("PATCH", path, change, tag), api.CodePreconditionFailed)
		}
		path := "/workspaces/" + must[api.Workspace](t)(p.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "Second"})).ID
		code(t, send("DELETE", path, "", `"999"`), api.CodePreconditionFailed)
		code(t, send("PATCH", path+"/hub-settings", `{}`, `"999"`), api.CodePreconditionFailed)
		if a := send("DELETE", path, "", call(t, "GET", s.URL+path, string(p.Secret), "").header.Get("ETag")); a.status != 204 {
			t.Errorf("DELETE with its tag: %d %s", a.status, a.body)
		}
	})
}

// A page of another origin is answered as every request is: with its limits and
// a correlation id.
func TestPreflight(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir(), CORSOrigins: []string{"https://x.example"}, Limits: server.Limits{IP: 2}})
	for _, left := range []string{"1", "0"} {
		a := call(t, "OPTIONS", s.URL+"/workspaces", "", "", "Origin", "https://x.example", "Access-Control-Request-Method", "GET")
		if a.status != 204 || a.header.Get("X-Correlation-ID") == "" || a.header.Get("X-RateLimit-Remaining") != left ||
			a.header.Get("Access-Control-Allow-Origin") != "https://x.example" {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	code(t, call(t, "OPTIONS", s.URL+"/workspaces", "", "", "Origin", "https://x.example", "Access-Control-Request-Method", "GET"), api.CodeRateLimited)
}

// A page of an allowed origin may send every header that an operation reads, and
// read every one that its answers have.
func TestHeadersAcrossOrigins(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir(), CORSOrigins: []string{"https://x.example"}})
	preflight := call(t, "OPTIONS", s.URL+"/workspaces", "", "", "Origin", "https://x.example", "Access-Control-Request-Method", "GET").header
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ In, Name string }
			Responses  map[string]struct{ Headers map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(call(t, "GET", s.URL+"/openapi.json", "", "").body), &document); err != nil {
		t.Fatal(err)
	}
	sent, answered := map[string]bool{}, map[string]bool{}
	for _, methods := range document.Paths {
		for _, operation := range methods {
			for _, p := range operation.Parameters {
				sent[p.Name] = true
				if p.In == "header" && !strings.Contains(preflight.Get("Access-Control-Allow-Headers"), p.Name) {
					t.Errorf("%s may not be sent", p.Name)
				}
			}
			for _, r := range operation.Responses {
				for name := range r.Headers {
					answered[name] = true
					if !strings.Contains(preflight.Get("Access-Control-Expose-Headers"), name) {
						t.Errorf("%s may not be read", name)
					}
				}
			}
		}
	}
	if !sent["Prefer"] || !sent["If-Match"] || !answered["ETag"] || !answered["Retry-After"] || !answered["Idempotent-Replay"] {
		t.Errorf("the document tells of the headers %v and %v alone", sent, answered)
	}
}

// A key whose own workspace was deleted hears that, not of a header that it did
// not send.
func TestKeyOfADeletedWorkspace(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	p := servertest.Join(t, s, "ada")
	w := must[api.Workspace](t)(p.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "W"}))
	key := must[api.APIKeySecret](t)(p.JWT.CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1", WorkspaceID: api.Some(w.ID)}))
	if err := p.JWT.DeleteWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/bookmarks", "/workspaces/" + w.ID + "/bookmarks"} {
		code(t, call(t, "GET", s.URL+path, string(key.APIKey), ""), api.CodeGone)
	}
	code(t, call(t, "GET", s.URL+"/api/v1/bookmarks", string(key.APIKey), "", "X-Workspace-ID", w.ID), api.CodeValidation)
}

// Whoever is signing in with the old password while it is changed is signed
// out by that, or not let in.
func TestNoSessionOutlivesItsPassword(t *testing.T) {
	for name, config := range map[string]func(*testing.T) server.Config{
		"sqlite":   func(t *testing.T) server.Config { return server.Config{Dir: t.TempDir()} },
		"postgres": func(t *testing.T) server.Config { return server.Config{DatabaseURL: sqldbtest.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) { oldPassword(t, config(t)) })
	}
}

func oldPassword(t *testing.T, config server.Config) {
	s := servertest.Start(t, config)
	servertest.Join(t, s, "ada")
	admin := openAdmin(t, config)
	c, err := client.New(client.Options{Server: s.URL, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var signingIn sync.WaitGroup
	begun := make(chan struct{}, 16)
	sessions := make([]api.Session, cap(begun))
	for i := range sessions {
		signingIn.Go(func() {
			begun <- struct{}{}
			sessions[i], _ = c.Login(t.Context(), api.Login{Email: "ada@example.test", Password: servertest.Password})
		})
	}
	for range sessions {
		<-begun
	}
	if err := admin.SetPassword(t.Context(), "ada@example.test", "quite another phrase"); err != nil {
		t.Fatal(err)
	}
	signingIn.Wait()
	for _, session := range sessions {
		if session.AccessToken == "" {
			continue
		}
		if _, err := c.As(session.AccessToken).Me(t.Context()); api.CodeOf(err) != api.CodeUnauthorized {
			t.Errorf("a session with the old password lives: %v", err)
		}
	}
}
