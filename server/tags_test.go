package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// The tags of a workspace may be many: they are answered in pages like
// bookmarks, by name, in one order on every database.
func TestTagsComeInPages(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx := t.Context()
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprintf("t%02d", i))
		}
		want = append(want, "a b", "a-b", "ab", "äb", "z", "日本")
		for tags := range slices.Chunk(want, 7) {
			must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, client.InWorkspace(p.Workspace.ID), api.BookmarkInput{Tags: api.Some(tags)}))
		}
		must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, client.InWorkspace(p.Workspace.ID), api.BookmarkInput{Tags: api.Some([]string{"AB", "Z"})}))
		slices.Sort(want)
		names := func(tags []api.Tag) (list []string) {
			for _, tag := range tags {
				list = append(list, strings.ToLower(tag.Name))
				if wanted := 1 + strings.Count(" ab z ", " "+list[len(list)-1]+" "); tag.Count != wanted {
					t.Errorf("%s is on %d", tag.Name, tag.Count)
				}
			}
			return list
		}
		get := func(query string) answer {
			return call(t, "GET", s.URL+"/workspaces/"+p.Workspace.ID+"/tags"+query, string(p.Secret), "")
		}
		for query, part := range map[string][]string{
			"": want[:50], "?limit=3": want[:3], "?limit=200": want, "?offset=60": want[60:], "?limit=5&offset=58": want[58:63], "?offset=100": {},
		} {
			if got := names(decode[[]api.Tag](t, get(query), 200)); !slices.Equal(got, part) {
				t.Errorf("%q answers %q, want %q", query, got, part)
			}
		}
		var paged []string
		for cursor, more := "", true; more; {
			page := decode[api.Page[api.Tag]](t, get("?limit=7&cursor="+cursor), 200)
			paged = append(paged, names(page.Data)...)
			if more = page.Pagination.HasMore; more {
				cursor = *page.Pagination.NextCursor
			}
		}
		if !slices.Equal(paged, want) {
			t.Errorf("by pages: %q", paged)
		}
		if got := names(must[[]api.Tag](t)(p.Key.ListTags(ctx, p.Workspace.ID))); !slices.Equal(got, want) {
			t.Errorf("the client has %q", got)
		}
		code(t, get("?limit=201"), api.CodeValidation)
		code(t, get("?cursor=x"), api.CodeValidation)
	})
}
