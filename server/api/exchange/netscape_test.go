package exchange_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"bm/server/api/exchange"
)

func readAll(t testing.TB, r io.Reader) []*exchange.Entry {
	t.Helper()
	reader, err := exchange.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	var all []*exchange.Entry
	for e, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// outline shows entries one a line, each below its folder: [folder], title
// <url>, then #tags, "description" and NAME=extra where there are any; ---
// is a separator.
func outline(entries []*exchange.Entry) string {
	depth := map[int]int{exchange.Root: 0}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(strings.Repeat(" ", depth[e.Parent]))
		switch e.Kind {
		case exchange.Folder:
			depth[e.Number] = depth[e.Parent] + 1
			fmt.Fprintf(&b, "[%s]", e.Title)
		case exchange.Separator:
			b.WriteString("---")
		case exchange.Bookmark:
			fmt.Fprintf(&b, "%s <%s>", e.Title, e.URL)
		}
		for _, tag := range e.Tags {
			b.WriteString(" #" + tag)
		}
		if e.Description != "" {
			fmt.Fprintf(&b, " %q", e.Description)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
			fmt.Fprintf(&b, " %s=%s", name, e.Extra[name])
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const doctype = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n"

func TestReadsHTMLAsItIsWritten(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"nothing closes": {
			`<DL><DT><H3>F<DL><DT><A HREF=a>A<DD>about a<DT><A HREF=b>B<DT><H3>G<DD>about g<DL><DT><A HREF=c>C`,
			"[F]\n A <a> \"about a\"\n B <b>\n [G] \"about g\"\n  C <c>",
		},
		"no list, no doctype": {
			`<DT><A HREF="a">A</A><DT><A HREF="b">B</A>`, "A <a>\nB <b>",
		},
		"several roots": {
			doctype + `<H1>One</H1><DL><p><DT><A HREF="a">A</A></DL><p><H1>Two</H1><DL><p><DT><A HREF="b">B</A></DL><p></DL></DL><DT><A HREF=c>C</A>`,
			"A <a>\nB <b>\nC <c>",
		},
		"folders next to each other": {
			`<DL><p><DT><H3>F</H3><DL><p></DL><p><DT><H3>F</H3><DL><p><DT><A HREF="a">A</A></DL><p><DT><H3>No list</H3><DT><A HREF="b">B</A></DL>`,
			"[F]\n[F]\n A <a>\n[No list]\nB <b>",
		},
		"a folder at the end": {`<DL><DT><H3>F`, "[F]"},
		"separators": {
			`<DL><HR><DT><A HREF=a>A</A><DT><HR><DT><H3>F</H3><DL><HR></DL></DL>`, "---\nA <a>\n---\n[F]\n ---",
		},
		"names with commas, slashes and markup": {
			`<DL><DT><H3>a/b, <b>c</b> &amp; d&lt;e&gt;</H3><DL><DT><A HREF=a>x <i>y</i><br>z &#8212; &eacute;</A></DL>`,
			"[a/b, c & d<e>]\n x y z — é <a>",
		},
		"white space in titles": {
			"<DT><A HREF=a>\n  Two\n\t lines,  two spaces </A>", "Two lines,  two spaces <a>",
		},
		"attributes of all sorts": {
			"<DT><A FOO bar=1 BAR=2 HREF = 'a&amp;b=1&copy=2'\n TAGS\n=\"x,y\" baz=\"l1\nl2\" ICON=\"data:x\" ICON_URI=u ON_LOAD=z private>A</A>",
			"A <a&b=1&copy=2> #x #y BAR=1 BAZ=l1\nl2 FOO= ICON_URI=u ON_LOAD=z PRIVATE=",
		},
		"two HREFs": {`<DT><A HREF=a HREF=b>A</A>`, "A <a>"},
		"URLs of all sorts": {
			`<DT><A HREF="javascript:alert('&quot;')">J</A><DT><A HREF="place:sort=8">P</A><DT><A HREF="">E</A><DT><A>N</A><DT><A HREF="  /x ">R</A><DT><A HREF="data:text/html,<b>x">D</A>`,
			"J <javascript:alert('\"')>\nP <place:sort=8>\nE <>\nN <>\nR </x>\nD <data:text/html,<b>x>",
		},
		"entities are decoded once": {
			`<DT><A HREF="a?x=&amp;amp;">&amp;lt;b&amp;gt;</A><DD>&amp;#8230;`, "&lt;b&gt; <a?x=&amp;> \"&#8230;\"",
		},
		"descriptions": {
			"<DT><A HREF=a>A</A>\n<DD>one\ntwo<br>three<p>four\n<DD>five\n<DT><A HREF=b>B</A><DD>\n<DT><A HREF=c>C</A><DD></DD>",
			"A <a> \"one\\ntwo\\nthree\\nfour\\nfive\"\nB <b>\nC <c>",
		},
		"links in a description": {
			`<DT><A HREF=a>A</A><DD>see <a href="x">X</a>, <a href=y>y</a> and <a href=z><img src=i></a><DT><A HREF=b>B</A>`,
			"A <a> \"see X (x), y and z\"\nB <b>",
		},
		"a list without DT": {
			`<DL><A HREF=a>A</A><DD>about a<A HREF=b>B</A></DL>`, "A <a> \"about a\"\nB <b>",
		},
		"tags": {
			`<DT><A HREF=a TAGS=" x , two words ,,y">A</A><DT><A HREF=b TAGS="x|y z">B</A><DT><A HREF=c TAGS="">C</A><DT><A HREF=d TAGS="one tag">D</A><DT><A HREF=e TAGS="p q" PRIVATE=0>E</A><DT><A HREF=f LABELS="l,m">F</A><DT><A HREF=g TAGS="t" LABELS="l">G</A>`,
			"A <a> #x #two words #y\nB <b> #x #y z\nC <c>\nD <d> #one tag\nE <e> #p #q PRIVATE=0\nF <f> #l #m\nG <g> #t LABELS=l",
		},
		"text that looks like markup": {
			`<DT><A HREF=a>How to use <title> and <script></A><DT><A HREF=b>a < b && c > d, I <3 it</A><DD><textarea><style><DT><A HREF=c>C</A>`,
			"How to use  and <a>\na < b && c > d, I <3 it <b>\nC <c>",
		},
		"a comment": {`<DT><!-- <A HREF=x>X</A> --><A HREF=a>A<!--y--></A>`, "A <a>"},
		"a comment that nothing closes": {
			"<DT><A HREF=a>A <!-- odd</A>\n<DT><A HREF=b>B <!-- <!-- </A><DD>d", "A  odd <a>\nB <b> \"d\"",
		},
		"XHTML": {
			`<dl><dt><h3 folded="">F</h3><dd>about</dd><dl><dt><a href="a" tags="x"/>A</dt></dl><hr/></dl>`, "[F] \"about\" FOLDED=\n A <a> #x\n---",
		},
		"a description as an attribute": {
			`<DT><A HREF=a DESCRIPTION="d1">A</A><DT><A HREF=b DESCRIPTION="d2">B</A><DD>other`, "A <a> \"d1\"\nB <b> \"other\" DESCRIPTION=d2",
		},
		"Pocket": {
			`<!DOCTYPE html><html><title>Export</title><h1>Unread</h1><ul><li><a href="a" time_added="1500000000" tags="x,y">A</a></li><li><a href="b" time_added="1500000001" tags="">B</a></li></ul><h1>Read Archive</h1><ul><li><a href="c" time_added="1500000002" tags="">C</a></li></ul></html>`,
			"A <a> #x #y STATUS=unread\nB <b> STATUS=unread\nC <c> STATUS=archive",
		},
		"linkding": {
			`<DT><A HREF=a PRIVATE="0" TOREAD="1" TAGS="x,two">A</A><DD>about[linkding-notes]my
notes[/linkding-notes]<DT><A HREF=b PRIVATE="1" TOREAD="0" TAGS="">B</A><DD>[linkding-notes]notes alone<DT><A HREF=c>C</A><DD>[linkding-notes]`,
			"A <a> #x #two \"about\\n\\nmy\\nnotes\" PRIVATE=0 TOREAD=1\nB <b> \"notes alone\" PRIVATE=1 TOREAD=0\nC <c> \"[linkding-notes]\"",
		},
		"too many ends": {`</DL></A></H3></DD><DT></DT><A HREF=a>A</A></DL></DL><DT><A HREF=b>B`, "A <a>\nB <b>"},
		"empty":         {"", ""},
		"blank":         {"\n\n ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
			slow := readAll(t, iotest.OneByteReader(strings.NewReader(test.in)))
			if got := outline(slow); got != test.want {
				t.Errorf("a byte at a time:\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestReadsPlaces(t *testing.T) {
	for name, in := range map[string]string{
		"LF":   "<DL>\n<DT><A\n HREF=a>A\n</A>\n<!--\n-->\n<DT><H3>F</H3>\n<DL><DT><A HREF=b>B</A></DL><HR>\n<DT><A HREF=c>C</A>",
		"CRLF": "<DL>\r\n<DT><A\r\n HREF=a>A\r\n</A>\r\n<!--\r\n-->\r\n<DT><H3>F</H3>\r\n<DL><DT><A HREF=b>B</A></DL><HR>\r\n<DT><A HREF=c>C</A>",
		"CR":   "<DL>\r<DT><A\r HREF=a>A\r</A>\r<!--\r-->\r<DT><H3>F</H3>\r<DL><DT><A HREF=b>B</A></DL><HR>\r<DT><A HREF=c>C</A>",
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range readAll(t, strings.NewReader(in)) {
				got = append(got, fmt.Sprintf("%d:%s/%d@%d,%d", e.Kind, e.Title, e.Index, e.Line, e.Order))
			}
			want := "2:A/0@2,1024 1:F/1@7,2048 2:B/1@8,1024 3:/2@8,3072 2:C/2@9,4096"
			if strings.Join(got, " ") != want {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, " "), want)
			}
		})
	}
}

func TestReadsEncodings(t *testing.T) {
	const text = doctype + "%s<DL><DT><A HREF=\"é\">Crème – “brûlée” €</A>\n<DD>Ünïcode\n<DT><A HREF=b>plain</A></DL>"
	const want = "Crème – “brûlée” € <é> \"Ünïcode\"\nplain <b>"
	meta := func(charset string) string {
		return fmt.Sprintf(text, `<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=`+charset+`">`+"\n")
	}
	encode := func(in string, with interface{ String(string) (string, error) }) string {
		out, err := with.String(in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	windows := charmap.Windows1252.NewEncoder()
	for name, in := range map[string]string{
		"UTF-8":                          meta("UTF-8"),
		"UTF-8 with a mark":              "\ufeff" + meta("UTF-8"),
		"UTF-8 that says windows-1252":   meta("windows-1252"),
		"UTF-8 that says nothing":        fmt.Sprintf(text, ""),
		"windows-1252":                   encode(meta("windows-1252"), windows),
		"windows-1252 that says UTF-8":   encode(meta("UTF-8"), windows),
		"windows-1252 that says nothing": encode(fmt.Sprintf(text, ""), windows),
		"windows-1252 that says latin1":  encode(meta("iso-8859-1"), windows),
		"an unknown charset":             encode(meta("klingon"), windows),
		"UTF-16 LE":                      encode(meta("UTF-16"), unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()),
		"UTF-16 BE":                      encode(meta("UTF-16"), unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder()),
		"UTF-16 without a mark":          encode(meta("UTF-16"), unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder()),
		"UTF-16 BE without a mark":       encode(meta("UTF-16"), unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder()),
	} {
		t.Run(name, func(t *testing.T) {
			if got := outline(readAll(t, strings.NewReader(in))); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
	t.Run("Shift JIS", func(t *testing.T) {
		in := encode(doctype+`<META CHARSET="Shift_JIS">`+"\n<DT><A HREF=a>東京タワー</A>", japanese.ShiftJIS.NewEncoder())
		if got := outline(readAll(t, strings.NewReader(in))); got != "東京タワー <a>" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("windows-1251", func(t *testing.T) {
		in := encode(doctype+`<META CHARSET=windows-1251>`+"\n<DT><A HREF=a>Новости</A>", charmap.Windows1251.NewEncoder())
		if got := outline(readAll(t, strings.NewReader(in))); got != "Новости <a>" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("one line cut within a character", func(t *testing.T) {
		in := doctype + "<DT><A HREF=a>Ünïcödé \xc3</A>\n<DT><A HREF=b>naïve</A>"
		if got := outline(readAll(t, strings.NewReader(in))); got != "Ünïcödé \xc3 <a>\nnaïve <b>" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a line with more broken than whole", func(t *testing.T) {
		in := doctype + "<META CHARSET=utf-8>\n<DT><A HREF=a>ok \xff\xfe bad ü</A>"
		if got := outline(readAll(t, strings.NewReader(in))); got != "ok \xff\xfe bad ü <a>" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a line of megabytes", func(t *testing.T) {
		in := doctype + strings.Repeat("<DT><A HREF=a>"+strings.Repeat("é", 99)+"</A>", 20_000)
		entries := readAll(t, strings.NewReader(in))
		if len(entries) != 20_000 {
			t.Fatalf("%d entries", len(entries))
		}
		for _, e := range entries {
			if e.Title != strings.Repeat("é", 99) {
				t.Fatalf("entry %d: %q", e.Index, e.Title)
			}
		}
	})
}

func TestUnknownFormats(t *testing.T) {
	for name, in := range map[string]string{
		"text":          "https://go.dev\n",
		"another table": "name,age\nAda,36\n",
		"a word":        "links\n",
		"a binary":      "\x7fELF\x02\x01\x01\x00",
		"RSS":           `<?xml version="1.0"?><rss version="2.0"><channel><title>F</title><link>a</link></channel></rss>`,
		"a plist":       `<?xml version="1.0"?><plist version="1.0"><dict><key>CFBundleName</key><string>&lt;a href</string></dict></plist>`,
		"a page":        `<html><body><p>Hello</p></body></html>`,
		"other JSON":    `{"name":"x","items":[{"url":"https://go.dev"}]}`,
		"a JSON array":  `[{"name":"x"},{"url":"https://go.dev"}]`,
		"numbers":       `[1,2]`,
		"broken JSON":   `{"folders`,
		"empty JSON":    `{}`,
		"folders a map": `{"folders":{}}`,
	} {
		if _, err := exchange.NewReader(strings.NewReader(in)); !errors.Is(err, exchange.ErrUnknownFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := exchange.NewReader(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("an error of the file: %v", err)
	}
}

func TestOverlongTagEndsReading(t *testing.T) {
	in := io.MultiReader(strings.NewReader(doctype+"<DT><A HREF=a>A</A>\n\n<DT><A HREF=\""), io.LimitReader(zeros{}, 40<<20))
	reader, err := exchange.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := reader.Next(); err != nil || e.Title != "A" {
		t.Fatalf("%v, %v", e, err)
	}
	_, err = reader.Next()
	var bad *exchange.SyntaxError
	if !errors.As(err, &bad) || bad.Line != 4 {
		t.Errorf("%v", err)
	}
	if _, again := reader.Next(); !errors.Is(again, err) {
		t.Errorf("the second time: %v", again)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
