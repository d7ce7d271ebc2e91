package places

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The roots of Firefox's tree, by the ids that they have in every profile, by
// the names that a Firefox without such ids gave them, and as a backup calls
// them.
var roots = []struct{ guid, name, backup string }{
	{"root________", "places", "placesRoot"},
	{"menu________", "menu", "bookmarksMenuFolder"},
	{"toolbar_____", "toolbar", "toolbarFolder"},
	{"unfiled_____", "unfiled", "unfiledBookmarksFolder"},
	{"mobile______", "mobile", "mobileFolder"},
	{"tags________", "tags", "tagsFolder"},
}

// What Firefox keeps beside a bookmark, or beside a page, under a name.
const (
	charsetNote  = "URIProperties/characterSet"
	postDataNote = "bookmarkProperties/POSTData"
	excludedNote = "places/excludeFromBackup" // what Firefox makes for itself
)

// schema is what a database has of what differs between versions of Firefox.
type schema struct {
	columns map[string]bool // "table.column"
	roots   map[string]int64
	notes   map[string]int64 // numbers of the names above that are in use
	rows    int              // in moz_bookmarks
}

// needed are the columns that every Firefox has.
var needed = []string{
	"moz_bookmarks.id", "moz_bookmarks.type", "moz_bookmarks.fk", "moz_bookmarks.parent", "moz_bookmarks.position",
	"moz_bookmarks.title", "moz_bookmarks.dateAdded", "moz_bookmarks.lastModified", "moz_places.id", "moz_places.url",
}

