package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bm/server/api/query"
	"bm/server/api/query/querytest"
)

// agrees holds an engine to the reference: of what was loaded it finds the same by
// a query, in the same order.
func (e engine) agrees(t testing.TB, all []querytest.Bookmark, text string) {
	t.Helper()
	e.t = t
	q, tree := query.Parse(text), query.NewFolderTree(querytest.Folders())
	var hits []query.Hit
	for i := range all {
		if tier, ok := q.Match(all[i].Row(), tree); ok {
			hits = append(hits, query.Hit{Tier: tier, CreatedAt: all[i].CreatedAt.UnixMicro(), ID: all[i].ID})
		}
	}
	slices.SortFunc(hits, query.Hit.Compare)
	want := make([]string, len(hits))
	for i := range hits {
		want[i] = hits[i].ID
	}
	want = querytest.Names(want)
	if got := e.ranked(q); !slices.Equal(got, want) {
		t.Errorf("%q: ranked %v, want %v", text, got, want)
	}
	slices.Sort(want)
	if got := e.filtered(q); !slices.Equal(got, want) {
		t.Errorf("%q: filtered %v, want %v", text, got, want)
	}
}

func (e engine) clear() {
	e.t.Helper()
	e.exec(`DELETE FROM bookmark`)
	e.exec(`DELETE FROM bookmark_tag`)
	if e.dialect == query.SQLite {
		e.exec(`DELETE FROM search`)
	}
}

// No input is an error, whatever it is made of and whatever bookmarks hold: both
// engines run it, and find what the reference finds.
func TestNastyQueries(t *testing.T) {
	for _, open := range []func(testing.TB) engine{openSQLite, openPostgres} {
		e := open(t)
		t.Run(fmt.Sprint("dialect ", e.dialect), func(t *testing.T) {
			rounds := 12
			if testing.Short() {
				rounds = 2
			}
			r := rand.New(rand.NewPCG(5, uint64(e.dialect)))
			for range rounds {
				all := make([]querytest.Bookmark, 12)
				for i := range all {
					all[i] = querytest.Bookmark{
						ID: querytest.ID(fmt.Sprintf("%02x", i)), Title: nasty(r, 6), URL: nasty(r, 5), Description: nasty(r, 9),
						// No store takes a text in that these are part of.
						Tags: []string{strings.ReplaceAll(strings.ToValidUTF8(nasty(r, 2), ""), "\x00", ""), "x"},
					}
				}
				e.clear()
				e.load(all)
				for range 200 {
					e.agrees(t, all, nasty(r, 7))
				}
			}
		})
	}
}

// pieces mean something to the grammar, to an engine, or to whatever lies between.
var pieces = []string{
	`"`, `""`, `'`, `''`, `\`, `\'`, `\"`, `(`, `)`, `((`, `-`, `--`, `*`, `:*`, `^`, `+`, `#`, `@`, `$1`, `?`, `;`, `%`, `_`, `{`, `}`, `[`, `]`,
	`&`, `|`, `!`, `<->`, `<2>`, `~`, `=`, `,`, `.`, `/`, ":", "\x00", "\x01", "\x1b[31m", "\n", "\t", "\u00a0", "\u3000", "\ufeff", "\u200d", "\u202e",
	"\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\ufffd", "\U0010ffff", "\U000e0041",
	"OR", "AND", "NOT", "NEAR", "NEAR(", "or", "title", "title:", "tags :", "scope:", "rank", "rowid", "tag:", "#", "folder:", "folder:Dev", "site:", "site:a.test", "is:", "is:dead",
	"before:", "after:2025", "before:2025-13", "a", "ab", "abc", "go", "c++", "C#", "x", "é", "e\u0301", "\u0301", "ß", "İ", "東", "東京", "京都", "한", "\u1112\u1161", "ﾌﾟ", "ﾟ", "ก", "ำ",
	"🚀", "👨\u200d👩", "🇫🇷", "🏽", "١", "½", "ﬁ", "Ⅳ", "http://", "https://a.test/b", "%E6%9D", "xn--", "xn--bcher-kva.test", strings.Repeat("long", 40), strings.Repeat("京", 30),
}

// nasty puts up to so many pieces together.
func nasty(r *rand.Rand, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// FuzzSearch searches a bookmark by any text, in a real index.
func FuzzSearch(f *testing.F) {
	f.Add(`go OR (-c++ "d e"* #x)`, "Go, d e", "x", "https://a.test/%E6%9D%B1", "東京都")
	f.Add(`((((-(a OR is:dead`, "a", "", "", "")
	f.Add("\xff\u0301 🇫🇷*", "🇫🇷", "🇫", "xn--bcher-kva.test", "\x00")
	e := openSQLite(f)
	f.Fuzz(func(t *testing.T, text, title, tag, url, description string) {
		if len(title)+len(tag)+len(url)+len(description) > 4<<10 {
			return
		}
		e.t = t
		e.clear()
		all := []querytest.Bookmark{{ID: querytest.ID("01"), Title: title, Tags: []string{tag}, URL: url, Description: description}}
		e.load(all)
		e.agrees(t, all, text)
	})
}

// Neither does the largest query that is heeded go beyond what an engine takes, in
// any of its tiers: as many words, as deep and with as many alternatives as may be.
func TestTheLargestQueries(t *testing.T) {
	var words []string
	for i := range 64 {
		words = append(words, fmt.Sprint("w", i))
	}
	nested := func(open string) string { return strings.Repeat(open, 24) + "zebra" + strings.Repeat(")", 24) }
	texts := []string{
		strings.Join(words, " "), strings.Join(words, " OR "), strings.Join(words, "* OR ") + "*", strings.Join(words, " -"), "zebra -" + strings.Join(words, " -"),
		nested("("), nested("(a OR "), nested("(zebra -(a ")[:200], nested("-("), nested("zebra OR -(a "), nested("(crossing OR (zebra -"),
		"zebra OR " + nested("is:dead OR (go -(") + " OR " + strings.Join(words[:30], " OR "),
		`"` + strings.Repeat("zebra ", 64) + `"`, strings.Repeat("(go OR zebra) ", 30), strings.Repeat(`-"go zebra" zebra `, 30), strings.Repeat("京 ", 64), strings.Repeat("folder:Dev OR ", 8) + "zebra",
	}
	for _, open := range []func(testing.TB) engine{openSQLite, openPostgres} {
		e := open(t)
		all := slices.DeleteFunc(querytest.Corpus(), func(b querytest.Bookmark) bool { return b.Deleted || b.Elsewhere })
		e.load(all)
		for _, text := range texts {
			e.agrees(t, all, text)
		}
	}
}
