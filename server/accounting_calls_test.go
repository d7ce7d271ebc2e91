package server_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"bm/server/api"
)

// calling is how an operation is called with success: a row of the table
// below, without which an operation does not pass the build.
type calling struct {
	// vars makes what the path names, as the player's own; workspaceId is the
	// player's home where it is left out.
	vars func(t *testing.T, s *stage, p *player) map[string]string
	// body is what is sent; nil for nothing.
	body  func(t *testing.T, s *stage, p *player) string
	query string
	// form sends a file instead.
	form bool
	// stream: the answer does not end by itself.
	stream bool
	// ownSession: the call ends or moves the session that it is made with.
	ownSession bool
	// elsewhere: its workspace is one of its own, not the player's home.
	elsewhere bool
	// admin: it needs an administrator of the organization, whatever its row's
	// permission.
	admin bool
	// naming are bodies that name something by its id: with an unknown and
	// with a foreign id they are the same validation error.
	naming []naming
}

// naming is a body with an id in it.
type naming struct {
	body func(id string) string
	what func(t *testing.T, s *stage, p *player) string // makes a thing of the kind
}

type maker = func(t *testing.T, s *stage, p *player) string

// text is a body that is always the same.
func text(body string) maker {
	return func(*testing.T, *stage, *player) string { return body }
}

// one makes the only thing that a path names.
func one(name string, make maker) func(*testing.T, *stage, *player) map[string]string {
	return func(t *testing.T, s *stage, p *player) map[string]string {
		t.Helper()
		return map[string]string{name: make(t, s, p)}
	}
}

func bookmark(t *testing.T, s *stage, p *player) string { return s.bookmark(t, p) }
func folder(t *testing.T, s *stage, p *player) string   { return s.folder(t, p) }
func workspace(t *testing.T, s *stage, p *player) string {
	return s.make(t, p, "/workspaces", `{"name":"x"}`)
}
func homeOf(_ *testing.T, _ *stage, p *player) string { return p.home }

func apiKey(t *testing.T, s *stage, p *player) string {
	return s.make(t, p, "/api/v1/api-keys", `{"noticeVersion":"1"}`)
}

func deletedBookmark(t *testing.T, s *stage, p *player) string {
	return s.deleted(t, p, "/workspaces/"+p.home+"/bookmarks", s.bookmark(t, p))
}

func deletedFolder(t *testing.T, s *stage, p *player) string {
	return s.deleted(t, p, "/workspaces/"+p.home+"/folders", s.folder(t, p))
}

func deletedWorkspace(t *testing.T, s *stage, p *player) string {
	return s.deleted(t, p, "/workspaces", workspace(t, s, p))
}

// signIn begins another session of a player.
func (s *stage) signIn(t *testing.T, p *player) api.Session {
	t.Helper()
	return decode[api.Session](t, call(t, "POST", s.URL+"/auth/login", "",
		fmt.Sprintf(`{"email":%q,"password":%q}`, p.email, "a long enough phrase")), 200)
}

func newID() string { return api.NewIDs(time.Now, rand.Reader).New() }

var inFolder = naming{func(id string) string { return fmt.Sprintf(`{"title":"x","folderId":%q}`, id) }, folder}

