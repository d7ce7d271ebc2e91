package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bm/server"
	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// Every operation, called by everyone who may and by everyone who may not.
func TestEveryOperationByEveryCaller(t *testing.T) {
	for name, config := range map[string]func(*testing.T) server.Config{
		"sqlite":   func(t *testing.T) server.Config { return server.Config{Dir: t.TempDir()} },
		"postgres": func(t *testing.T) server.Config { return server.Config{DatabaseURL: sqldbtest.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, config(t))
			for id := range calls {
				if _, ok := s.specs[id]; !ok {
					t.Errorf("there is no operation %s", id)
				}
			}
			for _, spec := range s.Specs() {
				how, ok := calls[spec.ID]
				if !ok {
					t.Errorf("%s has no row in calls: how is it called?", spec.ID)
					continue
				}
				t.Run(spec.ID, func(t *testing.T) { trial{s, spec, how}.run(t) })
			}
		})
	}
}

// trial is one operation before all callers.
type trial struct {
	s    *stage
	spec op.Spec
	how  calling
}

// request makes one that would succeed for the player.
func (c trial) request(t *testing.T, p *player) request {
	t.Helper()
	r := request{method: c.spec.Method, pattern: c.spec.Path, vars: map[string]string{}, query: c.how.query, stream: c.how.stream}
	if c.how.vars != nil {
		r.vars = c.how.vars(t, c.s, p)
	}
	if strings.Contains(c.spec.Path, "{workspaceId}") && r.vars["workspaceId"] == "" {
		r.vars["workspaceId"] = p.home
	}
	switch {
	case c.how.form:
		r.body, r.kind = upload(t)
	case c.how.body != nil:
		r.body, r.kind = c.how.body(t, c.s, p), "application/json"
	}
	return r
}

// credential is one of a player's, with the headers that go with it.
type credential struct {
	name, token string
	headers     []string
}

// credentials are those of a player that the operation takes.
func (c trial) credentials(t *testing.T, p *player) []credential {
	t.Helper()
	jwt := credential{name: "token", token: p.jwt}
	if c.how.ownSession {
		jwt.token = string(c.s.signIn(t, p).AccessToken)
	}
	wide, narrow := credential{name: "key", token: p.wide}, credential{name: "workspace key", token: p.narrow}
	switch {
	case c.spec.Auth == op.Public:
		return []credential{{name: "nobody"}, {name: "garbage", token: "garbage"}}
	case c.spec.Auth == op.JWTOnly:
		return []credential{jwt}
	case c.spec.Auth == op.KeyOnly:
		wide.headers = []string{"X-Workspace-ID", p.home}
		return []credential{wide, narrow}
	case c.spec.Scope == op.Tenant, c.how.elsewhere:
		return []credential{jwt, wide}
	}
	return []credential{jwt, wide, narrow}
}

func (c trial) run(t *testing.T) {
	refused := c.request(t, c.s.ada)
	if c.spec.Auth != op.Public {
		c.wrongCredentials(t, refused)
		c.strangers(t, refused)
		c.members(t, refused)
		c.narrowKeys(t, refused)
		c.foreignNames(t)
	}
	// What was refused so often had no effect: it succeeds now.
	for i, by := range c.credentials(t, c.s.ada) {
		r := refused
		if i > 0 {
			r = c.request(t, c.s.ada)
		}
		if a := c.s.send(t, r, by.token, by.headers...); a.status != c.spec.Status {
			t.Errorf("by %s: %d, want %d: %.300s", by.name, a.status, c.spec.Status, a.body)
		}
	}
	if c.spec.Method == http.MethodPost && c.spec.Auth != op.Public {
		c.retried(t)
	}
}

