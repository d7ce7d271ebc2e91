package querytest

import (
	"slices"
	"strings"

	"bm/server/api/query"
)

// Case is a query and what it finds, best first.
type Case struct {
	Query string
	Names []string
}

// Cases are queries by what the contract says of them.
func Cases() []Case {
	cases := make([]Case, 0, len(expected))
	for _, e := range expected {
		cases = append(cases, Case{e[0], strings.Fields(e[1])})
	}
	return cases
}

// expected was worked out by hand.
var expected = [][2]string{
	// Words, all of which must match, in title, description, URL and tags.
	{"go", "a1 a2 a3 a4 a5"}, // title, title prefix, tag prefix before url, url, description
	{`"go"`, "a1 a4 a3 a5"},
	{"golang", "a2 a3"},
	{"example", "a1 e4 b2 b1 a4"},
	{"full text", "e3 e2 e4"},
	{"text search", "e2 e4 e3"},
	{"holiday on", "a5"},
	{"nothing like this", ""},
	// The last word, and word*, match prefixes; others are whole.
	{"gol", "a2 a3"},
	{"gol weekly", ""},
	{"gol* weekly", "a2"},
	{"weekly gol", "a2"},
	{"gol weekly*", ""},
	{"-weekly gol", "a3"},
	// Phrases.
	{`"full text"`, "e2 e4"},
	{`"text full"`, "e3"},
	{`"full tex"`, ""},
	{`"full tex"*`, "e2 e4"},
	{`"holes search"`, ""}, // no phrase goes across fields
	// Case and accents.
	{"orsted", "b1"},
	{"ORSTED", "b1"},
	{"lodz strasse", "b1"},
	{"Łódź", "b1"},
	{"creme", "b2"},
	{"BRÛLÉE recipe", "b2"},
	{"елка", "b3"},
	{"НОВОС", "b3"},
	{"محيط", ""},
	{"المحيط", "b4"},
	{"resume", "b5"},
	{"résumé", "b5"},
	{"re\u0301sume\u0301", "b5"},
	{"fullwidth abc123", "b6"},
	{"ＡＢＣ", "b6"},
	{"tieng viet", "b7"},
	{"Tiếng Việt", "b7"},
	{"nguoi", "b7"},
	{"αθηνα", "b8"},
	{"ΟΔΗΓΌΣ", "b8"},
	{"οδηγοσ", "b8"},
	{"שלום", "b9"},
	{"istanbul", "ba"},
	{"ISTANBUL", "ba"},
	{"İSTANBUL", "ba"},
	{"हिन्दी", "bb"},
	{"مرحبا", "bc"},
	{"123", "bc"},
	{"#عربي", "bc"},
	{"chrome מפות", "bd"},
	// Chinese, Japanese, Korean and Thai: any part of two characters, and one.
	{"東京", "c1 c2"},
	{"京都", "c2 c1"},
	{"京", "c2 c1"},
	{"案内", "c1"},
	{"内", "c1"},
	{"観光案", "c1"},
	{"旅", "c1"},
	{"国어", ""},
	{"국어", "c3"},
	{"한국", "c3"},
	{"维基", "c4"},
	{"维基 encyclop", "c4"},
	{"テスト", "c5"},
	{"プロ", "c5"},
	{"ﾌﾟﾛ", "c5"},
	{"ไทย", "c6"},
	{"ภาษา", "c6"},
	{"한글", "c7"},
	{"글", "c7"},
	{"𠮷野", "c8"},
	{"野家 menu", "c8"},
	// Code.
	{"c++", "df d1"},
	{"C#", "d3"},
	{`"c"`, "df d3 d2 d1"},
	{"c++17", "df"},
	{"x86_64", "df"},
	{"node.js", "d4"},
	{"nodejs", "d4"},
	{"foo_bar", "d7 d4"},
	{"foo-bar", "d7 d4"},
	{"foo", "d7 d8 d4"},
	{"foobar", "d8"},
	{"v1.2.3", "d4"},
	{"v1.2", "d4"},
	{"v1", "db d4"},
	{"v1.10", "db"},
	{"notepad", "d5"},
	{"notepad++", "d5"},
	{".net", "d6"},
	{"@scope/pkg", "d9"},
	{"@scope", "d9"},
	{"jane.doe@mail.test", "da"},
	{"9f8e7d6c", "dc"},
	{"9f8e7d6c5b4a32100123456789abcdef01234567", "dc"},
	{"e7d6c", ""},
	{"2001:db8::1", "dd"},
	{"longlong", "de"},
	{strings.Repeat("long", 50), "de"},
	{`"` + strings.Repeat("long", 50) + `" word`, "de"},
	{`"longlong"`, ""},
	// Emoji.
	{"🚀", "e1"},
	{"launch 🎉", "e1"},
	{"👨\u200d👩\u200d👧", "e5"},
	{"👩", "e5"},
	{"🇫🇷", "e6"},
	{"🇩🇪 flags", "e6"},
	{"👍", "e7"},
	{"👍🏿", "e7"},
	{"❤", "e8"},
	{"❤\ufe0f", "e8"},
	// tag: and #.
	{"tag:go", "a1"},
	{"#GO", "a1"},
	{`tag:"machine learning"`, "a5"},
	{"#c++ OR #c#", "d3 d1"},
	{`#"reading list"`, "f6"},
	{`tag:"Reading  List"`, "f6"},
	{`tag:"a,b"`, "f6"},
	{"#a,b", "f6"},
	{`tag:"draft: later"`, "f6"},
	{"tag:reading", ""},
	{"reading list", "f6"},
	{"#über", "f7"},
	{"#uber", ""}, // case, and no more, is folded in a tag's name
	{"uber", "f7"},
	// folder:
	{"folder:Dev", "d5 d2 d1 a3 a2 a1"},
	{"folder:dev/go", "a3 a1"},
	{"folder:Go", "a3 a1"},
	{"folder:/Dev/Go", "a3 a1"},
	{"folder:/Go", ""},
	{`folder:"TCP\/IP"`, "d5"},
	{"folder:TCP/IP", ""},
	{"folder:nowhere", ""},
	{"-folder:dev go", "a4 a5"},
	// site:
	{"site:example.com", "e4 b1"},
	{"site:www.example.com", "e4"},
	{"site:go.dev", "a3"},
	{"site:café.example", "b2"},
	{"site:bücher.test", "f1"},
	{"site:shouting.test", "f4"},
	{"site:wikipedia.org -東京", ""},
	{"site:ample.com", ""},
	// URLs as they are read.
	{"bücher", "f1"},
	{"москва", "f2"},
	{"broken tail", "f3"},
	{"shouting value", "f4"},
	{"http://shouting.test:8080/path", "f4"},
	{"bookmarklet", "f5"},
	// is:
	{"is:dead", "a4 a3"},
	{"is:ok", "a1"},
	{"is:archived", "a4"},
	{"is:dead -is:archived", "a3"},
	{"is:untagged before:2025-02", "e2 d5 d4 c4 c2 b4 a4"},
	{"is:unfiled is:untagged primer OR is:unfiled is:untagged search", "e2"},
	{"primer is:unknown", "d2 d1"},
	// before: and after:
	{"before:2025-01-03", "a2 a1"},
	{"after:2025-01-20 before:2025-02-01", "e4 e3 e2"},
	{"after:2025-01-04 before:2025-01-06", "a5 a4"},
	{"border before:2025-04-01", "21"},
	{"border after:2025-04-01", "22"},
	{"border after:2025-03-31", "22 21"},
	{"border before:2025-04", "21"},
	{"border after:2026", ""},
	// - for not.
	{"full text -holes", "e2 e4"},
	{"-primer after:2025-01-13 before:2025-01-17", "d3 c4"},
	{"-go -is:unknown", ""},
	{`primer -"c primer"`, "d1"},
	{"go -go*", ""},
	// OR and parentheses.
	{"primer OR party", "e1 d2 d1"},
	{"primer OR is:dead", "d2 d1 a4 a3"},
	{"(primer OR tips) folder:dev -#c", "d5 d1 a3"},
	{"-(primer OR tips) folder:dev", "a2 a1"}, // a3 has tips
	{"(zebra OR party) (crossing OR launch)", "13 12 e1 19"},
	{"launch OR (zebra -crossing*)", "11 e1 14 15 16 17 18 1a"},
	// Best field, exact before prefix, newest first, then by id.
	{"zebra", "13 12 11 14 15 16 17 18 19 1a"},
	{`"zebra"`, "13 12 11 15 17 19"},
	{"zebra*", "13 12 11 14 15 16 17 18 19 1a"},
	{"zebra crossing", "13 12 19"},
	{"crossing zebra", "13 12 19"},
	{"trash", ""},
	{"elsewhere", ""},
	// What is no grammar is searched as words.
	{`"unclosed zebra`, ""},
	{`"zebra crossing`, "13 12 19"},
	{"((zebra crossing", "13 12 19"},
	{"zebra) crossing", "13 12 19"},
	{"zebra AND crossing", ""},
	{"is:nice", ""},
	{"zebra ' \" % _ \\ ; --", "13 12 11 14 15 16 17 18 19 1a"},
}

// Find is what a query finds of the corpus by the reference, in order.
func Find(text string) []string {
	q, tree := query.Parse(text), query.NewFolderTree(folders)
	var hits []query.Hit
	for _, b := range Corpus() {
		if b.Deleted || b.Elsewhere {
			continue
		}
		if tier, ok := q.Match(b.Row(), tree); ok {
			hits = append(hits, query.Hit{Tier: tier, CreatedAt: b.CreatedAt.UnixMicro(), ID: b.ID})
		}
	}
	slices.SortFunc(hits, query.Hit.Compare)
	ids := make([]string, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	return Names(ids)
}
