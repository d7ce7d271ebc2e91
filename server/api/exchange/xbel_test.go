package exchange_test

import (
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/text/encoding/charmap"

	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
	"bm/server/api/rules"
)

func TestReadsXBEL(t *testing.T) {
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<!DOCTYPE xbel>\n"
	for name, test := range map[string]struct{ in, want string }{
		"the language's own example": {
			`<!DOCTYPE xbel PUBLIC "+//IDN python.org//DTD XML Bookmark Exchange Language 1.0//EN//XML" "http://pyxml.sourceforge.net/topics/dtds/xbel-1.0.dtd">
			<xbel version="1.0" id="top" added="2000-01-01"><title>All of mine</title><desc>about all</desc>
			<folder id="f0" folded="yes"><title>F</title><desc>about F</desc>
			<bookmark href="https://a.example/" visited="2007-12-27T10:00:00Z"><title>A</title><info><metadata owner="x"/></info><desc>about A</desc></bookmark>
			<separator/></folder></xbel>`,
			"[F] \"about F\" FOLDED=\n A <https://a.example/> \"about A\" LAST_VISIT=1198749600\n ---",
		},
		"KDE": {
			head + `<xbel xmlns:bookmark="http://www.freedesktop.org/standards/desktop-bookmarks" xmlns:mime="http://www.freedesktop.org/standards/shared-mime-info" dbusName="konqueror">
			 <folder folded="no" toolbar="yes"><title>Bar</title>
			  <info><metadata owner="http://freedesktop.org"><bookmark:icon name="bookmark_folder"/></metadata></info>
			  <bookmark href="https://a.example/?a=1&amp;b=2"><title>A &amp; B</title>
			   <info>
			    <metadata owner="http://freedesktop.org"><bookmark:icon href="https://a.example/favicon.ico" type="image/x-icon"/><bookmark:applications><bookmark:application name="Title"/></bookmark:applications></metadata>
			    <metadata owner="http://www.kde.org"><time_added>1176433748</time_added><time_visited>1456433748</time_visited><visit_count>4</visit_count><title>not this</title></metadata>
			   </info></bookmark>
			 </folder></xbel>`,
			"[Bar] PERSONAL_TOOLBAR_FOLDER=true\n A & B <https://a.example/?a=1&b=2> ICON_URI=https://a.example/favicon.ico LAST_VISIT=1456433748",
		},
		"a browser's, with details in another order": {
			head + `<xbel version="1.0"><bookmark href="a"><desc>d</desc><info/><title>A</title></bookmark><folder folded='no'><desc>about</desc><title>F</title></folder></xbel>`,
			"A <a> \"d\"\n[F] \"about\"",
		},
		"numbers for ids, and a comment": {
			"<xbel version=\"1.0\"><!--- highestId :3: for a program -->\n<folder id=\"1\"><title>F</title><bookmark href=\"a\" id=\"2\"><title>A</title></bookmark></folder></xbel>",
			"[F]\n A <a>",
		},
		"nothing in it":      {`<xbel/>`, ""},
		"no titles":          {`<xbel><folder><bookmark href="a"/></folder><bookmark/></xbel>`, "[]\n  <a>\n <>"},
		"folders and nested": {`<xbel><folder><title>F</title><folder><title>G</title></folder><bookmark href="a"/></folder><folder><title>F</title></folder></xbel>`, "[F]\n [G]\n  <a>\n[F]"},
		"entities, sections, references": {
			`<xbel><bookmark href='a?x=&#38;y=&quot;'><title><![CDATA[<b> & ]]>&eacute;&#233;&#xe9; &apos;&nbsp;x</title><desc> one<!-- two -->three
			</desc></bookmark></xbel>`,
			"<b> & ééé '\u00a0x <a?x=&y=\"> \"onethree\"",
		},
		"entities that are defined": {
			`<!DOCTYPE xbel [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]><xbel><bookmark href="a"><title>&b; &c;</title></bookmark></xbel>`,
			"&b; &c; <a>",
		},
		"prefixes and capitals": {
			`<x:xbel xmlns:x="urn:x"><x:Bookmark HREF="a"><x:TITLE>A</x:TITLE></x:Bookmark></x:xbel>`, "A <a>",
		},
		"instructions of other programs": {`<?xml version="1.0"?><?xml-stylesheet href="x.xsl"?><xbel><?do it?><bookmark href="a"/></xbel>`, " <a>"},
		"characters that cannot be": {
			"<xbel><bookmark href=\"a\"><title>A\x08 & B &#1;&#150; <3</title></bookmark></xbel>", "A\x08 & B \x01– <3 <a>",
		},
		"what is put around nodes": {`<xbel><smart><title>no</title><bookmark href="a"/></smart><bookmark href="b"/></xbel>`, " <a>\n <b>"},
		"aliases": {
			`<xbel><alias ref="one"/><folder id="f"><title>F</title><bookmark id="one" href="a" added="2000-01-01"><title>A</title><desc>d</desc></bookmark></folder><alias ref='one'></alias><bookmark id="one" href="b"/></xbel>`,
			"A <a> \"d\"\n[F]\n A <a> \"d\"\nA <a> \"d\"\n <b>",
		},
		"aliases of nothing and of a folder": {`<xbel><folder id="f"/><alias ref="f"/><alias ref="x"/><alias/></xbel>`, "[]\n <>\n <>\n <>"},
		"missing ends": {
			`<xbel><folder><title>F<bookmark href="a"><title>A<separator><bookmark href="b"><title>B</title><info><metadata owner="bm"><tag>x</tag><alias ref="c"><bookmark href="c" id="c"><desc>C</folder><bookmark href="d"/></xbel>`,
			"[F]\n A <a>\n ---\n B <b> #x\n  <c> \"C\"\n  <c> \"C\"\n <d>",
		},
		"ends too many": {`<xbel></title><folder><title>F</b></title></bookmark><bookmark href="a"></folder></folder></xbel></xbel>`, "[F]\n  <a>"},
		"our own metadata": {
			`<xbel><folder><title>?</title><info><metadata owner="bm"><title json="yes">"F\u0001"</title><extra name="X">1</extra></metadata></info></folder>
			<bookmark href="?"><info><metadata owner="bm"><url>a</url><tag>one, two</tag><tag json="yes">"\ufffe"</tag><tag json="yes">broken</tag><desc> d </desc></metadata></info><title>A</title></bookmark></xbel>`,
			"[F\x01] X=1\nA <a> #one, two #\ufffe \"d\"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
			piped := readAll(t, iotest.OneByteReader(strings.NewReader(test.in)))
			if got := outline(piped); got != test.want {
				t.Errorf("from a pipe:\n got %q", got)
			}
		})
	}
}

