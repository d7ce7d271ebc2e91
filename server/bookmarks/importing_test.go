package bookmarks_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/exchange/exchangetest"
	"bm/server/api/needtest"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

const export = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE>
<DL><p>
<DT><H3 ADD_DATE="1000000000">Dev</H3>
<DD>about code
<DL><p>
  <DT><A HREF="https://go.dev/" ADD_DATE="1000000001" TAGS="go,lang" PRIVATE="1">Go</A>
  <DD>a language
  <DT><A HREF="https://go.dev/" ADD_DATE="1000000002">Go again</A>
  <DT><H3>Dev</H3>
  <DL><p>
    <DT><A HREF="javascript:void(0)">script</A>
  </DL><p>
</DL><p>
<DT><A HREF="not absolute">top</A>
</DL><p>
`

func upload(t *testing.T, c *client.Client, p client.Place, file, folderID string, with ...client.With) api.ImportSummary {
	t.Helper()
	sum := must[api.ImportSummary](t)(c.Import(t.Context(), p, "bookmarks.html", strings.NewReader(file), folderID, with...))
	return sum
}

func read(t *testing.T) func(io.ReadCloser, error) string {
	return func(body io.ReadCloser, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = body.Close() }()
		raw, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
}

func TestImport(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, id := ada.Key, ada.Workspace.ID
		for name, place := range map[string]client.Place{"workspace": client.InWorkspace(id), "key": client.ByKey(id)} {
			into := must[api.Folder](t)(c.CreateFolder(ctx, id, api.FolderInput{Name: api.Some("into by " + name)}))
			sum := upload(t, c, place, export, into.ID)
			if sum.Imported != 4 || sum.Skipped != 0 || sum.DuplicatesSkipped != 0 || len(sum.Errors) != 0 ||
				len(sum.Issues) != 1 || sum.Issues[0].Code != api.IssueURLNotAbsolute || sum.Issues[0].Line != 15 {
				t.Errorf("%s: the first import: %+v", name, sum)
			}
			for range 2 {
				if sum := upload(t, c, place, export, into.ID); sum.Imported != 0 || sum.DuplicatesSkipped != 4 {
					t.Errorf("%s: again: %+v", name, sum)
				}
			}
			// Another duplicate in the file is another bookmark, and only that.
			more := strings.Replace(export, `<DT><H3>Dev</H3>`, `<DT><A HREF="https://GO.dev" TAGS="new">third</A><DT><H3>Dev</H3>`, 1)
			if sum := upload(t, c, place, more, into.ID); sum.Imported != 1 || sum.DuplicatesSkipped != 4 {
				t.Errorf("%s: with a third: %+v", name, sum)
			}
			tagged := strings.Replace(export, `TAGS="go,lang"`, `TAGS="GO,more"`, 1)
			if sum := upload(t, c, place, tagged, into.ID); sum.Imported != 0 || sum.DuplicatesSkipped != 4 {
				t.Errorf("%s: with other tags: %+v", name, sum)
			}
			list := must[[]api.Bookmark](t)(c.ListBookmarks(ctx, place, client.ListQuery{
				BookmarkFilter: api.BookmarkFilter{FolderID: into.ID, Recursive: true, Tags: []string{"more"}},
			}))
			if len(list) != 1 || fmt.Sprint(list[0].Tags) != "[go lang more]" || list[0].CreatedAt.Unix() != 1000000001 ||
				list[0].Description != "a language" || list[0].Extra["PRIVATE"] != "1" {
				t.Errorf("%s: the tags were not united: %+v", name, list)
			}
		}
		_, err := c.Import(ctx, client.InWorkspace(id), "x", strings.NewReader(export), "01920000-0000-7000-8000-00000000000a")
		refused(t, err, api.CodeValidation, "query.folderId")
		_, err = c.Import(ctx, client.InWorkspace(id), "x", strings.NewReader("%PDF-1.4 nothing"), "")
		refused(t, err, api.CodeValidation, "file")
		before := must[int](t)(c.CountBookmarks(ctx, id, api.BookmarkFilter{}))
		_, err = c.Import(ctx, client.InWorkspace(id), "x", strings.NewReader(`{"version":1,"folders":[],"bookmarks":[{"url":"https://x.test","title":"x"},{"ur`), "")
		refused(t, err, api.CodeValidation, "file")
		if after := must[int](t)(c.CountBookmarks(ctx, id, api.BookmarkFilter{})); after != before {
			t.Errorf("a file that ends in the middle left %d bookmarks", after-before)
		}
		if sum := upload(t, c, client.InWorkspace(id), "", ""); sum.Imported != 0 {
			t.Errorf("an empty file: %+v", sum)
		}
	})
}

