package query_test

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb/sqldbtest"
)

// doc is a bookmark of the corpus, made on the given day of 2025.
type doc struct {
	id, title, tags, url, description string
	day                               int
	folder, link, archive             string
}

var folders = []query.FolderNode{
	{ID: "dev", Name: "Dev"}, {ID: "dev-go", ParentID: "dev", Name: "Go"}, {ID: "net", ParentID: "dev", Name: "TCP/IP"},
}

var corpus = []doc{
	{id: "a1", title: "Go by Example", tags: "go,tutorial", url: "https://gobyexample.com/", day: 1, folder: "dev-go", link: "ok"},
	{id: "a2", title: "Golang weekly", tags: "newsletter", url: "https://golangweekly.com/issues", day: 2, folder: "dev"},
	{id: "a3", title: "Effective programming", tags: "golang", url: "https://go.dev/doc/effective_go", description: "Tips for writing clear, idiomatic Go code", day: 3, folder: "dev-go", link: "dead"},
	{id: "a4", title: "Untitled", url: "https://example.org/go", day: 4, link: "dead", archive: "captured"},
	{id: "a5", title: "A note", description: "where to go on holiday", tags: "machine learning", day: 5},
	{id: "b1", title: "Visit Łódź", tags: "Ørsted,straße", url: "https://example.com/lodz", day: 6},
	{id: "b2", title: "Crème brûlée – the recipe", tags: "Cooking", url: "https://café.example/rezept?q=cr%C3%A8me", day: 7},
	{id: "b3", title: "Новости Ёлка", tags: "новости", description: "Праздник", day: 8},
	{id: "b4", title: "القاموس المُحيط", day: 9},
	{id: "c1", title: "東京都の観光案内", tags: "旅行", url: "https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC", day: 10},
	{id: "c2", title: "京都のお寺", description: "東京からの行き方", day: 11},
	{id: "c3", title: "한국어를 배우자", tags: "언어", day: 12},
	{id: "c4", title: "中文维基百科 free encyclopedia", day: 13},
	{id: "d1", title: "C++ primer", tags: "c++", day: 14, folder: "dev"},
	{id: "d2", title: "C primer", tags: "c", day: 15, folder: "dev"},
	{id: "d3", title: "Learn C# in a day", tags: "c#", day: 16},
	{id: "d4", title: "Node.js v1.2.3 released", url: "https://nodejs.org/en/blog/foo_bar", day: 17},
	{id: "d5", title: "Notepad++ tips", day: 18, folder: "net"},
	{id: "e1", title: "🚀 Launch party 🎉", tags: "party", day: 19},
	{id: "e2", title: "Full text search", description: "A search that is full of text", day: 20},
	{id: "e3", title: "Text, full of holes", tags: "Search", day: 21},
	{id: "e4", title: "search", tags: "full,text", url: "https://www.example.com/full/text", day: 21},
}