// wrongCredentials: none, garbage, one that ended, and one of the wrong kind.
func (c trial) wrongCredentials(t *testing.T, r request) {
	for name, token := range map[string]string{
		"nobody": "", "garbage": "garbage", "a garbage key": "bmk_garbage", "a garbage token": "a.b.c",
		"an altered token": c.s.ada.jwt[:len(c.s.ada.jwt)-2] + "xx", "an altered key": c.s.ada.wide[:len(c.s.ada.wide)-1],
		"a revoked key": c.s.ada.revoked, "a refresh token": c.s.ada.refresh,
	} {
		a := c.s.send(t, r, token)
		if code(t, a, api.CodeUnauthorized); t.Failed() {
			t.Fatalf("by %s: %s", name, a.body)
		}
	}
	switch c.spec.Auth {
	case op.KeyOnly:
		code(t, c.s.send(t, r, c.s.ada.jwt), api.CodeForbidden)
	case op.JWTOnly:
		code(t, c.s.send(t, r, c.s.ada.wide), api.CodeForbidden)
		code(t, c.s.send(t, r, c.s.ada.narrow), api.CodeForbidden)
	}
}

// alike checks that answers are the same failure, word for word.
func alike(t *testing.T, want api.Code, answers ...answer) {
	t.Helper()
	for _, a := range answers {
		code(t, a, want)
		if a.body != answers[0].body {
			t.Errorf("%s can be told from %s", a.body, answers[0].body)
		}
	}
}

// strangers: another tenant's ids are unknown ids.
func (c trial) strangers(t *testing.T, r request) {
	eve := c.s.eve
	for _, by := range c.credentials(t, eve) {
		send := func(r request, headers ...string) answer {
			return c.s.send(t, r, by.token, append(by.headers, headers...)...)
		}
		if c.spec.Scope == op.Workspace {
			alike(t, api.CodeNotFound, send(r), send(r.with("workspaceId", nobodys)), send(r.with("workspaceId", "x")), send(r.with("workspaceId", "%00")))
		}
		if c.spec.Scope == op.KeyWorkspace {
			alike(t, api.CodeValidation, c.s.send(t, r, by.token, "X-Workspace-ID", c.s.ada.home), c.s.send(t, r, by.token, "X-Workspace-ID", nobodys))
		}
		for name := range r.vars {
			if name == "workspaceId" {
				continue
			}
			own := r
			if c.spec.Scope == op.Workspace {
				own = r.with("workspaceId", eve.home)
			}
			alike(t, api.CodeNotFound, send(own), send(own.with(name, nobodys)), send(own.with(name, "x")), send(own.with(name, "%00")), send(own.with(name, "%ff")))
		}
	}
	// What eve may call answers nothing of ada's, nor does ada's other
	// workspace anything of her home.
	if c.spec.Method == http.MethodGet && c.how.vars == nil {
		ada := c.s.ada
		for _, by := range c.credentials(t, eve) {
			a := c.s.send(t, r.with("workspaceId", eve.home), by.token, by.headers...)
			holdsNone(t, a, onlyAdas, ada.tenant, ada.account, ada.home, ada.second)
		}
		switch c.spec.Scope {
		case op.Workspace:
			holdsNone(t, c.s.send(t, r.with("workspaceId", ada.second), ada.jwt), onlyAdas, ada.home)
		case op.KeyWorkspace:
			holdsNone(t, c.s.send(t, r, ada.wide, "X-Workspace-ID", ada.second), onlyAdas, ada.home)
		}
	}
	// Nor does a thing of one workspace exist in another of the same tenant.
	if c.spec.Scope == op.Workspace && len(r.vars) > 1 {
		for name := range r.vars {
			if name != "workspaceId" {
				elsewhere := r.with("workspaceId", c.s.ada.second)
				alike(t, api.CodeNotFound, c.s.send(t, elsewhere, c.s.ada.jwt), c.s.send(t, elsewhere.with(name, nobodys), c.s.ada.jwt))
			}
		}
	}
}

// holdsNone checks that an answer was given, and holds none of the texts.
func holdsNone(t *testing.T, a answer, texts ...string) {
	t.Helper()
	if a.status >= 400 && a.status != http.StatusForbidden {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			t.Errorf("it holds %s, which is another's: %.300s", text, a.body)
		}
	}
}

