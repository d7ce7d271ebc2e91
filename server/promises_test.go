package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// Each operation takes a body of its size, and not a byte more.
func TestBodiesMayBeAsLargeAsStated(t *testing.T) {
	if testing.Short() {
		t.Skip("its bodies are as large as they may be")
	}
	s := newStage(t, server.Config{Dir: t.TempDir()})
	large := map[string]int{
		"create-bookmark": 4 << 20, "update-bookmark": 4 << 20, "key-create-bookmark": 4 << 20, "key-update-bookmark": 4 << 20,
		"push-changes": 16 << 20,
	}
	tried := 0
	for _, spec := range s.Specs() {
		c := trial{s, spec, calls[spec.ID]}
		if c.how.body == nil || c.how.ownSession {
			continue
		}
		most := large[spec.ID]
		if most == 0 {
			most = 1 << 20
		}
		tried++
		r, by := c.request(t, s.ada), c.credentials(t, s.ada)[0]
		for more, want := range map[int]bool{0: false, 1: true} {
			r.body = `["` + strings.Repeat("x", most+more-len(`[""]`)) + `"]` // which no operation takes
			if a := s.send(t, r, by.token, by.headers...); a.status != map[bool]int{false: 400, true: 413}[want] {
				t.Errorf("%s with %d bytes: %d %.200s", spec.ID, len(r.body), a.status, a.body)
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d operations were tried", tried)
	}
}

// Nobody holds a connection for ever by saying nothing.
func TestConnectionsEnd(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	if headers, idle := s.Timeouts(); headers != 10*time.Second || idle != 2*time.Minute {
		t.Errorf("headers may take %s, and a connection may be idle for %s", headers, idle)
	}
}

// The limits of requests are the specification's, each of its scope.
func TestStatedLimits(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir(), Limits: server.StatedLimits()})
	p := servertest.Join(t, s, "ada")
	for _, c := range []struct {
		path, token string
		limit       int
		window      time.Duration
	}{
		{"/workspaces", p.Secret.Reveal(), 600, time.Minute},
		{"/api/v1/me", p.Session.AccessToken.Reveal(), 1200, time.Minute},
		{"/auth/login", "", 5, 15 * time.Minute},
	} {
		method, body := "GET", ""
		if c.token == "" {
			method, body = "POST", `{"email":"ada@example.test","password":"wrong"}`
		}
		before := time.Now()
		a := call(t, method, s.URL+c.path, c.token, body)
		reset, err := strconv.ParseInt(a.header.Get("X-RateLimit-Reset"), 10, 64)
		away := time.Unix(reset, 0).Sub(before)
		if a.header.Get("X-RateLimit-Limit") != strconv.Itoa(c.limit) || err != nil || away <= 0 || away > c.window+2*time.Second {
			t.Errorf("%s: %s requests, the reset %s away", c.path, a.header.Get("X-RateLimit-Limit"), away)
		}
	}
	if limits := server.StatedLimits(); limits.Tenant != 6000 {
		t.Errorf("an organization's keys have %d requests", limits.Tenant)
	}
}

// What the server says of itself is so.
func TestServerSaysWhatItIs(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	info := decode[api.ServerInfo](t, call(t, "GET", s.URL+"/.well-known/bm", "", ""), 200)
	if info.Name != "bm" || info.Version != "test" || info.APIVersion != "0.0.1" || info.NoticeVersion == "" {
		t.Errorf("it is %+v", info)
	}
	for name, want := range map[string]int64{
		"jsonBody": 1 << 20, "bookmarkBody": 4 << 20, "changesBody": 16 << 20, "importBody": 64 << 20, "importRows": 500_000, "url": 64 << 10,
		"title": 8192, "description": 64 << 10, "note": 4096, "readerExcerpt": 64 << 10, "link": 2048, "tags": 256, "tag": 128, "folderName": 512,
		"treeDepth": 64, "name": 256, "extra": 16 << 10, "pageSize": 200, "changesPage": 5000, "changesOps": 500, "bulkIds": 1000,
	} {
		if info.Limits[name] != want {
			t.Errorf("the limit %s is %d, want %d", name, info.Limits[name], want)
		}
	}
	served := map[string]bool{}
	for _, spec := range s.Specs() {
		served[spec.ID] = spec.Extension
	}
	for extension, operations := range map[string][]string{
		api.ExtChanges: {"list-changes", "push-changes"}, api.ExtEvents: {"stream-events"}, api.ExtTags: {"list-tags", "rename-tag", "merge-tags"},
		api.ExtRestore: {"restore-bookmark", "restore-folder", "restore-workspace"}, api.ExtMove: {"move-bookmarks"},
	} {
		if !slices.Contains(info.Extensions, extension) {
			t.Errorf("it does not have %s", extension)
		}
		for _, id := range operations {
			if !served[id] {
				t.Errorf("%s is no extension that is served", id)
			}
		}
	}
}

