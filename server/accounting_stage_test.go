package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"bm/server"
	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// stage is a server with one of each kind of caller on it.
type stage struct {
	*servertest.Server
	specs map[string]op.Spec
	// ada owns an organization with two workspaces; eve owns another.
	ada, eve *player
	// bob and carol are members of ada's: bob a viewer of her first
	// workspace, carol nothing anywhere.
	bob, carol *player
}

// onlyAdas is in what ada has in her home, and nowhere else.
const onlyAdas = "onlyadas"

// player is a caller with its credentials.
type player struct {
	jwt           string
	wide, narrow  string // keys: tenant-wide, and of home alone
	revoked       string
	home, second  string // workspaces
	account       string
	refresh       string
	tenant, email string
}

func newStage(t *testing.T, config server.Config) *stage {
	t.Helper()
	s := &stage{Server: servertest.Start(t, config), specs: map[string]op.Spec{}}
	for _, spec := range s.Specs() {
		s.specs[spec.ID] = spec
	}
	s.ada, s.eve, s.bob, s.carol = s.owner(t, "ada"), s.owner(t, "eve"), s.owner(t, "bob"), s.owner(t, "carol")

	s.make(t, s.ada, "/workspaces/"+s.ada.home+"/bookmarks", fmt.Sprintf(`{"url":"https://%s.test/","title":"x %[1]s","description":"x %[1]s","tags":[%[1]q]}`, onlyAdas))
	s.make(t, s.ada, "/workspaces/"+s.ada.home+"/folders", fmt.Sprintf(`{"name":"x %s"}`, onlyAdas))

	// Members come with invitations; until then they are written.
	db := sqldbtest.Open(t, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL})
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, p := range []*player{s.bob, s.carol} {
			_, err := tx.Exec(t.Context(), `INSERT INTO membership (tenant_id, account_id, role, created_at) VALUES ($1, $2, 'member', 1)`, s.ada.tenant, p.account)
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO role_assignment (id, tenant_id, account_id, role_id, scope_type, scope_id, created_at)
			SELECT 'bob-views', $1, $2, id, 'workspace', $3, 1 FROM role WHERE tenant_id = $1 AND system_key = $4`,
			s.ada.tenant, s.bob.account, s.ada.home, string(access.Viewer))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*player{s.bob, s.carol} {
		moved := decode[api.Session](t, call(t, "POST", s.URL+"/auth/switch-organization", p.jwt, fmt.Sprintf(`{"tenantId":%q}`, s.ada.tenant)), 200)
		p.jwt, p.home, p.second = string(moved.AccessToken), s.ada.home, s.ada.second
		p.wide = s.key(t, p.jwt, `{"noticeVersion":"1"}`)
	}
	return s
}

// owner registers an account and gives it two workspaces and its keys.
func (s *stage) owner(t *testing.T, name string) *player {
	t.Helper()
	session := register(t, s.Server, name+"@example.test")
	p := &player{
		jwt: string(session.AccessToken), refresh: string(session.RefreshToken),
		account: session.Account.AccountID, tenant: session.Account.TenantID, email: name + "@example.test",
	}
	p.home = decode[[]api.Workspace](t, call(t, "GET", s.URL+"/workspaces", p.jwt, ""), 200)[0].ID
	p.second = decode[api.Workspace](t, call(t, "POST", s.URL+"/workspaces", p.jwt, `{"name":"Second"}`), 201).ID
	p.wide = s.key(t, p.jwt, `{"noticeVersion":"1"}`)
	p.narrow = s.key(t, p.jwt, fmt.Sprintf(`{"noticeVersion":"1","workspaceId":%q}`, p.home))
	made := decode[api.APIKeySecret](t, call(t, "POST", s.URL+"/api/v1/api-keys", p.jwt, `{"noticeVersion":"1"}`), 201)
	p.revoked = string(made.APIKey)
	if a := call(t, "POST", s.URL+"/api/v1/api-keys/"+made.Metadata.ID+"/revoke", p.jwt, ""); a.status != 204 {
		t.Fatalf("revoke: %d %s", a.status, a.body)
	}
	return p
}

func (s *stage) key(t *testing.T, jwt, body string) string {
	t.Helper()
	return string(decode[api.APIKeySecret](t, call(t, "POST", s.URL+"/api/v1/api-keys", jwt, body), 201).APIKey)
}

// make posts as a player and answers the id of what was made.
func (s *stage) make(t *testing.T, p *player, path, body string) string {
	t.Helper()
	a := call(t, "POST", s.URL+path, p.jwt, body)
	if a.status != 201 {
		t.Fatalf("POST %s: %d %s", path, a.status, a.body)
	}
	var made struct {
		ID       string
		Metadata struct{ ID string }
	}
	if err := json.Unmarshal([]byte(a.body), &made); err != nil {
		t.Fatal(err)
	}
	return made.ID + made.Metadata.ID
}

func (s *stage) bookmark(t *testing.T, p *player) string {
	return s.make(t, p, "/workspaces/"+p.home+"/bookmarks", `{"url":"https://example.test/","title":"x","tags":["t"]}`)
}

func (s *stage) folder(t *testing.T, p *player) string {
	return s.make(t, p, "/workspaces/"+p.home+"/folders", `{"name":"x"}`)
}

// deleted puts something into the trash and answers its id.
func (s *stage) deleted(t *testing.T, p *player, collection, id string) string {
	t.Helper()
	if a := call(t, "DELETE", s.URL+collection+"/"+id, p.jwt, ""); a.status != 204 {
		t.Fatalf("DELETE %s/%s: %d %s", collection, id, a.status, a.body)
	}
	return id
}

// request is a call of an operation, by nobody yet.
type request struct {
	method, pattern string
	vars            map[string]string
	query           string
	body, kind      string
	stream          bool
}

// with is the request with another value in its path.
func (r request) with(name, value string) request {
	vars := map[string]string{}
	for k, v := range r.vars {
		vars[k] = v
	}
	vars[name] = value
	r.vars = vars
	return r
}

func (r request) url(base string) string {
	path := r.pattern
	for name, value := range r.vars {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	return base + path + r.query
}

// send calls it with a credential, "" for none.
func (s *stage) send(t *testing.T, r request, token string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, r.url(s.URL), strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("X-Correlation-ID", "same")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if r.stream && response.StatusCode < 300 {
		return answer{response.StatusCode, response.Header, ""} // it does not end by itself
	}
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(raw)}
}

// upload is a form with a file of one bookmark.
func upload(t *testing.T) (body, kind string) {
	t.Helper()
	var buf bytes.Buffer
	form := multipart.NewWriter(&buf)
	part, err := form.CreateFormFile("file", "bookmarks.html")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF=\"https://example.test/\">x</A>\n</DL><p>\n"); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String(), form.FormDataContentType()
}
