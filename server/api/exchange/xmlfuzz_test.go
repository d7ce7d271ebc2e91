package exchange_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"slices"
	"strings"
	"testing"

	"bm/server/api/exchange"
)

func FuzzXBEL(f *testing.F) {
	for _, seed := range []string{
		`<folder folded="yes" id="f"><title>F</title><info><metadata owner="bm"><title json="yes">"F\u0001"</title><extra name="A">b</extra></metadata></info><desc>d</desc><bookmark id="b" href="a" added="2000-01-01T00:00:00.5Z" visited="1"><title>A &amp; &eacute;</title><desc><![CDATA[x]]></desc></bookmark><separator/></folder>`,
		`<bookmark href='a'><title>A<bookmark href=b><!-- x --><info><metadata owner="http://freedesktop.org"><bookmark:icon href="http://a/"/></metadata><metadata owner="http://www.kde.org"><time_added>1</time_added></metadata>`,
		`<alias ref="x"/><bookmark id="x" href="a"/><alias ref="y">`, `</xbel><folder/>`, `<?x ?><!DOCTYPE x [<!ENTITY a "b">]>&a;`,
		"<bookmark href=\"\x01\xff\"><title>\x08</title><tag/></bookmark><x:folder>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkXML(t, exchange.XBEL, "<xbel>"+string(body)) })
}

func FuzzOPML(f *testing.F) {
	for _, seed := range []string{
		`<outline text="F"><outline text="A" xmlUrl="a" htmlUrl="b" category="/x/y,z" created="Mon, 31 Oct 2005 18:21:33 GMT" other="1"/></outline>`,
		`<outline TEXT='&lt;a href="x"&gt;A&lt;/a&gt;' _note=n description=d><outline url=b/><outline text="https://a.example/">`, `</body></opml><outline/>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkXML(t, exchange.OPML, "<opml><body>"+string(body)) })
}

func FuzzPosts(f *testing.F) {
	for _, seed := range []string{
		`<post href="a" time="2000-01-01T00:00:00Z" description="A" extended="x" tag="a b system:unfiled" shared="no" toread="yes"/>`, `<post><post href=a tags='x'>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkXML(t, exchange.PinboardXML, "<posts>"+string(body)) })
}

func FuzzSafariXML(f *testing.F) {
	const head = `<plist><dict><key>WebBookmarkType</key><string/>`
	for _, seed := range []string{
		`<key>Children</key><array><dict><key>Children</key><array><dict><key>URLString</key><string>a</string></dict></array><key>Title</key><string>F</string></dict></array></dict></plist>`,
		`<key>Children</key><array><dict><key>URIDictionary</key><dict><key>title</key><string>A</string></dict><key>ReadingList</key><dict><key>DateAdded</key><date>2000-01-01T00:00:00Z</date></dict></dict>`,
		`<key>Children</key><array><dict><key>WebBookmarkType</key><string>WebBookmarkTypeList</string></dict><dict><key>WebBookmarkType</key><string>WebBookmarkTypeProxy</string></dict>`,
		`<key>Children</key><array><dict><key>URLString</key><string>a</array>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkXML(t, exchange.SafariPlist, head+string(body)) })
}

func FuzzSafariBinary(f *testing.F) {
	for _, children := range []list{
		{leaf("a", "A"), dict{{"Children", list{leaf("b", "Ä")}}, {"Title", "F"}}},
		{dict{{"URLString", "c"}, {"ReadingList", dict{{"DateAdded", safariSaved}, {"x", []byte{1}}, {"y", 0.5}, {"z", true}, {"n", 7}, {"l", list{"x"}}}}}},
	} {
		f.Add([]byte(binaryPlist(dict{{"Children", children}, {"WebBookmarkType", ""}}, 1)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if bytes.HasPrefix(file, []byte("bplist0")) && bytes.Contains(file[:min(len(file), 60_000)], []byte("WebBookmark")) {
			checkXML(t, exchange.SafariPlist, string(file))
		}
	})
}

// checkXML reads a file that may be damaged. Whatever it holds, reading ends; what
// was read is, rejected as a whole, read again; and a strict parser reads what is
// exported of it.
func checkXML(t *testing.T, format exchange.Format, file string) {
	reader, err := exchange.NewReader(strings.NewReader(file), exchange.KeepRaw)
	if errors.Is(err, exchange.ErrUnknownFormat) {
		return // what comes first may make another encoding of it
	}
	if err != nil || reader.Format() != format {
		t.Fatalf("%v of %q", err, file)
	}
	defer func() { _ = reader.Close() }()
	var out strings.Builder
	rejects := reader.Rejects(&out)
	w := &workspace{}
	planner := exchange.NewPlanner(w, exchange.Options{Now: importedAt, NewID: w.newID})
	var marks []*exchange.Entry
	for folders := 0; ; {
		e, err := reader.Next()
		var bad *exchange.SyntaxError
		if err != nil {
			if last := err; !errors.As(err, &bad) && last.Error() != "EOF" {
				t.Fatalf("%v", err)
			}
			break
		}
		if e.Parent < 0 || e.Parent > folders || e.Index != len(marks) {
			t.Fatalf("entry %+v after %d folders and %d bookmarks", e, folders, len(marks))
		}
		step, err := planner.Next(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		w.apply(step)
		switch e.Kind {
		case exchange.Folder:
			if folders++; e.Number != folders {
				t.Fatalf("folder %d has the number %d", folders, e.Number)
			}
		case exchange.Bookmark:
			marks = append(marks, e)
		}
		rejects.Take(exchange.Step{Kind: e.Kind, Entry: e, Verdict: exchange.Rejected})
	}
	if err := rejects.Close(); err != nil {
		t.Fatal(err)
	}
	checkRejected(t, file, out.String(), marks)
	checkExported(t, w)
}

// checkRejected reads bookmarks again that were all rejected. An alias is none
// without what it refers to.
func checkRejected(t *testing.T, file, rejected string, want []*exchange.Entry) {
	if strings.Contains(file, "alias") {
		return
	}
	var got []*exchange.Entry
	for _, e := range readAll(t, strings.NewReader(rejected)) {
		if e.Kind == exchange.Bookmark {
			got = append(got, e)
		}
	}
	same := func(a, b *exchange.Entry) bool {
		return strings.HasPrefix(file, "bplist") || // of which XML cannot hold all
			a.URL == b.URL && a.Title == b.Title && a.Description == b.Description && slices.Equal(a.Tags, b.Tags) && a.CreatedAt.Equal(b.CreatedAt)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Fatalf("of %q\n%s\nis rejected as\n%s\nwhich is\n%s", file, outline(want), rejected, outline(got))
	}
}

func checkExported(t *testing.T, w *workspace) {
	var out bytes.Buffer
	if err := writers["XBEL"](&out, collectionOf(w)); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(out.Bytes(), new(struct{})); err != nil {
		t.Fatalf("a strict parser says %v of\n%s", err, &out)
	}
	again := &workspace{}
	again.importFile(t, out.String(), 0, everything, exchange.Options{})
	if got, want := again.export(t), w.export(t); got != want {
		t.Fatalf("exported\n%s\nwhich, imported and exported again, is\n%s", want, got)
	}
}
