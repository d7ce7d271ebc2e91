package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/query"
	"bm/server/api/query/querytest"
	"bm/server/servertest"
	"bm/server/sqldb"
)

// The server finds of the corpus what every engine finds, in the same order,
// however it is asked.
func TestTheCorpusIsFound(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ada := servertest.Join(t, s, "ada")
		loadCorpus(t, s, ada)
		c, id := ada.Key, ada.Workspace.ID
		place := client.InWorkspace(id)
		for i, test := range querytest.Cases() {
			check := func(how string, got []api.Bookmark) {
				t.Helper()
				if names := corpusNames(got); !slices.Equal(names, test.Names) {
					t.Errorf("%s, %s: %v, want %v", test.Query, how, names, test.Names)
				}
			}
			q := client.ListQuery{BookmarkFilter: api.BookmarkFilter{Query: test.Query}, SortBy: "relevance", Limit: api.MaxPageSize}
			check("searched for", must[[]api.Bookmark](t)(c.SearchBookmarks(t.Context(), id, test.Query, api.MaxPageSize, 0)))
			check("listed", must[[]api.Bookmark](t)(c.ListBookmarks(t.Context(), place, q)))
			size := 1 + i%3
			var searched []api.Bookmark
			for more := true; more; {
				page := must[[]api.Bookmark](t)(c.SearchBookmarks(t.Context(), id, test.Query, size, len(searched)))
				searched, more = append(searched, page...), len(page) == size
			}
			check(fmt.Sprint("in pages of ", size), searched)
			q.Limit = size
			check(fmt.Sprint("in pages by cursor of ", size), paged(t, c, place, q))

			sorted := slices.Sorted(slices.Values(test.Names))
			q.SortBy = "title"
			got := corpusNames(paged(t, c, place, q))
			if slices.Sort(got); !slices.Equal(got, sorted) {
				t.Errorf("%s, by title: %v, want %v", test.Query, got, sorted)
			}
			if n := must[int](t)(c.CountBookmarks(t.Context(), id, q.BookmarkFilter)); n != len(test.Names) {
				t.Errorf("%s: it counts %d, want %d", test.Query, n, len(test.Names))
			}
		}
	})
}

// loadCorpus puts the corpus into a workspace.
func loadCorpus(t *testing.T, s *servertest.Server, p *servertest.Person) {
	t.Helper()
	elsewhere := must[api.Workspace](t)(p.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "elsewhere"}))
	var here, there []api.Op
	op := func(kind api.EntityType, id string, set any) api.Op {
		raw := must[[]byte](t)(json.Marshal(set))
		return api.Op{OpID: id, Action: api.OpCreate, Type: kind, ID: id, Set: raw}
	}
	for _, f := range querytest.Folders() {
		set := map[string]any{"name": f.Name}
		if f.ParentID != "" {
			set["parentId"] = f.ParentID
		}
		here = append(here, op(api.TypeFolder, f.ID, set))
	}
	for _, b := range querytest.Corpus() {
		set := map[string]any{"url": b.URL, "title": b.Title, "description": b.Description, "createdAt": api.At(b.CreatedAt)}
		if b.Tags != nil {
			set["tags"] = b.Tags
		}
		if b.FolderID != "" {
			set["folderId"] = b.FolderID
		}
		if b.Elsewhere {
			there = append(there, op(api.TypeBookmark, b.ID, set))
		} else {
			here = append(here, op(api.TypeBookmark, b.ID, set))
		}
	}
	for workspace, ops := range map[string][]api.Op{p.Workspace.ID: here, elsewhere.ID: there} {
		pushed := must[api.PushResponse](t)(p.Key.Push(t.Context(), workspace, api.PushRequest{Ops: ops}))
		for _, r := range pushed.Results {
			if r.Status != api.OpApplied {
				t.Fatalf("%+v", r)
			}
		}
	}
	err := s.DB().Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, b := range querytest.Corpus() {
			if _, err := tx.Exec(t.Context(), `UPDATE bookmark SET link_status = $1, archive_status = $2 WHERE id = $3`, b.LinkStatus, b.ArchiveStatus, b.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range querytest.Corpus() {
		if b.Deleted {
			if err := p.Key.DeleteBookmark(t.Context(), client.InWorkspace(p.Workspace.ID), b.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// paged is a list by its cursors, to the end.
func paged(t *testing.T, c *client.Client, place client.Place, q client.ListQuery) (all []api.Bookmark) {
	t.Helper()
	for cursor := ""; ; {
		page := must[api.Page[api.Bookmark]](t)(c.PageBookmarks(t.Context(), place, q, cursor))
		all = append(all, page.Data...)
		if page.Pagination.NextCursor == nil {
			return all
		}
		cursor = *page.Pagination.NextCursor
	}
}

func corpusNames(list []api.Bookmark) []string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return querytest.Names(ids)
}

// A word that thousands have is found in all of them, each once and in order,
// however far somebody pages.
func TestASearchGoesOnToItsEnd(t *testing.T) {
	const rows = 5200
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, id := ada.Key, ada.Workspace.ID
		place := client.InWorkspace(id)
		var file strings.Builder
		file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
		for i := range rows {
			title, description := "other", ""
			switch {
			case i%2 == 0:
				title = "common"
			case i%7 == 0:
				title = "commonest"
			case i%3 == 0:
				description = "<DD>common\n"
			}
			// The order in which they come says nothing of their dates, and many share one.
			fmt.Fprintf(&file, "<DT><A HREF=\"https://%d.test/\" ADD_DATE=\"%d\">%s %d</A>\n%s", i, 1_000_000_000+(i*7919)%1300, title, i, description)
		}
		if sum := must[api.ImportSummary](t)(c.Import(ctx, place, "a.html", strings.NewReader(file.String()), "")); sum.Imported != rows {
			t.Fatalf("%+v", sum)
		}
		q := client.ListQuery{Limit: api.MaxPageSize}
		var hits []query.Hit
		for _, b := range paged(t, c, place, q) {
			row := query.Row{Index: query.NewIndex(query.Document{Title: b.Title, Description: b.Description, URL: b.URL}), CreatedAt: b.CreatedAt.Time}
			if tier, ok := query.Parse("common").Match(row, nil); ok {
				hits = append(hits, query.Hit{Tier: tier, CreatedAt: b.CreatedAt.Micros(), ID: b.ID})
			}
		}
		slices.SortFunc(hits, query.Hit.Compare)
		if len(hits) < 3000 {
			t.Fatalf("%d hits", len(hits))
		}
		check := func(how string, got []api.Bookmark, want []query.Hit) {
			t.Helper()
			if !slices.EqualFunc(got, want, func(b api.Bookmark, h query.Hit) bool { return b.ID == h.ID }) {
				t.Errorf("%s: %d are found, want %d, or in another order", how, len(got), len(want))
			}
		}
		q.Query, q.SortBy = "common", "relevance"
		check("by cursor", paged(t, c, place, q), hits)
		for _, offset := range []int{0, 1, 300, 2590, 2601, len(hits) - 3, len(hits)} {
			got := must[[]api.Bookmark](t)(c.SearchBookmarks(ctx, id, "common", 50, offset))
			check(fmt.Sprint("from ", offset), got, hits[offset:min(offset+50, len(hits))])
		}
	})
}
