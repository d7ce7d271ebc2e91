package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/ratelimit"
	"bm/server/ratelimit/redistest"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// answer is a response as a client sees it.
type answer struct {
	status int
	header http.Header
	body   string
}

func call(t *testing.T, method, url, token, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
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
	return do(t, request)
}

func do(t *testing.T, request *http.Request) answer {
	t.Helper()
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

func decode[T any](t *testing.T, a answer, status int) (v T) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

func code(t *testing.T, a answer, want api.Code) {
	t.Helper()
	e := decode[api.Envelope](t, a, want.Status())
	if e.Error.Code != want || e.Error.Message == "" || e.Error.CorrelationID != a.header.Get("X-Correlation-ID") {
		t.Errorf("got %+v with correlation id %s, want code %s", e.Error, a.header.Get("X-Correlation-ID"), want)
	}
}

func register(t *testing.T, s *servertest.Server, email string) api.Session {
	t.Helper()
	return decode[api.Session](t, call(t, "POST", s.URL+"/auth/register", "",
		fmt.Sprintf(`{"email":%q,"password":"a long enough phrase","noticeVersion":"1"}`, email)), 201)
}

func TestSigningIn(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		first := register(t, s, "Ada@example.test")
		if first.Account.OrganizationName != "Ada" || !first.Account.IsOwner || first.Account.Role != api.RoleAdmin {
			t.Errorf("account %+v", first.Account)
		}
		if second := register(t, s, "ada@other.test"); second.Account.OrganizationName != "ada 2" {
			t.Errorf("a taken generated name became %q", second.Account.OrganizationName)
		}
		code(t, call(t, "POST", s.URL+"/auth/register", "", `{"email":"ADA@example.test","password":"a long enough phrase","noticeVersion":"1"}`), api.CodeConflict)
		code(t, call(t, "POST", s.URL+"/auth/register", "", `{"email":"b@example.test","password":"passwordpassword1","noticeVersion":"1"}`), api.CodeValidation)
		code(t, call(t, "POST", s.URL+"/auth/login", "", `{"email":"ada@example.test","password":"wrong"}`), api.CodeUnauthorized)
		code(t, call(t, "POST", s.URL+"/auth/login", "", `{"email":"nobody@example.test","password":"wrong"}`), api.CodeUnauthorized)

		session := decode[api.Session](t, call(t, "POST", s.URL+"/auth/login", "", `{"email":"ada@example.test","password":"a long enough phrase"}`), 200)
		me := decode[api.AccountProfile](t, call(t, "GET", s.URL+"/api/v1/me", string(session.AccessToken), ""), 200)
		if me.Email != "Ada@example.test" || me.TenantID != first.Account.TenantID {
			t.Errorf("profile %+v", me)
		}

		refresh := fmt.Sprintf(`{"refreshToken":%q}`, string(session.RefreshToken))
		renewed := decode[api.Session](t, call(t, "POST", s.URL+"/auth/refresh", "", refresh), 200)
		code(t, call(t, "POST", s.URL+"/auth/refresh", "", refresh), api.CodeUnauthorized)
		code(t, call(t, "GET", s.URL+"/api/v1/me", string(renewed.AccessToken), ""), api.CodeUnauthorized)

		session = decode[api.Session](t, call(t, "POST", s.URL+"/auth/login", "", `{"email":"ada@example.test","password":"a long enough phrase"}`), 200)
		if a := call(t, "POST", s.URL+"/auth/logout", string(session.AccessToken), ""); a.status != 204 {
			t.Errorf("logout: %d %s", a.status, a.body)
		}
		code(t, call(t, "GET", s.URL+"/api/v1/me", string(session.AccessToken), ""), api.CodeUnauthorized)
	})
}