// calls has a row for every operation.
var calls = map[string]calling{
	"register": {body: func(*testing.T, *stage, *player) string {
		return fmt.Sprintf(`{"email":"%s@example.test","password":"a long enough phrase","noticeVersion":"1"}`, strings.ToLower(rand.Text()))
	}},
	"login": {body: func(_ *testing.T, _ *stage, p *player) string {
		return fmt.Sprintf(`{"email":%q,"password":"a long enough phrase"}`, p.email)
	}},
	"refresh": {body: func(t *testing.T, s *stage, p *player) string {
		return fmt.Sprintf(`{"refreshToken":%q}`, string(s.signIn(t, p).RefreshToken))
	}},
	"logout": {ownSession: true},
	"switch-workspace": {
		ownSession: true,
		body:       func(_ *testing.T, _ *stage, p *player) string { return fmt.Sprintf(`{"workspaceId":%q}`, p.second) },
		naming:     []naming{{func(id string) string { return fmt.Sprintf(`{"workspaceId":%q}`, id) }, homeOf}},
	},
	"switch-organization": {
		ownSession: true,
		body:       func(_ *testing.T, _ *stage, p *player) string { return fmt.Sprintf(`{"tenantId":%q}`, p.tenant) },
		naming: []naming{{func(id string) string { return fmt.Sprintf(`{"tenantId":%q}`, id) }, func(_ *testing.T, _ *stage, p *player) string {
			return p.tenant
		}}},
	},

	"get-me":              {},
	"update-me":           {body: text(`{"displayName":"x"}`)},
	"list-my-permissions": {},

	"list-api-keys": {},
	"create-api-key": {
		body:   text(`{"label":"x","noticeVersion":"1"}`),
		naming: []naming{{func(id string) string { return fmt.Sprintf(`{"noticeVersion":"1","workspaceId":%q}`, id) }, homeOf}},
	},
	"revoke-api-key": {vars: one("keyId", apiKey)},
	"rotate-api-key": {vars: one("keyId", apiKey)},

	"list-workspaces":         {},
	"create-workspace":        {body: text(`{"name":"x"}`)},
	"list-deleted-workspaces": {admin: true},
	"get-workspace":           {},
	"update-workspace":        {body: text(`{"name":"x"}`)},
	"delete-workspace":        {vars: one("workspaceId", workspace), elsewhere: true},
	"update-hub-settings":     {body: text(`{"hubLinkCheckSchedule":"weekly"}`)},
	"restore-workspace":       {vars: one("workspaceId", deletedWorkspace), elsewhere: true},

	"list-folders":   {},
	"create-folder":  {body: text(`{"name":"x"}`), naming: []naming{{func(id string) string { return fmt.Sprintf(`{"name":"x","parentId":%q}`, id) }, folder}}},
	"get-folder":     {vars: one("id", folder)},
	"update-folder":  {vars: one("id", folder), body: text(`{"name":"y"}`), naming: []naming{{func(id string) string { return fmt.Sprintf(`{"parentId":%q}`, id) }, folder}}},
	"delete-folder":  {vars: one("id", folder)},
	"restore-folder": {vars: one("id", deletedFolder)},

	"key-list-bookmarks":   {},
	"key-create-bookmark":  {body: text(`{"url":"https://example.test/"}`), naming: []naming{inFolder}},
	"key-get-bookmark":     {vars: one("bookmark_id", bookmark)},
	"key-update-bookmark":  {vars: one("bookmark_id", bookmark), body: text(`{"title":"y"}`), naming: []naming{inFolder}},
	"key-delete-bookmark":  {vars: one("bookmark_id", bookmark)},
	"key-import-bookmarks": {form: true},

	"list-bookmarks":        {},
	"create-bookmark":       {body: text(`{"url":"https://example.test/"}`), naming: []naming{inFolder}},
	"get-bookmark":          {vars: one("id", bookmark)},
	"update-bookmark":       {vars: one("id", bookmark), body: text(`{"title":"y"}`), naming: []naming{inFolder}},
	"delete-bookmark":       {vars: one("id", bookmark)},
	"import-bookmarks":      {form: true},
	"count-bookmarks":       {},
	"search-bookmarks":      {query: "?q=x"},
	"export-bookmarks":      {},
	"export-bookmarks-html": {},
	"bulk-delete-bookmarks": {body: func(t *testing.T, s *stage, p *player) string {
		return fmt.Sprintf(`{"ids":[%q]}`, s.bookmark(t, p))
	}},
	"delete-bookmarks-by-scope": {
		body:   text(`{"scope":"tag","tag":"nobody has it","confirm":true}`),
		naming: []naming{{func(id string) string { return fmt.Sprintf(`{"scope":"folder","folderId":%q,"confirm":true}`, id) }, folder}},
	},
	"move-bookmarks": {
		body: func(t *testing.T, s *stage, p *player) string { return fmt.Sprintf(`{"ids":[%q]}`, s.bookmark(t, p)) },
		naming: []naming{
			{func(id string) string { return fmt.Sprintf(`{"ids":[%q],"folderId":%q}`, nobodys, id) }, folder},
			{func(id string) string { return fmt.Sprintf(`{"ids":[%q],"workspaceId":%q}`, nobodys, id) }, homeOf},
		},
	},
	"restore-bookmark": {vars: one("id", deletedBookmark)},

	"get-server-info": {},
	"list-changes":    {},
	"stream-events":   {stream: true},
	"push-changes": {body: func(*testing.T, *stage, *player) string {
		return fmt.Sprintf(`{"ops":[{"opId":%q,"action":"create","type":"bookmark","id":%q,"set":{"title":"x"}}]}`, newID(), newID())
	}},

	"list-tags":  {},
	"rename-tag": {body: text(`{"from":"t","to":"u"}`)},
	"merge-tags": {body: text(`{"from":["t"],"into":"u"}`)},
}

// nobodys is an id that was never given to anything.
const nobodys = "01890a5d-ac96-774b-bcce-b302099a8057"
