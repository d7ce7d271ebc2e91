package exchange_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"bm/server/api/exchange"
)

// pair is a key of a property list's dictionary, and its value.
type pair struct {
	key   string
	value any
}

type (
	dict []pair
	list []any
)

var safariSaved = time.Date(2016, 2, 25, 20, 55, 48, 0, time.UTC)

// safariBookmarks is what Safari keeps, in the order in which it writes keys.
var safariBookmarks = dict{
	{"Children", list{
		dict{{"Title", "History"}, {"WebBookmarkIdentifier", "History"}, {"WebBookmarkType", "WebBookmarkTypeProxy"}, {"WebBookmarkUUID", "0"}},
		dict{
			{"Children", list{
				leaf("https://a.example/?a=1&b=2", "A & <B>"),
				dict{{"Children", list{leaf("https://deep.example/", "東京 😀")}}, {"Title", "F & G"}, {"WebBookmarkType", "WebBookmarkTypeList"}},
				dict{{"Children", list{}}, {"Title", "BookmarksBar"}, {"WebBookmarkType", "WebBookmarkTypeList"}},
			}},
			{"Sync", dict{{"Data", []byte{1, 2, 255}}, {"Key", "k"}}},
			{"Title", "BookmarksBar"},
			{"WebBookmarkType", "WebBookmarkTypeList"},
		},
		dict{{"Title", "BookmarksMenu"}, {"WebBookmarkType", "WebBookmarkTypeList"}},
		leaf("javascript:alert('1')", ""),
		dict{
			{"Children", list{dict{
				{"ReadingList", dict{{"DateAdded", safariSaved}, {"DateLastViewed", safariSaved.Add(time.Hour)}, {"PreviewText", "one\ntwo"}}},
				{"ReadingListNonSync", dict{{"neverFetchMetadata", false}, {"ratio", 0.5}, {"count", 3}, {"Title", "other"}}},
				{"URIDictionary", dict{{"", "https://other.example/"}, {"title", "Later"}}},
				{"URLString", "https://later.example/"},
				{"WebBookmarkType", "WebBookmarkTypeLeaf"},
			}}},
			{"ShouldOmitFromUI", true},
			{"Title", "com.apple.ReadingList"},
			{"WebBookmarkType", "WebBookmarkTypeList"},
		},
	}},
	{"Title", ""},
	{"WebBookmarkFileVersion", 1},
	{"WebBookmarkType", "WebBookmarkTypeList"},
}

func leaf(url, title string) dict {
	return dict{{"URIDictionary", dict{{"title", title}}}, {"URLString", url}, {"WebBookmarkType", "WebBookmarkTypeLeaf"}, {"WebBookmarkUUID", "u-" + url}}
}

const safariOutline = "[Favorites] PERSONAL_TOOLBAR_FOLDER=true\n A & <B> <https://a.example/?a=1&b=2>\n [F & G]\n  東京 😀 <https://deep.example/>\n [BookmarksBar]\n" +
	"[Bookmarks Menu]\n <javascript:alert('1')>\n[Reading List] ID=com.apple.ReadingList\n Later <https://later.example/> \"one\\ntwo\" LAST_VISIT=1456437348"