func TestAnImportIsReplayedByItsKey(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ada := servertest.Join(t, s, "ada")
		place := client.InWorkspace(ada.Workspace.ID)
		first := upload(t, ada.Key, place, export, "", client.IdempotencyKey("once"))
		again := upload(t, ada.Key, place, export, "", client.IdempotencyKey("once"))
		if fmt.Sprint(first) != fmt.Sprint(again) || first.Imported != 4 {
			t.Errorf("replayed %+v of %+v", again, first)
		}
		// Another file is another request, which the key does not stand for.
		_, err := ada.Key.Import(t.Context(), place, "bookmarks.html", strings.NewReader(export+"<DT><A HREF=\"https://more.example\">more</A>"), "", client.IdempotencyKey("once"))
		refused(t, err, api.CodeConflict, "")
	})
}

// What an import stored, an export holds, in both formats: imported into
// another workspace it makes the same, and imported here nothing.
func TestImportOfAnExportIsTheSame(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, id := ada.Key, ada.Workspace.ID
		var generated bytes.Buffer
		if err := exchangetest.Generate(&generated, 7, 1500); err != nil {
			t.Fatal(err)
		}
		if sum := upload(t, c, client.InWorkspace(id), generated.String(), ""); sum.Imported != 1500 {
			t.Fatalf("%+v", sum)
		}
		asHTML := read(t)(c.ExportHTML(ctx, id, api.BookmarkFilter{}))
		asJSON := read(t)(c.ExportJSON(ctx, id, api.BookmarkFilter{}))
		for name, file := range map[string]string{"html": asHTML, "json": asJSON} {
			if sum := upload(t, c, client.InWorkspace(id), file, ""); sum.Imported != 0 || sum.DuplicatesSkipped != 1500 {
				t.Errorf("%s: imported again where it came from: %d new, %d there", name, sum.Imported, sum.DuplicatesSkipped)
			}
			other := must[api.Workspace](t)(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: name}))
			if sum := upload(t, c, client.InWorkspace(other.ID), file, ""); sum.Imported != 1500 || len(sum.Errors) != 0 {
				t.Errorf("%s: imported elsewhere: %+v", name, sum)
			}
			if again := undated(read(t)(c.ExportHTML(ctx, other.ID, api.BookmarkFilter{}))); again != undated(asHTML) {
				t.Errorf("%s: the export of the import differs at %s", name, difference(again, undated(asHTML)))
			}
		}
	})
}

// Of folders that share a name and a place, the older one is the first, in an export
// as in an import: its contents are found again in it.
func TestNamesakesOfOnePlace(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, id := ada.Key, ada.Workspace.ID
		upload(t, c, client.InWorkspace(id), `<DL><DT><H3 ADD_DATE="1600000000">F</H3><DL><DT><A HREF="https://new.example/">new</A></DL>
			<DT><H3 ADD_DATE="1200000000">G</H3><DL><DT><A HREF="https://old.example/">old</A></DL></DL>`, "")
		for _, f := range must[[]api.Folder](t)(c.ListFolders(ctx, id, false)) {
			must[api.Folder](t)(c.UpdateFolder(ctx, id, f.ID, api.FolderInput{Name: api.Some("F"), SortOrder: api.Some[int64](1024)}))
		}
		for _, file := range []string{read(t)(c.ExportHTML(ctx, id, api.BookmarkFilter{})), read(t)(c.ExportJSON(ctx, id, api.BookmarkFilter{}))} {
			if sum := upload(t, c, client.InWorkspace(id), file, ""); sum.Imported != 0 || sum.DuplicatesSkipped != 2 {
				t.Errorf("imported again where it came from: %d new, %d there, of %s", sum.Imported, sum.DuplicatesSkipped, file)
			}
		}
	})
}

// undated is an export without the times of the last change, which are the
// server's own.
func undated(text string) string {
	return regexp.MustCompile(` LAST_MODIFIED="[0-9]+"`).ReplaceAllString(text, "")
}

func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("their lengths: %d and %d lines", len(as), len(bs))
}

// What a server takes is HTML and JSON; what else bm reads, its command line does.
func TestOtherFormatsAreRefused(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ada := servertest.Join(t, s, "ada")
		for _, file := range []string{
			"title,url,time_added,tags,status\nA,https://a.example/,1,,unread\n",
			`<xbel version="1.0"><bookmark href="https://a.example/"><title>A</title></bookmark></xbel>`,
		} {
			_, err := ada.Key.Import(t.Context(), client.InWorkspace(ada.Workspace.ID), "x", strings.NewReader(file), "")
			refused(t, err, api.CodeValidation, "file")
		}
		if n := must[int](t)(ada.Key.CountBookmarks(t.Context(), ada.Workspace.ID, api.BookmarkFilter{})); n != 0 {
			t.Errorf("%d bookmarks were imported", n)
		}
	})
}

