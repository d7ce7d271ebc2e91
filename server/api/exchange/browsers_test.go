package exchange_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/text/encoding/unicode"

	"bm/server/api/exchange"
)

const firefoxBackup = `{"guid":"root________","title":"","index":0,"dateAdded":1460294955000000,"id":1,"typeCode":2,"type":"text/x-moz-place-container","root":"placesRoot","children":[
 {"guid":"toolbar_____","title":"toolbar","index":1,"type":"text/x-moz-place-container","root":"toolbarFolder","children":[
  {"title":"T","index":0,"type":"text/x-moz-place","uri":"https://t.example/"}]},
 {"guid":"menu________","title":"menu","index":0,"type":"text/x-moz-place-container","root":"bookmarksMenuFolder","children":[
  {"title":"second","index":2,"dateAdded":1456433748123456,"type":"text/x-moz-place","tags":"x,two words","uri":"https://b.example/","keyword":"k","charset":"UTF-8","iconUri":"https://b.example/i.ico"},
  {"index":1,"type":"text/x-moz-place-separator"},
  {"title":"first","index":0,"type":"text/x-moz-place-container","annos":[{"name":"bookmarkProperties/description","value":"about","flags":0}],"children":[
   {"title":"deep","index":0,"type":"text/x-moz-place","uri":"place:sort=8"}]}]},
 {"guid":"unfiled_____","title":"unfiled","index":3,"type":"text/x-moz-place-container","root":"unfiledBookmarksFolder"},
 {"guid":"mobile______","title":"mobile","index":4,"type":"text/x-moz-place-container","root":"mobileFolder","children":[
  {"title":null,"index":0,"type":"text/x-moz-place","uri":"https://m.example/"}]},
 {"guid":"tags________","title":"tags","index":2,"type":"text/x-moz-place-container","root":"tagsFolder","children":[
  {"title":"old","index":0,"type":"text/x-moz-place-container","children":[{"type":"text/x-moz-place","uri":"https://t.example/"}]}]}]}`

const chromeFile = `{
   "checksum": "0",
   "roots": {
      "bookmark_bar": {
         "children": [ {
            "children": [ {"date_added": "13100907348123456", "guid": "g", "id": "3", "name": "A", "type": "url", "url": "https://a.example/"} ],
            "date_added": "13100907348000000", "date_modified": "0", "name": "F", "type": "folder"
         }, {"name": "B", "type": "url", "url": "chrome://settings/"} ],
         "name": "Bookmarks bar", "type": "folder"
      },
      "other": {"children": [ {"date_added": "x", "name": "C", "type": "url", "url": "https://c.example/"} ], "name": "Other bookmarks", "type": "folder"},
      "sync_transaction_version": "1",
      "synced": {"children": [ {"name": "D", "type": "url", "url": "https://d.example/"} ], "name": "Mobile bookmarks", "type": "folder"},
      "another": {"children": [], "name": "Empty", "type": "folder"}
   },
   "version": 1
}`