// What each query finds, in order.
var expected = []struct{ query, ids string }{
	{"go", "a1 a2 a3 a4 a5"}, // title, title prefix, tag prefix before url, url, description
	{`"go"`, "a1 a4 a3 a5"},
	{"golang", "a2 a3"},
	{"example", "a1 e4 b2 b1 a4"},
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
	{"東京", "c1 c2"},
	{"京都", "c2 c1"},
	{"京", "c2 c1"},
	{"案内", "c1"},
	{"内", "c1"},
	{"観光案", "c1"},
	{"国어", ""},
	{"국어", "c3"},
	{"한국", "c3"},
	{"维基", "c4"},
	{"维基 encyclop", "c4"},
	{"旅", "c1"},
	{"c++", "d1"},
	{"C#", "d3"},
	{`"c"`, "d3 d2 d1 "},
	{"node.js", "d4"},
	{"nodejs", "d4"},
	{"foo_bar", "d4"},
	{"foo", "d4"},
	{"v1.2.3", "d4"},
	{"v1.2", "d4"},
	{"notepad", "d5"},
	{"notepad++", "d5"},
	{"🚀", "e1"},
	{"launch 🎉", "e1"},
	{`"full text"`, "e2 e4"},
	{"full text", "e3 e2 e4"},
	{"full text -holes", "e2 e4"},
	{"text search", "e2 e4 e3"},
	{"tag:go", "a1"},
	{"#GO", "a1"},
	{`tag:"machine learning"`, "a5"},
	{"#c++ OR #c#", "d3 d1"},
	{"folder:Dev", "d5 d2 d1 a3 a2 a1"},
	{"folder:dev/go", "a3 a1"},
	{`folder:"TCP\/IP"`, "d5"},
	{"folder:nowhere", ""},
	{"-folder:dev go", "a4 a5"},
	{"site:example.com", "e4 b1"},
	{"site:www.example.com", "e4"},
	{"site:go.dev", "a3"},
	{"site:café.example", "b2"},
	{"site:wikipedia.org -東京", ""},
	{"is:dead", "a4 a3"},
	{"is:ok", "a1"},
	{"is:archived", "a4"},
	{"is:dead -is:archived", "a3"},
	{"is:untagged", "e2 d5 d4 c4 c2 b4 a4"},
	{"is:unfiled is:untagged primer OR is:unfiled is:untagged search", "e2"},
	{"before:2025-01-03", "a2 a1"},
	{"after:2025-01-20", "e4 e3 e2"},
	{"after:2025-01-04 before:2025-01-06", "a5 a4"},
	{"primer is:unknown", "d2 d1"},
	{"-primer after:2025-01-13 before:2025-01-17", "d3 c4"},
	{"primer OR party", "e1 d2 d1"},
	{"primer OR is:dead", "d2 d1 a4 a3"},
	{"(primer OR tips) folder:dev -#c", "d5 d1 a3"},
	{"-(primer OR tips) folder:dev", "a2 a1"}, // a3 has tips
	{"-go -is:unknown", ""},
	{"nothing like this", ""},
	{"holiday on", "a5"},
}

func row(d doc) query.Row {
	r := query.Row{
		Index:     query.NewIndex(query.Document{Title: d.title, Tags: tagsOf(d), URL: d.url, Description: d.description}),
		CreatedAt: time.Date(2025, 1, d.day, 12, 0, 0, 0, time.UTC), LinkStatus: cmp.Or(d.link, "unknown"),
		ArchiveStatus: cmp.Or(d.archive, "none"), FolderID: d.folder,
	}
	for _, tag := range tagsOf(d) {
		r.TagKeys = append(r.TagKeys, rules.TagKey(tag))
	}
	return r
}

func tagsOf(d doc) []string {
	if d.tags == "" {
		return nil
	}
	return strings.Split(d.tags, ",")
}

func testSchema(d query.Dialect) query.Schema {
	s := query.Schema{
		Dialect: d, Index: "search", Row: "b.seq", Scope: query.ScopeToken("0189-7"), ScopeColumn: "scope",
		CreatedAt: "b.created_at", LinkStatus: "b.link_status", ArchiveStatus: "b.archive_status",
		FolderID: "b.folder_id", NoFolder: "b.folder_id = ''",
		NoTags: "NOT EXISTS (SELECT 1 FROM bookmark_tag t WHERE t.bookmark_id = b.id)",
		HasTag: func(key string, bind func(any) string) (string, error) {
			return "EXISTS (SELECT 1 FROM bookmark_tag t WHERE t.bookmark_id = b.id AND t.tag_key = " + bind(key) + ")", nil
		},
		Folders: func(f query.Folder) ([]string, error) { return f.Resolve(folders), nil },
	}
	if d == query.PostgreSQL {
		s.Index = "b.search"
	}
	return s
}

// engine searches a corpus that was loaded into a real database.
type engine struct {
	t       testing.TB
	db      *sql.DB
	dialect query.Dialect
}

func openSQLite(t testing.TB) engine {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "q.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	e := engine{t, db, query.SQLite}
	e.exec(`CREATE TABLE bookmark (seq INTEGER PRIMARY KEY, id TEXT, created_at BIGINT, link_status TEXT, archive_status TEXT, folder_id TEXT)`)
	e.exec(`CREATE VIRTUAL TABLE search USING fts5 (title, tags, url, description, scope, content='', contentless_delete=1, ` + query.FTS5Tokenize + `)`)
	e.exec(`CREATE TABLE bookmark_tag (bookmark_id TEXT, tag_key TEXT)`)
	return e
}

