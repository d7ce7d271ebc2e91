package exchange_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bm/server/api/exchange"
	"bm/server/api/rules"
)

// A target for each reader: what it is given begins as a file of its format does.

func FuzzNetscape(f *testing.F) {
	fuzzReader(f, "<dl>",
		`<p><DT><H3 ADD_DATE="1">F</H3><DD>d<DL><p><DT><A HREF="a" TAGS="x,y" PRIVATE=1 TOREAD=0 ICON="i">A</A><DD>e [linkding-notes]n <a href=b>B</a><HR></DL>`,
		`<DT><A HREF=a>A <!-- <title></A><H3><DL></DL></DL><A`, "<a \x80\xe9\n<dd>é", `<ul><li><a href=a time_added=1 tags="x|y">A</a></ul>`)
}

func FuzzJSON(f *testing.F) {
	fuzzReader(f, `{"version":1,`,
		`"folders":[{"id":"1","parentId":"1","name":"F"}],"bookmarks":[{"url":"a","folderId":"1","createdAt":1,"extra":{"A":"b"}},1]}`,
		`"bookmarks":[{"folderId":"1"}],"folders":[{"id":"1"}]}`, `"bookmarks":[{}],"folders":[{}`)
}

func FuzzList(f *testing.F) {
	fuzzReader(f, `[{"`, `href":"a","tags":"x y"},{"href":1}]`, `url":"a","tags":["x"],"workspaceId":""},7]`)
}

func FuzzFirefox(f *testing.F) {
	fuzzReader(f, `{"guid":"root________",`, strings.TrimPrefix(firefoxBackup, `{"guid":"root________",`),
		`"root":"placesRoot","children":[{"root":"tagsFolder","children":[{"title":"t","children":[{"uri":"a"}]}]},{"root":"toolbarFolder","children":[{"uri":"a","index":2},{"index":1}]}]}`)
}

func FuzzChrome(f *testing.F) {
	fuzzReader(f, `{"roots":{`, strings.ReplaceAll(chromeFile[strings.Index(chromeFile, `"bookmark_bar"`):], "\n", ""),
		`"custom_root":{"speedDial":{"children":[{"url":"a"}]},"trash":{}},"other":{"children":[{"children":[]}]}}}`)
}

func FuzzKarakeep(f *testing.F) {
	fuzzReader(f, `{"lists":[`, `{"id":"1","name":"F","parentId":"1"}],"bookmarks":[{"lists":["1","2"],"content":{"type":"text","text":"a"}}]}`, `],`+karakeepFile[1:])
}

func FuzzLinkwarden(f *testing.F) {
	fuzzReader(f, `{"collections":[`, linkwardenFile[strings.Index(linkwardenFile, `{"id":7`):],
		`{"id":1,"links":[{"id":2}]},{"id":1,"links":[{"tags":[{"name":"x"}]}]}],"pinnedLinks":[{"id":2}]}`)
}

func FuzzTable(f *testing.F) {
	fuzzReader(f, "", "title,url,folder,tags,description,created,updated,type,extra\nF,,,,,,,folder,\n'=A,a,F/G,\"[\"\"x\"\"]\",d,2020-01-01,,bookmark,\"{\"\"A\"\":1}\"\n",
		"id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\n1,A,n,e,a,F / G,\"x, y\",2024-03-01T10:00:00.000Z,c,,true\n",
		"url;title\na;\"b\"c\nd;e;f\n\"g", "URL\tTags\n\na\tx|y\n")
}

func FuzzMozLZ4(f *testing.F) {
	const mark = "mozLz40\x00"
	fuzzReader(f, mark, strings.TrimPrefix(string(mozLZ4(firefoxBackup)), mark), strings.TrimPrefix(string(mozLZ4(strings.Repeat("a", 1000))), mark))
}

func FuzzReader(f *testing.F) {
	names, _ := filepath.Glob("../../../../shared/samples/netscape/*.htm")
	var seeds []string
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && len(text) < 3000 {
			seeds = append(seeds, string(text))
		}
	}
	fuzzReader(f, "", append(seeds, "\xff\xfe<\x00A\x00", "\ufeff[]")...)
}

func fuzzReader(f *testing.F, head string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkFile(t, append([]byte(head), body...)) })
}