// readSchema finds tables that hold what they say. A view, a virtual table and a
// column that is worked out may have been made to go on for ever.
func readSchema(ctx context.Context, conn *sql.Conn) (*schema, error) {
	s := &schema{columns: map[string]bool{}, roots: map[string]int64{}, notes: map[string]int64{}}
	err := each(ctx, conn, func(row *sql.Rows) error {
		var table, column string
		err := row.Scan(&table, &column)
		s.columns[table+"."+column] = true
		return err
	}, `SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.type = 'table' AND t.name LIKE 'moz\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(needed, func(column string) bool { return !s.has(column) }) {
		return nil, ErrForeign
	}
	if err := s.readRoots(ctx, conn); err != nil {
		return nil, err
	}
	if !s.has("moz_anno_attributes.name") {
		return s, nil
	}
	err = each(ctx, conn, func(row *sql.Rows) error {
		var id int64
		var name string
		err := row.Scan(&id, &name)
		s.notes[name] = id
		return err
	}, `SELECT `+whole("id")+`, name FROM moz_anno_attributes WHERE name IN (?, ?, ?)`, charsetNote, postDataNote, excludedNote)
	return s, err
}

func (s *schema) has(column string) bool { return s.columns[column] }

// readRoots finds the roots: by their ids, else by the table of those that had
// none yet.
func (s *schema) readRoots(ctx context.Context, conn *sql.Conn) error {
	find := func(query string, key func(i int) string) error {
		for i, root := range roots {
			var id int64
			err := conn.QueryRowContext(ctx, query, key(i)).Scan(&id)
			if err == nil {
				s.roots[root.backup] = id
			} else if !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("find the roots: %w", err)
			}
		}
		return nil
	}
	if s.has("moz_bookmarks.guid") {
		if err := find(`SELECT `+whole("id")+` FROM moz_bookmarks WHERE guid = ?`, func(i int) string { return roots[i].guid }); err != nil {
			return err
		}
	}
	if s.roots["placesRoot"] == 0 && s.has("moz_bookmarks_roots.folder_id") {
		if err := find(`SELECT `+whole("folder_id")+` FROM moz_bookmarks_roots WHERE root_name = ?`, func(i int) string { return roots[i].name }); err != nil {
			return err
		}
	}
	if s.roots["placesRoot"] == 0 {
		return ErrForeign
	}
	return nil
}

// tree is the query that answers all below the root, each folder before what is
// in it and that in its order: rows wait in a queue whose first is the deepest.
// A row has one parent, so that only the root itself could come twice.
func (s *schema) tree() string {
	shown := ""
	if excluded := s.notes[excludedNote]; excluded != 0 && s.has("moz_items_annos.item_id") {
		shown = fmt.Sprintf(` AND NOT EXISTS (SELECT 1 FROM moz_items_annos a WHERE a.item_id = b.id AND a.anno_attribute_id = %d)`, excluded)
	}
	columns := []string{
		"t.level", whole("b.id"), whole("b.type"), text(s.column("moz_bookmarks.guid", "b.guid")), text("b.title"), whole("b.position"),
		whole("b.dateAdded"), whole("b.lastModified"), text("p.url"), text("g.tags"), text(s.keyword()), text(s.postData()), text(s.charset()), s.annotations(),
	}
	return fmt.Sprintf(`WITH RECURSIVE tree(id, level, position, type) AS (
	SELECT id, 0, 0, type FROM moz_bookmarks WHERE id = %[1]d
	UNION ALL
	SELECT b.id, t.level + 1, b.position, b.type FROM tree t CROSS JOIN moz_bookmarks b ON b.parent = t.id
		WHERE t.type = %[3]d AND b.id NOT IN (%[1]d, %[2]d) AND b.type IN (%[4]d, %[3]d, %[5]d)%[6]s
	ORDER BY 2 DESC, 3, 1
)
SELECT %[7]s
FROM tree t CROSS JOIN moz_bookmarks b ON b.id = t.id LEFT JOIN moz_places p ON p.id = b.fk LEFT JOIN temp.tagged g ON g.place = b.fk
WHERE b.type <> %[4]d OR p.url IS NOT NULL`,
		s.roots["placesRoot"], s.roots["tagsFolder"], folderType, bookmarkType, separatorType, shown, strings.Join(columns, ", "))
}

// longest is how much of a text is read, in characters: more than any bookmark may
// hold, so that what is too long is still known to be.
const longest = 1 << 20

// text and whole make of whatever a column holds what is read of it.
func text(expr string) string {
	return fmt.Sprintf("COALESCE(SUBSTR(CAST(%s AS TEXT), 1, %d), '')", expr, longest)
}

func whole(expr string) string { return "COALESCE(CAST(" + expr + " AS INTEGER), 0)" }

func (s *schema) column(name, expr string) string {
	if !s.has(name) {
		return "NULL"
	}
	return expr
}

// keyword is the word that opens the bookmark: the page's, or in an older
// Firefox the bookmark's own.
func (s *schema) keyword() string {
	switch {
	case s.has("moz_keywords.place_id"):
		return `(SELECT k.keyword FROM moz_keywords k WHERE k.place_id = b.fk ORDER BY k.id LIMIT 1)`
	case s.has("moz_keywords.keyword") && s.has("moz_bookmarks.keyword_id"):
		return `(SELECT k.keyword FROM moz_keywords k WHERE k.id = b.keyword_id)`
	}
	return "NULL"
}

// postData is what the keyword sends.
func (s *schema) postData() string {
	note := s.notes[postDataNote]
	switch {
	case s.has("moz_keywords.place_id") && s.has("moz_keywords.post_data"):
		return `(SELECT k.post_data FROM moz_keywords k WHERE k.place_id = b.fk ORDER BY k.id LIMIT 1)`
	case note != 0 && s.has("moz_items_annos.content"):
		return fmt.Sprintf(`(SELECT a.content FROM moz_items_annos a WHERE a.item_id = b.id AND a.anno_attribute_id = %d)`, note)
	}
	return "NULL"
}

func (s *schema) charset() string {
	if note := s.notes[charsetNote]; note != 0 && s.has("moz_annos.content") {
		return fmt.Sprintf(`(SELECT a.content FROM moz_annos a WHERE a.place_id = b.fk AND a.anno_attribute_id = %d)`, note)
	}
	return "NULL"
}

// annotations are what an older Firefox kept beside a bookmark, its description
// above all, as the JSON that a backup has of them.
func (s *schema) annotations() string {
	if !s.has("moz_items_annos.content") || !s.has("moz_anno_attributes.name") {
		return "NULL"
	}
	return `(SELECT json_group_array(json_object('name', ` + text("n.name") + `, 'flags', CAST(a.flags AS INTEGER),
		'expires', CAST(a.expiration AS INTEGER), 'value', ` + text("a.content") + `))
	FROM moz_items_annos a JOIN moz_anno_attributes n ON n.id = a.anno_attribute_id WHERE a.item_id = b.id HAVING COUNT(*) > 0)`
}
