package exchange_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"bm/server/api/exchange"
)

// Memory does not grow with the file, in any format, though it comes by a pipe and
// all of it is one line.
func TestReadingHoldsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads files of many megabytes")
	}
	const n = 100_000
	const url = "https://example.com/some/path"
	for name, test := range map[string]struct{ head, line, tail string }{
		"Netscape":                     {doctype + "<DL><p>\n", `<DT><A HREF="` + url + `" ADD_DATE="1456433748" TAGS="a,b,c" ICON="data:image/png;base64,AAAAAAAAAAAAAAAA">A title of some words</A><DD>And a description`, ``},
		"bm JSON":                      {`{"version":1,"folders":[{"id":"1","name":"F"}],"bookmarks":[{}`, `,{"url":"` + url + `","folderId":"1","tags":["a","b"]}`, `]}`},
		"bm JSON, the other way round": {`{"bookmarks":[{}`, `,{"url":"` + url + `","folderId":"1","tags":["a","b"]}`, `],"folders":[{"id":"1","name":"F"}]}`},
		"Firefox":                      {`{"root":"placesRoot","children":[{"root":"bookmarksMenuFolder","children":[{"index":0}`, `,{"uri":"` + url + `","title":"A title","index":1}`, `]}]}`},
		"Chrome":                       {`{"roots":{"other":{"children":[{}`, `,{"name":"A title","url":"` + url + `"}`, `],"name":"Other"}}}`},
		"Pinboard":                     {`[{"href":"a"}`, `,{"href":"` + url + `","tags":"a b c"}`, `]`},
		"Karakeep":                     {`{"bookmarks":[{"content":null}`, `,{"content":{"type":"link","url":"` + url + `"},"lists":["1"]}`, `],"lists":[{"id":"1","name":"F"}]}`},
		"Linkwarden":                   {`{"collections":[{"id":1,"links":[{}`, `,{"id":5,"url":"` + url + `"}`, `],"name":"F"}]}`},
		"CSV":                          {"url,title,folder\n", url + ",A title,F\n", ""},
		"XBEL":                         {`<xbel><folder><title>F</title>`, `<bookmark id="x" href="` + url + `"><title>A title of some words</title><desc>And about it</desc></bookmark>`, `</folder></xbel>`},
		"OPML":                         {`<opml><body>`, `<outline text="A title of some words" xmlUrl="` + url + `"/>`, `</body></opml>`},
		"posts":                        {`<posts>`, `<post href="` + url + `" description="A title" tag="a b c"/>`, `</posts>`},
		"Safari":                       {`<plist><dict><key>WebBookmarkType</key><string>x</string><key>Children</key><array>`, `<dict><key>URLString</key><string>` + url + `</string></dict>`, `</array></dict></plist>`},
	} {
		t.Run(name, func(t *testing.T) {
			before := heapNow()
			reader, err := exchange.NewReader(io.MultiReader(&repeated{head: test.head, line: test.line, left: n}, strings.NewReader(test.tail)), exchange.KeepRaw)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reader.Close() }()
			read := 0
			for e, err := range reader.All() {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind != exchange.Bookmark {
					continue
				}
				if read++; read == n-100 {
					if grown := heapNow() - before; grown > 4<<20 {
						t.Errorf("%d bytes are held after %d entries", grown, read)
					}
				}
			}
			if read < n {
				t.Errorf("%d entries", read)
			}
		})
	}
}

// heapNow is what is held.
func heapNow() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// repeated is a file of many equal lines that is never held; all of them are
// one line in the end.
type repeated struct {
	head, line string
	left       int
	rest       strings.Reader
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest.Len() == 0 {
		switch {
		case r.head != "":
			r.rest.Reset(r.head)
			r.head = ""
		case r.left > 0:
			r.rest.Reset(r.line)
			r.left--
		default:
			return 0, io.EOF
		}
	}
	return r.rest.Read(p)
}
