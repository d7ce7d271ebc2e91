package exchange_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bm/server/api/exchange"
	"bm/server/api/rules"
)

// Whatever a file holds, reading it ends, in order, and what was read can be
// stored, exported and read back.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		doctype + `<DL><p><DT><H3 ADD_DATE="1">F</H3><DD>d<DL><p><DT><A HREF="a" TAGS="x,y" PRIVATE=1 ICON="i">A</A><DD>e <a href=b>B</a><HR></DL>`,
		`<DT><A HREF=a>A <!-- <title></A><H3><DL></DL></DL><A`, "\xff\xfe<\x00A\x00", "<a \x80\xe9\n<dd>é",
		`{"version":1,"folders":[{"id":"1","parentId":"1","name":"F"}],"bookmarks":[{"url":"a","folderId":"1","createdAt":1,"extra":{"A":"b"}},1]}`,
		`{"bookmarks":[{}],"folders":[{}`, firefoxBackup, chromeFile, `[{"href":"a","tags":"x y"},{"href":1}]`,
	} {
		f.Add([]byte(seed))
	}
	names, _ := filepath.Glob("../../../../shared/samples/netscape/*.htm")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && len(text) < 3000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
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
	})
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
