package server_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
)

// The newest of a tag that very many carry are met in the order of their dates:
// nobody sorts all of them for a page. Those of a rare tag are found by it.
func TestAListOfAVeryCommonTag(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a workspace with thousands")
	}
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
		const all, rare = 4000, 7
		var file bytes.Buffer
		file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
		for i := range all {
			tags := "common"
			if i%(all/rare) == 0 {
				tags += ",rare"
			}
			fmt.Fprintf(&file, "<DT><A HREF=\"https://example.com/%d\" ADD_DATE=\"%d\" TAGS=\"%s\">n%d</A>\n", i, 1_600_000_000+i*7919%all, tags, i)
		}
		file.WriteString("</DL>")
		must[api.ImportSummary](t)(p.Key.Import(ctx, at, "x.html", &file, ""))
		if s.DB().Dialect() == sqldb.Postgres { // which it does by itself after a while
			err := s.DB().Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, "ANALYZE")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		// A rare bookmark that is no part of the common ones.
		must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{Title: api.Some("other"), Tags: api.Some([]string{"other"})}))

		var mu sync.Mutex
		lists := map[string]string{}
		s.DB().Watch(func(text string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(text, "ORDER BY") && strings.Contains(text, "bookmark_tag") && !strings.HasPrefix(text, "EXPLAIN") {
				lists["last"] = text
			}
		})
		list := func(filter api.BookmarkFilter, offset int) (titles []string, text string) {
			t.Helper()
			for _, b := range must[[]api.Bookmark](t)(p.Key.ListBookmarks(ctx, at, client.ListQuery{BookmarkFilter: filter, Limit: 50, Offset: offset})) {
				titles = append(titles, b.Title)
			}
			mu.Lock()
			defer mu.Unlock()
			return titles, lists["last"]
		}
		for _, filters := range [][2]api.BookmarkFilter{
			{{Tags: []string{"common"}}, {Tags: []string{"rare"}}}, {{Query: "tag:common"}, {Query: "tag:rare"}},
		} {
			first, text := list(filters[0], 0)
			args := []any{p.Workspace.TenantID, p.Workspace.ID, 1, 51, 0}
			if s.DB().Dialect() == sqldb.Postgres {
				args = slices.Delete(args, 2, 3) // the tag's number is in the text
			}
			plan := explain(t, s.DB(), text, args...)
			if len(first) != 50 || !strings.Contains(plan, "bookmark_created") || strings.Contains(plan, "Sort") || strings.Contains(plan, "LIST SUBQUERY") {
				t.Errorf("%d of a common tag by\n%s\n%s", len(first), text, plan)
			}
			// However deep, it is the same list.
			seen := map[string]bool{}
			for offset := 0; ; offset += 50 {
				titles, _ := list(filters[0], offset)
				for _, title := range titles {
					seen[title] = true
				}
				if len(titles) < 50 {
					break
				}
			}
			if len(seen) != all || seen["other"] {
				t.Errorf("%d bookmarks with the common tag", len(seen))
			}
			few, text := list(filters[1], 0)
			if plan := explain(t, s.DB(), text, args...); len(few) < rare || len(few) > rare+1 || strings.Contains(plan, "bookmark_created") {
				t.Errorf("%q of a rare tag by\n%s\n%s", few, text, plan)
			}
		}
		// What carries both is found by the rare one: SQLite gathered all that
		// carry the common one first, however few carry the other.
		for _, filter := range []api.BookmarkFilter{{Tags: []string{"common", "rare"}}, {Query: "tag:common tag:rare"}, {Query: "tag:rare -tag:other tag:common"}} {
			both, text := list(filter, 0)
			if len(both) < rare || len(both) > rare+1 {
				t.Errorf("%+v finds %q", filter, both)
			}
			if s.DB().Dialect() == sqldb.SQLite && !strings.Contains(text, "EXISTS (SELECT 1 FROM bookmark_tag") {
				t.Errorf("%+v is looked for by\n%s", filter, text)
			}
		}
	})
}

