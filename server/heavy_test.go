package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/bookmarks"
	"bm/server/changes"
	"bm/server/op"
	"bm/server/ratelimit"
	"bm/server/servertest"
	"bm/server/tree"
	"bm/server/workspaces"
)

// believed takes every token for ada's.
type believed struct{ principal *access.Principal }

func (b believed) Authenticate(context.Context, string, func() error) (*access.Principal, error) {
	return b.principal, nil
}

// Whatever reads many rows counts what they hold while it does: a page of the
// largest ones is a hundred times as large as one of ordinary ones.
func TestRowsOfAnswersAreCounted(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx := t.Context()
		direct := httptest.NewServer(s.Server) // no answer is looked at closely
		defer direct.Close()
		p := servertest.Join(t, &servertest.Server{Server: s.Server, URL: direct.URL}, "ada")
		id, at := p.Workspace.ID, client.InWorkspace(p.Workspace.ID)
		long, wide := strings.Repeat("\U0001F600", api.MaxDescription-1), strings.Repeat("\U0001F600", api.MaxNote-1)
		const rows, folders, small = 6, 100, 300
		var file strings.Builder
		for n := range small {
			_, _ = fmt.Fprintf(&file, "<DT><A HREF=\"https://a.example/%d\">a</A>\n", n)
		}
		must[api.ImportSummary](t)(p.Key.Import(ctx, at, "a.html", strings.NewReader(file.String()), ""))
		ops := make([]api.Op, rows)
		for n := range rows {
			made := must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{
				Title: api.Some("heavy"), Description: api.Some(long), ReaderExcerpt: api.Some(long),
			}))
			ops[n] = api.Op{
				OpID: fmt.Sprintf("01890a5d-ac96-474b-bcce-%012d", n), Action: api.OpUpdate, Type: api.TypeBookmark, ID: made.ID,
				BaseRev: 1 << 40, Set: json.RawMessage(`{"title":"x"}`),
			}
		}
		for range folders {
			must[api.Folder](t)(p.Key.CreateFolder(ctx, id, api.FolderInput{Name: api.Some("heavy"), Description: api.Some(wide)}))
		}
		scope := access.Scope{TenantID: p.Workspace.TenantID, WorkspaceID: id}
		content := s.Tree()
		replication := changes.New(s.DB(), content, nil, time.Now, []byte("key"))
		page, heavy := tree.Page{Limit: api.MaxPageSize}, api.BookmarkFilter{Query: "heavy"}
		bookmarkBytes, folderBytes := int64(rows*2*len(long)), int64(folders*len(wide))
		for name, c := range map[string]struct {
			read  func(context.Context) error
			least int64
		}{
			"list": {func(ctx context.Context) error {
				_, err := content.List(ctx, scope, api.BookmarkFilter{}, tree.NewestFirst, page)
				return err
			}, bookmarkBytes},
			"search": {func(ctx context.Context) error {
				_, err := content.Search(ctx, scope, heavy, page)
				return err
			}, bookmarkBytes},
			"folders": {func(ctx context.Context) error {
				_, err := content.Folders(ctx, scope, false)
				return err
			}, folderBytes},
			"changed folders": {func(ctx context.Context) error {
				_, _, err := replication.Page(ctx, scope, "", api.MaxPageSize)
				return err
			}, folderBytes},
			"stale ops": {func(ctx context.Context) error {
				_, err := replication.Push(ctx, scope, changes.Caller{Can: func(access.Permission) bool { return true }}, api.PushRequest{Ops: ops})
				return err
			}, bookmarkBytes},
			"the same ops": {func(ctx context.Context) error {
				_, err := replication.Push(ctx, scope, changes.Caller{Can: func(access.Permission) bool { return true }}, api.PushRequest{Ops: ops})
				return err
			}, bookmarkBytes},
			"rows of an export": {func(ctx context.Context) error {
				_, err := content.Select(ctx, scope, api.BookmarkFilter{FilterStatus: "unfiled"})
				return err
			}, folderBytes + 1<<20}, // whatever is selected, its folders are read
			"folders of an export": {func(ctx context.Context) error {
				service := bookmarks.New(s.DB(), content, workspaces.New(s.DB(), time.Now, nil), time.Now, nil)
				_, err := service.ExportHTML(ctx, scope, api.BookmarkFilter{})
				return err
			}, folderBytes},
		} {
			router := op.NewRouter(op.Deps{
				Authenticator: believed{&access.Principal{Kind: access.JWT, TenantID: scope.TenantID}}, Limiter: ratelimit.NewMemory(ratelimit.Limits{}, time.Now),
				Logger: slog.New(slog.DiscardHandler), Now: time.Now, NewID: func() string { return "id" },
				ClientIP: func(*http.Request) netip.Addr { return netip.Addr{} },
			})
			var held int64
			op.Register(router, op.Spec{
				ID: "read", Method: http.MethodGet, Path: "/read", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Self, Permission: op.NoPermission,
				Section: "Test", Summary: name, Extension: true,
			}, func(ctx context.Context, _ *op.Call, _ *struct{}) (op.None, error) {
				err := c.read(ctx)
				held = router.Held()
				return op.None{}, err
			})
			request := httptest.NewRequest(http.MethodGet, "/read", nil)
			request.Header.Set("Authorization", "Bearer x")
			answer := httptest.NewRecorder()
			router.ServeHTTP(answer, request)
			if answer.Code != http.StatusOK {
				t.Errorf("%s: %d %s", name, answer.Code, answer.Body)
			}
			// All but the last step of it.
			if least := c.least - 512<<10; held < least {
				t.Errorf("%s: the rows count as %d bytes, want %d at least", name, held, least)
			}
			if left := router.Held(); left != 0 {
				t.Errorf("%s: %d bytes are held behind the answer", name, left)
			}
		}
	})
}
