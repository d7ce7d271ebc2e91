package localstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// List says which bookmarks of a replica to list, and how.
type List struct {
	Replica int64
	api.BookmarkFilter
	// SortBy is one of [api.SortKeys], with "-" in front for descending; ""
	// is the newest first.
	SortBy string
	// Limit bounds the page; 0 means all.
	Limit int
	// Cursor is Next of the page before; "" for the first.
	Cursor string
}

// Page is a page of a list. Pages stay stable while bookmarks come and go,
// since a cursor says after which one the next page begins.
type Page struct {
	Bookmarks []Bookmark
	Next      string // "" at the end
}

// Bookmarks lists a page of bookmarks.
func (s *Store) Bookmarks(ctx context.Context, q List) (Page, error) {
	if q.ranked() {
		return s.searchPage(ctx, q)
	}
	var page Page
	limit := q.Limit
	if limit > 0 {
		q.Limit++ // one more tells whether there are more
	}
	var places []place
	err := s.eachBookmark(ctx, q, func(b Bookmark, at place) error {
		page.Bookmarks = append(page.Bookmarks, b)
		places = append(places, at)
		return nil
	})
	if limit > 0 && len(page.Bookmarks) > limit {
		page.Bookmarks = page.Bookmarks[:limit]
		page.Next = places[limit-1].encode()
	}
	return page, err
}

// All streams the bookmarks of a list, however many, in constant memory. An
// error ends it.
func (s *Store) All(ctx context.Context, q List) iter.Seq2[Bookmark, error] {
	return func(yield func(Bookmark, error) bool) {
		if q.Limit > 0 && q.Limit <= hitsAtOnce {
			// Who asks more of the store for each of them then needs no second connection.
			page, err := s.Bookmarks(ctx, q)
			for _, b := range page.Bookmarks {
				if !yield(b, nil) {
					return
				}
			}
			if err != nil {
				yield(Bookmark{}, err)
			}
			return
		}
		stopped := false
		give := func(b Bookmark) error {
			if !yield(b, nil) {
				stopped = true
				return errStop
			}
			return nil
		}
		var err error
		if q.ranked() {
			var next string
			err = s.searchEach(ctx, q, give, &next)
		} else {
			err = s.eachBookmark(ctx, q, func(b Bookmark, _ place) error { return give(b) })
		}
		// Who stopped must not be called again, whatever else went wrong.
		if err != nil && !stopped {
			yield(Bookmark{}, err)
		}
	}
}

// Count counts what a list without a limit would hold.
func (s *Store) Count(ctx context.Context, q List) (int, error) {
	var n int
	err := s.read(ctx, func(tx *tx) error {
		where, args, err := tx.filter(q)
		if err != nil {
			return err
		}
		from, err := tx.source(q, "")
		if err != nil {
			return err
		}
		return tx.row(`SELECT COUNT(*) FROM `+from.table+` WHERE `+where+from.where, append(args, from.args...)...).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count bookmarks: %w", err)
	}
	return n, nil
}

// ranked reports whether the list is in the order of relevance.
func (q *List) ranked() bool {
	return strings.TrimSpace(q.Query) != "" && (q.SortBy == "" || q.SortBy == "relevance")
}

type stop struct{}

func (stop) Error() string { return "stop" }

var errStop error = stop{}

// sortColumns are the columns of the sort keys. Titles and URLs are compared
// byte by byte, as the server does.
var sortColumns = map[string]string{
	"createdAt": "b.created_at", "updatedAt": "b.updated_at", "title": "b.title", "url": "b.url", "sortOrder": "b.sort_order",
}

func (s *Store) eachBookmark(ctx context.Context, q List, fn func(Bookmark, place) error) error {
	return s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(q.Replica)
		if err != nil {
			return err
		}
		where, args, err := tx.filter(q)
		if err != nil {
			return err
		}
		column, descending, err := q.order()
		if err != nil {
			return err
		}
		from, err := tx.source(q, column)
		if err != nil {
			return err
		}
		where, args = where+from.where, append(args, from.args...)
		if from.sorted {
			column = "+" + column
		}
		compare, direction := ">", ""
		if descending {
			compare, direction = "<", " DESC"
		}
		if q.Cursor != "" {
			at, err := parsePlace(q.Cursor)
			if err != nil {
				return err
			}
			where += fmt.Sprintf(" AND (%s, b.n) %s (CAST(? AS %s), ?)", column, compare, affinity(column))
			args = append(args, at.Key, at.N)
		}
		order := ` ORDER BY ` + column + direction + `, b.n` + direction
		rest := from.table + ` WHERE ` + where + order
		if q.Limit > 0 {
			rest += ` LIMIT (0 + ?)`
			args = append(args, q.Limit)
			if from.whole {
				// What else there is of a row is read of those that are on the page.
				rest = `bookmark b WHERE b.n IN (SELECT b.n FROM ` + rest + `)` + order
			}
		}
		statement := `SELECT ` + bookmarkColumns + `, ` + bookmarkUnsent + `, CAST(` + column + ` AS TEXT) FROM ` + rest
		local := r.State == StateLocal
		return tx.each(statement, args, func(row scanner) error {
			var e Entity
			var unsent bool
			var key string
			if err := scanBookmark(row, &e, &unsent, &key); err != nil {
				return err
			}
			return fn(e.bookmark(r, unsent && !local), place{Key: key, N: e.n})
		})
	})
}

