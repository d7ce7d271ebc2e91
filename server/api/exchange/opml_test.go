package exchange_test

import (
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"bm/server/api"
	"bm/server/api/exchange"
)

func TestReadsOPML(t *testing.T) {
	body := func(outlines string) string {
		return `<?xml version="1.0" encoding="UTF-8"?><opml version="2.0"><head><title>Mine</title></head><body>` + outlines + `</body></opml>`
	}
	for name, test := range map[string]struct{ in, want string }{
		"subscriptions": {
			body(`<outline text="News" title="News">
			<outline text="A" title="The A" description="about A" htmlUrl="https://a.example/" language="en" type="rss" version="RSS2" xmlUrl="https://a.example/feed"/>
			<outline text="B" type="rss" xmlUrl="https://b.example/feed" htmlUrl=""/></outline>
			<outline title="C" type="RSS" xmlurl='https://c.example/feed' HTMLURL='https://c.example/'></outline>`),
			"[News]\n A <https://a.example/> \"about A\" FEEDURL=https://a.example/feed LANGUAGE=en\n B <https://b.example/feed> FEEDURL=https://b.example/feed\nC <https://c.example/> FEEDURL=https://c.example/feed",
		},
		"links": {
			body(`<outline text="L" type="link" url="https://l.example/" category="/Tech/Go, two words,/,x"/><outline text="U" URL="https://u.example/"/><outline text="I" type="include" url="https://i.example/x.opml"/><outline text="H" type="link" htmlUrl="https://h.example/" url="https://other.example/"/>`),
			"L <https://l.example/> #Tech/Go #two words #x\nU <https://u.example/>\nI <https://i.example/x.opml>\nH <https://other.example/> HTMLURL=https://h.example/",
		},
		"an outliner's": {
			body(`<outline text="&lt;b&gt;Plans&lt;/b&gt; &amp;amp; more" _note="to do&#10;soon" _status="checked"><outline text="see &lt;a href=&quot;https://s.example/?a=1&amp;amp;b=2&quot;&gt;this&lt;/a&gt; first"/><outline text="https://bare.example/x"/><outline text="a &lt; b"/></outline>`),
			"[Plans & more] \"to do\\nsoon\"\n see this first <https://s.example/?a=1&b=2>\n https://bare.example/x <https://bare.example/x>\n [a < b]",
		},
		"Firefox's, by an extension": {
			body(`<outline text="Bookmarks Menu"><outline type="link" text="A" url="https://a.example/" description="" keyword="k" /><outline type="link" text="B" url="https://b.example/" description="about" keyword="" /></outline>`),
			"[Bookmarks Menu]\n A <https://a.example/> SHORTCUTURL=k\n B <https://b.example/> \"about\"",
		},
		"a page that was clipped": {body(`<outline text="A page" _note="https://a.example/x" />`), "A page <https://a.example/x>"},
		"a link that holds others": {
			body(`<outline text="F" type="link" url="https://f.example/" description="about"><outline text="G" url="https://g.example/"/><outline text="H" url="https://h.example/"/></outline>`),
			"[F]\n F <https://f.example/> \"about\"\n G <https://g.example/>\n H <https://h.example/>",
		},
		"empty folders, a blank line, categories of a folder": {body(`<outline text="E"/><outline text=""/><outline text="K" category="a,b"/>`), "[E]\n---\n[K] LABELS=a,b"},
		"two texts about it":        {body(`<outline text="A" url="a" description="d" _note="n"/><outline text="B" url="b" description="d" _note=" d "/>`), "A <a> \"d\\n\\nn\"\nB <b> \"d\""},
		"other attributes":          {body(`<outline text="A" url="a" isOpen="true" custom="x" on_load="y" bad.name="z"/>`), "A <a> CUSTOM=x"},
		"an old one without a head": {`<!-- made by hand --><OPML VERSION="1.0"><BODY><OUTLINE TEXT="A" URL="a"/></BODY></OPML>`, "A <a>"},
		"nothing in it":             {body(""), ""},
		"not closed":                {`<opml><body><outline text="F"><outline text="A" url="a"/></body></opml>`, "[F]\n A <a>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
			if got := outline(readAll(t, iotest.OneByteReader(strings.NewReader(test.in)))); got != test.want {
				t.Errorf("a byte at a time:\n got %q", got)
			}
		})
	}
}

func TestReadsOPMLDetails(t *testing.T) {
	entries := readAll(t, strings.NewReader("<opml><body>\n<outline text=\"F\" created=\"Mon, 31 Oct 2005 18:21:33 GMT\">\n\n<outline text=\"A\"\n url=\"a\" created=\"Mon, 7 Nov 2005 18:21:33 GMT\"/>\n<outline url=\"b\" created=\"whenever\"/></outline></body></opml>"))
	folder, a, b := entries[0], entries[1], entries[2]
	if folder.Line != 2 || a.Line != 4 || b.Line != 6 || b.Index != 1 || b.Parent != folder.Number {
		t.Errorf("%+v", entries)
	}
	if !folder.CreatedAt.Equal(time.Date(2005, 10, 31, 18, 21, 33, 0, time.UTC)) || !a.CreatedAt.Equal(time.Date(2005, 11, 7, 18, 21, 33, 0, time.UTC)) {
		t.Errorf("dates %v, %v", folder.CreatedAt, a.CreatedAt)
	}
	if len(b.Issues) != 1 || b.Issues[0].Code != api.IssueDateUnreadable {
		t.Errorf("issues %v", b.Issues)
	}
}

func TestReadsPosts(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"Pinboard": {
			`<?xml version="1.0" encoding="UTF-8"?>
<posts user="someone">
<post href="https://a.example/?a=1&amp;b=2" time="2016-02-25T20:55:48Z" description="A &lt;b&gt;" extended="one&#10;two" tag="x y,z" hash="h" meta="m" shared="no" toread="yes" />
<post href="https://b.example/" description="" extended="" tag="" others="7" shared="yes"></post>
</posts>`,
			"A <b> <https://a.example/?a=1&b=2> #x #y,z \"one\\ntwo\" PRIVATE=1 TOREAD=1\n <https://b.example/> PRIVATE=0",
		},
		"Delicious": {
			`<?xml version='1.0' standalone='yes'?><posts update="2009-07-04T12:37:11Z" user="someone" tag="" total="2"><post description='A' extended='' hash='h' href='a' private='no' tag='system:unfiled' time='2009-07-04T12:37:11Z'/><post href='b' tag='x system:filetype:pdf'/></posts>`,
			"A <a>\n <b> #x #system:filetype:pdf",
		},
		"none": {`<posts/>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(strings.NewReader(test.in))
			if err != nil || reader.Format() != exchange.PinboardXML {
				t.Fatalf("%v", err)
			}
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
	entries := readAll(t, strings.NewReader("<posts>\n<post\nhref=\"a\" time=\"2016-02-25T20:55:48Z\"/>\n<post href=\"b\" time=\"x\"/></posts>"))
	a, b := entries[0], entries[1]
	if a.Line != 2 || b.Line != 4 || !a.CreatedAt.Equal(time.Date(2016, 2, 25, 20, 55, 48, 0, time.UTC)) || len(b.Issues) != 1 {
		t.Errorf("%+v, %+v", a, b)
	}
}
