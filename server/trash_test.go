package server_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
)

// What was removed for good has left nothing behind in its row.
func TestRemovedForGood(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
		folder := must[api.Folder](t)(p.Key.CreateFolder(ctx, p.Workspace.ID, api.FolderInput{Name: api.Some("Folder")}))
		one := must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, secretBookmark("")))
		must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, secretBookmark(folder.ID)))
		for range 2 {
			if err := p.Key.DeleteBookmark(ctx, at, one.ID); err != nil {
				t.Fatal(err)
			}
			if err := p.Key.DeleteFolder(ctx, p.Workspace.ID, folder.ID); err != nil {
				t.Fatal(err)
			}
		}
		text := `SELECT CAST(ROW(b.*) AS TEXT) FROM bookmark b`
		if s.DB().Dialect() == sqldb.SQLite {
			text = `SELECT b.url || b.url_key || b.title || b.title_key || b.description || b.tags || b.reader_excerpt || b.extra FROM bookmark b`
		}
		rows := 0
		err := s.DB().Read(ctx, func(tx *sqldb.Tx) error {
			return tx.Rows(ctx, text, nil, func(row sqldb.Scanner) error {
				rows++
				var held string
				err := row.Scan(&held)
				if strings.Contains(strings.ToLower(held), "secret") {
					t.Errorf("still there: %q", held)
				}
				return err
			})
		})
		if err != nil || rows < 2 {
			t.Errorf("%d rows, %v", rows, err)
		}
	})
}

func secretBookmark(folderID string) api.BookmarkInput {
	return api.BookmarkInput{
		URL: api.Some("https://secret.example/"), Title: api.Some("Secret"), Description: api.Some("secret"), FolderID: api.Some(folderID),
		Tags: api.Some([]string{"secret"}), ReaderExcerpt: api.Some("secret"), Extra: api.Some(map[string]string{"X": "secret"}),
	}
}

// The trash can be filtered and exported like what is alive.
func TestTrashIsListedAlike(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
		above := must[api.Folder](t)(p.Key.CreateFolder(ctx, p.Workspace.ID, api.FolderInput{Name: api.Some("Above")}))
		folder := must[api.Folder](t)(p.Key.CreateFolder(ctx, p.Workspace.ID, api.FolderInput{Name: api.Some("Folder"), ParentID: api.Some(above.ID)}))
		for _, tags := range [][]string{{"Go", "Web"}, {"go"}, {"rust"}} {
			must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{
				URL: api.Some("https://" + strings.Join(tags, ".") + ".example/"), Tags: api.Some(tags), FolderID: api.Some(folder.ID),
			}))
		}
		if err := p.Key.DeleteFolder(ctx, p.Workspace.ID, above.ID); err != nil {
			t.Fatal(err)
		}
		for tags, want := range map[string]string{"tag=GO": `{"count":2}`, "tag=go&tag=web": `{"count":1}`, "tag=none": `{"count":0}`} {
			a := call(t, "GET", s.URL+"/workspaces/"+p.Workspace.ID+"/bookmarks/count?filterStatus=deleted&"+tags, string(p.Secret), "")
			if a.body != want {
				t.Errorf("%s: %s, want %s", tags, a.body, want)
			}
		}
		// Whatever is asked, and whichever way, the same is found.
		for query, want := range map[string]int{
			"q=example": 3, "q=go": 2, "q=go&tag=web": 1, "q=go&tag=rust": 0, "q=-rust&tag=go": 2, "q=go+example": 2, "q=none": 0, "q=%20": 3,
			"folderId=" + folder.ID: 3, "folderId=" + above.ID: 0, "recursive=true&folderId=" + above.ID: 3, "recursive=true&q=go&folderId=" + above.ID: 2,
		} {
			of := func(path, more string) answer {
				return call(t, "GET", s.URL+"/workspaces/"+p.Workspace.ID+path+"?filterStatus=deleted&"+query+more, string(p.Secret), "")
			}
			list := decode[[]api.Bookmark](t, of("/bookmarks", ""), 200)
			document := decode[api.ExportDocument](t, of("/bookmarks/export", ""), 200)
			html := strings.Count(of("/export/bookmarks.html", "").body, "<A HREF")
			if count := of("/bookmarks/count", "").body; count != fmt.Sprintf(`{"count":%d}`, want) || len(list) != want || len(document.Bookmarks) != want || html != want {
				t.Errorf("%s: %d wanted; %s, %d listed, %d and %d exported", query, want, count, len(list), len(document.Bookmarks), html)
			}
			if query == "q=%20" || !strings.Contains(query, "q=") {
				continue // there is no relevance to nothing
			}
			if ranked := decode[[]api.Bookmark](t, of("/bookmarks", "&sortBy=relevance"), 200); len(ranked) != want {
				t.Errorf("%s: %d wanted, %d by relevance", query, want, len(ranked))
			}
		}
		// By relevance means best field first, and a page goes on where the last ended.
		url, seen := s.URL+"/workspaces/"+p.Workspace.ID+"/bookmarks?filterStatus=deleted&q=go&sortBy=relevance&limit=1&cursor=", ""
		for cursor, more := "", true; more; {
			page := decode[api.Page[api.Bookmark]](t, call(t, "GET", url+cursor, string(p.Secret), ""), 200)
			for _, b := range page.Data {
				seen += b.URL + " "
			}
			if more = page.Pagination.HasMore; more {
				cursor = *page.Pagination.NextCursor
			}
		}
		if seen != "https://go.example/ https://Go.Web.example/ " {
			t.Errorf("by pages: %s", seen)
		}
		a := call(t, "GET", s.URL+"/workspaces/"+p.Workspace.ID+"/export/bookmarks.html?filterStatus=deleted", string(p.Secret), "")
		if n := strings.Count(a.body, "<A HREF"); a.status != 200 || n != 3 {
			t.Errorf("as HTML: %d with %d bookmarks\n%s", a.status, n, a.body)
		}
	})
}

