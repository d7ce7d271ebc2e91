package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/server"
	"bm/server/admin"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// A folder comes back with everything, however much that is: found, counted,
// tagged and told to the replicas, a parent before what it holds.
func TestRestoreOfALargeFolder(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, id := t.Context(), p.Workspace.ID
		var file strings.Builder
		file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><H3>Top</H3><DL><p>")
		const perFolder = 300
		for folder := range 3 {
			fmt.Fprintf(&file, "<DT><H3>F%d</H3><DL><p>", folder)
			for n := range perFolder {
				fmt.Fprintf(&file, `<DT><A HREF="https://a.example/%d/%d" TAGS="all,t%d">word%d</A>`, folder, n, folder, n)
			}
		}
		must[api.ImportSummary](t)(p.Key.Import(ctx, client.InWorkspace(id), "a.html", strings.NewReader(file.String()), ""))
		var top string
		for _, f := range must[[]api.Folder](t)(p.Key.ListFolders(ctx, id, false)) {
			if f.Name == "Top" {
				top = f.ID
			}
		}
		export := func() string {
			b := must[[]api.Bookmark](t)(p.Key.ListBookmarks(ctx, client.InWorkspace(id), client.ListQuery{BookmarkFilter: api.BookmarkFilter{FolderID: top, Recursive: true}, Limit: 200}))
			for i := range b {
				b[i].UpdatedAt = api.Time{}
			}
			raw := must[[]byte](t)(json.Marshal(b))
			return string(raw)
		}
		before := export()
		if err := p.Key.DeleteFolder(ctx, id, top); err != nil {
			t.Fatal(err)
		}
		_, cursor := follow(t, p, "")
		if tags := must[[]api.Tag](t)(p.Key.ListTags(ctx, id)); len(tags) > 0 {
			t.Errorf("in the trash they still carry %v", tags)
		}
		if findings := must[[]admin.Finding](t)(admin.Check(ctx, s.DB(), time.Now())); len(findings) > 0 {
			t.Errorf("with the folder in the trash the check finds %v", findings)
		}
		must[api.Folder](t)(p.Key.RestoreFolder(ctx, id, top))

		if after := export(); after != before {
			t.Errorf("restored\n%.600s\nwant\n%.600s", after, before)
		}
		for _, tag := range must[[]api.Tag](t)(p.Key.ListTags(ctx, id)) {
			if want := map[bool]int{true: 3 * perFolder, false: perFolder}[tag.Name == "all"]; tag.Count != want {
				t.Errorf("tag %s is on %d, want %d", tag.Name, tag.Count, want)
			}
		}
		if found := must[[]api.Bookmark](t)(p.Key.SearchBookmarks(ctx, id, "word299", 10, 0)); len(found) != 3 {
			t.Errorf("%d are found again, want 3", len(found))
		}
		told, _ := follow(t, p, cursor)
		known := map[string]bool{"": true}
		for i, c := range told {
			parent := ""
			if c.Folder != nil {
				parent, known[c.ID] = c.Folder.ParentID, true
			} else {
				parent = c.Bookmark.FolderID
			}
			if !known[parent] || c.Deleted || i > 0 && c.Rev != told[i-1].Rev+1 {
				t.Fatalf("change %d of the restore: %+v", i, c)
			}
		}
		if want := 4 + 3*perFolder; len(told) != want {
			t.Errorf("%d changes are told, want %d", len(told), want)
		}
		if findings := must[[]admin.Finding](t)(admin.Check(ctx, s.DB(), time.Now())); len(findings) > 0 {
			t.Errorf("the check finds %v", findings)
		}
	})
}

// What may change every bookmark of a workspace has the time for it: in half a
// minute a folder of 100,000 did not come back on PostgreSQL, however often it was
// asked for.
func TestWhatChangesManyHasTime(t *testing.T) {
	many := []string{"delete-folder", "restore-folder", "delete-bookmarks-by-scope", "rename-tag", "merge-tags"}
	for _, spec := range servertest.Start(t, server.Config{Dir: t.TempDir()}).Specs() {
		n := slices.Index(many, spec.ID)
		if n < 0 {
			continue
		}
		if many = slices.Delete(many, n, n+1); spec.Timeout < 10*time.Minute {
			t.Errorf("%s has %s", spec.ID, spec.Timeout)
		}
	}
	if len(many) > 0 {
		t.Errorf("there is no %v", many)
	}
}

// follow reads the feed from a cursor to its end.
func follow(t *testing.T, p *servertest.Person, cursor string) (all []api.Change, end string) {
	t.Helper()
	for {
		page := must[api.ChangesPage](t)(p.Key.Changes(t.Context(), p.Workspace.ID, cursor, 500, 0))
		all = append(all, page.Data...)
		if page.Pagination.NextCursor != nil {
			cursor = *page.Pagination.NextCursor
		}
		if !page.Pagination.HasMore {
			return all, cursor
		}
	}
}