func TestReadsBrowsersAndServices(t *testing.T) {
	for name, test := range map[string]struct {
		format   exchange.Format
		in, want string
	}{
		"Firefox": {
			exchange.FirefoxJSON, firefoxBackup,
			"[first] \"about\"\n deep <place:sort=8>\n---\nsecond <https://b.example/> #x #two words ICON_URI=https://b.example/i.ico LAST_CHARSET=UTF-8 SHORTCUTURL=k\n" +
				"[Bookmarks Toolbar] PERSONAL_TOOLBAR_FOLDER=true\n T <https://t.example/> #old\n[Mobile Bookmarks] MOBILE_BOOKMARKS_FOLDER=true\n  <https://m.example/>",
		},
		"a part of a Firefox backup": {
			exchange.FirefoxJSON, `{"type":"text/x-moz-place-container","root":"toolbarFolder","title":"toolbar","children":[{"type":"text/x-moz-place","uri":"a","title":"A"}]}`,
			"[Bookmarks Toolbar] PERSONAL_TOOLBAR_FOLDER=true\n A <a>",
		},
		"Chrome": {
			exchange.ChromeJSON, chromeFile,
			"[Bookmarks bar] PERSONAL_TOOLBAR_FOLDER=true\n [F]\n  A <https://a.example/>\n B <chrome://settings/>\nC <https://c.example/>\nD <https://d.example/>",
		},
		"Opera and Vivaldi": {
			exchange.ChromeJSON, `{"roots":{"bookmark_bar":{"children":[],"name":"Bar"},"custom_root":{"speedDial":{"children":[{"name":"A","url":"a"}],"name":"Speed Dial"},"trash":{"children":[{"name":"gone","url":"g"}]},"unsorted":{"children":[],"name":"Unsorted"}},
			"other":{"children":[{"name":"B","url":"b"}]},"trash":{"children":[{"name":"gone","url":"h"}],"name":"Trash"}}}`,
			"[Speed Dial]\n A <a>\nB <b>",
		},
		"Pinboard": {
			exchange.PinboardJSON, "[{\"href\":\"https://a.example/\",\"description\":\"A\",\"extended\":\"about\",\"meta\":\"m\",\"hash\":\"h\",\"time\":\"2016-02-25T20:55:48Z\",\"shared\":\"no\",\"toread\":\"yes\",\"tags\":\"x y,z\"},\n{\"href\":\"b\",\"description\":false,\"extended\":false,\"shared\":\"yes\"},\n{\"href\":\"c\"}]",
			"A <https://a.example/> #x #y,z \"about\" PRIVATE=1 TOREAD=1\n <b> PRIVATE=0\n <c>",
		},
		"a list of ours": {exchange.ListJSON, `[{"id":"1","workspaceId":"w","url":"a","title":"A","tags":["x"],"folderId":"f"},{"url":"b"}]`, "A <a> #x\n <b>"},
		"an empty list":  {exchange.ListJSON, " [ ] ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if reader.Format() != test.format {
				t.Errorf("format %q", reader.Format())
			}
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

// A tree is read in the order that its nodes say, however it lies in the file,
// from a pipe as from a file, and to any depth.
func TestTreesAreReadInTheirOrder(t *testing.T) {
	shuffled := `{"children":[
	 {"children":[{"uri":"c","title":"C","index":2},{"children":[{"index":9,"uri":"y"},{"index":1,"uri":"x"}],"title":"F","index":0,"type":"text/x-moz-place-container"},{"uri":"b","index":1}],"index":1,"root":"unfiledBookmarksFolder"},
	 {"children":[{"uri":"t","index":0}],"index":0,"root":"toolbarFolder"}],"guid":"root________","root":"placesRoot"}`
	want := "[Bookmarks Toolbar] PERSONAL_TOOLBAR_FOLDER=true\n  <t>\n[Other Bookmarks] UNFILED_BOOKMARKS_FOLDER=true\n [F]\n   <x>\n   <y>\n  <b>\n C <c>"
	for name, in := range map[string]io.Reader{
		"file": strings.NewReader(shuffled), "pipe": iotest.OneByteReader(strings.NewReader(shuffled)),
		"with a mark": strings.NewReader("\ufeff" + shuffled),
		"UTF-16":      strings.NewReader(utf16LE(shuffled)),
		"mozLz4":      bytes.NewReader(mozLZ4(shuffled)),
	} {
		if got := outline(readAll(t, in)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	behind := strings.NewReader("before it" + shuffled)
	if _, err := behind.Seek(9, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if got := outline(readAll(t, behind)); got != want {
		t.Errorf("from where the file stands:\n got %s", got)
	}
	const depth = 3000
	deep := `{"roots":{"other":` + strings.Repeat(`{"name":"f","children":[`, depth) + `{"url":"x"}` + strings.Repeat(`]}`, depth) + `}}`
	if entries := readAll(t, strings.NewReader(deep)); len(entries) != depth || entries[depth-1].Parent != depth-1 {
		t.Errorf("%d entries of a deep tree", len(entries))
	}
}

func utf16LE(text string) string {
	out, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return out
}

// mozLZ4 compresses as Firefox does: literals, and copies of what was there.
func mozLZ4(text string) []byte {
	out := binary.LittleEndian.AppendUint32([]byte("mozLz40\x00"), uint32(len(text)))
	length := func(n int) { // the bytes behind a length of four bits
		for n -= 15; n >= 0; n -= 255 {
			out = append(out, byte(min(n, 255)))
		}
	}
	seen := map[string]int{}
	start, at := 0, 0
	for at+12 < len(text) {
		from, ok := seen[text[at:at+4]]
		seen[text[at:at+4]] = at
		if !ok || at-from > 65535 {
			at++
			continue
		}
		n := 4
		for at+n < len(text)-5 && text[from+n] == text[at+n] {
			n++
		}
		out = append(out, byte(min(at-start, 15)<<4|min(n-4, 15)))
		length(at - start)
		out = append(out, text[start:at]...)
		out = binary.LittleEndian.AppendUint16(out, uint16(at-from))
		length(n - 4)
		at += n
		start = at
	}
	out = append(out, byte(min(len(text)-start, 15)<<4))
	length(len(text) - start)
	return append(out, text[start:]...)
}

func TestCompressedFiles(t *testing.T) {
	long := `[{"url":"` + strings.Repeat("a", 300_000) + strings.Repeat("0123456789", 40_000) + `"},{"url":"b"}]`
	for name, in := range map[string]string{"short": `[{"url":"a"},{"url":"b"}]`, "long": long, "empty": ""} {
		packed := mozLZ4(in)
		if got, want := outline(readAll(t, bytes.NewReader(packed))), outline(readAll(t, strings.NewReader(in))); got != want {
			t.Errorf("%s: got %.80q, want %.80q", name, got, want)
		}
		for _, cut := range []int{10, len(packed) / 2, len(packed) - 1} {
			if cut > len(packed) {
				continue
			}
			reader, err := exchange.NewReader(bytes.NewReader(packed[:cut]))
			for err == nil {
				_, err = reader.Next()
			}
			if err == io.EOF { //nolint:errorlint // as a reader ends
				t.Errorf("%s, cut off after %d of %d bytes, has an end", name, cut, len(packed))
			}
		}
	}
	for name, damage := range map[string]string{
		"a copy of what is not there": "\x10[\x09\x00",
		"a copy of nothing":           "\x10[\x00\x00",
		"longer than it says":         "\xf0" + strings.Repeat("\xff", 2000),
	} {
		_, err := exchange.NewReader(strings.NewReader("mozLz40\x00\x64\x00\x00\x00" + damage))
		if err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBrowsersDates(t *testing.T) {
	want := time.Date(2016, 2, 25, 20, 55, 48, 123456e3, time.UTC)
	for name, test := range map[string]struct {
		in    string
		index int
	}{"Firefox": {firefoxBackup, 1}, "Chrome": {chromeFile, 0}} {
		for _, e := range readAll(t, strings.NewReader(test.in)) {
			if e.Kind == exchange.Bookmark && e.Index == test.index && !e.CreatedAt.Equal(want) {
				t.Errorf("%s: %s is of %v", name, e.Title, e.CreatedAt)
			}
			if bad := e.Title == "C"; bad != (len(e.Issues) == 1) {
				t.Errorf("%s: %s has the issues %v", name, e.Title, e.Issues)
			}
		}
	}
}

func TestDamagedBrowserFilesSayWhere(t *testing.T) {
	for name, in := range map[string]string{
		"Firefox": "{\"guid\":\"root\",\n\"children\":[\n{\"title\":",
		"Chrome":  "{\"roots\":{\n\n\"other\":{\"children\":[}\n\n\n}",
	} {
		reader, err := exchange.NewReader(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		_, err = reader.Next()
		var bad *exchange.SyntaxError
		if !errors.As(err, &bad) || bad.Line != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
	reader, err := exchange.NewReader(strings.NewReader("[{\"href\":\"a\"},\n{\"href\":"))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := reader.Next(); err != nil || e.URL != "a" || e.Line != 1 {
		t.Fatalf("%v, %v", e, err)
	}
	_, err = reader.Next()
	var bad *exchange.SyntaxError
	if !errors.As(err, &bad) || bad.Format != exchange.PinboardJSON {
		t.Errorf("%v", err)
	}
}