// members of the tenant without the permission.
func (c trial) members(t *testing.T, r request) {
	viewer := access.Viewer.Permissions()
	kinds := func(p *player) []credential {
		if c.spec.Auth == op.KeyOnly {
			return []credential{{name: "key", token: p.wide, headers: []string{"X-Workspace-ID", p.home}}}
		}
		if c.spec.Auth == op.JWTOnly {
			return []credential{{name: "token", token: p.jwt}}
		}
		return []credential{{name: "token", token: p.jwt}, {name: "key", token: p.wide}}
	}
	switch c.spec.Scope {
	case op.Workspace:
		inHome := r.with("workspaceId", c.s.ada.home)
		for _, by := range kinds(c.s.carol) {
			alike(t, api.CodeNotFound, c.s.send(t, inHome, by.token), c.s.send(t, inHome.with("workspaceId", nobodys), by.token))
		}
		for _, by := range kinds(c.s.bob) {
			if !viewer.Has(c.spec.Permission) {
				code(t, c.s.send(t, inHome, by.token), api.CodeForbidden)
			} else if a := c.s.send(t, inHome, by.token); a.status != c.spec.Status {
				t.Errorf("bob, who may view, by %s: %d %.300s", by.name, a.status, a.body)
			}
		}
	case op.KeyWorkspace:
		for _, by := range kinds(c.s.carol) {
			code(t, c.s.send(t, r, by.token, by.headers...), api.CodeValidation)
		}
		for _, by := range kinds(c.s.bob) {
			if !viewer.Has(c.spec.Permission) {
				code(t, c.s.send(t, r, by.token, by.headers...), api.CodeForbidden)
			} else if a := c.s.send(t, r, by.token, by.headers...); a.status != c.spec.Status {
				t.Errorf("bob, who may view: %d %.300s", a.status, a.body)
			}
		}
	default:
		for _, by := range kinds(c.s.carol) {
			switch {
			case c.how.admin:
				code(t, c.s.send(t, r, by.token), api.CodeForbidden)
			case len(r.vars) > 0: // ada's own thing
				code(t, c.s.send(t, r, by.token), api.CodeNotFound)
			case c.how.ownSession:
			default:
				if a := c.s.send(t, c.request(t, c.s.carol), by.token); a.status != c.spec.Status {
					t.Errorf("carol, a member, by %s: %d %.300s", by.name, a.status, a.body)
				}
			}
		}
	}
}

// narrowKeys: of a workspace outside of it, and keys that lack the permission.
func (c trial) narrowKeys(t *testing.T, r request) {
	ada := c.s.ada
	if c.spec.Auth == op.JWTOnly {
		return
	}
	switch c.spec.Scope {
	case op.Workspace:
		second := r.with("workspaceId", ada.second)
		alike(t, api.CodeNotFound, c.s.send(t, second, ada.narrow), c.s.send(t, second.with("workspaceId", nobodys), ada.narrow))
		for _, key := range []string{ada.wide, ada.narrow} {
			code(t, c.s.send(t, r.with("workspaceId", ada.home), key, "X-Workspace-ID", ada.second), api.CodeValidation)
		}
	case op.KeyWorkspace:
		code(t, c.s.send(t, r, ada.narrow, "X-Workspace-ID", ada.second), api.CodeValidation)
		code(t, c.s.send(t, r, ada.wide), api.CodeValidation) // it has no workspace of its own
	case op.Tenant:
		code(t, c.s.send(t, r, ada.narrow), api.CodeForbidden)
	}
	headers := []string{}
	if c.spec.Scope == op.KeyWorkspace {
		headers = []string{"X-Workspace-ID", ada.home}
	}
	for _, lacking := range c.spec.Permissions() {
		rest := slices.DeleteFunc(access.Everything().Keys(), func(p string) bool { return p == string(lacking) })
		permissions, err := json.Marshal(rest)
		if err != nil {
			t.Fatal(err)
		}
		masked := c.s.key(t, ada.jwt, fmt.Sprintf(`{"noticeVersion":"1","permissions":%s}`, permissions))
		code(t, c.s.send(t, r, masked, headers...), api.CodeForbidden)
		// Before anything of the request is looked at.
		wrong := r
		wrong.body, wrong.kind, wrong.query = "{", "text/plain", "?limit=x"
		code(t, c.s.send(t, wrong, masked, headers...), api.CodeForbidden)
	}
}

