package localstore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
)

// TestQueryPlans holds every statement that a command or a round runs to a plan
// that does not read a whole table for an answer of a few rows.
func TestQueryPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("it does everything once, to see how")
	}
	path := filepath.Join(t.TempDir(), "replica.db")
	s := openAt(t, path)
	exercise(t, s)
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	statements := localstore.Statements(s)
	for _, step := range searchSteps {
		if !slices.ContainsFunc(statements, step.MatchString) {
			t.Errorf("no search ran %s", step)
		}
	}
	for _, text := range statements {
		plan, err := explain(t, db, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, fault := range faults(text, plan) {
			t.Errorf("%s\nin the plan of\n%s\n%s", fault, text, strings.Join(plan, "\n"))
		}
	}
}

// searchSteps are what a search runs, whichever way it goes: a look at the newest
// rows, of few hits and of many, of all of them, and their rows.
var searchSteps = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^SELECT b\.n, b\.id, .* INDEXED BY bookmark_created WHERE .* LIMIT`),
	regexp.MustCompile(`^SELECT rowid FROM search WHERE search MATCH .* LIMIT`),
	regexp.MustCompile(`^SELECT b\.n, b\.created_at, b\.id FROM bookmark b NOT INDEXED .* json_each.* LIMIT`),
	regexp.MustCompile(`^SELECT b\.n, b\.created_at, b\.id FROM bookmark b INDEXED BY bookmark_created .* MATCH .* LIMIT`),
	regexp.MustCompile(`^SELECT b\.n, b\.created_at, b\.id FROM bookmark b NOT INDEXED .* MATCH .* DESC$`),
	regexp.MustCompile(`(?s)^SELECT b\.n, .* FROM json_each\(\?\) AS each CROSS JOIN bookmark b`),
}

// wholes are the statements that may read all of a workspace, and why.
var wholes = []struct {
	text *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`(?s)^SELECT\s+(\(SELECT )?COUNT\(\*\) FROM bookmark`), "it counts what there is, or what a filter leaves of it"},
	{regexp.MustCompile(`^SELECT [bf]\.id, [bf]\.rev FROM`), "the digest is of all rows"},
	{regexp.MustCompile(`^SELECT b\.n, b\.url_hash`), "what is there twice is looked for among all"},
	{regexp.MustCompile(`ORDER BY created_at, n LIMIT 1 OFFSET`), "one by chance, by its place in an index"},
	{regexp.MustCompile(`FROM folder f\s+WHERE f\.replica = \? AND f\.deleted_at = 0 ORDER BY`), "the whole tree"},
	{regexp.MustCompile(`^SELECT b\.folder, b\.n FROM bookmark`), "an export is of all that a filter leaves"},
	{regexp.MustCompile(`^SELECT folder, COUNT\(\*\) FROM bookmark`), "how many are in each folder"},
}

var (
	scanned = regexp.MustCompile(`^SCAN (\w+)`)
	// searched is a search that knows nothing but the workspace.
	searched = regexp.MustCompile(`^SEARCH \w+ USING (?:COVERING )?INDEX (\w+) \(replica=\?\)`)
)

// bounded are tables that hold a few rows for each workspace or person, or the
// last of what was done, by the names that statements have for them.
var bounded = []string{"replica", "saved_search", "journal", "j", "below", "up", "down", "each"}

// seldom are indexes of what is few: made here and not sent yet, deleted, under way.
var seldom = []string{
	"folder_new", "bookmark_new", "folder_trash", "bookmark_trash", "folder_deleted", "bookmark_deleted",
	"in_flight_row", "parked_row", "conflict_row", "note_replica",
}

// faults are the steps of a plan that read more than what is asked for.
func faults(text string, plan []string) (found []string) {
	for n, step := range plan {
		// The first table that a step down or up a tree reads is the folder it is at.
		if step == "RECURSIVE STEP" && searched.MatchString(plan[n+1]) {
			return []string{plan[n+1]}
		}
	}
	sorted := slices.Contains(plan, "USE TEMP B-TREE FOR ORDER BY")
	for _, step := range plan {
		if table := scanned.FindStringSubmatch(step); table != nil && !strings.Contains(step, "VIRTUAL TABLE") &&
			!strings.HasSuffix(step, "CONSTANT ROW") && !strings.HasSuffix(step, "VALUES CLAUSE") && !slices.Contains(bounded, table[1]) {
			found = append(found, step)
		}
		index := searched.FindStringSubmatch(step)
		if index == nil || slices.Contains(seldom, index[1]) {
			continue
		}
		if (index[1] == "bookmark_created" || index[1] == "bookmark_id") && !sorted && strings.Contains(text, "LIMIT") {
			continue // in the order that is wanted, up to what is wanted
		}
		found = append(found, step)
	}
	for _, w := range wholes {
		if w.text.MatchString(text) {
			return nil
		}
	}
	return found
}

// parameter is what a statement is handed a value for.
var parameter = regexp.MustCompile(`[?$](\d*)`)

func explain(t *testing.T, db *sql.DB, text string) (plan []string, err error) {
	bound := 0
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			n = bound + 1
		}
		bound = max(bound, n)
	}
	args := make([]any, bound)
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return nil, err
		}
		plan = append(plan, detail)
	}
	return plan, rows.Err()
}

// exercise does everything that can be done with a replica.
func exercise(t *testing.T, s *localstore.Store) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := mirror(t, s, "w")
	var file bytes.Buffer
	must(exchangetest.Generate(&file, 1, 2000))
	for range 2 {
		reader, err := exchange.NewReader(bytes.NewReader(file.Bytes()))
		must(err)
		_, err = s.Import(ctx, reader, localstore.Import{Replica: r, Command: "import"})
		must(err)
	}
	folders, err := s.Folders(ctx, r)
	must(err)
	dir, other := folders[0].ID, folders[1].ID
	page, err := s.Bookmarks(ctx, localstore.List{Replica: r, Limit: 50})
	must(err)
	ids := make([]string, len(page.Bookmarks))
	for i := range page.Bookmarks {
		ids[i] = page.Bookmarks[i].ID
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.AddBookmark(bookmark("https://a.example/", "a", "one", "two"))
		must(err)
		_, err = ed.SameURL("https://a.example/")
		must(err)
		_, err = ed.UpdateBookmark(ids[0], api.BookmarkInput{Title: api.Some("t"), Tags: api.Some([]string{"three"})})
		must(err)
		_, err = ed.MoveBookmarks(ids[1:4], dir)
		must(err)
		_, err = ed.MergeBookmarks(ids[5], ids[6], ids[7])
		must(err)
		_, err = ed.TagBookmarks(ids[8:20], []string{"four"}, []string{"two"})
		must(err)
		_, err = ed.RenameTag("four", "five")
		must(err)
		_, err = ed.MergeTags([]string{"five"}, "one")
		must(err)
		_, err = ed.RemoveTag("one")
		must(err)
		sub, err := ed.FolderBelow(dir, "Sub", "Below")
		must(err)
		_, err = ed.UpdateFolder(sub.ID, api.FolderInput{ParentID: api.Some(other)})
		must(err)
		_, err = ed.DeleteBookmarks(ids[20:25]...)
		must(err)
		must(ed.RestoreBookmarks(ids[20:22]...))
		_, _, err = ed.DeleteFolder(other)
		must(err)
		must(ed.RestoreFolder(other))
		_, err = ed.Folder(dir)
		return err
	})
	for range 2 {
		_, err = s.Undo(ctx, nil)
		must(err)
	}
	_, err = s.Redo(ctx, nil)
	must(err)
	_, err = s.Log(ctx, 20)
	must(err)

	// A folder and a tag of so many that they are not sorted for a page.
	reader, err := exchange.NewReader(manyIn(3100))
	must(err)
	_, err = s.Import(ctx, reader, localstore.Import{Replica: r, Command: "import"})
	must(err)
	large, err := s.FindFolder(ctx, r, "Folder")
	must(err)
	for _, filter := range []api.BookmarkFilter{{}, {FolderID: large.ID, Recursive: true}, {Query: "guide"}, {Tags: []string{"one"}}} {
		found, err := s.Select(ctx, localstore.List{Replica: r, BookmarkFilter: filter})
		must(err)
		for folder := range found.Folders() {
			for _, err := range found.In(ctx, folder) {
				must(err)
			}
		}
	}
	page, err = s.Bookmarks(ctx, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{FolderID: large.ID}})
	must(err)
	var many []string
	for i := range page.Bookmarks {
		many = append(many, page.Bookmarks[i].ID)
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.TagBookmarks(many, []string{"many"}, nil)
		return err
	})

	lists := []localstore.List{
		{},
		{BookmarkFilter: api.BookmarkFilter{FolderID: large.ID}},
		{BookmarkFilter: api.BookmarkFilter{Tags: []string{"many"}}},
		{SortBy: "title", BookmarkFilter: api.BookmarkFilter{FolderID: large.ID}},
		{SortBy: "title", BookmarkFilter: api.BookmarkFilter{Tags: []string{"many"}}},
	}
	for _, key := range api.SortKeys {
		lists = append(lists, localstore.List{SortBy: key, BookmarkFilter: api.BookmarkFilter{Query: "the"}})
		if key != "relevance" {
			lists = append(lists, localstore.List{SortBy: key}, localstore.List{SortBy: "-" + key})
		}
	}
	for _, status := range api.FilterStatuses {
		lists = append(lists, localstore.List{BookmarkFilter: api.BookmarkFilter{FilterStatus: status}})
	}
	for _, query := range []string{
		"go", "go -rust", "tag:one", "-tag:one", "url:example", `"two words"`, "go OR rust", "title:go", "is:dead", "after:2020",
		exchangetest.RareWord, exchangetest.MiddlingWord, exchangetest.CommonWord, exchangetest.CommonWord[:2], exchangetest.CommonWord + " OR is:dead", exchangetest.ChineseText,
	} {
		lists = append(lists, localstore.List{BookmarkFilter: api.BookmarkFilter{Query: query}}, localstore.List{BookmarkFilter: api.BookmarkFilter{Query: query, FolderID: dir, Recursive: true}})
	}
	lists = append(lists,
		localstore.List{BookmarkFilter: api.BookmarkFilter{Tags: []string{"one", "two"}}},
		localstore.List{BookmarkFilter: api.BookmarkFilter{FolderID: dir}}, localstore.List{BookmarkFilter: api.BookmarkFilter{FolderID: dir, Recursive: true}},
		localstore.List{BookmarkFilter: api.BookmarkFilter{FolderID: api.RootFolder}}, localstore.List{BookmarkFilter: api.BookmarkFilter{FolderID: api.RootFolder, Recursive: true}},
	)
	for _, list := range lists {
		list.Replica = r
		list.Limit = 5
		page, err := s.Bookmarks(ctx, list)
		must(err)
		if list.Cursor = page.Next; list.Cursor != "" {
			_, err = s.Bookmarks(ctx, list)
			must(err)
		}
		list.Limit, list.Cursor = 0, ""
		_, err = s.Count(ctx, list)
		must(err)
	}
	for _, err := range s.All(ctx, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: exchangetest.CommonWord}}) {
		must(err)
	}
	_, err = s.Bookmark(ctx, r, ids[0])
	must(err)
	_, err = s.FindBookmarks(ctx, r, ids[0][:8], 3)
	must(err)
	_, err = s.SameURL(ctx, r, "https://a.example/")
	must(err)
	_, err = s.Folder(ctx, r, dir)
	must(err)
	_, err = s.FindFolder(ctx, r, folders[0].Name)
	must(err)
	_, err = s.FindFolder(ctx, r, dir[:20])
	_ = err
	_, err = s.FolderPath(ctx, r, folders[len(folders)-1].ID)
	must(err)
	_, err = s.Tree(ctx, r)
	must(err)
	_, err = s.FoldersIn(ctx, r, []string{"", dir})
	must(err)
	_, err = s.Tags(ctx, r, "", 0)
	must(err)
	_, err = s.Tags(ctx, r, "a", 10)
	must(err)
	_, err = s.Counts(ctx, r)
	must(err)
	_, err = s.Random(ctx, r, 2, func(n int) int { return n / 2 })
	must(err)
	_, _, err = s.Trash(ctx, r, 10)
	must(err)
	_, err = s.FoldersDeleted(ctx, r)
	must(err)
	_, err = s.Duplicates(ctx, r, false)
	must(err)
	_, err = s.Pending(ctx, r)
	must(err)
	_, err = s.Conflicts(ctx, r)
	must(err)
	_, err = s.Parked(ctx, r)
	must(err)
	_, err = s.Notes(ctx, r, 5)
	must(err)
	must(s.SaveSearch(ctx, "x", "go"))
	_, err = s.SavedSearches(ctx)
	must(err)
	must(s.SetState(ctx, r, localstore.StateLive, ""))
	_, err = s.Replicas(ctx)
	must(err)

	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		rows, err := tx.NewBookmarks(0, 500)
		must(err)
		var flights []localstore.Flight
		for i := range rows {
			flights = append(flights, localstore.Flight{Op: api.Op{OpID: rows[i].ID, Action: api.OpCreate, Type: rows[i].Type, ID: rows[i].ID}, Sent: localstore.Sent{Fields: rows[i].Fields}})
			must(tx.Touch(&rows[i], int64(i+1), tx.Now()))
		}
		must(tx.Launch(flights))
		flights, err = tx.InFlight()
		must(err)
		must(tx.Land(flights))
		all, err := tx.EditedFolders()
		must(err)
		for i := range all {
			must(tx.Touch(&all[i], int64(1000+i), tx.Now()))
		}
		next := rows[0].Entity
		next.Title = "otherwise"
		must(tx.Write(&rows[0], next, &localstore.Base{Fields: rows[0].Fields}))
		must(tx.AddConflict(api.TypeBookmark, rows[0].ID, "title", "a", "b"))
		must(tx.MoveConflicts(rows[0].ID, rows[1].ID))
		must(tx.AddNote(api.TypeBookmark, rows[0].ID, "united", ""))
		must(tx.Park(localstore.Parked{Type: api.TypeBookmark, ID: rows[0].ID, Action: api.OpUpdate, Code: api.CodeForbidden}))
		_, err = tx.Parked()
		must(err)
		must(tx.Unpark(rows[0].ID))
		must(tx.DropParked())
		_, err = tx.EditedBookmarks(0, 500)
		must(err)
		_, _, err = tx.Edited(api.TypeBookmark)
		must(err)
		_, _, err = tx.Edited(api.TypeFolder)
		must(err)
		_, err = tx.FindAll(api.TypeBookmark, ids)
		must(err)
		_, err = tx.FindAll(api.TypeFolder, []string{dir})
		must(err)
		_, err = tx.Stored(api.TypeBookmark, 0, 500)
		must(err)
		_, err = tx.Stored(api.TypeFolder, 0, 500)
		must(err)
		_, err = tx.NearestAlive(dir)
		must(err)
		_, err = tx.Last(dir)
		must(err)
		_, err = tx.Strays()
		must(err)
		_, err = tx.TwinFolders()
		must(err)
		_, _, err = tx.TwinBookmarks(0)
		must(err)
		_, err = tx.Twin(api.TypeBookmark, localstore.Pair{Mine: ids[0], Theirs: ids[1]})
		must(err)
		_, err = tx.Inside(dir, 50)
		must(err)
		return nil
	})
	_, _, err = s.Sum(ctx, r)
	must(err)
	must(s.FinishBulk(ctx))
}