func TestKeysAndWorkspaces(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		jwt := string(register(t, s, "ada@example.test").AccessToken)
		stranger := string(register(t, s, "eve@example.test").AccessToken)
		mine := decode[[]api.Workspace](t, call(t, "GET", s.URL+"/workspaces", jwt, ""), 200)
		if len(mine) != 1 || !mine[0].IsDefault {
			t.Fatalf("workspaces %+v", mine)
		}
		home := mine[0].ID

		wide := decode[api.APIKeySecret](t, call(t, "POST", s.URL+"/api/v1/api-keys", jwt, `{"label":"wide","noticeVersion":"1"}`), 201)
		narrow := decode[api.APIKeySecret](t, call(t, "POST", s.URL+"/api/v1/api-keys", jwt, fmt.Sprintf(`{"workspaceId":%q,"noticeVersion":"1"}`, home)), 201)
		code(t, call(t, "POST", s.URL+"/workspaces", string(narrow.APIKey), `{"name":"x"}`), api.CodeForbidden)
		second := decode[api.Workspace](t, call(t, "POST", s.URL+"/workspaces", string(wide.APIKey), `{"name":"Lesezeichen für später"}`), 201)
		if second.Slug == "" || second.IsDefault {
			t.Errorf("workspace %+v", second)
		}
		code(t, call(t, "GET", s.URL+"/workspaces/"+second.ID, string(narrow.APIKey), ""), api.CodeNotFound)
		code(t, call(t, "GET", s.URL+"/workspaces/"+home, string(wide.APIKey), "", "X-Workspace-ID", second.ID), api.CodeValidation)
		foreign := call(t, "GET", s.URL+"/workspaces/"+home, stranger, "", "X-Correlation-ID", "same")
		unknown := call(t, "GET", s.URL+"/workspaces/01890a5d-ac96-774b-bcce-b302099a8057", stranger, "", "X-Correlation-ID", "same")
		if foreign.status != 404 || foreign.body != unknown.body {
			t.Errorf("a foreign workspace is told from an unknown one: %s, %s", foreign.body, unknown.body)
		}

		rotated := decode[api.APIKeySecret](t, call(t, "POST", s.URL+"/api/v1/api-keys/"+wide.Metadata.ID+"/rotate", jwt, ""), 200)
		code(t, call(t, "GET", s.URL+"/api/v1/me", string(wide.APIKey), ""), api.CodeUnauthorized)
		decode[api.AccountProfile](t, call(t, "GET", s.URL+"/api/v1/me", string(rotated.APIKey), ""), 200)
		if a := call(t, "POST", s.URL+"/api/v1/api-keys/"+wide.Metadata.ID+"/revoke", jwt, ""); a.status != 204 {
			t.Errorf("revoke: %d %s", a.status, a.body)
		}
		code(t, call(t, "GET", s.URL+"/api/v1/me", string(rotated.APIKey), ""), api.CodeUnauthorized)

		if a := call(t, "DELETE", s.URL+"/workspaces/"+home, jwt, ""); a.status != 204 {
			t.Errorf("delete: %d %s", a.status, a.body)
		}
		code(t, call(t, "GET", s.URL+"/workspaces/"+home, jwt, ""), api.CodeGone)
		code(t, call(t, "DELETE", s.URL+"/workspaces/"+second.ID, jwt, ""), api.CodeConflict)
		if now := decode[api.Workspace](t, call(t, "GET", s.URL+"/workspaces/"+second.ID, jwt, ""), 200); !now.IsDefault {
			t.Error("the default did not move to the other workspace")
		}
		if gone := decode[[]api.DeletedWorkspaceSummary](t, call(t, "GET", s.URL+"/workspaces/deleted", jwt, ""), 200); len(gone) != 1 || gone[0].DaysUntilPermanentDeletion != 30 {
			t.Errorf("deleted workspaces %+v", gone)
		}
		decode[api.Workspace](t, call(t, "POST", s.URL+"/workspaces/"+home+"/restore", jwt, ""), 200)

		page := decode[api.Page[api.Workspace]](t, call(t, "GET", s.URL+"/workspaces?cursor=&limit=1", jwt, ""), 200)
		if len(page.Data) != 1 || !page.Pagination.HasMore {
			t.Fatalf("page %+v", page)
		}
		rest := decode[api.Page[api.Workspace]](t, call(t, "GET", s.URL+"/workspaces?limit=1&cursor="+*page.Pagination.NextCursor, jwt, ""), 200)
		if len(rest.Data) != 1 || rest.Data[0].ID == page.Data[0].ID || rest.Pagination.HasMore {
			t.Errorf("second page %+v", rest)
		}
		code(t, call(t, "GET", s.URL+"/workspaces?cursor=x"+*page.Pagination.NextCursor, jwt, ""), api.CodeValidation)
	})
}