func affinity(column string) string {
	if column == "b.title" || column == "b.url" {
		return "TEXT"
	}
	return "INTEGER"
}

// order is the column to sort by and whether it descends.
func (q *List) order() (column string, descending bool, err error) {
	if q.SortBy == "" || q.SortBy == "relevance" {
		return sortColumns["createdAt"], true, nil
	}
	key, descending := strings.CutPrefix(q.SortBy, "-")
	column, ok := sortColumns[key]
	if !ok {
		return "", false, api.Invalid("sortBy", "must be one of %s, with - in front for descending", strings.Join(api.SortKeys, ", "))
	}
	return column, descending, nil
}

// filter is the condition that the list's filters make.
func (t *tx) filter(q List) (string, []any, error) {
	if q.FilterStatus == "deleted" && (len(q.Tags) > 0 || strings.TrimSpace(q.Query) != "") {
		hits, err := t.inTrash(q)
		return "b.replica = ? AND b.deleted_at > 0 AND b.n IN (SELECT value FROM json_each(?))", []any{q.Replica, encode(numbersOf(hits))}, err
	}
	where, args := []string{"b.replica = ?"}, []any{q.Replica}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.FilterStatus == "deleted" {
		add("b.deleted_at > 0")
	} else {
		add("b.deleted_at = 0")
	}
	switch q.FilterStatus {
	case "", "deleted":
	case "ok", "dead", "unknown":
		add("b.link_status = ?", q.FilterStatus)
	case "archived":
		add("b.archive = ?", string(api.ArchiveCaptured))
	case "untagged":
		add("b.tags = ''")
	case "unfiled":
		add("b.folder = ''")
	default:
		return "", nil, api.Invalid("filterStatus", "must be one of %s", strings.Join(api.FilterStatuses, ", "))
	}
	for _, tag := range q.Tags {
		add("b.n IN (SELECT n FROM tag WHERE replica = ? AND key = ?)", q.Replica, rules.TagKey(tag))
	}
	switch {
	case q.FolderID == "":
	case q.FolderID == api.RootFolder && q.Recursive: // everything is below the top
	case q.FolderID == api.RootFolder:
		add("b.folder = ''")
	case q.Recursive:
		add(`b.folder IN (WITH RECURSIVE below (id) AS (SELECT ? UNION SELECT f.id FROM below
			CROSS JOIN folder f ON f.replica = ? AND f.parent = below.id AND f.deleted_at = 0) SELECT id FROM below)`, q.FolderID, q.Replica)
	default:
		add("b.folder = ?", q.FolderID)
	}
	if strings.TrimSpace(q.Query) != "" {
		condition, values, err := t.matching(q, len(args)+1)
		if err != nil {
			return "", nil, err
		}
		add(condition, values...)
	}
	return strings.Join(where, " AND "), args, nil
}

// place is where a page ended: of rows that are equal otherwise, by their numbers,
// which the indexes have.
type place struct {
	Key string `json:"k"`
	N   int64  `json:"n"`
}

func (p place) encode() string {
	return base64.RawURLEncoding.EncodeToString([]byte(encode(p)))
}

func parsePlace(cursor string) (place, error) {
	var p place
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, api.Invalid("cursor", "is not one that a list gave out")
	}
	return p, nil
}

// tagPrefix is the beginning of the keys of tags that begin with prefix.
func tagPrefix(prefix string) string { return rules.TagKey(prefix) }

// FoldersDeleted are the folders in the trash, those deleted last first.
func (s *Store) FoldersDeleted(ctx context.Context, replica int64) ([]Folder, error) {
	folders, _, err := s.Trash(ctx, replica, -1)
	return slices.Clip(folders), err
}