// An access token is signed by EdDSA, lives for 15 minutes, and is of the workspace
// that was switched to; so is what it is renewed by.
func TestSwitchingWorkspaces(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		second := must[api.Workspace](t)(p.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "Second"}))
		of := func(session api.Session, workspaceID string) {
			t.Helper()
			var header struct{ Alg string }
			var claims struct {
				Workspace string `json:"wid"`
				Tenant    string `json:"tid"`
				Iat, Exp  int64
			}
			parts := strings.Split(session.AccessToken.Reveal(), ".")
			for i, into := range []any{&header, &claims} {
				if err := json.Unmarshal(must[[]byte](t)(base64.RawURLEncoding.DecodeString(parts[i])), into); err != nil {
					t.Fatal(err)
				}
			}
			if header.Alg != "EdDSA" || claims.Exp-claims.Iat != 900 || session.ExpiresIn != 900 || session.TokenType != "Bearer" {
				t.Errorf("it is signed by %s and lives %d s, said to be %d", header.Alg, claims.Exp-claims.Iat, session.ExpiresIn)
			}
			if claims.Workspace != workspaceID || claims.Tenant != session.Account.TenantID {
				t.Errorf("it is of %+v, want workspace %s", claims, workspaceID)
			}
		}
		of(p.Session, p.Workspace.ID)
		moved := must[api.Session](t)(p.JWT.SwitchWorkspace(t.Context(), api.SwitchWorkspace{WorkspaceID: second.ID}))
		of(moved, second.ID)
		c := must[*client.Client](t)(client.New(client.Options{Server: s.URL, Version: "test"}))
		renewed := must[api.Session](t)(c.Refresh(t.Context(), api.Refresh{RefreshToken: moved.RefreshToken}))
		of(renewed, second.ID)
		// Where that is gone, the session goes on in the default one.
		if err := p.Key.DeleteWorkspace(t.Context(), second.ID); err != nil {
			t.Fatal(err)
		}
		of(must[api.Session](t)(c.Refresh(t.Context(), api.Refresh{RefreshToken: renewed.RefreshToken})), p.Workspace.ID)
		second = must[api.Workspace](t)(p.Key.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "Second"}))
		eve := servertest.Join(t, s, "eve")
		code(t, call(t, "POST", s.URL+"/auth/switch-workspace", eve.Session.AccessToken.Reveal(), fmt.Sprintf(`{"workspaceId":%q}`, second.ID)), api.CodeValidation)
	})
}

// What has no value is left out of an answer: never null, and an empty text only
// where the contract says so.
func TestWhatHasNoValueIsLeftOut(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	ada := servertest.Join(t, s, "ada")
	jwt := ada.Session.AccessToken.Reveal()
	workspace := s.URL + "/workspaces/" + ada.Workspace.ID
	mayBeEmpty := map[string]bool{"title": true, "description": true}
	var look func(where string, value any)
	look = func(where string, value any) {
		switch v := value.(type) {
		case nil:
			t.Errorf("%s is null", where)
		case []any:
			for _, item := range v {
				look(where, item)
			}
		case map[string]any:
			for name, item := range v {
				if item == "" && !mayBeEmpty[name] {
					t.Errorf("%s has an empty %s", where, name)
				}
				look(where+"."+name, item)
			}
		}
	}
	for _, c := range []struct{ method, url, body string }{
		{"POST", workspace + "/bookmarks", `{}`},
		{"POST", workspace + "/folders", `{"name":"x"}`},
		{"POST", s.URL + "/workspaces", `{"name":"x"}`},
		{"POST", s.URL + "/api/v1/api-keys", `{"noticeVersion":"1"}`},
		{"POST", s.URL + "/auth/register", `{"email":"x@example.test","password":"` + servertest.Password + `","noticeVersion":"1"}`},
		{"GET", s.URL + "/api/v1/me", ""},
		{"GET", s.URL + "/api/v1/api-keys", ""},
		{"GET", s.URL + "/workspaces", ""},
		{"GET", workspace + "/bookmarks/export", ""},
	} {
		var answered any
		a := call(t, c.method, c.url, jwt, c.body)
		if err := json.Unmarshal([]byte(a.body), &answered); err != nil || a.status >= 300 {
			t.Fatalf("%s %s: %d %v", c.method, c.url, a.status, err)
		}
		look(c.url, answered)
	}
}
