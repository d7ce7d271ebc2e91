package server_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// A query that names folders reads the tree once, however many it names and
// however many steps the search takes: a tree can have half a million of them.
func TestAQueryReadsTheTreeOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		id, parent := ada.Workspace.ID, ""
		for i := range 9 {
			folder := must[api.Folder](t)(ada.Key.CreateFolder(ctx, id, api.FolderInput{Name: api.Some(fmt.Sprint("Fold ", i)), ParentID: api.Some(parent)}))
			parent = folder.ID
		}
		for _, title := range []string{"two words", "kept words", "words in the trash"} {
			b := must[api.Bookmark](t)(ada.Key.CreateBookmark(ctx, client.InWorkspace(id), api.BookmarkInput{Title: api.Some(title), FolderID: api.Some(parent)}))
			if strings.HasSuffix(title, "trash") {
				if err := ada.Key.DeleteBookmark(ctx, client.InWorkspace(id), b.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		var trees atomic.Int64
		s.DB().Watch(func(text string) {
			if strings.HasPrefix(text, "SELECT id, parent_id, name FROM folder") {
				trees.Add(1)
			}
		})
		query := `two words folder:"fold 1" folder:"fold 2/fold 3" -folder:"fold 9"`
		for what, ask := range map[string]func() (int, error){
			"search": func() (int, error) {
				list, err := ada.Key.SearchBookmarks(ctx, id, query, 50, 0)
				return len(list), err
			},
			"count": func() (int, error) { return ada.Key.CountBookmarks(ctx, id, api.BookmarkFilter{Query: query}) },
			"trash": func() (int, error) {
				return ada.Key.CountBookmarks(ctx, id, api.BookmarkFilter{Query: strings.ReplaceAll(query, "two", "trash"), FilterStatus: "deleted"})
			},
		} {
			trees.Store(0)
			if n := must[int](t)(ask()); n != 1 {
				t.Errorf("%s: found %d", what, n)
			}
			if n := trees.Load(); n != 1 {
				t.Errorf("%s: read the tree %d times", what, n)
			}
		}
	})
}