func TestReadsXBELDetails(t *testing.T) {
	entries := readAll(t, strings.NewReader(`<?xml version="1.0"?>
<xbel>
<folder added="2016-02-25T20:55:48Z">
  <title>F</title>
  <bookmark id="b" href="a"
   added="2016-02-25T20:55:48.5+01:00" modified="2016-02-26"/>
  <bookmark href="b" added="soon"/>
</folder>
<alias ref="b"/>
<alias ref="gone"/>
</xbel>`))
	folder, a, b, alias, broken := entries[0], entries[1], entries[2], entries[3], entries[4]
	if folder.Line != 3 || a.Line != 5 || b.Line != 7 || alias.Line != 9 || broken.Line != 10 || alias.Index != 2 || broken.Index != 3 {
		t.Errorf("%+v", entries)
	}
	at := time.Date(2016, 2, 25, 20, 55, 48, 0, time.UTC)
	if !folder.CreatedAt.Equal(at) || !a.CreatedAt.Equal(at.Add(500*time.Millisecond-time.Hour)) || !a.ModifiedAt.Equal(time.Date(2016, 2, 26, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("dates %v, %v, %v", folder.CreatedAt, a.CreatedAt, a.ModifiedAt)
	}
	if len(b.Issues) != 1 || b.Issues[0].Code != api.IssueDateUnreadable {
		t.Errorf("issues %v", b.Issues)
	}
	if alias.Broken != nil || !alias.CreatedAt.Equal(a.CreatedAt) || broken.Broken == nil || !strings.Contains(broken.Broken.Message, `"gone"`) {
		t.Errorf("aliases %+v, %+v", alias, broken.Broken)
	}
}

func TestReadsEncodingsOfXML(t *testing.T) {
	const text = "<xbel>\n<bookmark href=\"é\"><title>Crème brûlée</title></bookmark></xbel>"
	latin, err := charmap.ISO8859_1.NewEncoder().String(`<?xml version="1.0" encoding="ISO-8859-1"?>` + text)
	if err != nil {
		t.Fatal(err)
	}
	cyrillic, err := charmap.KOI8R.NewEncoder().String(`<?xml version='1.0' encoding='koi8-r' standalone='yes'?>` + strings.NewReplacer("é", "д", "è", "д", "û", "д").Replace(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ in, want string }{
		"a mark":           {"\ufeff" + `<?xml version="1.0" encoding="utf-8"?>` + text, "Crème brûlée <é>"},
		"a page's META":    {strings.Replace(cyrillic[strings.Index(cyrillic, "<xbel>"):], "<xbel>", `<?xml version="1.0"?><!-- charset=koi8-r --><xbel>`, 1), "Crдme brдlдe <д>"},
		"a wrong name":     {`<?xml version="1.0" encoding="UTF-16"?>` + text, "Crème brûlée <é>"},
		"UTF-16":           {utf16LE(`<?xml version="1.0" encoding="UTF-16"?>` + text), "Crème brûlée <é>"},
		"ISO-8859-1":       {latin, "Crème brûlée <é>"},
		"KOI8-R":           {cyrillic, "Crдme brдlдe <д>"},
		"invalid all over": {"<xbel>\n<bookmark href=\"é\"><title>Crème brûlée\xc3</title></bookmark></xbel>", "Crème brûlée\xc3 <é>"},
	} {
		if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestDamagedXMLSaysWhere(t *testing.T) {
	for name, test := range map[string]struct {
		in, want string
		line     int
	}{
		"cut off between entries": {"<xbel><folder><title>F</title>\n<bookmark href=\"a\"/>\n", "[F]\n  <a>", 3},
		"cut off within a tag":    {"<xbel>\n<bookmark href=\"a\"/>\n<bookmark href=\"b", " <a>", 3},
		"cut off within a text":   {"<xbel>\n<bookmark href=\"a\"><title>Aa", "Aa <a>", 2},
		"an endless comment":      {"<xbel>\n<bookmark href=\"a\"/>\n<!-- \n\n<bookmark href=\"b\"/></xbel>", " <a>", 5},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			var entries []*exchange.Entry
			for {
				var e *exchange.Entry
				if e, err = reader.Next(); err != nil {
					break
				}
				entries = append(entries, e)
			}
			var bad *exchange.SyntaxError
			if !errors.As(err, &bad) || bad.Line != test.line || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v", err)
			}
			if got := outline(entries); got != test.want {
				t.Errorf("before it\n%s", got)
			}
		})
	}
}

func TestWriteXBEL(t *testing.T) {
	at := api.At(time.Date(2016, 2, 25, 20, 55, 48, 123e6, time.UTC))
	c := exchangetest.Collection{
		Folders: []api.Folder{
			{ID: "1", Name: "F & G", Description: "about <f>", SortOrder: 2, CreatedAt: at, UpdatedAt: at, Extra: map[string]string{"FOLDED": ""}},
			{ID: "2", Name: "Lost", ParentID: "gone", SortOrder: 9},
		},
		Bookmarks: []api.Bookmark{
			{URL: "https://go.dev/?a=1&b=\"2\"", Title: "Go", SortOrder: 1, CreatedAt: api.At(at.Truncate(time.Second)), UpdatedAt: at, Tags: []string{"x", "a,b"}},
			{URL: "x\ny", Title: "A\x1b]]>", SortOrder: 3, Description: "one\ntwo", Extra: map[string]string{"LAST_VISIT": "1456433748"}},
			{URL: "b", Title: "B", FolderID: "1"},
		},
	}
	var file strings.Builder
	if err := exchange.WriteXBEL(&file, c.Source()); err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE xbel>
<xbel version="1.0">
  <bookmark href="https://go.dev/?a=1&amp;b=&quot;2&quot;" added="2016-02-25T20:55:48Z" modified="2016-02-25T20:55:48.123Z">
    <title>Go</title>
    <info><metadata owner="bm">
      <tag>x</tag>
      <tag>a,b</tag>
    </metadata></info>
  </bookmark>
  <folder added="2016-02-25T20:55:48.123Z" folded="yes">
    <title>F &amp; G</title>
    <info><metadata owner="bm">
      <extra name="FOLDED"></extra>
    </metadata></info>
    <desc>about &lt;f&gt;</desc>
    <bookmark href="b">
      <title>B</title>
    </bookmark>
  </folder>
  <bookmark href="x&#10;y" visited="2016-02-25T20:55:48Z">
    <title>A` + "\ufffd" + `]]&gt;</title>
    <info><metadata owner="bm">
      <title json="yes">"A\u001b]]\u003e"</title>
      <extra name="LAST_VISIT">1456433748</extra>
    </metadata></info>
    <desc>one