// All that carry a common tag are gathered where it alone says what is asked for:
// to look at each bookmark takes several times as long. With anything that narrows
// it is the other way round.
func TestHowACommonTagIsLookedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a workspace with thousands")
	}
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	p := servertest.Join(t, s, "ada")
	ctx, at, id := t.Context(), client.InWorkspace(p.Workspace.ID), p.Workspace.ID
	const all = 3500
	var file bytes.Buffer
	file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	for i := range all {
		fmt.Fprintf(&file, "<DT><A HREF=\"https://example.com/%d\" TAGS=\"common,usual%s\">n%d</A>\n", i, map[bool]string{true: ",rare"}[i%500 == 0], i)
	}
	file.WriteString("</DL>")
	must[api.ImportSummary](t)(p.Key.Import(ctx, at, "x.html", &file, ""))
	folder := must[api.Folder](t)(p.Key.CreateFolder(ctx, id, api.FolderInput{Name: api.Some("Dev")}))

	var mu sync.Mutex
	var last string
	lookups := 0
	s.DB().Watch(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(text, "FROM tag t") {
			lookups++
		} else if strings.Contains(text, "bookmark_tag") {
			last = text
		}
	})
	count := func(f api.BookmarkFilter) { must[int](t)(p.Key.CountBookmarks(ctx, id, f)) }
	search := func(f api.BookmarkFilter) {
		must[[]api.Bookmark](t)(p.Key.ListBookmarks(ctx, at, client.ListQuery{BookmarkFilter: f, SortBy: "relevance"}))
	}
	byTitle := func(f api.BookmarkFilter) {
		must[[]api.Bookmark](t)(p.Key.ListBookmarks(ctx, at, client.ListQuery{BookmarkFilter: f, SortBy: "title"}))
	}
	export := func(f api.BookmarkFilter) {
		body := must[io.ReadCloser](t)(p.Key.ExportJSON(ctx, id, f))
		must[int64](t)(io.Copy(io.Discard, body))
		_ = body.Close()
	}
	oneByOne := func(ask func(api.BookmarkFilter), filter api.BookmarkFilter) bool {
		t.Helper()
		mu.Lock()
		last = ""
		mu.Unlock()
		ask(filter)
		mu.Lock()
		defer mu.Unlock()
		if last == "" {
			t.Errorf("%+v is not looked for at all", filter)
		}
		return strings.Contains(last, "EXISTS (SELECT 1 FROM bookmark_tag")
	}
	tags := func(tags ...string) api.BookmarkFilter { return api.BookmarkFilter{Tags: tags} }
	query := func(q string) api.BookmarkFilter { return api.BookmarkFilter{Query: q} }
	for _, c := range []struct {
		ask    func(api.BookmarkFilter)
		filter api.BookmarkFilter
		want   bool
	}{
		{count, tags("common"), false},
		{byTitle, tags("common"), false},
		{export, tags("common"), false},
		{count, query("tag:common"), false},
		{search, query("tag:common"), false},
		{count, query("-tag:common"), false},
		{count, query("tag:common OR n1"), false},
		{count, tags("common", "usual"), false},
		{count, query("tag:common -tag:rare"), false},
		{count, api.BookmarkFilter{Tags: []string{"common"}, FolderID: api.RootFolder, Recursive: true}, false},

		{count, tags("common", "rare"), true},
		{byTitle, tags("common", "rare"), true},
		{count, query("tag:common tag:rare"), true},
		{count, query("tag:common n1"), true},
		{search, query("tag:common n1"), true},
		{count, query("tag:common (tag:rare OR n1)"), true},
		{count, api.BookmarkFilter{Tags: []string{"common"}, Query: "n1"}, true},
		{count, api.BookmarkFilter{Tags: []string{"rare"}, Query: "tag:common"}, true},
		{count, api.BookmarkFilter{Tags: []string{"common"}, FolderID: folder.ID}, true},
		{count, api.BookmarkFilter{Tags: []string{"common"}, FilterStatus: "dead"}, true},
	} {
		if got := oneByOne(c.ask, c.filter); got != c.want {
			t.Errorf("%+v: one by one: %t\n%s", c.filter, got, last)
		}
	}
	// Each step of a search asks for the tag; it is looked up once.
	counted := func() int {
		mu.Lock()
		defer mu.Unlock()
		return lookups
	}
	before := counted()
	search(query("tag:common n1 n2"))
	if n := counted() - before; n < 1 || n > 2 {
		t.Errorf("the tag was looked up %d times", n)
	}
	// Common is what more than half carry.
	err := s.DB().Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE workspace_head SET live_count = $1`, 2*all+2)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if oneByOne(count, tags("common", "rare")) {
		t.Error("less than half carry the tag, and it counts as common")
	}
}