func openPostgres(t testing.TB) engine {
	t.Helper()
	db, err := sql.Open("pgx", sqldbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	e := engine{t, db, query.PostgreSQL}
	e.exec(`CREATE TABLE bookmark (seq INTEGER PRIMARY KEY, id TEXT COLLATE "C", created_at BIGINT, link_status TEXT, archive_status TEXT, folder_id TEXT, search TSVECTOR)`)
	e.exec(`CREATE TABLE bookmark_tag (bookmark_id TEXT, tag_key TEXT)`)
	return e
}

func (e engine) exec(text string, args ...any) {
	e.t.Helper()
	if _, err := e.db.Exec(text, args...); err != nil {
		e.t.Fatalf("%s: %v", text, err)
	}
}

func (e engine) load(docs []doc) {
	e.t.Helper()
	scope := query.ScopeToken("0189-7")
	for i, d := range docs {
		r := row(d)
		if e.dialect == query.PostgreSQL {
			e.exec(`INSERT INTO bookmark VALUES ($1, $2, $3, $4, $5, $6, $7::text::tsvector)`,
				i, d.id, r.CreatedAt.UnixMicro(), r.LinkStatus, r.ArchiveStatus, r.FolderID, r.Index.TSVector(scope))
		} else {
			e.exec(`INSERT INTO bookmark VALUES ($1, $2, $3, $4, $5, $6)`, i, d.id, r.CreatedAt.UnixMicro(), r.LinkStatus, r.ArchiveStatus, r.FolderID)
			e.exec(`INSERT INTO search (rowid, title, tags, url, description, scope) VALUES ($1, $2, $3, $4, $5, $6)`,
				i, r.Index.Title, r.Index.Tags, r.Index.URL, r.Index.Description, scope)
		}
		for _, key := range r.TagKeys {
			e.exec(`INSERT INTO bookmark_tag VALUES ($1, $2)`, d.id, key)
		}
	}
}

// ranked runs the tiers in order, as a store does.
func (e engine) ranked(q query.Query) []string {
	e.t.Helper()
	tiers, err := q.Tiers(testSchema(e.dialect), 2)
	if err != nil {
		e.t.Fatal(err)
	}
	var found []string
	for _, tier := range tiers {
		text := "SELECT id FROM bookmark b WHERE $1 <> '' AND " + tier.Where
		match := cmp.Or(tier.Match, "-")
		switch {
		case tier.Match == "":
		case e.dialect == query.PostgreSQL:
			text += " AND b.search @@ $1::text::tsquery"
		default:
			text = "SELECT b.id FROM search s JOIN bookmark b ON b.seq = s.rowid WHERE s.search MATCH $1 AND " + tier.Where
		}
		for _, id := range e.ids(text+" ORDER BY b.created_at DESC, b.id DESC", append([]any{match}, tier.Args...)...) {
			if !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	return found
}

// filtered applies the query as one condition.
func (e engine) filtered(q query.Query) []string {
	e.t.Helper()
	where, args, err := q.Filter(testSchema(e.dialect), 1)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.ids("SELECT b.id FROM bookmark b WHERE "+where+" ORDER BY b.id", args...)
}

func (e engine) ids(text string, args ...any) []string {
	e.t.Helper()
	rows, err := e.db.Query(text, args...)
	if err != nil {
		shown, _ := json.Marshal(args)
		e.t.Fatalf("%s %s: %v", text, shown, err)
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			e.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		e.t.Fatalf("%s: %v", text, err)
	}
	return ids
}

// inGo is what the reference evaluator finds, in order.
func inGo(q query.Query, docs []doc) []string {
	type hit struct {
		doc
		tier int
	}
	var hits []hit
	for _, d := range docs {
		if tier, ok := q.Match(row(d), query.NewFolderTree(folders)); ok {
			hits = append(hits, hit{d, tier})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(b.day, a.day), cmp.Compare(b.id, a.id))
	})
	var ids []string
	for _, h := range hits {
		ids = append(ids, h.id)
	}
	return ids
}

func TestReferenceFindsWhatIsExpected(t *testing.T) {
	for _, test := range expected {
		if got, want := inGo(query.Parse(test.query), corpus), strings.Fields(test.ids); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", test.query, got, want)
		}
	}
}

func TestSQLiteAgrees(t *testing.T)     { testEngine(t, openSQLite(t)) }
func TestPostgreSQLAgrees(t *testing.T) { testEngine(t, openPostgres(t)) }

func testEngine(t *testing.T, e engine) {
	e.load(corpus)
	check := func(text string, want []string) {
		t.Helper()
		q := query.Parse(text)
		if got := e.ranked(q); !slices.Equal(got, want) {
			t.Errorf("%s: ranked %v, want %v", text, got, want)
		}
		sorted := slices.Sorted(slices.Values(want))
		if got := e.filtered(q); !slices.Equal(got, sorted) {
			t.Errorf("%s: filtered %v, want %v", text, got, sorted)
		}
	}
	for _, test := range expected {
		check(test.query, strings.Fields(test.ids))
	}
	check("", inGo(query.Query{}, corpus))
	r := rand.New(rand.NewPCG(2, 7))
	for range 400 {
		text := randomQuery(r, 3)
		check(text, inGo(query.Parse(text), corpus))
	}
}

// randomQuery makes a query of the words of the corpus, in any nesting.
func randomQuery(r *rand.Rand, depth int) string {
	words := []string{
		"go", "golang", "c", "c++", "primer", "full", "text", "search", "東京", "京", "の", "example", "com", "tips",
		`"full text"`, `"go by"`, "e*", "node.js", "tag:go", "#c", "#search", "folder:dev", "folder:go", "site:example.com",
		"is:dead", "is:ok", "is:untagged", "is:unfiled", "is:archived", "before:2025-01-10", "after:2025-01-15", "🚀",
	}
	var parts []string
	for range 1 + r.IntN(3) {
		part := words[r.IntN(len(words))]
		if depth > 0 && r.IntN(3) == 0 {
			part = "(" + randomQuery(r, depth-1) + ")"
		}
		if r.IntN(4) == 0 {
			part = "-" + part
		}
		if len(parts) > 0 && r.IntN(3) == 0 {
			part = "OR " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// A scope keeps a search within its workspace.
func TestScopeSeparates(t *testing.T) {
	for _, e := range []engine{openSQLite(t), openPostgres(t)} {
		e.load(corpus[:3])
		schema := testSchema(e.dialect)
		schema.Scope = query.ScopeToken("0189-8")
		where, args, err := query.Parse("go").Filter(schema, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.ids("SELECT b.id FROM bookmark b WHERE "+where, args...); len(got) != 0 {
			t.Errorf("dialect %d: another scope sees %v", e.dialect, got)
		}
		for _, text := range []string{"@01897", "01897", `"@01897"`, "site:01897"} {
			if got := e.ranked(query.Parse(text)); len(got) != 0 {
				t.Errorf("dialect %d: %q finds the scope itself: %v", e.dialect, text, got)
			}
		}
	}
}

// The largest document that the limits let through can be indexed.
func TestEnginesTakeTheLargestDocument(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	han := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(rune(0x20000 + r.IntN(40_000))) // 4 bytes each, nearly every pair another
		}
		return b.String()
	}
	var tags []string
	for range 256 {
		tags = append(tags, han(128))
	}
	huge := doc{id: "x", title: han(8192), tags: strings.Join(tags, ","), url: "https://x.example/" + strings.Repeat("a1b2/", 13_000), description: han(65536), day: 1}
	for _, e := range []engine{openSQLite(t), openPostgres(t)} {
		e.load([]doc{huge, {id: "q", title: strings.Repeat("'\\ : * & | ! \" ", 50), day: 2}})
		if got := e.ranked(query.Parse(string([]rune(huge.title)[:2]))); fmt.Sprint(got) != "[x]" {
			t.Errorf("dialect %d: found %v", e.dialect, got)
		}
	}
}