// The list of workspaces holds those that its reader reaches, and no other of the
// organization.
func TestWorkspacesAreShownToThoseWhoReachThem(t *testing.T) {
	s := newStage(t, server.Config{Dir: t.TempDir()})
	blind := s.key(t, s.ada.jwt, `{"noticeVersion":"1","permissions":["bookmarks.read"]}`)
	for name, c := range map[string]struct {
		token string
		want  []string
	}{
		"the owner": {s.ada.jwt, []string{s.ada.second, s.ada.home}}, "the owner's key": {s.ada.wide, []string{s.ada.second, s.ada.home}},
		"a key of one": {s.ada.narrow, []string{s.ada.home}}, "a key that may not read workspaces": {blind, nil},
		"who views one": {s.bob.jwt, []string{s.ada.home}}, "that one's key": {s.bob.wide, []string{s.ada.home}},
		"a member of none": {s.carol.jwt, nil}, "another organization": {s.eve.jwt, []string{s.eve.second, s.eve.home}},
	} {
		var got []string
		for _, w := range decode[[]api.Workspace](t, call(t, "GET", s.URL+"/workspaces", c.token, ""), 200) {
			got = append(got, w.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s sees %v, want %v", name, got, c.want)
		}
	}
}

// A member who reaches nothing has no active workspace; one that it makes is its
// own to run, and nobody's who was not there before.
func TestTheMakerOfAWorkspaceRunsIt(t *testing.T) {
	s := newStage(t, server.Config{Dir: t.TempDir()})
	active := func(token string) string {
		t.Helper()
		var claims struct{ Wid string }
		raw := must[[]byte](t)(base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1]))
		if err := json.Unmarshal(raw, &claims); err != nil {
			t.Fatal(err)
		}
		return claims.Wid
	}
	if got := active(s.carol.jwt); got != "" {
		t.Errorf("carol, who reaches none, is in the workspace %s", got)
	}
	if got := active(s.bob.jwt); got != s.ada.home {
		t.Errorf("bob is in the workspace %s, want the one that he may view", got)
	}
	own := s.make(t, s.carol, "/workspaces", `{"name":"carol's"}`)
	path := s.URL + "/workspaces/" + own
	moved := decode[api.Session](t, call(t, "POST", s.URL+"/auth/switch-organization", s.carol.jwt, fmt.Sprintf(`{"tenantId":%q}`, s.ada.tenant)), 200)
	if got := active(moved.AccessToken.Reveal()); got != own {
		t.Errorf("carol is in the workspace %q, want her own", got)
	}
	for _, c := range []struct{ method, path, body string }{
		{"PATCH", "", `{"name":"renamed"}`},
		{"PATCH", "/hub-settings", `{"hubLinkCheckSchedule":"daily"}`},
		{"POST", "/bookmarks", `{"title":"x"}`},
		{"POST", "/folders", `{"name":"x"}`},
		{"DELETE", "", ""},
		{"POST", "/restore", ""},
	} {
		code(t, call(t, c.method, path+c.path, s.bob.jwt, c.body), api.CodeNotFound)
		if a := call(t, c.method, path+c.path, s.carol.jwt, c.body); a.status >= 300 {
			t.Errorf("%s of her own%s: %d %s", c.method, c.path, a.status, a.body)
		}
	}
}

// An Idempotency-Key is its account's in one organization: the same in another is
// another request.
func TestAKeyForRetriesIsOfOneOrganization(t *testing.T) {
	s := newStage(t, server.Config{Dir: t.TempDir()})
	home := decode[api.Session](t, call(t, "POST", s.URL+"/auth/switch-organization", s.bob.jwt, fmt.Sprintf(`{"tenantId":%q}`, s.bob.tenant)), 200)
	made := func(token string) api.Workspace {
		t.Helper()
		return decode[api.Workspace](t, call(t, "POST", s.URL+"/workspaces", token, `{"name":"same"}`, "Idempotency-Key", "same"), 201)
	}
	guest, own := made(s.bob.jwt), made(home.AccessToken.Reveal())
	if guest.ID == own.ID || guest.TenantID != s.ada.tenant || own.TenantID != s.bob.tenant || made(s.bob.jwt).ID != guest.ID {
		t.Errorf("made %+v there and %+v here", guest, own)
	}
}

