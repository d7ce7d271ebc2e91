package localstore

import (
	"slices"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// source is where a list reads its rows from. SQLite is told, since it knows
// nothing of how many rows there are of what.
type source struct {
	table string
	where string // beside what the list's filters say
	args  []any
	// sorted is set where the rows are found first and sorted then, rather than
	// looked for in their order by date.
	sorted bool
	// whole is set where all rows are gone through for a few.
	whole bool
}

// few is up to how many rows of a folder, or with a tag, are sorted rather than
// looked for, in their order, among all of the replica: they may lie anywhere
// there.
const few = 3000

// rareStatuses are those that a page is seldom full of among the newest.
var rareStatuses = []string{"dead", "archived"}

// source decides for a list that is sorted by a column; "" is one that is counted.
func (t *tx) source(q List, column string) (source, error) {
	for _, tag := range q.Tags {
		n, err := t.atMostFew(`SELECT 1 FROM tag WHERE replica = ? AND key = ?`, q.Replica, rules.TagKey(tag))
		if err != nil {
			return source{}, err
		}
		if n < few {
			// From what carries it to the rows.
			return source{table: `bookmark b NOT INDEXED`}, nil
		}
	}
	byDate := column == sortColumns["createdAt"]
	folder := List{Replica: q.Replica, BookmarkFilter: api.BookmarkFilter{FolderID: q.FolderID, Recursive: q.Recursive}}
	if q.FilterStatus == "unfiled" && q.FolderID == "" {
		folder.FolderID = api.RootFolder
	}
	everywhere := folder.FolderID == "" || folder.FolderID == api.RootFolder && folder.Recursive
	switch {
	case !everywhere && byDate:
		where, args, err := t.filter(folder)
		if err != nil {
			return source{}, err
		}
		n, err := t.atMostFew(`SELECT 1 FROM bookmark b WHERE `+where, args...)
		return source{table: `bookmark b`, sorted: n < few || q.Limit == 0}, err
	case !everywhere, q.FilterStatus == "deleted":
		return source{table: `bookmark b`}, nil
	case strings.TrimSpace(q.Query) != "":
	case byDate && !slices.Contains(rareStatuses, q.FilterStatus), column == "" && q.FilterStatus == "":
		return source{table: `bookmark b`}, nil
	}
	// One row after the other as they lie in the file is several times as fast as
	// by an index that leads to each of them.
	return source{
		table: `bookmark b NOT INDEXED`, where: ` AND b.n > ? AND b.n < ?`,
		args: []any{q.Replica * partition, (q.Replica + 1) * partition}, whole: true,
	}, nil
}

// atMostFew counts what a query answers, as far as it matters.
func (t *tx) atMostFew(query string, args ...any) (n int, err error) {
	err = t.row(`SELECT COUNT(*) FROM (`+query+` LIMIT (0 + ?))`, append(args, few)...).Scan(&n)
	return n, err
}