func TestReadsSafari(t *testing.T) {
	for name, in := range map[string]string{
		"XML":             xmlPlist(safariBookmarks),
		"XML in UTF-16":   utf16LE(xmlPlist(safariBookmarks)),
		"XML with a mark": "\ufeff" + xmlPlist(safariBookmarks),
		"binary":          binaryPlist(safariBookmarks, 2),
		"binary, wide":    binaryPlist(safariBookmarks, 8),
		"with a remark":   strings.Replace(xmlPlist(safariBookmarks), "<dict>", "<!-- <dict> --><dict>", 1),
		"sections":        strings.Replace(xmlPlist(safariBookmarks), "<string>Later</string>", "<string><![CDATA[Later]]></string>", 1),
		"the order of ours": xmlPlist(dict{
			{"WebBookmarkType", "WebBookmarkTypeList"}, {"Title", "x"}, {"Children", safariBookmarks[0].value},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{"file": strings.NewReader(in), "pipe": iotest.HalfReader(strings.NewReader(in))} {
				reader, err := exchange.NewReader(r)
				if err != nil || reader.Format() != exchange.SafariPlist {
					t.Fatalf("%v", err)
				}
				var entries []*exchange.Entry
				for e, err := range reader.All() {
					if err != nil {
						t.Fatal(err)
					}
					entries = append(entries, e)
				}
				if got := outline(entries); got != safariOutline {
					t.Errorf("%s:\n got %s\nwant %s", kind, got, safariOutline)
				}
				if last := entries[len(entries)-1]; !last.CreatedAt.Equal(safariSaved) || last.Index != 3 {
					t.Errorf("%s: %+v", kind, last)
				}
				if err := reader.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestReadsSafariOddities(t *testing.T) {
	for name, test := range map[string]struct {
		in   dict
		want string
	}{
		"a bookmark alone":    {leaf("a", "A"), "A <a>"},
		"nothing in it":       {dict{{"WebBookmarkType", "WebBookmarkTypeList"}}, ""},
		"other names":         {dict{{"Children", list{dict{{"Title", "T"}, {"URIDictionary", dict{{"", "u"}}}, {"previewText", "p"}}, "text", list{}, 7}}, {"WebBookmarkType", "x"}}, "T <u> \"p\""},
		"a date that is none": {dict{{"Children", list{dict{{"URLString", "a"}, {"ReadingList", dict{{"DateAdded", time.Time{}}}}}}}, {"WebBookmarkType", "x"}}, " <a>"},
		"values of other kinds": {
			dict{{"Children", list{dict{{"URLString", 7}, {"URIDictionary", "x"}, {"Title", list{"y"}}, {"ReadingList", dict{{"PreviewText", dict{}}}}, {"Children", "none"}}}}, {"WebBookmarkType", "x"}},
			" <>",
		},
		"one list for all that are empty": {dict{{"Children", list{dict{{"Children", empty}, {"Title", "E"}}, dict{{"Children", empty}, {"Title", "F"}}}}, {"WebBookmarkType", "x"}}, "[E]\n[F]"},
	} {
		for form, in := range map[string]string{"XML": xmlPlist(test.in), "binary": binaryPlist(test.in, 2)} {
			got := outline(readAll(t, strings.NewReader(in)))
			if form == "XML" {
				got = strings.ReplaceAll(got, "<7>", "<>") // a number is a text there
			}
			if got != test.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", name, form, got, test.want)
			}
		}
	}
}

var empty = list{}

func TestSafariLinesAndDates(t *testing.T) {
	entries := readAll(t, strings.NewReader("<plist>\n<dict><key>WebBookmarkType</key><string/><key>Children</key>\n<array>\n<dict><key>Children</key><array>\n<dict>\n<key>URLString</key><string>a</string></dict></array><key>Title</key><string>F</string></dict>\n"+
		"<dict><key>URLString</key><string>b</string><key>DateAdded</key><date>then</date></dict></array></dict></plist>"))
	folder, a, b := entries[0], entries[1], entries[2]
	if folder.Line != 4 || folder.Title != "F" || a.Line != 5 || b.Line != 7 || len(b.Issues) != 1 {
		t.Errorf("%+v %+v %+v", folder, a, b)
	}
}

// Whatever a binary list claims, reading it ends soon, with an error that names it.
func TestDamagedBinaryPlists(t *testing.T) {
	whole := binaryPlist(safariBookmarks, 2)
	trailer := len(whole) - 32
	change := func(at int, to ...byte) string {
		out := []byte(whole)
		copy(out[at:], to)
		return string(out)
	}
	huge := bytes.Repeat([]byte{255}, 8)
	for name, in := range map[string]string{
		"cut off":                   whole[:len(whole)-1],
		"cut off in the middle":     whole[:len(whole)/2],
		"its trailer alone":         "bplist00WebBookmark" + whole[trailer:],
		"offsets of no width":       change(trailer+6, 0),
		"offsets too wide":          change(trailer+6, 9),
		"numbers too wide":          change(trailer+7, 200),
		"objects without end":       change(trailer+8, huge...),
		"no such outermost object":  change(trailer+16, huge...),
		"a table behind the end":    change(trailer+24, huge...),
		"a table at the beginning":  change(trailer+24, make([]byte, 8)...),
		"offsets that lead nowhere": change(trailer-3, 255, 255, 255),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			reader, err := exchange.NewReader(strings.NewReader(in))
			for err == nil {
				_, err = reader.Next()
			}
			var bad *exchange.SyntaxError
			if !errors.As(err, &bad) || strings.Contains(err.Error(), "line") || !strings.HasPrefix(err.Error(), "read Safari bookmarks: ") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestBinaryPlistBombs(t *testing.T) {
	circle := &bplist{narrow: 2}
	circle.text("Children")
	circle.text("WebBookmark")
	circle.ref(0xd1, 0, 3) // a folder, 2, in the list of which, 3, it is itself
	circle.ref(0xa1, 2)

	bomb := &bplist{narrow: 2}
	key := bomb.text("Children")
	bomb.text("WebBookmark")
	below := bomb.ref(0xd1, key, key)
	for range 60 { // each list holds the one below twice
		below = bomb.ref(0xd1, key, bomb.ref(0xa2, below, below))
	}

	much := &bplist{narrow: 2}
	key = much.text("Children")
	url := much.text("URLString")
	long := much.text("WebBookmark" + strings.Repeat("x", 500_000))
	one := much.ref(0xd1, url, long)
	refs := make([]int, 60_000)
	for i := range refs {
		refs[i] = one
	}
	much.ref(0xd1, key, much.array(refs))

	for name, file := range map[string]string{
		"a circle":            circle.file(2),
		"lists that double":   bomb.file(below),
		"a text without end":  much.file(len(much.offsets) - 1),
		"folders without end": deepPlist(20_000),
	} {
		reader, err := exchange.NewReader(strings.NewReader(file))
		n := 0
		for ; err == nil; n++ {
			_, err = reader.Next()
		}
		var bad *exchange.SyntaxError
		if !errors.As(err, &bad) || n > 10_000 {
			t.Errorf("%s: %d entries, and then %v", name, n, err)
		}
	}
}

// deepPlist has so many folders in each other.
func deepPlist(depth int) string {
	b := &bplist{narrow: 4}
	key := b.text("Children")
	b.text("WebBookmark")
	inner := b.ref(0xd0)
	for range depth {
		inner = b.ref(0xd1, key, b.ref(0xa1, inner))
	}
	return b.file(inner)
}

// xmlPlist writes a property list as XML.
func xmlPlist(top dict) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n")
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	var write func(v any)
	write = func(v any) {
		switch v := v.(type) {
		case dict:
			b.WriteString("<dict>\n")
			for _, p := range v {
				fmt.Fprintf(&b, "\t<key>%s</key>\n", escape.Replace(p.key))
				write(p.value)
			}
			b.WriteString("</dict>\n")
		case list:
			b.WriteString("<array>\n")
			for _, item := range v {
				write(item)
			}
			b.WriteString("</array>\n")
		case string:
			fmt.Fprintf(&b, "<string>%s</string>\n", escape.Replace(v))
		case time.Time:
			fmt.Fprintf(&b, "<date>%s</date>\n", v.Format(time.RFC3339))
		case bool:
			fmt.Fprintf(&b, "<%v/>\n", v)
		case []byte:
			fmt.Fprintf(&b, "<data>%x</data>\n", v)
		case float64:
			fmt.Fprintf(&b, "<real>%v</real>\n", v)
		default:
			fmt.Fprintf(&b, "<integer>%v</integer>\n", v)
		}
	}
	write(top)
	b.WriteString("</plist>\n")
	return b.String()
}

// bplist writes a binary property list.
type bplist struct {
	narrow  int // bytes of an object's number
	out     []byte
	offsets []int
	texts   map[string]int
}

func binaryPlist(top dict, narrow int) string {
	b := &bplist{narrow: narrow}
	return b.file(b.value(top))
}

// begin begins an object.
func (b *bplist) begin(kind byte, count int) int {
	if b.out == nil {
		b.out = []byte("bplist00")
	}
	b.offsets = append(b.offsets, len(b.out))
	if count < 15 {
		b.out = append(b.out, kind<<4|byte(count))
	} else {
		b.out = append(b.out, kind<<4|15, 0x12)
		b.out = binary.BigEndian.AppendUint32(b.out, uint32(count))
	}
	return len(b.offsets) - 1
}

func (b *bplist) number(n, wide int) {
	for wide--; wide >= 0; wide-- {
		b.out = append(b.out, byte(n>>(8*wide)))
	}
}

// ref writes an object that names others.
func (b *bplist) ref(mark byte, numbers ...int) int {
	at := b.begin(mark>>4, int(mark&15))
	for _, n := range numbers {
		b.number(n, b.narrow)
	}
	return at
}

func (b *bplist) array(numbers []int) int {
	at := b.begin(0xa, len(numbers))
	for _, n := range numbers {
		b.number(n, b.narrow)
	}
	return at
}

// text writes a text, each once.
func (b *bplist) text(s string) int {
	if at, ok := b.texts[s]; ok {
		return at
	}
	if b.texts == nil {
		b.texts = map[string]int{}
	}
	at := 0
	if strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0 {
		at = b.begin(5, len(s))
		b.out = append(b.out, s...)
	} else {
		units := utf16.Encode([]rune(s))
		at = b.begin(6, len(units))
		for _, u := range units {
			b.number(int(u), 2)
		}
	}
	b.texts[s] = at
	return at
}

func (b *bplist) value(v any) int {
	switch v := v.(type) {
	case dict:
		numbers := make([]int, 2*len(v))
		for i, p := range v {
			numbers[i], numbers[len(v)+i] = b.text(p.key), b.value(p.value)
		}
		at := b.begin(0xd, len(v))
		for _, n := range numbers {
			b.number(n, b.narrow)
		}
		return at
	case list:
		numbers := make([]int, len(v))
		for i, item := range v {
			numbers[i] = b.value(item)
		}
		return b.array(numbers)
	case string:
		return b.text(v)
	case time.Time:
		at := b.begin(3, 3)
		seconds := v.Sub(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()
		if v.IsZero() {
			seconds = math.NaN()
		}
		b.out = binary.BigEndian.AppendUint64(b.out, math.Float64bits(seconds))
		return at
	case bool:
		if v {
			return b.begin(0, 9)
		}
		return b.begin(0, 8)
	case []byte:
		at := b.begin(4, len(v))
		b.out = append(b.out, v...)
		return at
	case float64:
		at := b.begin(2, 3)
		b.out = binary.BigEndian.AppendUint64(b.out, math.Float64bits(v))
		return at
	case int:
		at := b.begin(1, 0)
		b.number(v, 1)
		return at
	}
	panic(fmt.Sprintf("a property list has no %T", v))
}

// file ends the list.
func (b *bplist) file(top int) string {
	table := len(b.out)
	for _, at := range b.offsets {
		b.number(at, 4)
	}
	b.out = append(b.out, 0, 0, 0, 0, 0, 0, 4, byte(b.narrow))
	b.number(len(b.offsets), 8)
	b.number(top, 8)
	b.number(table, 8)
	return string(b.out)
}

// The HTML that Safari exports of the same bookmarks brings nothing new.
func TestSafarisExportAfterItsOwnFile(t *testing.T) {
	const export = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n\t<HTML>\n\t<META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=UTF-8\">\n\t<Title>Bookmarks</Title>\n\t<H1>Bookmarks</H1>\n" +
		"\t<DT><H3 FOLDED>Favorites</H3>\n\t<DL><p>\n\t\t<DT><A HREF=\"https://a.example/?a=1&amp;b=2\">A &amp; &lt;B&gt;</A>\n" +
		"\t\t<DT><H3 FOLDED>F &amp; G</H3>\n\t\t<DL><p>\n\t\t\t<DT><A HREF=\"https://deep.example/\">東京 😀</A>\n\t\t</DL><p>\n\t\t<DT><H3 FOLDED>BookmarksBar</H3>\n\t\t<DL><p>\n\t\t</DL><p>\n\t</DL><p>\n" +
		"\t<DT><H3 FOLDED>Bookmarks Menu</H3>\n\t<DL><p>\n\t</DL><p>\n\t<DT><A HREF=\"javascript:alert('1')\"></A>\n" +
		"\t<DT><H3 FOLDED id=\"com.apple.ReadingList\">Reading List</H3>\n\t<DL><p>\n\t\t<DT><A HREF=\"https://later.example/\">Later</A>\n\t</DL><p>\n</HTML>\n"
	w := &workspace{}
	first, _ := w.importFile(t, binaryPlist(safariBookmarks, 2), 0, everything, exchange.Options{})
	folders := len(w.folders)
	second, _ := w.importFile(t, export, 0, everything, exchange.Options{})
	if first.Imported != 4 || folders != 5 || second.Imported != 0 || second.DuplicatesSkipped != 4 || len(w.folders) != folders {
		t.Errorf("%+v with %d folders, and then %+v with %d", first, folders, second, len(w.folders))
	}
}
