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

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"bm/server/api/query"
	"bm/server/api/query/querytest"
	"bm/server/sqldb/sqldbtest"
)

func testSchema(d query.Dialect) query.Schema {
	s := query.Schema{
		Dialect: d, Index: "search", Row: "b.seq", Scope: query.ScopeToken("0189-7"), ScopeColumn: "scope",
		CreatedAt: "b.created_at", LinkStatus: "b.link_status", ArchiveStatus: "b.archive_status",
		FolderID: "b.folder_id", NoFolder: "b.folder_id = ''",
		NoTags: "NOT EXISTS (SELECT 1 FROM bookmark_tag t WHERE t.bookmark_id = b.id)",
		HasTag: func(key string, bind func(any) string) (string, error) {
			return "EXISTS (SELECT 1 FROM bookmark_tag t WHERE t.bookmark_id = b.id AND t.tag_key = " + bind(key) + ")", nil
		},
		Folders: func(f query.Folder) ([]string, error) { return f.Resolve(querytest.Folders()), nil },
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
	// Nothing is to survive: it need not reach the disk.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "q.db")+"?_pragma=synchronous(0)&_pragma=journal_mode(memory)")
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

func (e engine) load(all []querytest.Bookmark) {
	e.t.Helper()
	scope := query.ScopeToken("0189-7")
	for i := range all {
		b := &all[i]
		if b.Deleted || b.Elsewhere {
			continue // what is not there is the stores' own to show
		}
		r := b.Row()
		if e.dialect == query.PostgreSQL {
			e.exec(`INSERT INTO bookmark VALUES ($1, $2, $3, $4, $5, $6, $7::text::tsvector)`,
				i, b.ID, r.CreatedAt.UnixMicro(), r.LinkStatus, r.ArchiveStatus, r.FolderID, r.Index.TSVector(scope))
		} else {
			e.exec(`INSERT INTO bookmark VALUES ($1, $2, $3, $4, $5, $6)`, i, b.ID, r.CreatedAt.UnixMicro(), r.LinkStatus, r.ArchiveStatus, r.FolderID)
			e.exec(`INSERT INTO search (rowid, title, tags, url, description, scope) VALUES ($1, $2, $3, $4, $5, $6)`,
				i, r.Index.Title, r.Index.Tags, r.Index.URL, r.Index.Description, scope)
		}
		for _, key := range r.TagKeys {
			e.exec(`INSERT INTO bookmark_tag VALUES ($1, $2)`, b.ID, key)
		}
	}
}

// ranked runs the tiers in order, as a store does. None has what another has.
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
			if slices.Contains(found, id) {
				e.t.Errorf("two tiers have %s", id)
			}
			found = append(found, id)
		}
	}
	return querytest.Names(found)
}

// filtered applies the query as one condition.
func (e engine) filtered(q query.Query) []string {
	e.t.Helper()
	where, args, err := q.Filter(testSchema(e.dialect), 1)
	if err != nil {
		e.t.Fatal(err)
	}
	return querytest.Names(e.ids("SELECT b.id FROM bookmark b WHERE "+where+" ORDER BY b.id", args...))
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

func TestReferenceFindsWhatIsExpected(t *testing.T) {
	for _, test := range querytest.Cases() {
		if got := querytest.Find(test.Query); !slices.Equal(got, test.Names) {
			t.Errorf("%s: %v, want %v", test.Query, got, test.Names)
		}
	}
}

func TestSQLiteAgrees(t *testing.T)     { testEngine(t, openSQLite(t)) }
func TestPostgreSQLAgrees(t *testing.T) { testEngine(t, openPostgres(t)) }

func testEngine(t *testing.T, e engine) {
	e.load(querytest.Corpus())
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
	for _, test := range querytest.Cases() {
		check(test.Query, test.Names)
	}
	check("", querytest.Find(""))
	r := rand.New(rand.NewPCG(2, 7))
	for range 400 {
		text := randomQuery(r, 3)
		check(text, querytest.Find(text))
	}
}

// randomQuery makes a query of the words of the corpus, in any nesting.
func randomQuery(r *rand.Rand, depth int) string {
	words := []string{
		"go", "golang", "c", "c++", "primer", "full", "text", "search", "東京", "京", "の", "example", "com", "tips",
		`"full text"`, `"go by"`, "e*", "node.js", "tag:go", "#c", "#search", "folder:dev", "folder:go", "site:example.com",
		"zebra", "zeb", `"zebra crossing"`, "is:dead", "is:ok", "is:untagged", "is:unfiled", "is:archived", "before:2025-01-10", "after:2025-01-15", "🚀",
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
		e.load(querytest.Corpus()[:3])
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
	huge := querytest.Bookmark{ID: querytest.ID("01"), Title: han(8192), Tags: tags, URL: "https://x.example/" + strings.Repeat("a1b2/", 13_000), Description: han(65536)}
	for _, e := range []engine{openSQLite(t), openPostgres(t)} {
		e.load([]querytest.Bookmark{huge, {ID: querytest.ID("02"), Title: strings.Repeat("'\\ : * & | ! \" ", 50)}})
		if got := e.ranked(query.Parse(string([]rune(huge.Title)[:2]))); fmt.Sprint(got) != "[01]" {
			t.Errorf("dialect %d: found %v", e.dialect, got)
		}
	}
}