// A list is filtered by a few tags; how often each is named does not matter.
func TestManyTagsInAFilter(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		get := func(query string) answer {
			return call(t, "GET", s.URL+"/workspaces/"+p.Workspace.ID+"/bookmarks?"+query, string(p.Secret), "")
		}
		if a := get(strings.Repeat("tag=A&tag=a&", 500)); a.status != 200 {
			t.Errorf("one tag, often: %d %s", a.status, a.body)
		}
		must[api.Bookmark](t)(p.Key.CreateBookmark(t.Context(), client.InWorkspace(p.Workspace.ID), api.BookmarkInput{Tags: api.Some([]string{"a"})}))
		for query, want := range map[string]int{"tag=": 1, "tag=&tag=+": 1, "tag=&tag=A": 1, "tag=&tag=b": 0, "tag=&q=": 1, "tag=&filterStatus=deleted": 0} {
			if list := decode[[]api.Bookmark](t, get(query), 200); len(list) != want {
				t.Errorf("%s: %d bookmarks, want %d", query, len(list), want)
			}
		}
		var many strings.Builder
		for i := range api.MaxTagFilters + 1 {
			many.WriteString("tag=t" + string(rune('a'+i)) + "&")
		}
		for _, more := range []string{"", "q=x", "q=x&sortBy=relevance", "q=x&filterStatus=deleted", "q=x&filterStatus=deleted&sortBy=relevance"} {
			code(t, get(many.String()+more), api.CodeValidation)
		}
		for i := range 2000 {
			many.WriteString("tag=t" + strconv.Itoa(i) + "&")
		}
		code(t, get(many.String()+"q=x&sortBy=relevance"), api.CodeValidation)
	})
}

// What a deletion took counts where it is brought back: no tree becomes deeper
// than it may be.
func TestRestoreKeepsTheDepth(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, w := t.Context(), p.Workspace.ID
		chain := func(n int) (first, last string) {
			for range n {
				f := must[api.Folder](t)(p.Key.CreateFolder(ctx, w, api.FolderInput{Name: api.Some("f"), ParentID: api.Some(last)}))
				if last = f.ID; first == "" {
					first = last
				}
			}
			return first, last
		}
		_, bottom := chain(api.MaxTreeDepth / 2)
		top, below := chain(2)
		last := below
		for range api.MaxTreeDepth / 2 {
			last = must[api.Folder](t)(p.Key.CreateFolder(ctx, w, api.FolderInput{Name: api.Some("f"), ParentID: api.Some(last)})).ID
		}
		if err := p.Key.DeleteFolder(ctx, w, below); err != nil {
			t.Fatal(err)
		}
		must[api.Folder](t)(p.Key.UpdateFolder(ctx, w, top, api.FolderInput{ParentID: api.Some(bottom)}))
		if f, err := p.Key.RestoreFolder(ctx, w, below); err == nil {
			t.Errorf("restored %d deep: %+v", api.MaxTreeDepth+2, f)
		}
		must[api.Folder](t)(p.Key.UpdateFolder(ctx, w, top, api.FolderInput{ParentID: api.Optional[string]{Set: true, Null: true}}))
		must[api.Folder](t)(p.Key.RestoreFolder(ctx, w, below))
	})
}

// A position of 0 is one, and none leaves what a number can be in JSON.
func TestSortOrders(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
		make := func(order int64) api.Bookmark {
			t.Helper()
			return must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{Title: api.Some("x"), SortOrder: api.Some(order)}))
		}
		if b := make(0); b.SortOrder != 0 {
			t.Errorf("0 became %d", b.SortOrder)
		}
		if f := must[api.Folder](t)(p.Key.CreateFolder(ctx, p.Workspace.ID, api.FolderInput{Name: api.Some("f"), SortOrder: api.Some(int64(0))})); f.SortOrder != 0 {
			t.Errorf("a folder's 0 became %d", f.SortOrder)
		}
		const most = 1<<53 - 1
		make(most)
		if b := must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{Title: api.Some("last")})); b.SortOrder != most {
			t.Errorf("behind %d comes %d", int64(most), b.SortOrder)
		}
	})
}

// What is restored goes to the nearest folder that lives, past one that was
// removed for good.
func TestRestoreFindsAHome(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, w, at := t.Context(), p.Workspace.ID, client.InWorkspace(p.Workspace.ID)
		above := must[api.Folder](t)(p.Key.CreateFolder(ctx, w, api.FolderInput{Name: api.Some("above")}))
		folder := must[api.Folder](t)(p.Key.CreateFolder(ctx, w, api.FolderInput{Name: api.Some("gone"), ParentID: api.Some(above.ID)}))
		b := must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{Title: api.Some("x"), FolderID: api.Some(folder.ID)}))
		if err := p.Key.DeleteBookmark(ctx, at, b.ID); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := p.Key.DeleteFolder(ctx, w, folder.ID); err != nil {
				t.Fatal(err)
			}
		}
		if b = must[api.Bookmark](t)(p.Key.RestoreBookmark(ctx, w, b.ID)); b.FolderID != above.ID {
			t.Errorf("restored into %q, want %s", b.FolderID, above.ID)
		}
	})
}

// must takes what a call answered, which must have succeeded.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
