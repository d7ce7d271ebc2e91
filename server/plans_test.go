package server_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// TestQueryPlans calls every operation, every list by every filter and order,
// and the jobs, and looks at the plan of each statement that ran: none reads a
// whole table, and none all of a workspace for an answer that is of a few rows.
func TestQueryPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("it looks at every statement there is")
	}
	config := server.Config{Dir: t.TempDir()}
	s := newStage(t, config)
	var mu sync.Mutex
	ran := map[string]string{} // statement → the first to run it
	by := ""
	s.Server.DB().Watch(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := ran[text]; !ok {
			ran[text] = by
		}
	})
	now := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		by = what
	}
	for _, spec := range s.Specs() {
		now(spec.ID)
		c := trial{s, spec, calls[spec.ID]}
		for i, by := range c.credentials(t, s.ada) {
			if a := s.send(t, c.request(t, s.ada), by.token, by.headers...); a.status != spec.Status && i == 0 {
				t.Errorf("%s: %d: %.300s", spec.ID, a.status, a.body)
			}
		}
	}
	for _, path := range lists(s.folder(t, s.ada)) {
		now(path)
		if a := call(t, "GET", s.URL+"/workspaces/"+s.ada.home+"/"+path, s.ada.jwt, ""); a.status != 200 {
			t.Errorf("%s: %d: %.300s", path, a.status, a.body)
		}
	}
	now(behindTheHead)
	pushBehindTheHead(t, s)
	now(farInASearch)
	searchFar(t, s)
	now("purge")
	if _, err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}

	db := sqldbtest.Open(t, sqldb.Config{Dir: config.Dir})
	tables := tablesOf(t, db)
	byFolder, byDate := 0, 0
	for _, text := range slices.Sorted(maps.Keys(ran)) {
		steps := plan(t, db, text)
		if ofFolder.MatchString(ran[text]) && strings.Contains(text, "ORDER BY +b.created_at") {
			if byFolder++; !strings.Contains(strings.Join(steps, "\n"), "bookmark_folder") {
				t.Errorf("a small folder is not looked up as one: %q\n%s", steps, text)
			}
		}
		if strings.Contains(text, "INDEXED BY bookmark_created") && strings.Contains(text, "MATCH") {
			byDate++
		}
		for _, step := range steps {
			if m := scans.FindStringSubmatch(step); m != nil {
				table := named(text, m[1]+m[2])
				if tables[table] && mayScan[table] != ran[text] {
					t.Errorf("%s\n%s\n  by %s", step, text, ran[text])
				}
			}
			if m := ofAWorkspace.FindStringSubmatch(step); m != nil && perWorkspace[named(text, m[1])] && !mayReadAll.MatchString(ran[text]) && !upToAPage(text, steps) {
				t.Errorf("all of a workspace is read: %s\n%s\n  by %s", step, text, ran[text])
			}
			if ran[text] == behindTheHead && strings.Contains(step, "rev>?") {
				t.Errorf("all that is new is read, which may be what another is sending: %s\n%s", step, text)
			}
			if strings.Contains(step, "TEMP B-TREE") && ofWholeRows.MatchString(text) {
				t.Errorf("whole rows are sorted, which SQLite holds in memory, up to the offset: %s\n  by %s", text, ran[text])
			}
			if strings.Contains(step, "TEMP B-TREE") && inOrder.MatchString(ran[text]) {
				t.Errorf("%s\n%s\n  by %s", step, text, ran[text])
			}
		}
	}
	if byFolder == 0 || byDate == 0 {
		t.Errorf("%d lists of a folder ran, and %d searches by date", byFolder, byDate)
	}
	if len(ran) < 250 {
		t.Errorf("%d statements ran, too few to have been all", len(ran))
	}
}

const (
	behindTheHead = "a push behind the head"
	// farInASearch is where so many have a word that its hits are met by date.
	farInASearch = "a page far in a search"
)

// searchFar asks for a page behind more hits than are looked at one by one.
func searchFar(t *testing.T, s *stage) {
	t.Helper()
	const rows = 1100
	var file strings.Builder
	for i := range rows {
		fmt.Fprintf(&file, "<DT><A HREF=\"https://%d.test/\">farfetched</A>\n", i)
	}
	c := must[*client.Client](t)(client.New(client.Options{Server: s.URL, Version: "test"}))
	sum := must[api.ImportSummary](t)(c.As(api.Secret(s.ada.jwt)).Import(t.Context(), client.InWorkspace(s.ada.home), "a.html", strings.NewReader(file.String()), ""))
	if sum.Imported != rows {
		t.Fatalf("%+v", sum)
	}
	path := "/workspaces/" + s.ada.home + "/bookmarks"
	for _, query := range []string{"q=farfetched&offset=1050", "q=farfetched&limit=1"} {
		if a := call(t, "GET", s.URL+path+"/search?"+query, s.ada.jwt, ""); a.status != 200 || !strings.Contains(a.body, "farfetched") {
			t.Errorf("%s: %d: %.300s", query, a.status, a.body)
		}
	}
}

// pushBehindTheHead makes a folder and a bookmark for a caller who has not heard of all.
func pushBehindTheHead(t *testing.T, s *stage) {
	t.Helper()
	path := s.URL + "/workspaces/" + s.ada.home + "/changes"
	first := decode[api.ChangesPage](t, call(t, "GET", path+"?limit=5000", s.ada.jwt, ""), 200)
	s.bookmark(t, s.ada)
	ops := ""
	for _, kind := range []string{"folder", "bookmark"} {
		set := map[string]string{"folder": `{"name":"x"}`, "bookmark": `{"url":"https://behind.example/"}`}[kind]
		ops += fmt.Sprintf(`,{"opId":%q,"action":"create","type":%q,"id":%q,"set":%s}`, newID(), kind, newID(), set)
	}
	body := fmt.Sprintf(`{"cursor":%q,"ops":[%s]}`, *first.Pagination.NextCursor, ops[1:])
	if a := call(t, "POST", path, s.ada.jwt, body); a.status != 200 {
		t.Errorf("%d: %.300s", a.status, a.body)
	}
}

