package exchange_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bm/server/api/exchange"
)

// What is rejected goes into a file of its own format, and from there into the
// folders that the others went into.
func TestRejectsAreReadAgain(t *testing.T) {
	const far = "https://far.example/"
	for name, test := range map[string]struct{ in, want string }{
		"Netscape": {
			`<DL><DT><H3>F</H3><DD>about<DL><DT><A HREF="a">A</A></DL><DT><H3>F &amp; G</H3><DL><DT><H3>Deep</H3><DL>
			<DT><A HREF="` + far + `1" ADD_DATE=1 X="<>">One <b>bold</b></A><DD>and more</DL></DL><DT><H3>F</H3><DL><DT><A HREF="` + far + `2">Two</DL><DT><A HREF="` + far + `3">Three`,
			"[F & G]\n [Deep]\n  One bold <" + far + "1> \"and more\" X=<>\n[F]\n[F]\n Two <" + far + "2>\nThree <" + far + "3>",
		},
		"Firefox": {
			`{"root":"placesRoot","children":[{"root":"toolbarFolder","children":[{"title":"One","uri":"` + far + `1","tags":"x,y","index":0}]},
			{"root":"bookmarksMenuFolder","children":[{"title":"F","type":"text/x-moz-place-container","children":[]},
			 {"title":"F","type":"text/x-moz-place-container","children":[{"uri":"b"},{"title":"Two","uri":"` + far + `2","unknown":{"a":[1]}}]}]}]}`,
			"[Bookmarks Toolbar]\n One <" + far + "1> #x #y\n[F]\n[F]\n Two <" + far + "2>",
		},
		"Chrome": {
			`{"roots":{"bookmark_bar":{"name":"Bar","children":[{"name":"One","url":"` + far + `1"},{"name":"a","url":"a"},{"name":"Two","url":"` + far + `2"}]},"other":{"children":[{"name":"Three","url":"` + far + `3"}]}}}`,
			"[Bar]\n One <" + far + "1>\n Two <" + far + "2>\nThree <" + far + "3>",
		},
		"ours": {
			`{"version":1,"folders":[{"id":"1","name":"F"},{"id":"2","name":"F","sortOrder":1},{"id":"3","name":"Deep","parentId":"2"},{"id":"4","name":"G"}],
			"bookmarks":[{"url":"a","folderId":"4"},{"url":"` + far + `1","folderId":"3","tags":["x"],"new":[{}]},{"url":"` + far + `2"}]}`,
			"[F]\n[F]\n [Deep]\n   <" + far + "1> #x\n <" + far + "2>",
		},
		"Pinboard": {`[{"href":"a"},{"href":"` + far + `1","description":"One","tags":"x y"}]`, "One <" + far + "1> #x #y"},
		"Karakeep": {
			strings.ReplaceAll(karakeepFile, "https://b.", "https://far."), "[Dev]\n B <" + far + ">",
		},
		"Linkwarden": {
			strings.ReplaceAll(linkwardenFile, "https://b.", "https://far."), "[Dev]\n [Go]\n   <" + far + ">",
		},
		"our table": {
			"title,url,folder,tags,description,created,updated,type,extra\nF,,,,,,,folder,\nA,a,F,,,,,bookmark,\nF,,,,,,,folder,\nG,,F,,,,,folder,\nOne," + far + "1,F/G,\"x,y\",\"two\nlines\",,,bookmark,\nTwo," + far + "2,,,,,,bookmark,\n",
			"[F]\n[F]\n [G]\n  One <" + far + "1> #x #y \"two\\nlines\"\nTwo <" + far + "2>",
		},
		"our table, out of order": {
			"title,url,folder,tags,description,created,updated,type,extra\nF,,,,,,,folder,\nOne," + far + "1,F,,,,,bookmark,\nG,,,,,,,folder,\nTwo," + far + "2,G,,,,,bookmark,\nThree," + far + "3,F,,,,,bookmark,\n",
			"[F]\n One <" + far + "1>\n[G]\n Two <" + far + "2>\n Three <" + far + "3>",
		},
		"a table": {"url;folder\n\na;F\n" + far + "1;F\n" + far + "2;G\n", "[F]\n  <" + far + "1>\n[G]\n  <" + far + "2>"},
	} {
		t.Run(name, func(t *testing.T) {
			rejected := rejectedBy(t, test.in, func(e *exchange.Entry) bool { return strings.HasPrefix(e.URL, far) })
			if got := outline(readAll(t, strings.NewReader(rejected))); got != test.want {
				t.Errorf("\n got %s\nwant %s\nin %s", got, test.want, rejected)
			}
		})
	}
}

// rejectedBy is the file of the rejects of a file.
func rejectedBy(t *testing.T, in string, reject func(*exchange.Entry) bool) string {
	t.Helper()
	reader, err := exchange.NewReader(strings.NewReader(in), exchange.KeepRaw)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	var out strings.Builder
	rejects := reader.Rejects(&out)
	for e, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		step := exchange.Step{Kind: e.Kind, Entry: e, Verdict: exchange.New}
		if reject(e) {
			step.Verdict = exchange.Rejected
		}
		rejects.Take(step)
	}
	if err := rejects.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := exchange.NewReader(strings.NewReader(out.String()))
	if err != nil || again.Format() != reader.Format() {
		t.Fatalf("of %s came %v\n%s", reader.Format(), err, &out)
	}
	return out.String()
}

// All of a real export, rejected, is in the rejects as it was.
func TestRejectsOfSamples(t *testing.T) {
	dir := samplesDir(t)
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, s.file))
			if err != nil {
				t.Fatal(err)
			}
			rejected := rejectedBy(t, string(text), func(*exchange.Entry) bool { return true })
			got, want := placed(readAll(t, strings.NewReader(rejected))), placed(readAll(t, bytes.NewReader(text)))
			if !slices.Equal(got, want) {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// placed is each bookmark with all that it says and the folders that it lies in.
func placed(entries []*exchange.Entry) []string {
	paths := map[int]string{}
	var out []string
	for _, e := range entries {
		switch e.Kind {
		case exchange.Folder:
			paths[e.Number] = paths[e.Parent] + e.Title + "/"
		case exchange.Bookmark:
			out = append(out, fmt.Sprintf("%s %q %q %q %q %v %q", paths[e.Parent], e.Title, e.URL, e.Description, e.Tags, e.CreatedAt, e.Extra))
		}
	}
	return out
}
