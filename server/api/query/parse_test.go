package query_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bm/server/api/query"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "everything",
		"  \t\n":                        "everything",
		"go":                            "go*",
		"go sqlite":                     "(and go sqlite*)",
		"go* sqlite":                    "(and go* sqlite*)",
		"go sqlite*":                    "(and go sqlite*)",
		`"full text" search`:            "(and [full text] search*)",
		`search "full text"`:            "(and search* [full text])",
		`"full text"`:                   "[full text]",
		`"full tex"*`:                   "[full tex*]",
		"Node.js":                       "[node js*]",
		"C++":                           "c++*",
		"東京":                            "東京",
		"東京タワー":                         "[東京 京タ タワ ワー]",
		"京":                             "京…",
		"Go言語":                          "[go 言語]",
		"tag:x":                         "tag=x",
		"TAG:X":                         "tag=x",
		"#Go":                           "tag=go",
		`#"Machine Learning"`:           "tag=machine learning",
		`tag:"a,b" #c++`:                "(and tag=a,b tag=c++)",
		"c# #c":                         "(and c#* tag=c)",
		"# ##":                          "everything",
		`folder:Dev/Go`:                 "folder=Dev>Go",
		`folder:"/Dev/C++ & C" x`:       "(and folder=/Dev>C++ & C x*)",
		`folder:"TCP\/IP/a\\b"`:         `folder=TCP/IP>a\b`,
		`folder:"say \"hi\""`:           `folder=say "hi"`,
		"folder:///":                    "folder*",
		"site:Example.com":              "site=com.example.",
		"site:https://www.example.com/": "site=com.example.www.",
		"site:*.go.dev go":              "(and site=dev.go. go*)",
		"site:go.dev/blog/x":            "(and site=dev.go. [blog x])",
		"site:bücher.example":           "site=example.xn--bcher-kva.",
		"is:dead IS:OK":                 "(and is=dead is=ok)",
		"is:nice":                       "[is nice*]",
		"before:2025-01-31":             "<2025-01-31",
		"after:2025-01-31":              ">=2025-01-31",
		"after:2025 before:2025-02":     "(and >=2025-01-01 <2025-02-01)",
		"before:yesterday":              "[before yesterday*]",
		"before:2025-02-31":             "[before 2025 02 31*]",
		"after:":                        "after*",
		"title:go":                      "[title go*]",
		"https://go.dev/doc?x=1":        "[go dev doc x 1*]",
		"https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC": "[ja wikipedia org wiki 東京]",
		"-go":                    "(not go)",
		"go -rust":               "(and go* (not rust))",
		"go -rust*":              "(and go* (not rust*))",
		`-"a b" -tag:x -is:dead`: "(and (not [a b]) (not tag=x) (not is=dead))",
		"-(a OR b) c":            "(and (not (or a b)) c*)",
		"--flag":                 "flag*",
		"go - rust -":            "(and go rust*)",
		"a-b":                    "[a b*]",
		"a OR b":                 "(or a b*)",
		"a b OR c d":             "(or (and a b) (and c d*))",
		"a (b OR c) d":           "(and a (or b c) d*)",
		"a OR b OR c":            "(or a b c*)",
		"a or b":                 "(and a or b*)",
		"OR":                     "or*",
		"a OR":                   "(and a or*)",
		"OR a":                   "(and or a*)",
		"OR tag:x":               "(and or* tag=x)",
		"ORANGE":                 "orange*",
		`a OR"b"`:                "(or a* b)",
		"go is:dead":             "(and go* is=dead)",
		"go OR is:dead":          "(or go* is=dead)",
		"((a":                    "a*",
		"a)) b":                  "(and a b*)",
		"()":                     "everything",
		"-()":                    "everything",
		"(a OR b) OR (c)":        "(or (or a b) c*)",
		`"unclosed phrase`:       "(and unclosed phrase*)",
		`say "hi`:                "(and say hi*)",
		`tag:"unclosed x`:        "(and tag unclosed x*)",
		"!!! ??? *":              "everything",
		`""`:                     "everything",
		`tag:`:                   "tag*",
		`tag:""`:                 "tag*",
		"f(x)":                   "(and f x*)",
		"🚀":                      "🚀*",
		"ЁЛКА":                   "елка*",
	} {
		if got := show(query.Parse(text).Root); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

// show writes a node so that a table can hold it.
func show(n query.Node) string {
	list := func(name string, parts []query.Node) string {
		for _, part := range parts {
			name += " " + show(part)
		}
		return "(" + name + ")"
	}
	switch n := n.(type) {
	case nil:
		return "everything"
	case query.And:
		return list("and", n)
	case query.Or:
		return list("or", n)
	case query.Not:
		return list("not", []query.Node{n.Node})
	case *query.Term:
		s := strings.Join(n.Tokens, " ") + [...]string{"", "*", "…"}[n.Ending]
		if len(n.Tokens) > 1 {
			s = "[" + s + "]"
		}
		return s
	case query.Tag:
		return "tag=" + n.Key
	case query.Folder:
		s := "folder="
		if n.Rooted {
			s += "/"
		}
		return s + strings.Join(n.Path, ">")
	case query.Site:
		return "site=" + n.HostKey
	case query.Is:
		return "is=" + string(n.State)
	case query.Created:
		if n.Before {
			return "<" + n.From.Format(time.DateOnly)
		}
		return ">=" + n.From.Format(time.DateOnly)
	}
	return fmt.Sprintf("%T", n)
}

func TestParseIsBounded(t *testing.T) {
	count := func(n query.Node) int { return len(strings.Fields(show(n))) }
	if n := count(query.Parse(strings.Repeat("word ", 5000)).Root); n != 65 {
		t.Errorf("%d words, want 64 and the operator", n)
	}
	if n := count(query.Parse(`"` + strings.Repeat("w ", 3000) + `"`).Root); n != 64 {
		t.Errorf("a phrase of %d words", n)
	}
	deep := show(query.Parse(strings.Repeat("(a OR ", 1000) + "b").Root)
	if n := strings.Count(deep, "("); n > 64 {
		t.Errorf("%d parentheses deep", n)
	}
	for text, cut := range map[string]bool{
		strings.Repeat("a ", 64): false, strings.Repeat("a ", 65): true, strings.Repeat("a", 8<<10+1): true,
		`"` + strings.Repeat("w ", 65) + `"`: true, strings.Repeat("(", 25) + "a": true, "-a OR (b tag:c)": false,
		strings.Repeat("folder:a ", 8): false, strings.Repeat("folder:a ", 9): true,
		strings.Repeat("a* ", 16): false, strings.Repeat("a* ", 17): true, strings.Repeat(`"a b"* `, 17): true,
		strings.Repeat("京 ", 16): false, strings.Repeat("京 ", 17): true, strings.Repeat("京* ", 16): false,
	} {
		if got := query.Parse(text).Cut; got != cut {
			t.Errorf("%.20s…: cut %t", text, got)
		}
	}
}

func TestFolderResolve(t *testing.T) {
	all := []query.FolderNode{
		{"1", "", "Dev"},
		{"2", "1", "Go"},
		{"3", "2", "SQLite, FTS5"},
		{"4", "", "Go"},
		{"5", "4", "dev"},
		{"6", "5", "TCP/IP"},
		{"7", "missing", "dév"},
		{"8", "9", "loop"},
		{"9", "8", "Loop"},
	}
	tree := query.NewFolderTree(all)
	for path, want := range map[string]string{
		`folder:dev`:                      "1 2 3 5 6",
		`folder:"Dev/Go"`:                 "2 3",
		`folder:/go`:                      "4 5 6",
		`folder:GO`:                       "2 3 4 5 6",
		`folder:"tcp\/ip"`:                "6",
		`folder:tcp/ip`:                   "",
		`folder:/dev/tcp`:                 "",
		`folder:loop`:                     "8 9",
		`folder:loop/loop/loop/loop/loop`: "8 9",
		`folder:DÉV`:                      "7",
	} {
		folder, ok := query.Parse(path).Root.(query.Folder)
		if !ok {
			t.Fatalf("%s is no folder", path)
		}
		if got := strings.Join(folder.Resolve(all), " "); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		for _, node := range append(all, query.FolderNode{}) {
			if got := tree.Holds(folder, node.ID); got != slices.Contains(strings.Fields(want), node.ID) {
				t.Errorf("%s holds %q: %t", path, node.ID, got)
			}
		}
	}
}

// A query that is kept means the same when others are put behind it.
func TestEnclosed(t *testing.T) {
	for text, want := range map[string]string{
		`go OR (rust`:      `(go OR (rust)) book`,
		`zz) OR rust`:      `(zz) ( OR rust) book`,
		`"a phrase" "half`: `("a phrase"  half) book`,
		`tag:"(" -`:        `(tag:"(" -) book`,
		``:                 `() book`,
	} {
		if got := query.Enclosed(text) + " book"; got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	r := rand.New(rand.NewPCG(9, 1))
	pieces := []string{"a", "b*", `"`, `\"`, "(", ")", " ", " ", "-", "OR", "tag:", "#", "folder:", `"c d"`, "is:dead", "日", "\xff"}
	for range 20_000 {
		var text string
		for range 1 + r.IntN(12) {
			text += pieces[r.IntN(len(pieces))]
		}
		if got, want := query.Parse(query.Enclosed(text)), query.Parse(text); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q means %+v, and enclosed, %q, %+v", text, want.Root, query.Enclosed(text), got.Root)
		}
		if alone := query.Parse(text); !alone.Empty() {
			root := query.Parse(query.Enclosed(text) + " tag:last").Root
			if both, isAnd := root.(query.And); !isAnd || !reflect.DeepEqual(both[len(both)-1], query.Tag{Key: "last"}) {
				t.Fatalf("%q is not narrowed by what comes behind: %+v", text, root)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`a OR (b -c) "d e"* #f tag:"g h" folder:"i\/j/k" site:l.example/m is:dead before:2025-01-01`,
		`((((-(`, `OR OR OR`, `-"" --`, "\xff\u3000(", `tag:"`, `"\"`, "#(#)", "site:::",
	} {
		f.Add(seed)
	}
	schema := testSchema(query.SQLite)
	f.Fuzz(func(t *testing.T, text string) {
		q := query.Parse(text)
		if !reflect.DeepEqual(q, query.Parse(text)) {
			t.Fatalf("%q is read in two ways", text)
		}
		for _, dialect := range []query.Dialect{query.SQLite, query.PostgreSQL} {
			schema.Dialect = dialect
			where, args, err := q.Filter(schema, 1)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			for i := range args {
				if s, ok := args[i].(string); ok && (!utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0) {
					t.Fatalf("%q binds %q", text, s)
				}
				if !strings.Contains(where, fmt.Sprintf("$%d", i+1)) {
					t.Fatalf("%q: $%d is not in %s", text, i+1, where)
				}
			}
		}
	})
}
