package localstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/needtest"
)

const export = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
<DT><H3 ADD_DATE="1600000000">Dev</H3>
<DL><p>
<DT><A HREF="https://go.dev/" ADD_DATE="1600000001" TAGS="go,lang">Go</A>
<DT><A HREF="https://go.dev/" ADD_DATE="1600000002">Go again</A>
</DL><p>
<DT><A HREF="https://example.com/" ADD_DATE="1600000003" TAGS="x">Example</A>
<DD>about it
</DL>`

func importText(t testing.TB, s *localstore.Store, text string, opts localstore.Import) api.ImportSummary {
	t.Helper()
	reader, err := exchange.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	summary, err := s.Import(t.Context(), reader, opts)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func counts(s api.ImportSummary) [3]int {
	return [3]int{s.Imported, s.DuplicatesSkipped, s.Skipped}
}

// The index costs by the word: of long entries one step takes few.
func TestImportTakesFewLongEntriesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s := openAt(t, path)
	local, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := local.N
	localstore.Waits(t, path) // so that each step is a transaction
	var file strings.Builder
	for i := range 20 {
		file.WriteString(`<DT><A HREF="https://long.example/` + strconv.Itoa(i) + `">x</A><DD>` + strings.Repeat("some words ", 5000) + "\n")
	}
	transactions := 0
	importText(t, s, file.String(), localstore.Import{Replica: r, Command: "import", Progress: func(int) { transactions++ }})
	if want := 20 / 4; transactions < want { // the last of each is more than fits
		t.Errorf("%d transactions, want at least %d", transactions, want)
	}
}

func TestImportAddsEachThingOnce(t *testing.T) {
	s, r := open(t)
	opts := localstore.Import{Replica: r, Command: "import bookmarks.html"}
	dry := opts
	dry.DryRun = true
	if got := counts(importText(t, s, export, dry)); got != [3]int{3, 0, 0} {
		t.Errorf("dry run %v", got)
	}
	wantTitles(t, "after a dry run", list(t, s, localstore.List{Replica: r}))
	if got := counts(importText(t, s, export, opts)); got != [3]int{3, 0, 0} {
		t.Errorf("first import %v", got)
	}
	all := localstore.List{Replica: r, SortBy: "createdAt"}
	wantTitles(t, "imported", list(t, s, all), "Go", "Go again", "Example")
	if got := counts(importText(t, s, strings.ReplaceAll(export, `TAGS="x"`, `TAGS="X,y"`), opts)); got != [3]int{0, 3, 0} {
		t.Errorf("second import %v", got)
	}
	wantTitles(t, "found by the tag that came with the second", list(t, s, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: "#y example"}}), "Example")
	for range 2 {
		if _, err := s.Undo(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	wantTitles(t, "after undo of both", list(t, s, all))
	if tree, err := s.Tree(t.Context(), r); err != nil || len(tree) != 0 {
		t.Errorf("tree after undo: %v, %v", tree, err)
	}
}

// Of folders that share a name and a place, the older one is the first, as it is in
// an export.
func TestNamesakesOfOnePlaceImportOnce(t *testing.T) {
	s, r := open(t)
	opts := localstore.Import{Replica: r, Command: "import bookmarks.html"}
	folder := func(name, date, url string) string {
		return `<DT><H3 ADD_DATE="` + date + `">` + name + `</H3><DL><DT><A HREF="` + url + `">x</A></DL>`
	}
	importText(t, s, folder("F", "1600000000", "https://new.example/")+folder("G", "1200000000", "https://old.example/"), opts)
	nodes, err := s.Folders(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Edit(t.Context(), r, "test", func(ed *localstore.Editor) error {
		for i := range nodes {
			if _, err := ed.UpdateFolder(nodes[i].ID, api.FolderInput{Name: api.Some("F"), SortOrder: api.Some[int64](1024)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	again := folder("F", "1200000000", "https://old.example/") + folder("F", "1600000000", "https://new.example/")
	if got := counts(importText(t, s, again, opts)); got != [3]int{0, 2, 0} {
		t.Errorf("what an export has of them is imported as %v", got)
	}
}

// What stands for an URL in the index is not always what stands for itself: of a
// long one it ends in a hash.
func TestWhatIsImportedIsFoundAgain(t *testing.T) {
	s, r := open(t)
	var file strings.Builder
	urls := []string{
		"https://long.example/" + strings.Repeat("x", 5000), "https://long.example/?" + strings.Repeat("ü ", 3000), "data:text/plain," + strings.Repeat(" y", 2000),
		"javascript:void(0) ", "place:a=1 2", "HTTPS://Example.COM:443", "http://example.com/#", "http://example.com/##", "http:// odd", "%", "./relative?x#", "ftp://h/%7Ea",
	}
	for _, url := range urls {
		file.WriteString(`<DT><A HREF="` + url + `">x</A>` + "\n")
	}
	opts := localstore.Import{Replica: r, Command: "import"}
	importText(t, s, file.String(), opts)
	for _, dry := range []bool{true, false} {
		opts.DryRun = dry
		if got := counts(importText(t, s, file.String(), opts)); got != [3]int{0, len(urls), 0} {
			t.Errorf("imported again (dry run: %t): %v", dry, got)
		}
	}
}

func TestImportThatWasCutOffGoesOn(t *testing.T) {
	s, r := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	reader, err := exchange.NewReader(strings.NewReader(manyBookmarks(5000)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Import(ctx, reader, localstore.Import{Replica: r, Command: "import", Progress: func(int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("cut off: %v", err)
	}
	before, err := s.Count(t.Context(), localstore.List{Replica: r})
	if err != nil || before == 0 || before == 5000 {
		t.Fatalf("%d rows after the cut, %v", before, err)
	}
	got := importText(t, s, manyBookmarks(5000), localstore.Import{Replica: r, Command: "import"})
	if got.Imported != 5000-before || got.DuplicatesSkipped != before {
		t.Errorf("going on after %d: %v", before, counts(got))
	}
}

func manyBookmarks(n int) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	for i := range n {
		b.WriteString(`<DT><A HREF="https://example.com/` + strings.Repeat("x", i%7) + "/" + string(rune('a'+i%26)) + "/" + strconv.Itoa(i) + `" TAGS="a,b">t` + strconv.Itoa(i) + "</A>\n")
	}
	b.WriteString("</DL>\n")
	return b.String()
}

func TestRealExportsImportOnce(t *testing.T) {
	folder := needtest.Beside(t, "samples/netscape")
	if folder == "" {
		needtest.Missing(t, "samples", "the real exports are not beside the repository")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.htm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, r := open(t)
		opts := localstore.Import{Replica: r, Command: "import"}
		first := importText(t, s, string(text), opts)
		second := importText(t, s, string(text), opts)
		if second.Imported != 0 || second.DuplicatesSkipped != first.Imported+first.DuplicatesSkipped {
			t.Errorf("%s: first %v, second %v", filepath.Base(file), counts(first), counts(second))
		}
	}
}
