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
		"folders of Firefox":   {`{"root":"placesRoot","children":[{}`, `,{"children":[]}`, `]}`},
		"unsorted Firefox":     {`{"root":"placesRoot","children":[{"index":1}`, `,{}`, `]}`},
		"tags of Firefox":      {`{"root":"placesRoot","children":[{"root":"tagsFolder","children":[{"title":"t","children":[{}`, `,{"uri":"u"}`, `]}]}]}`},
		"folders of Chrome":    {`{"roots":{"bookmark_bar":{"type":"folder","children":[{}`, `,{"children":[]}`, `]}}}`},
		"values of Firefox":    {`{"guid":"root________","type":"text/x-moz-place-container","root":"placesRoot","annos":[{"value":[0`, `,0`, `]}],"children":[]}`},
		"lists of Firefox":     {`{"guid":"root________","type":"text/x-moz-place-container","root":"placesRoot","annos":[{"value":[[]`, `,[]`, `]}],"children":[]}`},
		"nodes of Chrome":      {`{"roots":{"bookmark_bar":{"type":"folder","children":[{}`, `,{}`, `]}}}`},
		"folders of ours":      {`{"version":1,"folders":[{}`, `,{}`, `],"bookmarks":[]}`},
		"bookmarks too early":  {`{"version":1,"bookmarks":[{}`, `,{}`, `],"folders":[]}`},
		"tags of one bookmark": {`{"version":1,"folders":[],"bookmarks":[{"tags":[""`, `,""`, `]}]}`},
		"empty lines":          {`{"version":1,"folders":[],`, "\n", `"bookmarks":[]}`},
		"folders of HTML":      {`<!DOCTYPE NETSCAPE-Bookmark-file-1>`, `<H3>`, ``},
		"Linkwarden":           {`{"collections":[{"id":1,"links":[]}`, `,{"links":[]}`, `]}`},
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

// What is above the limit is refused one by one, and takes no memory.
func TestFoldersAboveTheLimitAreNotHeld(t *testing.T) {
	planner := exchange.NewPlanner(&workspace{}, exchange.Options{MaxEntries: 10, NewID: func() string { return "f" }})
	runtime.GC()
	before := heapNow()
	for number := 1; number <= 1_000_000; number++ {
		step, err := planner.Next(t.Context(), &exchange.Entry{Kind: exchange.Folder, Number: number, Title: "f"})
		if err != nil || (step.Verdict == exchange.New) != (number <= 10) {
			t.Fatalf("folder %d is %s (%v)", number, step.Verdict, err)
		}
	}
	runtime.GC()
	if taken := (heapNow() - before) >> 20; taken > 20 {
		t.Errorf("%d MB are taken", taken)
	}
	step, err := planner.Next(t.Context(), &exchange.Entry{Kind: exchange.Bookmark, Parent: 999_999, URL: "https://x.example/"})
	if err != nil || step.Verdict != exchange.Rejected || planner.Summary().Skipped != 1 {
		t.Errorf("a bookmark behind them is %s (%v)", step.Verdict, err)
	}
	runtime.KeepAlive(planner)
}

// countedFile counts what is read of it.
type countedFile struct {
	*strings.Reader
	read int
}

func (c *countedFile) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

func (c *countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(p, at)
	c.read += n
	return n, err
}

// However folders lie in each other, a file is not read again for each of them.
func TestATreeIsNotReadAgainForEachFolder(t *testing.T) {
	const deep = 1000
	for name, folder := range map[string]string{
		"roots of tags": `{"root":"tagsFolder","children":[`,
		"out of order":  `{"index":1,"uri":"a"},{"index":0,"children":[`,
	} {
		t.Run(name, func(t *testing.T) {
			file := &countedFile{Reader: strings.NewReader(`{"root":"placesRoot","children":[` + strings.Repeat(folder, deep) +
				`{"uri":"https://x.example/"}` + strings.Repeat(`,{"uri":"b"}`, 10_000) + strings.Repeat("]}", deep) + "]}")}
			reader, err := exchange.NewReader(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range reader.All() {
				if err != nil {
					t.Fatal(err)
				}
			}
			if times := file.read / int(file.Size()); times > 100 {
				t.Errorf("%d times the file is read", times)
			}
		})
	}
}

// Comments that only appear where others were left out are not looked for one by
// one.
func TestOpeningsWithinOpenings(t *testing.T) {
	var file strings.Builder
	file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><DT><A HREF=a>A</A><!--")
	for n := 1; file.Len() < 256<<10; n++ {
		file.WriteString(strings.Repeat("<", n) + strings.Repeat("!--", n))
	}
	file.WriteString("<DT><A HREF=b>B</A>")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	entries := readAll(t, strings.NewReader(file.String()))
	runtime.ReadMemStats(&after)
	if outline(entries) != "A <a>\nB <b>" {
		t.Errorf("read as %s", outline(entries))
	}
	if times := (after.TotalAlloc - before.TotalAlloc) / uint64(file.Len()); times > 50 {
		t.Errorf("%d times the file is allocated", times)
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
