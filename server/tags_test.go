package server_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
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

// A push may bring thousands of tags that are new. They get their numbers
// together, and each is looked for by its name alone: all of the workspace's
// tags were gone through, each beside all of the push's, and one after the other
// was added.
func TestManyNewTagsArePushed(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		const bookmarks, tags = 20, 100
		var push api.PushRequest
		for i := range bookmarks {
			names := make([]string, tags)
			for j := range names {
				names[j] = fmt.Sprintf("t%d-%d", i, j)
			}
			set, err := json.Marshal(map[string]any{"tags": names})
			if err != nil {
				t.Fatal(err)
			}
			push.Ops = append(push.Ops, api.Op{OpID: newID(), Action: api.OpCreate, Type: api.TypeBookmark, ID: newID(), Set: set})
		}
		var mu sync.Mutex
		var ran []string
		s.DB().Watch(func(text string) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, text)
		})
		must[api.PushResponse](t)(p.Key.Push(t.Context(), p.Workspace.ID, push))
		s.DB().Watch(nil)
		mu.Lock()
		defer mu.Unlock()
		looks := 0
		for _, text := range ran {
			if !strings.HasPrefix(text, "SELECT") || !strings.Contains(text, "FROM tag t") {
				continue
			}
			looks++
			plan := explain(t, s.DB(), text, p.Workspace.ID, `["t1-1","t2-2"]`)
			if !regexp.MustCompile(`workspace_id = .* AND .*tag_key =|workspace_id=\? AND tag_key=\?`).MatchString(plan) {
				t.Errorf("the tags are looked for by\n%s\n%s", text, plan)
			}
		}
		if looks == 0 || len(ran) > 400 {
			t.Errorf("the tags are looked for by %d of %d statements", looks, len(ran))
		}
		listed := must[[]api.Tag](t)(p.Key.ListTags(t.Context(), p.Workspace.ID))
		if len(listed) != bookmarks*tags {
			t.Errorf("there are %d tags", len(listed))
		}
	})
}

// explain is the plan of a statement with these values.
func explain(t *testing.T, db *sqldb.DB, text string, args ...any) (plan string) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		if tx.Dialect() == sqldb.Postgres {
			return tx.Rows(t.Context(), "EXPLAIN "+text, args, func(row sqldb.Scanner) error {
				var step string
				err := row.Scan(&step)
				plan += step + "\n"
				return err
			})
		}
		return tx.Rows(t.Context(), "EXPLAIN QUERY PLAN "+text, args, func(row sqldb.Scanner) error {
			var id, parent, unused int
			var step string
			err := row.Scan(&id, &parent, &unused, &step)
			plan += step + "\n"
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