func TestExportOfAFilter(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, id := ada.Key, ada.Workspace.ID
		upload(t, c, client.InWorkspace(id), export, "")
		for _, filter := range []api.BookmarkFilter{{Query: "script"}, {Query: "script -go", FilterStatus: "unknown"}} {
			text := read(t)(c.ExportHTML(ctx, id, filter))
			if strings.Count(text, "<A ") != 1 || strings.Count(text, "<H3") != 2 || !strings.Contains(text, "javascript:void(0)") {
				t.Errorf("%+v exports\n%s", filter, text)
			}
		}
		if text := read(t)(c.ExportJSON(ctx, id, api.BookmarkFilter{Tags: []string{"go"}})); strings.Count(text, `"url":`) != 1 || !strings.Contains(text, `"version":1`) {
			t.Errorf("a tag exports %s", text)
		}
		_, err := c.ExportJSON(ctx, id, api.BookmarkFilter{FolderID: "01920000-0000-7000-8000-00000000000a"})
		refused(t, err, api.CodeValidation, "query.folderId")
	})
}

// An export of a part, imported where it came from, adds nothing: what lies in the
// second of two namesakes is found in the second one.
func TestExportOfAPartOfNamesakes(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, id := ada.Key, ada.Workspace.ID
		upload(t, c, client.InWorkspace(id), `<DL><DT><H3>F</H3><DL><DT><A HREF="https://1.example/">1</A></DL>
			<DT><H3>F</H3><DL><DT><A HREF="https://2.example/" TAGS="x">2</A></DL><DT><H3>F</H3><DL></DL></DL>`, "")
		filter := api.BookmarkFilter{Tags: []string{"x"}}
		for _, file := range []string{read(t)(c.ExportHTML(ctx, id, filter)), read(t)(c.ExportJSON(ctx, id, filter))} {
			if sum := upload(t, c, client.InWorkspace(id), file, ""); sum.Imported != 0 || sum.DuplicatesSkipped != 1 {
				t.Errorf("imported again where it came from: %d new, %d there, of %s", sum.Imported, sum.DuplicatesSkipped, file)
			}
		}
	})
}

// The real exports, where they are to be had: a server takes each, and again
// adds nothing.
func TestRealExports(t *testing.T) {
	folder := needtest.Beside(t, "samples/netscape")
	if folder == "" {
		needtest.Missing(t, "samples", "the real exports are not beside the repository")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		for _, path := range files {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			place := must[api.Workspace](t)(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: filepath.Base(path)})).ID
			sum, err := ada.Key.Import(ctx, client.InWorkspace(place), filepath.Base(path), bytes.NewReader(raw), "")
			if api.CodeOf(err) == api.CodeValidation && strings.HasSuffix(path, ".md") {
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			again := must[api.ImportSummary](t)(ada.Key.Import(ctx, client.InWorkspace(place), filepath.Base(path), bytes.NewReader(raw), ""))
			if again.Imported != 0 || again.DuplicatesSkipped != sum.Imported+sum.DuplicatesSkipped || again.Skipped != sum.Skipped {
				t.Errorf("%s: imported %d, then %+v", path, sum.Imported, again)
			}
		}
	})
}

// A file that is sent again while the first is under way adds nothing twice,
// whichever server takes it in.
func TestImportsOfOneFileAtOnce(t *testing.T) {
	var file strings.Builder
	file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>")
	for i := range 40 {
		fmt.Fprintf(&file, "<DT><H3>folder %d</H3><DL><p>", i)
		for j := range 50 {
			fmt.Fprintf(&file, `<DT><A HREF="https://example.com/%d/%d">%d</A>`, i, j, j)
		}
		file.WriteString("</DL><p>")
	}
	const entries = 40 * 50
	atOnce := func(t *testing.T, clients ...*client.Client) {
		t.Helper()
		sums := make(chan api.ImportSummary, len(clients))
		home := must[[]api.Workspace](t)(clients[0].ListWorkspaces(t.Context()))[0].ID
		for _, c := range clients {
			go func() {
				sum, err := c.Import(t.Context(), client.InWorkspace(home), "bookmarks.html", strings.NewReader(file.String()), "")
				if err != nil {
					t.Error(err)
				}
				sums <- sum
			}()
		}
		var all api.ImportSummary
		for range clients {
			sum := <-sums
			all.Imported, all.DuplicatesSkipped = all.Imported+sum.Imported, all.DuplicatesSkipped+sum.DuplicatesSkipped
		}
		if all.Imported != entries || all.DuplicatesSkipped != entries*(len(clients)-1) {
			t.Errorf("together: %+v", all)
		}
		if n := must[int](t)(clients[0].CountBookmarks(t.Context(), home, api.BookmarkFilter{})); n != entries {
			t.Errorf("%d bookmarks", n)
		}
	}
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ada := servertest.Join(t, s, "ada")
		atOnce(t, ada.Key, ada.Key, ada.JWT)
	})
	t.Run("two servers", func(t *testing.T) {
		config := server.Config{DatabaseURL: sqldbtest.Postgres(t)}
		one, two := servertest.Start(t, config), servertest.Start(t, config)
		ada := servertest.Join(t, one, "ada")
		other := must[*client.Client](t)(client.New(client.Options{Server: two.URL, Version: "test"})).As(ada.Secret)
		atOnce(t, ada.Key, other)
	})
}