// To move into another workspace is to delete here and to write there.
func TestMovingNeedsRightsOnBothSides(t *testing.T) {
	s := newStage(t, server.Config{Dir: t.TempDir()})
	move := func(token, from, to string) answer {
		t.Helper()
		return call(t, "POST", s.URL+"/workspaces/"+from+"/bookmarks/move", token, fmt.Sprintf(`{"ids":[%q],"workspaceId":%q}`, nobodys, to))
	}
	own := s.make(t, s.bob, "/workspaces", `{"name":"bob's"}`)
	code(t, move(s.bob.jwt, own, s.ada.home), api.CodeForbidden) // where he only views
	keeps := s.key(t, s.ada.jwt, `{"noticeVersion":"1","permissions":["bookmarks.read","bookmarks.write"]}`)
	code(t, move(keeps, s.ada.home, s.ada.second), api.CodeForbidden)
	if a := move(s.ada.wide, s.ada.home, s.ada.second); a.status != 200 {
		t.Errorf("who may both: %d %s", a.status, a.body)
	}
}

// What an operation needs is what it shows and does: an export shows folders,
// an import makes them, and a feed has both.
func TestOperationsOfTwoPermissions(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	want := map[string]string{
		"export-bookmarks": "[bookmarks.read folders.read]", "export-bookmarks-html": "[bookmarks.read folders.read]",
		"import-bookmarks": "[bookmarks.write folders.write]", "key-import-bookmarks": "[bookmarks.write folders.write]",
		"list-changes": "[bookmarks.read folders.read]", "push-changes": "[bookmarks.write bookmarks.read folders.read]",
	}
	for _, spec := range s.Specs() {
		if needed := spec.Permissions(); len(needed) > 1 || want[spec.ID] != "" {
			if got := fmt.Sprint(needed); got != want[spec.ID] {
				t.Errorf("%s needs %s, want %s", spec.ID, got, want[spec.ID])
			}
		}
	}
}

// foreignNames: an id in a body that is another tenant's is an unknown one.
func (c trial) foreignNames(t *testing.T) {
	for _, n := range c.how.naming {
		by := c.credentials(t, c.s.ada)[0]
		theirs := n.what(t, c.s, c.s.eve)
		r := c.request(t, c.s.ada)
		with := func(id string) answer {
			r.body = n.body(id)
			return c.s.send(t, r, by.token, by.headers...)
		}
		alike(t, api.CodeValidation, with(theirs), with(nobodys))
		code(t, with("x"), api.CodeValidation)
	}
}

// retried: a POST with an Idempotency-Key has one effect and one answer.
func (c trial) retried(t *testing.T) {
	if c.spec.NoReplay {
		return
	}
	r := c.request(t, c.s.ada)
	by := c.credentials(t, c.s.ada)[0]
	headers := append([]string{"Idempotency-Key", "retry " + c.spec.ID}, by.headers...)
	first := c.s.send(t, r, by.token, headers...)
	if first.status != c.spec.Status {
		t.Fatalf("with an Idempotency-Key: %d %.300s", first.status, first.body)
	}
	again := c.s.send(t, r, by.token, headers...)
	if c.spec.OnceOnly {
		code(t, again, api.CodeConflict)
		return
	}
	if again.status != first.status || again.body != first.body || again.header.Get("ETag") != first.header.Get("ETag") {
		t.Errorf("again: %d %.200s, first: %d %.200s", again.status, again.body, first.status, first.body)
	}
	other := r
	other.query += "?other=1"
	code(t, c.s.send(t, other, by.token, headers...), api.CodeConflict)
}
