package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/bookmarks"
	"bm/server/op"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/tree"
	"bm/server/workspaces"
)

// An export is of one moment: what is moved, or loses its folder, while it is
// written is where it was, and no bookmark is in a folder that the document
// lacks.
func TestAnExportIsOfOneMoment(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
		folder := func(name string) string {
			return must[api.Folder](t)(p.Key.CreateFolder(ctx, p.Workspace.ID, api.FolderInput{Name: api.Some(name)})).ID
		}
		before := folder("Before")
		mark := must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{
			URL: api.Some("https://a.example/"), FolderID: api.Some(before),
		}))
		notify := func(context.Context, *sqldb.Tx, access.Scope, int64) error { return nil }
		service := bookmarks.New(s.DB(), tree.New(s.DB(), time.Now, nil, notify), workspaces.New(s.DB(), time.Now, nil), time.Now, nil)
		export := func(filter api.BookmarkFilter) op.Stream {
			return must[op.Stream](t)(service.ExportJSON(ctx, access.Scope{TenantID: p.Workspace.TenantID, WorkspaceID: p.Workspace.ID}, filter))
		}
		written := func(export op.Stream) (document api.ExportDocument) {
			var text bytes.Buffer
			if err := export.Write(ctx, &text); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text.Bytes(), &document); err != nil {
				t.Fatal(err)
			}
			return document
		}
		begun := export(api.BookmarkFilter{})
		after := folder("After")
		must[api.Bookmark](t)(p.Key.UpdateBookmark(ctx, at, mark.ID, api.BookmarkInput{FolderID: api.Some(after)}))
		if err := p.Key.DeleteFolder(ctx, p.Workspace.ID, before); err != nil {
			t.Fatal(err)
		}
		document := written(begun)
		if len(document.Folders) != 1 || document.Folders[0].ID != before || len(document.Bookmarks) != 1 || document.Bookmarks[0].FolderID != before {
			t.Errorf("the export holds %+v in %+v", document.Bookmarks, document.Folders)
		}
		// What lies in a folder of the trash is at the top.
		if err := p.Key.DeleteFolder(ctx, p.Workspace.ID, after); err != nil {
			t.Fatal(err)
		}
		document = written(export(api.BookmarkFilter{FilterStatus: "deleted"}))
		if len(document.Folders) != 0 || len(document.Bookmarks) != 1 || document.Bookmarks[0].FolderID != "" {
			t.Errorf("the trash holds %+v in %+v", document.Bookmarks, document.Folders)
		}
	})
}

// Rows that are too large to be held together are read a few at a time, and
// stand in their order.
func TestAnExportOfLargeRows(t *testing.T) {
	if testing.Short() {
		t.Skip("ten megabytes of rows")
	}
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, at := t.Context(), client.InWorkspace(p.Workspace.ID)
		long := strings.Repeat("\U0001F600", api.MaxDescription-1)
		const rows = 19 // ten megabytes
		for n := range rows {
			must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, at, api.BookmarkInput{
				Title: api.Some(strconv.Itoa(n)), Description: api.Some(long), ReaderExcerpt: api.Some(long),
			}))
		}
		var document api.ExportDocument
		body := must[io.ReadCloser](t)(p.Key.ExportJSON(ctx, p.Workspace.ID, api.BookmarkFilter{}))
		defer func() { _ = body.Close() }()
		if err := json.NewDecoder(body).Decode(&document); err != nil {
			t.Fatal(err)
		}
		if len(document.Bookmarks) != rows {
			t.Fatalf("%d bookmarks", len(document.Bookmarks))
		}
		for n, b := range document.Bookmarks {
			if b.Title != strconv.Itoa(n) || b.Description != long {
				t.Errorf("number %d is %q with %d bytes", n, b.Title, len(b.Description))
			}
		}
	})
}
