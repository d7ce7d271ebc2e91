package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/query/querytest"
)

// ofTheServer are filters of what an import does not bring along.
var ofTheServer = regexp.MustCompile(`is:(dead|ok|archived|unknown)`)

// The program finds of the corpus what every engine finds, in the same order.
func TestTheCorpusIsFoundByTheProgram(t *testing.T) {
	w := newWorld(t)
	m := w.machine("a")
	names := map[[2]string]string{} // title and URL → name
	var folders []api.Folder
	for _, f := range querytest.Folders() {
		at := api.At(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
		folders = append(folders, api.Folder{ID: f.ID, ParentID: f.ParentID, Name: f.Name, CreatedAt: at, UpdatedAt: at})
	}
	gone := ""
	var bookmarks []*api.Bookmark
	for _, b := range querytest.Corpus() {
		if b.Elsewhere {
			continue
		}
		if b.Deleted {
			gone = b.Title
		}
		names[[2]string{b.Title, b.URL}] = b.Name
		bookmarks = append(bookmarks, &api.Bookmark{
			ID: b.ID, Title: b.Title, URL: b.URL, Description: b.Description, Tags: b.Tags, FolderID: b.FolderID,
			CreatedAt: api.At(b.CreatedAt), UpdatedAt: api.At(b.CreatedAt),
		})
	}
	file, err := os.Create(filepath.Join(w.dir, "corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	err = exchange.WriteJSON(file, api.At(time.Now()), api.Workspace{}, folders, func(yield func(*api.Bookmark, error) bool) {
		for _, b := range bookmarks {
			if !yield(b, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	m.run("import", file.Name())
	m.run("rm", m.run("search", `"`+gone+`"`, "--template", "{{.id}}"), "--yes")
	for _, test := range querytest.Cases() {
		if ofTheServer.MatchString(test.Query) {
			continue
		}
		var found []struct{ Title, URL string }
		if err := json.Unmarshal([]byte(m.run("search", "--json", "title,url", "--", test.Query)), &found); err != nil {
			t.Fatalf("%s: %v", test.Query, err)
		}
		got := make([]string, len(found))
		for i, b := range found {
			got[i] = names[[2]string{b.Title, b.URL}]
		}
		if !slices.Equal(got, test.Names) {
			t.Errorf("%s: %v, want %v", test.Query, got, test.Names)
		}
	}
}