// checkFile reads a file. Whatever it holds, that ends, in order, and what was read
// can be stored, exported and read back.
func checkFile(t *testing.T, file []byte) {
	reader, err := exchange.NewReader(bytes.NewReader(file))
	var damaged *exchange.SyntaxError
	switch {
	case errors.Is(err, exchange.ErrUnknownFormat), errors.As(err, &damaged):
		return
	case err != nil:
		t.Fatal(err)
	}
	w := &workspace{}
	planner := exchange.NewPlanner(w, exchange.Options{Now: importedAt, NewID: w.newID})
	folders, marks := 0, 0
	for e, err := range reader.All() {
		var bad *exchange.SyntaxError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%v", err)
		}
		if err != nil {
			break
		}
		if e.Parent < 0 || e.Parent > folders || e.Line < 0 || e.Index != marks {
			t.Fatalf("entry %+v after %d folders and %d bookmarks", e, folders, marks)
		}
		switch e.Kind {
		case exchange.Folder:
			if folders++; e.Number != folders {
				t.Fatalf("folder %d has the number %d", folders, e.Number)
			}
		case exchange.Bookmark:
			marks++
		}
		step, err := planner.Next(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if found := rules.CheckBookmark(&step.Bookmark); step.Verdict == exchange.New && e.Kind == exchange.Bookmark {
			for _, bad := range found {
				if bad.Field != "url" && bad.Field != "id" && bad.Field != "folderId" {
					t.Fatalf("entry %+v cannot be stored: %v", e, found)
				}
			}
		}
		w.apply(step)
	}
	if s := planner.Summary(); s.Imported+s.Skipped+s.DuplicatesSkipped != marks {
		t.Fatalf("%+v of %d entries", s, marks)
	}
	exported := w.export(t)
	again := &workspace{}
	again.importFile(t, exported, 0, everything, exchange.Options{})
	if second := again.export(t); second != exported {
		t.Fatalf("exported\n%s\nwhich, imported and exported again, is\n%s", exported, second)
	}
}

// export writes the workspace as HTML.
func (w *workspace) export(t testing.TB) string {
	t.Helper()
	c := collectionOf(w)
	var out strings.Builder
	if err := writers["HTML"](&out, c); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Whatever bookmarks of a file are rejected, the file of the rejects is read
// again, and has them all.
func FuzzRejects(f *testing.F) {
	for _, seed := range []string{
		doctype + `<DL><p><DT><H3>F</H3><DD>d<DL><p><DT><A HREF="a" TAGS="x,y">A</A><DD>e <a href=b>B</a><HR></DL>`,
		firefoxBackup, chromeFile, karakeepFile, linkwardenFile, `[{"href":"a","tags":"x y"},{"href":1},7]`,
		`{"version":1,"folders":[{"id":"1","name":"F"}],"bookmarks":[{"url":"a","folderId":"1"},1]}`,
		"title,url,folder,tags,description,created,updated,type,extra\nF,,,,,,,folder,\nA,a,F,,,,,bookmark,\n\"x\"y,b\n",
		"url;title\na;\"A \"\"b\"\"\"\nb;B;C\n", string(mozLZ4(firefoxBackup)),
		`<opml><body><outline text="F"><outline text="A" url="a"/></outline></body></opml>`,
		`<xbel><folder><title>F</title><bookmark href="a"><title>A</title></bookmark></folder></xbel>`,
		`<posts><post href="a" description="A" tag="x y"/></posts>`,
	} {
		f.Add([]byte(seed), uint64(0x5555_5555_5555_5555))
		f.Add([]byte(seed), ^uint64(0))
	}
	f.Fuzz(func(t *testing.T, file []byte, chosen uint64) {
		reader, err := exchange.NewReader(bytes.NewReader(file), exchange.KeepRaw)
		if err != nil {
			return
		}
		defer func() { _ = reader.Close() }()
		var out bytes.Buffer
		rejects := reader.Rejects(&out)
		var want []string
		for e, err := range reader.All() {
			if err != nil {
				return // a file that is not whole has nothing to be mended by itself
			}
			step := exchange.Step{Kind: e.Kind, Entry: e, Verdict: exchange.New}
			// What could not be read at all can't be, before it is mended.
			if e.Kind == exchange.Bookmark && e.URL != "" && e.Broken == nil && chosen>>(e.Index%64)&1 == 1 {
				step.Verdict = exchange.Rejected
				want = append(want, e.URL)
			}
			rejects.Take(step)
		}
		if err := rejects.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := exchange.NewReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("%v of\n%s", err, &out)
		}
		defer func() { _ = again.Close() }()
		var got []string
		for e, err := range again.All() {
			if err != nil {
				t.Fatalf("%v of\n%s", err, &out)
			}
			if e.Kind == exchange.Bookmark {
				got = append(got, e.URL)
			}
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q of\n%s", got, want, &out)
		}
	})
}
