package op_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
	"bm/server/ratelimit"
)

type named struct {
	WorkspaceID string `path:"workspaceId"`
	Depth       int    `query:"depth" minimum:"1" maximum:"9"`
	Body        struct {
		Name string `json:"name"`
	}
}

// declareNames is an operation that every check stands in front of.
func declareNames(r *op.Router) {
	s := spec("name-thing", http.MethodPost, "/workspaces/{workspaceId}/names")
	s.Scope, s.Permission = op.Workspace, access.BookmarksWrite
	op.Register(r, s, func(_ context.Context, call *op.Call, in *named) (map[string]string, error) {
		return map[string]string{"name": in.Body.Name, "workspace": call.Scope.WorkspaceID}, nil
	})
}

// Each request below is wrong in one way more than the one after it: the
// answer tells which check comes first.
func TestOrderOfChecks(t *testing.T) {
	w := newWorld(t, declareNames, func(d *op.Deps) {
		d.Limiter = ratelimit.NewMemory(ratelimit.Limits{IP: 1}, d.Now)
	})
	path := "/workspaces/" + home + "/names?depth=0"
	spent := []string{"Content-Type", "text/plain", "X-Test-IP", "192.0.2.2"}
	w.do(t, "GET", "/healthz", "", "", "X-Test-IP", "192.0.2.2")
	fresh := func(n string) []string { return []string{"Content-Type", "text/plain", "X-Test-IP", "192.0.2.1" + n} }

	w.do(t, "DELETE", path, "nobody", "{", fresh("0")...).want(t, api.CodeMethodNotAllowed)
	w.do(t, "POST", path, "nobody", "{", spent...).want(t, api.CodeRateLimited)
	w.do(t, "POST", path, "nobody", "{", fresh("1")...).want(t, api.CodeUnauthorized)
	w.do(t, "POST", path, "bob", "{", fresh("2")...).want(t, api.CodeForbidden)
	w.do(t, "POST", path, "ada", "{", fresh("3")...).want(t, api.CodeUnsupportedMediaType)
	w.do(t, "POST", path, "ada", "{", "X-Test-IP", "192.0.2.14").field(t, "query.depth")
	path = strings.TrimSuffix(path, "0") + "1"
	w.do(t, "POST", path, "ada", "{", "X-Test-IP", "192.0.2.15").field(t, "body")
	w.do(t, "POST", path, "ada", `{"name":"x"}`, "X-Test-IP", "192.0.2.16").ok(t, 200)
}

func TestWhoMay(t *testing.T) {
	w := newWorld(t, func(r *op.Router) {
		ok := func(_ context.Context, call *op.Call, _ *struct{}) (map[string]string, error) {
			return map[string]string{"workspace": call.Scope.WorkspaceID, "tenant": call.Scope.TenantID}, nil
		}
		declare := func(id, path string, auth op.Auth, scope op.Scope, permission access.Permission, deleted bool) {
			s := spec(id, http.MethodGet, path)
			s.Auth, s.Scope, s.Permission, s.Deleted = auth, scope, permission, deleted
			op.Register(r, s, ok)
		}
		declare("any", "/any", op.Public, op.Nothing, op.NoPermission, false)
		declare("self", "/self", op.JWTOrKey, op.Self, op.NoPermission, false)
		declare("key", "/key", op.KeyOnly, op.KeyWorkspace, access.BookmarksRead, false)
		declare("jwt", "/jwt", op.JWTOnly, op.Self, op.NoPermission, false)
		declare("tenant", "/tenant", op.JWTOrKey, op.Tenant, access.MembersRead, false)
		declare("workspace", "/workspaces/{workspaceId}", op.JWTOrKey, op.Workspace, access.BookmarksRead, false)
		declare("edit", "/workspaces/{workspaceId}/edit", op.JWTOrKey, op.Workspace, access.BookmarksWrite, false)
		declare("restore", "/workspaces/{workspaceId}/restore", op.JWTOrKey, op.Workspace, access.WorkspacesWrite, true)
	})
	for _, c := range []struct {
		path, token, header string
		want                api.Code // "" for 200
	}{
		{"/any", "", "", ""},
		{"/any", "nobody", "", ""},
		{"/self", "", "", api.CodeUnauthorized},
		{"/self", "nobody", "", api.CodeUnauthorized},
		{"/self", "narrow", "", ""},
		{"/key", "ada", "", api.CodeForbidden},
		{"/key", "wide", "", api.CodeValidation},
		{"/key", "wide", home, ""},
		{"/key", "wide", alien, api.CodeValidation},
		{"/key", "wide", trash, api.CodeValidation},
		{"/key", "narrow", "", ""},
		{"/key", "narrow", home, ""},
		{"/key", "narrow", other, api.CodeValidation},
		{"/key", "empty", "", api.CodeForbidden},
		{"/key", "empty", other, api.CodeValidation},
		{"/jwt", "wide", "", api.CodeForbidden},
		{"/jwt", "ada", "", ""},
		{"/tenant", "ada", "", ""},
		{"/tenant", "bob", "", api.CodeForbidden},
		{"/tenant", "wide", "", ""},
		{"/tenant", "narrow", "", api.CodeForbidden},
		{"/workspaces/" + home, "ada", alien, ""}, // with a JWT the header is ignored
		{"/workspaces/" + home, "bob", "", ""},
		{"/workspaces/" + other, "bob", "", api.CodeNotFound},
		{"/workspaces/" + home, "eve", "", api.CodeNotFound},
		{"/workspaces/" + home, "wide", "", ""},
		{"/workspaces/" + home, "wide", home, ""},
		{"/workspaces/" + home, "wide", other, api.CodeValidation},
		{"/workspaces/" + home, "narrow", "", ""},
		{"/workspaces/" + other, "narrow", "", api.CodeNotFound},
		{"/workspaces/" + trash, "ada", "", api.CodeGone},
		{"/workspaces/" + trash, "eve", "", api.CodeNotFound},
		{"/workspaces/" + trash, "bob", "", api.CodeNotFound},
		{"/workspaces/" + trash + "/restore", "ada", "", ""},
		{"/workspaces/" + home + "/edit", "bob", "", api.CodeForbidden},
		{"/workspaces/" + other + "/edit", "bob", "", api.CodeNotFound},
		{"/workspaces/%00", "ada", "", api.CodeNotFound},
		{"/workspaces/%ff", "ada", "", api.CodeNotFound},
	} {
		a := w.do(t, "GET", c.path, c.token, "", "X-Workspace-ID", c.header)
		if c.want == "" {
			a.ok(t, 200)
		} else if e := a.want(t, c.want); t.Failed() {
			t.Fatalf("%s as %q with the header %q: %+v", c.path, c.token, c.header, e)
		}
	}
	// Of two that differ, neither can be what was meant.
	for path, token := range map[string]string{"/key": "wide", "/workspaces/" + home: "wide"} {
		w.do(t, "GET", path, token, "", "X-Workspace-ID", home, "X-Workspace-ID", other).field(t, "header.X-Workspace-ID")
	}
	w.do(t, "GET", "/workspaces/"+home, "ada", "", "X-Workspace-ID", home, "X-Workspace-ID", other).ok(t, 200)
	if a := w.do(t, "GET", "/key", "narrow", ""); !strings.Contains(a.body, home) || !strings.Contains(a.body, `"t1"`) {
		t.Errorf("the key's own workspace was not its scope: %s", a.body)
	}
}

