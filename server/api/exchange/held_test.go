package exchange_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"bm/server/api/exchange"
)

// A file costs no memory in proportion to its length, whatever it is made of: of
// what has to be held, there is a most.
func TestAFileDoesNotTakeTheMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads files of many megabytes")
	}
	const size = 12 << 20
	for name, c := range map[string]struct{ head, repeat, tail string }{
		"nodes of Firefox":     {`{"guid":"root________","type":"text/x-moz-place-container","root":"placesRoot","children":[{}`, `,{}`, `]}`},
		"values of Firefox":    {`{"guid":"root________","type":"text/x-moz-place-container","root":"placesRoot","annos":[{"value":[0`, `,0`, `]}],"children":[]}`},
		"lists of Firefox":     {`{"guid":"root________","type":"text/x-moz-place-container","root":"placesRoot","annos":[{"value":[[]`, `,[]`, `]}],"children":[]}`},
		"nodes of Chrome":      {`{"roots":{"bookmark_bar":{"type":"folder","children":[{}`, `,{}`, `]}}}`},
		"folders of ours":      {`{"version":1,"folders":[{}`, `,{}`, `],"bookmarks":[]}`},
		"bookmarks too early":  {`{"version":1,"bookmarks":[{}`, `,{}`, `],"folders":[]}`},
		"tags of one bookmark": {`{"version":1,"folders":[],"bookmarks":[{"tags":[""`, `,""`, `]}]}`},
		"empty lines":          {`{"version":1,"folders":[],`, "\n", `"bookmarks":[]}`},
		"lists of HTML":        {`<!DOCTYPE NETSCAPE-Bookmark-file-1>`, `<DL>`, ``},
		"attributes of XBEL":   {`<xbel><bookmark`, ` a`, `/></xbel>`},
		"unclosed bookmarks":   {`<xbel>`, `<bookmark><title>`, `</xbel>`},
		"tags of XBEL":         {`<xbel><bookmark><info><metadata owner="bm">`, `<tag/>`, `</metadata></info></bookmark></xbel>`},
		"outlines within":      {`<opml><body>`, `<outline>`, `</body></opml>`},
		"folders of Safari":    {`<plist><dict><key>WebBookmarkType</key><string>x</string><key>Children</key><array>`, `<dict><key>Children</key><array/></dict>`, `</array></dict></plist>`},
		"sections in XML":      {`<xbel><folder><title>`, `<![CDATA[]]>`, `</title></folder></xbel>`},
		"lines of Chrome":      {`{"roots":{`, "\n", `"bookmark_bar":{"type":"folder","children":[]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			file := c.head + strings.Repeat(c.repeat, (size-len(c.head))/len(c.repeat)) + c.tail
			before := heapNow()
			most := before
			reader, err := exchange.NewReader(strings.NewReader(file))
			for n := 0; err == nil; n++ {
				if n%100_000 == 0 {
					most = max(most, heapNow())
				}
				_, err = reader.Next()
			}
			if taken := (max(most, heapNow()) - before) >> 20; taken > 200 {
				t.Errorf("%d MB are taken (%v)", taken, err)
			}
			if err != nil && err != io.EOF && !strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "longer than") { //nolint:errorlint // as a reader ends
				t.Errorf("it ends with %v", err)
			}
			runtime.KeepAlive(file)
		})
	}
}

// However deep lists are, what follows them is where it was.
func TestBehindDeepLists(t *testing.T) {
	for _, depth := range []int{3, 6400, 6401, 20_000} {
		file := `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL>` + strings.Repeat(`<DT><H3>f</H3><DL>`, depth) + strings.Repeat(`</DL>`, depth) +
			`<DT><A HREF="https://x.example/">x</A></DL>`
		reader, err := exchange.NewReader(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		var last *exchange.Entry
		folders := 0
		for {
			entry, err := reader.Next()
			if err != nil {
				break
			}
			if last = entry; entry.Kind == exchange.Folder {
				folders++
			}
		}
		if folders != depth || last == nil || last.Title != "x" || last.Parent != exchange.Root {
			t.Errorf("%d deep: %d folders, and then %+v", depth, folders, last)
		}
	}
}