// mayScan are tables that one caller may read from end to end.
var mayScan = map[string]string{
	"signing_key":    "register", // it has a handful of rows
	"refresh_token":  "purge",    // a job, once an hour; it stops at the first thousand
	"workspace_head": "purge",    // a job, once an hour
}

// perWorkspace are the tables of which a workspace may have a million rows.
var perWorkspace = map[string]bool{"bookmark": true, "bookmark_tag": true, "folder": true, "op_result": true, "tag": true}

// mayReadAll are the callers whose answer is of everything, or is what no index
// leads to.
var mayReadAll = regexp.MustCompile(`^(purge|(key-)?(list|count|export)-bookmarks(-html)?|list-(folders|tags)|` +
	`bookmarks(/count|/export|/search)?\?(|filterStatus=(ok|dead|unknown|archived|untagged)|q=(-word|is%3Auntagged))(&.*)?|` +
	`bookmarks/search\?q=folder%3A%22x%22|a page far in a search)$`)

var (
	ofAWorkspace = regexp.MustCompile(`^SEARCH (\w+) USING .*\(workspace_id=\?\)$`)

	// scans also go through an index by every value of its first column.
	scans = regexp.MustCompile(`^(?:SCAN (\w+)(?: USING|$)|SEARCH (\w+) USING .*\(ANY\()`)
	// inOrder are the lists that an index has in their order: those that may be
	// of everything.
	inOrder = regexp.MustCompile(`^bookmarks\?(|filterStatus=(ok|dead|unknown|untagged|unfiled))&sortBy=-?createdAt&`)
	// ofWholeRows are the statements whose rows are bookmarks with their long texts.
	ofWholeRows = regexp.MustCompile(`^SELECT [^(]*\bdescription\b[^(]* FROM bookmark b`)
	ofFolder    = regexp.MustCompile(`^bookmarks\?(recursive=true&)?folderId=`)
	aliased     = regexp.MustCompile(`(?i)\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?`)
)

// upToAPage tells whether a statement has nothing but its order, which an index
// has, and ends with the page: no row is read that is not in it.
func upToAPage(text string, steps []string) bool {
	_, condition, _ := strings.Cut(text, " WHERE ")
	condition, page, limited := strings.Cut(condition, " ORDER BY ")
	return limited && strings.Contains(page, "LIMIT") && len(steps) == 1 && condition == "b.tenant_id = $1 AND b.workspace_id = $2 AND b.deleted_at = 0"
}

// named is the table that a statement calls by an alias.
func named(text, alias string) string {
	for _, m := range aliased.FindAllStringSubmatch(text, -1) {
		if m[2] == alias {
			return m[1]
		}
	}
	return alias
}

func tablesOf(t *testing.T, db *sqldb.DB) map[string]bool {
	t.Helper()
	tables := map[string]bool{}
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Rows(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table'`, nil, func(row sqldb.Scanner) error {
			var name string
			err := row.Scan(&name)
			tables[name] = true
			return err
		})
	})
	if err != nil || !tables["bookmark"] {
		t.Fatalf("tables %v: %v", tables, err)
	}
	return tables
}

// lists are what of a workspace's bookmarks may be asked.
func lists(folder string) []string {
	filters := []string{
		"", "folderId=root", "folderId=" + folder, "recursive=true&folderId=" + folder, "tag=a", "tag=a&tag=b",
		"filterStatus=ok", "filterStatus=dead", "filterStatus=unknown", "filterStatus=archived", "filterStatus=untagged",
		"filterStatus=unfiled", "filterStatus=deleted",
	}
	var all []string
	for _, q := range []string{"word", "two words", "wor*", `"a phrase"`, "tag:x", `folder:"x"`, "site:example.com", "is:untagged", "before:2025-01-31", "-word", "a OR b", "东京"} {
		filter := "q=" + url.QueryEscape(q)
		filters = append(filters, filter)
		all = append(all, "bookmarks/search?"+filter, "bookmarks/search?cursor=&"+filter, "bookmarks?sortBy=relevance&"+filter)
	}
	for _, filter := range filters {
		all = append(all, "bookmarks/count?"+filter, "bookmarks/export?"+filter)
		for _, order := range []string{"createdAt", "updatedAt", "title", "url", "sortOrder"} {
			for _, page := range []string{"&cursor=", "&offset=1"} {
				all = append(all, "bookmarks?"+filter+"&sortBy="+order+page, "bookmarks?"+filter+"&sortBy=-"+order+page)
			}
		}
	}
	return all
}

var parameters = regexp.MustCompile(`\$([0-9]+)`)

// plan is how SQLite would run a statement.
func plan(t *testing.T, db *sqldb.DB, text string) []string {
	t.Helper()
	var steps []string
	most := 0
	for _, m := range parameters.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	if most == 0 {
		most = strings.Count(text, "?")
	}
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Rows(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, most), func(row sqldb.Scanner) error {
			var id, parent, unused int
			var detail string
			err := row.Scan(&id, &parent, &unused, &detail)
			steps = append(steps, detail)
			return err
		})
	})
	if err != nil {
		t.Errorf("%s: %v", fmt.Sprintf("%.200s", text), err)
	}
	return steps
}