// Nothing tells a foreign workspace, an unknown one and a malformed id apart.
func TestForeignIsUnknown(t *testing.T) {
	w := newWorld(t, declareNames)
	var seen []string
	for _, id := range []string{home, alien, "x", "%00", "..."} {
		a := w.do(t, "POST", "/workspaces/"+id+"/names", "eve", `{"name":"x"}`, "X-Correlation-ID", "same")
		a.want(t, api.CodeNotFound)
		seen = append(seen, a.body)
	}
	for _, body := range seen {
		if body != seen[0] {
			t.Errorf("%s differs from %s", body, seen[0])
		}
	}
}

func TestRegisterRefusesWhatIsUnsaid(t *testing.T) {
	sound := spec("sound", http.MethodGet, "/x")
	broken := map[string]func(*op.Spec){
		"no auth":            func(s *op.Spec) { s.Auth = 0 },
		"no scope":           func(s *op.Spec) { s.Scope = 0 },
		"no permission":      func(s *op.Spec) { s.Permission = "" },
		"unknown permission": func(s *op.Spec) { s.Permission = "bookmarks.fly" },
		"unknown among more": func(s *op.Spec) {
			s.Permission, s.Also = access.BookmarksRead, []access.Permission{"bookmarks.fly"}
		},
		"more without a first":      func(s *op.Spec) { s.Also = []access.Permission{access.BookmarksRead} },
		"public with a scope":       func(s *op.Spec) { s.Auth = op.Public },
		"scope nothing for someone": func(s *op.Spec) { s.Scope = op.Nothing },
		"public with a permission": func(s *op.Spec) {
			s.Auth, s.Scope, s.Permission = op.Public, op.Nothing, access.BookmarksRead
		},
		"workspace without a place": func(s *op.Spec) { s.Scope = op.Workspace },
		"key's workspace for all":   func(s *op.Spec) { s.Scope = op.KeyWorkspace },
		"no status":                 func(s *op.Spec) { s.Status = 0 },
		"no summary":                func(s *op.Spec) { s.Summary = "" },
		"no section":                func(s *op.Spec) { s.Section = "" },
		"bad id":                    func(s *op.Spec) { s.ID = "Sound" },
		"bad method":                func(s *op.Spec) { s.Method = http.MethodTrace },
	}
	register := func(s op.Spec) (refused any) {
		defer func() { refused = recover() }()
		r := op.NewRouter(op.Deps{})
		op.Register(r, s, func(context.Context, *op.Call, *struct{}) (op.None, error) { return op.None{}, nil })
		return nil
	}
	if refused := register(sound); refused != nil {
		t.Fatalf("a sound row was refused: %v", refused)
	}
	for name, breakIt := range broken {
		s := sound
		breakIt(&s)
		if register(s) == nil {
			t.Errorf("%s was let through", name)
		}
	}
}