two</desc>
  </bookmark>
  <folder folded="no">
    <title>Lost</title>
  </folder>
</xbel>
`
	if file.String() != want {
		t.Errorf("\n got %s\nwant %s", file.String(), want)
	}
}

// An alias that repeats a long bookmark again and again is no way to keep a
// reader busy.
func TestAliasesHaveAnEnd(t *testing.T) {
	file := `<xbel><bookmark id="b" href="a"><desc>` + strings.Repeat("x", 1<<20) + `</desc></bookmark>` + strings.Repeat(`<alias ref="b"/>`, 5000) + `</xbel>`
	reader, err := exchange.NewReader(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; err == nil; n++ {
		_, err = reader.Next()
	}
	var bad *exchange.SyntaxError
	if !errors.As(err, &bad) || n > 100 {
		t.Errorf("%d entries, and then %v", n, err)
	}
}

// What was written down for a second reading is gone behind it.
func TestNothingIsLeftOfACopy(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	in := `<xbel><bookmark id="b" href="a"/><alias ref="b"/></xbel>`
	reader, err := exchange.NewReader(iotest.HalfReader(strings.NewReader(in)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Next(); err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestXBELHoldsEveryCharacter(t *testing.T) {
	var c exchangetest.Collection
	for r := rune(1); r <= 0x10ffff; r++ {
		if between := r > 0x3000 && r < 0xf000 || r > 0x10010 && r < 0x10fff0; between {
			continue
		}
		if text := "x" + string(r) + "x"; text == rules.Line(text) {
			c.Bookmarks = append(c.Bookmarks, api.Bookmark{URL: text, Title: text, Description: text})
		}
	}
	var file strings.Builder
	if err := exchange.WriteXBEL(&file, c.Source()); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal([]byte(file.String()), new(struct{})); err != nil {
		t.Fatalf("a strict parser says %v", err)
	}
	for i, e := range readAll(t, strings.NewReader(file.String())) {
		if want := c.Bookmarks[i].URL; e.URL != want || e.Title != want || e.Description != want {
			t.Errorf("%q is read as %q, %q, %q", want, e.URL, e.Title, e.Description)
		}
	}
}
