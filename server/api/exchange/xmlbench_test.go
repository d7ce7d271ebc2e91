package exchange_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
)

// xmlFiles are a collection in each of the formats in XML, and in Safari's binary
// one.
func xmlFiles(b testing.TB, c *exchangetest.Collection) map[string]string {
	b.Helper()
	var xbel bytes.Buffer
	if err := exchange.WriteXBEL(&xbel, c.Source()); err != nil {
		b.Fatal(err)
	}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
	var opml, posts strings.Builder
	opml.WriteString("<opml version=\"2.0\"><body>\n")
	posts.WriteString("<posts>\n")
	leaves := make(list, len(c.Bookmarks))
	for i := range c.Bookmarks {
		mark := &c.Bookmarks[i]
		url, title, about, tags := escape.Replace(mark.URL), escape.Replace(mark.Title), escape.Replace(mark.Description), escape.Replace(strings.Join(mark.Tags, " "))
		fmt.Fprintf(&opml, "<outline type=\"link\" text=\"%s\" url=\"%s\" description=\"%s\" category=\"%s\"/>\n", title, url, about, tags)
		fmt.Fprintf(&posts, "<post href=\"%s\" time=\"%s\" description=\"%s\" extended=\"%s\" tag=\"%s\" hash=\"\"/>\n", url, mark.CreatedAt, title, about, tags)
		leaves[i] = leaf(mark.URL, mark.Title)
	}
	opml.WriteString("</body></opml>\n")
	posts.WriteString("</posts>\n")
	safari := dict{{"Children", leaves}, {"WebBookmarkType", "WebBookmarkTypeList"}}
	return map[string]string{
		"XBEL": xbel.String(), "OPML": opml.String(), "Pinboard": posts.String(),
		"Safari": xmlPlist(safari), "Safari, binary": binaryPlist(safari, 4),
	}
}

func BenchmarkReadXML(b *testing.B) {
	for name, file := range xmlFiles(b, exchangetest.Make(1, 100_000)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				if n := count(b, strings.NewReader(file)); n != 100_000 {
					b.Fatalf("%d entries", n)
				}
			}
		})
	}
}

// For scale: what the standard library's parser takes for the tokens alone.
func BenchmarkXMLTokens(b *testing.B) {
	file := xmlFiles(b, exchangetest.Make(1, 100_000))["XBEL"]
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		dec := xml.NewDecoder(strings.NewReader(file))
		for {
			if _, err := dec.RawToken(); err != nil {
				break
			}
		}
	}
}

func BenchmarkWriteXBEL(b *testing.B) {
	c := exchangetest.Make(1, 100_000)
	for b.Loop() {
		if err := exchange.WriteXBEL(io.Discard, c.Source()); err != nil {
			b.Fatal(err)
		}
	}
}

// A single attribute or text has a bound.
func TestOverlongXMLEndsReading(t *testing.T) {
	for name, test := range map[string]struct {
		format exchange.Format
		head   string
	}{
		"an attribute of XBEL": {exchange.XBEL, "<xbel><bookmark href=\"a\"/>\n\n<bookmark href=\""},
		"a text of XBEL":       {exchange.XBEL, "<xbel><bookmark href=\"a\"/>\n\n<bookmark href=\"b\"><title>"},
		"an attribute of OPML": {exchange.OPML, "<opml><body><outline url=\"a\"/>\n\n<outline text=\""},
		"a post":               {exchange.PinboardXML, "<posts><post href=\"a\"/>\n\n<post href=\""},
		"a text of Safari":     {exchange.SafariPlist, "<plist><dict><key>WebBookmarkType</key><string>x</string><key>Children</key><array><dict><key>URLString</key><string>a</string></dict>\n\n<dict><key>URLString</key><string>"},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(io.MultiReader(strings.NewReader(test.head), io.LimitReader(zeros{}, 40<<20)))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reader.Close() }()
			if e, err := reader.Next(); err != nil || e.URL != "a" {
				t.Fatalf("%+v, %v", e, err)
			}
			for err == nil {
				_, err = reader.Next() // what the file ends in may be handed out
			}
			var bad *exchange.SyntaxError
			if !errors.As(err, &bad) || bad.Line != 3 || bad.Format != test.format || !strings.Contains(err.Error(), "32 MiB") {
				t.Errorf("%.200v", err)
			}
		})
	}
}
