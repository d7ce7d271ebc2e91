package exchange_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"bm/server/api/exchange"
)

// safariFar has entries to be rejected, and others.
var safariFar = dict{
	{"Children", list{
		dict{{"Children", list{leaf("https://far.example/1", "<One>"), leaf("b", "B")}}, {"Title", "BookmarksBar"}, {"WebBookmarkType", "WebBookmarkTypeList"}},
		dict{{"Children", list{}}, {"Title", "F & G"}, {"WebBookmarkType", "WebBookmarkTypeList"}},
		dict{{"Children", list{leaf("a", "A"), dict{{"Children", list{dict{
			{"ReadingList", dict{{"DateAdded", safariSaved}, {"PreviewText", "one\ntwo"}}},
			{"bytes", []byte{1, 255}},
			{"half", 0.5},
			{"no", false},
			{"yes", true},
			{"n", 7},
			{"list", list{"x"}},
			{"URLString", "https://far.example/2"},
			{"WebBookmarkType", "WebBookmarkTypeLeaf"},
		}}}, {"Title", "Deep"}}}}, {"Title", "F & G"}, {"WebBookmarkType", "WebBookmarkTypeList"}},
		leaf("https://far.example/3", "Three"),
	}},
	{"WebBookmarkType", "WebBookmarkTypeList"},
}

const safariFarOutline = "[Favorites]\n <One> <https://far.example/1>\n[F & G]\n[F & G]\n [Deep]\n   <https://far.example/2> \"one\\ntwo\"\nThree <https://far.example/3>"

func TestRejectsOfXMLAreReadAgain(t *testing.T) {
	const far = "https://far.example/"
	for name, test := range map[string]struct{ in, want string }{
		"XBEL": {
			`<xbel><folder><title>F</title><bookmark href="a"/></folder><folder added="2000-01-01"><title>F &amp; G</title><desc>about</desc><folder><title>Deep</title>
			<bookmark id="one" href="` + far + `1" added="x"><title><![CDATA[<One>]]></title><info><metadata owner="bm"><tag>x</tag></metadata></info>
			<desc>and
more</desc></bookmark><bookmark href="b"/></folder></folder><folder><title>F</title><alias ref="one"/></folder><separator/><bookmark href="` + far + `2"/><bookmark href="` + far + `3"><title>Three</xbel>`,
			"[F & G]\n [Deep]\n  <One> <" + far + "1> #x \"and\\nmore\"\n[F]\n[F]\n <One> <" + far + "1> #x \"and\\nmore\"\n <" + far + "2>\nThree <" + far + "3>",
		},
		"XBEL without ends": {
			`<xbel><folder><title>F<bookmark href="` + far + `1"><title>One<bookmark href="` + far + `2"><desc>two<separator></separator></folder></xbel>`,
			"[F]\n One <" + far + "1>\n  <" + far + "2> \"two\"",
		},
		"XBEL of a name that XML cannot hold": {
			`<xbel><folder><title>?</title><info><metadata owner="bm"><title json="yes">"F\u0001"</title></metadata></info><bookmark href="` + far + `1"/></folder></xbel>`,
			"[F\x01]\n  <" + far + "1>",
		},
		"OPML": {
			`<opml><body><outline text="F"><outline text="A" url="a"/></outline><outline text="F &amp; &quot;G&quot;"><outline text="One" xmlUrl="` + far + `1" custom="&#10;"></outline></outline>
			<outline text="F"><outline text="Two" url="` + far + `2"><outline text="B" url="b"/></outline></outline><Outline URL='` + far + `3' text='x'/></body></opml>`,
			"[F & \"G\"]\n One <" + far + "1> CUSTOM=\n FEEDURL=" + far + "1\n[F]\n[F]\n [Two]\n  Two <" + far + "2>\nx <" + far + "3>",
		},
		"OPML of a folder that leads somewhere": {
			`<opml><body><outline text="https://a.example/"><outline text="One" url="` + far + `1"/></outline></body></opml>`,
			"[https://a.example/]\n One <" + far + "1>",
		},
		"Pinboard": {
			`<posts user="x"><post href="a"/><post href="` + far + `1" description="&lt;One&gt;" tag="x y" time="2000-01-01T00:00:00Z" shared="no"/><post href="` + far + `2"></post></posts>`,
			"<One> <" + far + "1> #x #y PRIVATE=1\n <" + far + "2>",
		},
		"Safari":         {xmlPlist(safariFar), safariFarOutline},
		"Safari, binary": {binaryPlist(safariFar, 2), safariFarOutline},
	} {
		t.Run(name, func(t *testing.T) {
			rejected := rejectedBy(t, test.in, func(e *exchange.Entry) bool { return strings.HasPrefix(e.URL, far) })
			if got := outline(readAll(t, strings.NewReader(rejected))); got != test.want {
				t.Errorf("\n got %s\nwant %s\nin %s", got, test.want, rejected)
			}
			if err := xml.Unmarshal([]byte(rejected), new(struct{})); err != nil {
				t.Errorf("a strict reader says %v of %s", err, rejected)
			}
		})
	}
}
