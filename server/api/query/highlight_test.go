package query_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"bm/server/api/query"
)

func TestHighlight(t *testing.T) {
	for _, test := range []struct{ query, text, want string }{
		{"go", "Going to Go", "[Going] to [Go]"},
		{"go tag:x -to", "Going to Go", "[Going] to [Go]"},
		{`"full text"`, "Full-text of a full search", "[Full-text] of a full search"},
		{"lodz", "Visit Łódź!", "Visit [Łódź]!"},
		{"cafe", "Cafe\u0301, café", "[Cafe\u0301], [café]"},
		{"東京", "今日の東京都", "今日の[東京]都"},
		{"京", "東京都と京", "東[京]都と[京]"},
		{"都", "東京都", "東京[都]"},
		{"c++ ", "C++ primer", "[C++] primer"},
		{"c", "C++ primer", "[C++] primer"},
		{"notepad x", "Notepad++", "[Notepad]++"},
		{"node.js", "Node.js and node_js", "[Node.js] and [node_js]"},
		{"a OR b", "b or a", "[b] or [a]"},
		{"x", "nothing", "nothing"},
		{"", "text", "text"},
	} {
		if got := bracketed(test.text, query.Parse(test.query).Highlighter().Text(test.text)); got != test.want {
			t.Errorf("%q in %q: %s, want %s", test.query, test.text, got, test.want)
		}
	}
}

func bracketed(text string, marks []query.Range) string {
	var b strings.Builder
	last := 0
	for _, r := range marks {
		b.WriteString(text[last:r.Start] + "[" + text[r.Start:r.End] + "]")
		last = r.End
	}
	return b.String() + text[last:]
}

// What a URL reads as is searched, and what it is written as is marked.
func TestHighlightOfAURL(t *testing.T) {
	for _, test := range []struct{ query, url, want string }{
		{"dev", "https://go.dev/doc", "https://go.[dev]/doc"},
		{"https", "https://go.dev/https", "https://go.dev/[https]"},
		{"http", " http://http://", " http://[http]://"},
		{"東京", "https://ja.test/wiki/%E6%9D%B1%E4%BA%AC%E9%83%BD", "https://ja.test/wiki/[%E6%9D%B1%E4%BA%AC]%E9%83%BD"},
		{"creme", "https://a.test/cr%C3%A8me?x=%zz", "https://a.test/[cr%C3%A8me]?x=%zz"},
		{"bucher", "https://xn--bcher-kva.test:80/shop", "https://[xn--bcher-kva.test]:80/shop"},
		{"shop", "HTTP://XN--BCHER-KVA.test/shop", "HTTP://XN--BCHER-KVA.test/[shop]"},
		{"ab", "https://xn--ab-7t7daaa.test/", "https://[xn--ab-7t7daaa.test]/"}, // as long as it is read
		{"bookmarklet", "javascript:alert('bookmarklet')", "javascript:alert('[bookmarklet]')"},
		{"x", "", ""},
	} {
		if got := bracketed(test.url, query.Parse(test.query).Highlighter().URL(test.url)); got != test.want {
			t.Errorf("%q: %s, want %s", test.query, got, test.want)
		}
	}
}

func TestHighlightOfWordsThatAreNotSeen(t *testing.T) {
	h := query.Parse(`go holiday "two words" -not OR tag:x`).Highlighter()
	if !h.Tag("X") || h.Tag("go") {
		t.Error("the tag that was asked for is another")
	}
	const text = "go, where two words are on holiday"
	if got := bracketed(text, h.Without("Go", "words two").Text(text)); got != "go, where [two words] are on [holiday]" {
		t.Error(got)
	}
	if left := h.Without("holiday go", "two words"); left != nil {
		t.Errorf("%+v is left", left)
	}
}

// Whatever is asked and whatever a bookmark holds, marks lie within its text, in
// order, and begin and end with a character; and there are some where it is found.
func FuzzHighlight(f *testing.F) {
	for _, seed := range [][2]string{{"go 東京", "Going to 東京都 %E6%9D%B1"}, {"c", "C++"}, {"👩", "👨\u200d👩\u200d👧"}, {"\xff", "\xff\u0301"}, {"ﾌﾟ", "ﾌﾟﾛ"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, asked, text string) {
		q := query.Parse(asked)
		h := q.Highlighter()
		for i, marks := range [][]query.Range{h.Text(text), h.URL(text)} {
			last := -1
			for _, r := range marks {
				if r.Start <= last || r.Start >= r.End || r.End > len(text) {
					t.Fatalf("%q in %q: %v", asked, text, marks)
				}
				last = r.End
				if i == 0 && utf8.ValidString(text) && !utf8.ValidString(text[r.Start:r.End]) {
					t.Fatalf("%q in %q: %v splits a character", asked, text, r)
				}
			}
		}
		term, ok := q.Root.(*query.Term)
		if !ok || len(text) > 2<<10 {
			return
		}
		_, matches := q.Match(query.Row{Index: query.NewIndex(query.Document{Title: text})}, nil)
		if marked := len(h.Text(text)) > 0; marked != matches {
			t.Fatalf("%+v is found in %q: %t, marked: %t", term, text, matches, marked)
		}
	})
}
