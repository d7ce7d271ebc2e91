package exchange_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"bm/server/api/exchange"
)

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
