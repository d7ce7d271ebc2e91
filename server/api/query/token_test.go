package query_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"bm/server/api/exchange/exchangetest"
	"bm/server/api/query"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":              "",
		"Hello, World!": "hello world",
		"Ørsted Łódź Straße Ærø İstanbul ısı ﬁn": "orsted lodz strasse aero istanbul isi fin",
		"Crème BRÛLÉE":                         "creme brulee",
		"Cre\u0300me bru\u0302le\u0301e":       "creme brulee",
		"Ångström Đorđe Þór":                   "angstrom dorde thor",
		"ΣΊΣΥΦΟΣ σίσυφος":                      "σισυφοσ σισυφοσ",
		"Ёлка Йод":                             "елка иод",
		"مُحَمَّد أحمد":                        "محمد احمد",
		"東京都":                                  "東京 京都 @ 都",
		"東":                                    "東",
		"Go言語入門 book":                          "go 言語 語入 入門 book @ 門",
		"東京タワー":                                "東京 京タ タワ ワー @ ー",
		"ﾊﾟﾝ パン ハ\u309aン":                      "パン パン パン @ ン ン ン",
		"한국어":                                  "한국 국어 @ 어",
		"\u1112\u1161\u11ab\u1100\u116e\u11a8": "한국 @ 국",
		"ㅋㅋ":                                   "ㅋㅋ @ ㅋ",
		"ภาษา":                                 "ภา าษ ษา @ า",
		"C++ and c#":                           "c++ and c# @ c c",
		"C++17":                                "c++ 17 @ c",
		"Notepad++ 8":                          "notepad++ 8 @ notepad",
		"a+b page#part":                        "a b page part",
		"café+":                                "cafe+ @ cafe",
		"cafe\u0301#":                          "cafe# @ cafe",
		"+++ ### c++++":                        "c",
		"node.js foo_bar v1.2.3":               "node js foo bar v1 2 3",
		"don't l'été":                          "don t l ete",
		"🚀 launch👍🏽!":                          "🚀 launch 👍",
		"👨\u200d👩\u200d👧":                      "👨 👩 👧",
		"①Ⅳ½ ２０２４":                             "1iv1 2 2024",
		"a\xffb":                               "a b",
		"x\u00adyz zero\u200bwidth":            "xyz zerowidth",
		"١٢٣ ۴":                                "123 4",
		"@scope me@example.com":                "scope me example com",
	} {
		got := strings.Join(query.Tokens(text), " ")
		if got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
		if index := query.NewIndex(query.Document{Title: text}).Title; index != got {
			t.Errorf("%q is indexed as %q, its tokens are %q", text, index, got)
		}
	}
}

func TestLongTokensAreCutAlike(t *testing.T) {
	long := strings.Repeat("é", 200) + strings.Repeat("x", 200)
	tokens := query.Tokens(long)
	if len(tokens) != 1 || len(tokens[0]) != 128 {
		t.Errorf("%d tokens, the first of %d bytes", len(tokens), len(tokens[0]))
	}
}

func TestURLText(t *testing.T) {
	for raw, want := range map[string]string{
		"https://www.example.com/docs/some-article_name.html?id=42#top": "www example com docs some article name html id 42 top @com.example.www.",
		"HTTP://Example.org": "example org @org.example.",
		"https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC": "ja wikipedia org wiki 東京 @ 京 @org.wikipedia.ja.",
		"https://xn--bcher-kva.example/x":                  "bucher example x @example.xn--bcher-kva.",
		"https://go.dev/100%/%zz%41":                       "go dev 100 zza @dev.go.",
		"javascript:void(0)":                               "javascript void 0",
		"":                                                 "",
	} {
		if got := query.NewIndex(query.Document{URL: raw}).URL; got != want {
			t.Errorf("%q\n got %q\nwant %q", raw, got, want)
		}
	}
}

func TestHostKey(t *testing.T) {
	for raw, want := range map[string]string{
		"https://www.Example.com/x":                   "com.example.www.",
		"http://u:p@example.com:8080":                 "com.example.",
		"https://bücher.example/":                     "example.xn--bcher-kva.",
		"https://example.com./":                       "com.example.",
		"http://[::1]:80/":                            "[::1].",
		"http://localhost?x":                          "localhost.",
		"ftp://example.com/":                          "",
		"javascript:1":                                "",
		"?relative":                                   "",
		"https://" + strings.Repeat("a.", 200) + "b/": "", // too long for a host
		"http://it's/":                                "",
	} {
		got := query.HostKey(raw)
		if got != want {
			t.Errorf("HostKey(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestTSVector(t *testing.T) {
	x := query.NewIndex(query.Document{
		Title: "C++ 東京都", Tags: []string{"Go", "machine learning"}, URL: "https://go.dev/", Description: "d",
	})
	if want := (query.Index{Title: "c++ 東京 京都 @ c 都", Tags: "go machine learning", URL: "go dev @dev.go.", Description: "d"}); x != want {
		t.Errorf("index %+v", x)
	}
	want := "'@abc' 'c++':1A '東京':2A '京都':3A 'c':5A '都':6A 'go':23B 'machine':24B 'learning':25B 'go':42C 'dev':43C '@dev.go.':44C 'd':61D"
	if got := x.TSVector(query.ScopeToken("a-b-c")); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestIndexIsBounded(t *testing.T) {
	words := strings.Repeat("word ", 20_000)
	x := query.NewIndex(query.Document{Title: words, Tags: []string{words}, URL: words, Description: words})
	n := 0
	for _, field := range []string{x.Title, x.Tags, x.URL, x.Description} {
		n += len(strings.Fields(field))
	}
	if n != 16_000 {
		t.Errorf("%d tokens", n)
	}
	if v := x.TSVector(""); !strings.Contains(v, "'word':16048D") {
		t.Errorf("ends in %s", v[len(v)-40:])
	}
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"C++ 東京都 é ﾊﾟ", "a+#+# \xff\u0301", "ก\u1100\u1161", "👨\u200d👩"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := query.Tokens(text)
		for _, tok := range tokens {
			if tok == "" || len(tok) > 128 || !utf8.ValidString(tok) || strings.ContainsAny(tok, " '\\\"\x00()*:") {
				t.Fatalf("%q yields the token %q", text, tok)
			}
		}
		if main := untilMark(tokens); !reflect.DeepEqual(untilMark(query.Tokens(strings.Join(main, " "))), main) && utf8.ValidString(text) {
			t.Fatalf("the tokens %q of %q do not tokenize to themselves: %q", main, text, query.Tokens(strings.Join(main, " ")))
		}
	})
}

func untilMark(tokens []string) []string {
	for i, tok := range tokens {
		if tok == "@" {
			return tokens[:i]
		}
	}
	return tokens
}

func BenchmarkNewIndex(b *testing.B) {
	var docs []query.Document
	for _, m := range exchangetest.Make(1, 2000).Bookmarks {
		docs = append(docs, query.Document{Title: m.Title, Tags: m.Tags, URL: m.URL, Description: m.Description})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		query.NewIndex(docs[i%len(docs)])
	}
}