func TestEveryFailureIsInTheEnvelope(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	jwt := string(register(t, s, "ada@example.test").AccessToken)
	for _, c := range []struct {
		name, method, path, token, body string
		want                            api.Code
	}{
		{"unknown path", "GET", "/nothing", "", "", api.CodeNotFound},
		{"wrong method", "PATCH", "/auth/login", "", "{}", api.CodeMethodNotAllowed},
		{"no credential", "GET", "/api/v1/me", "", "", api.CodeUnauthorized},
		{"forged", "GET", "/api/v1/me", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.", "", api.CodeUnauthorized},
		{"mistyped key", "GET", "/api/v1/me", "bmk_abc", "", api.CodeUnauthorized},
		{"not JSON", "POST", "/auth/login", "", "{", api.CodeValidation},
		{"wrong type", "POST", "/auth/login", "", `{"email":1,"password":"x"}`, api.CodeValidation},
		{"missing field", "POST", "/auth/login", "", `{"email":"x"}`, api.CodeValidation},
		{"NUL", "PATCH", "/api/v1/me", jwt, `{"displayName":"a\u0000b"}`, api.CodeValidation},
		{"invalid UTF-8", "PATCH", "/api/v1/me", jwt, "{\"displayName\":\"\xff\"}", api.CodeValidation},
		{"too large", "PATCH", "/api/v1/me", jwt, `{"displayName":"` + strings.Repeat("x", 2<<20) + `"}`, api.CodePayloadTooLarge},
		{"deep", "PATCH", "/api/v1/me", jwt, strings.Repeat("[", 100_000), api.CodeValidation},
		{"limit out of range", "GET", "/workspaces?limit=201", jwt, "", api.CodeValidation},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := call(t, c.method, s.URL+c.path, c.token, c.body)
			code(t, a, c.want)
			if a.header.Get("X-RateLimit-Limit") == "" {
				t.Error("the rate limit's headers are missing")
			}
			if c.want == api.CodeMethodNotAllowed && a.header.Get("Allow") != "POST" {
				t.Errorf("Allow: %q", a.header.Get("Allow"))
			}
		})
	}
	a := call(t, "POST", s.URL+"/auth/login", "", "email=x", "Content-Type", "application/x-www-form-urlencoded")
	code(t, a, api.CodeUnsupportedMediaType)
}

func TestLimitOfSigningIn(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir(), Limits: ratelimit.Limits{Auth: 2}})
	for range 2 {
		code(t, call(t, "POST", s.URL+"/auth/login", "", `{"email":"x@example.test","password":"y"}`), api.CodeUnauthorized)
	}
	a := call(t, "POST", s.URL+"/auth/login", "", `{"email":"x@example.test","password":"y"}`)
	code(t, a, api.CodeRateLimited)
	if a.header.Get("Retry-After") == "" || a.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("headers %v", a.header)
	}
}

// Servers that share a database and a Redis share the counts too.
func TestLimitOfSeveralServers(t *testing.T) {
	redis := redistest.Start(t)
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t), RedisURL: redis.URL(), Limits: ratelimit.Limits{Key: 4}}
	first := servertest.Start(t, config)
	second := servertest.Start(t, config)
	secret := string(servertest.Join(t, first, "ada").Secret)
	for i, s := range []*servertest.Server{first, second, first, second} {
		a := call(t, "GET", s.URL+"/api/v1/me", secret, "")
		if left := a.header.Get("X-RateLimit-Remaining"); a.status != 200 || left != strconv.Itoa(3-i) {
			t.Fatalf("request %d: %d, %s left", i, a.status, left)
		}
	}
	for _, s := range []*servertest.Server{first, second} {
		code(t, call(t, "GET", s.URL+"/api/v1/me", secret, ""), api.CodeRateLimited)
	}
	redis.End() // each counts for itself
	for _, s := range []*servertest.Server{first, second} {
		if a := call(t, "GET", s.URL+"/api/v1/me", secret, ""); a.status != 200 || a.header.Get("X-RateLimit-Remaining") != "3" {
			t.Errorf("without Redis: %d, %s left", a.status, a.header.Get("X-RateLimit-Remaining"))
		}
	}
}

func TestReadyAndDocument(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready", "/openapi.json": `"openapi": "3.1.0"`, "/openapi.yaml": "openapi: 3.1.0"} {
			if a := call(t, "GET", s.URL+path, "", ""); a.status != 200 || !strings.Contains(a.body, want) {
				t.Errorf("%s: %d %.80s", path, a.status, a.body)
			}
		}
	})
}

// A refresh token from before a switch is spent: presented again, it ends the
// session, since somebody else has it.
func TestSwitchSpendsTheRefreshToken(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	p := servertest.Join(t, s, "ada")
	moved := decode[api.Session](t, call(t, "POST", s.URL+"/auth/switch-workspace", string(p.Session.AccessToken), fmt.Sprintf(`{"workspaceId":%q}`, p.Workspace.ID)), 200)
	decode[api.AccountProfile](t, call(t, "GET", s.URL+"/api/v1/me", string(moved.AccessToken), ""), 200)
	code(t, call(t, "POST", s.URL+"/auth/refresh", "", fmt.Sprintf(`{"refreshToken":%q}`, string(p.Session.RefreshToken))), api.CodeUnauthorized)
	code(t, call(t, "GET", s.URL+"/api/v1/me", string(moved.AccessToken), ""), api.CodeUnauthorized)
	code(t, call(t, "POST", s.URL+"/auth/refresh", "", fmt.Sprintf(`{"refreshToken":%q}`, string(moved.RefreshToken))), api.CodeUnauthorized)
}
