package localstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"bm/server/api"
	"bm/server/api/query"
)

// matching is the list's query as a condition, for orders other than relevance.
func (t *tx) matching(q List, first int) (string, []any, error) {
	return query.Parse(q.Query).Filter(t.searchSchema(q.Replica), first)
}

func (t *tx) searchSchema(replica int64) query.Schema {
	return query.Schema{
		Dialect: query.SQLite, Index: "search", Row: "b.n",
		CreatedAt: "b.created_at", LinkStatus: "b.link_status", ArchiveStatus: "b.archive",
		FolderID: "b.folder", NoFolder: "b.folder = ''", NoTags: "b.tags = ''",
		HasTag: func(key string, bind func(any) string) (string, error) {
			return "b.n IN (SELECT n FROM tag WHERE replica = " + strconv.FormatInt(replica, 10) + " AND key = " + bind(key) + ")", nil
		},
		Folders: func(f query.Folder) ([]string, error) {
			all, err := t.folderNodes(replica)
			return f.Resolve(all), err
		},
	}
}

func (t *tx) folderNodes(replica int64) ([]query.FolderNode, error) {
	var all []query.FolderNode
	err := t.each(`SELECT id, parent, title FROM folder WHERE replica = ? AND deleted_at = 0 ORDER BY n`, []any{replica},
		func(row scanner) error {
			var f query.FolderNode
			err := row.Scan(&f.ID, &f.ParentID, &f.Name)
			all = append(all, f)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the folders: %w", err)
	}
	return all, nil
}

// searchPage lists by relevance. A cursor holds the last hit that was given.
func (s *Store) searchPage(ctx context.Context, q List) (Page, error) {
	var page Page
	err := s.searchEach(ctx, q, func(b Bookmark) error {
		page.Bookmarks = append(page.Bookmarks, b)
		return nil
	}, &page.Next)
	return page, err
}

// searchEach hands fn what a search finds, best first, and says where a page that
// ends before all was found goes on.
func (s *Store) searchEach(ctx context.Context, q List, fn func(Bookmark) error, next *string) error {
	behind, err := parseHit(q.Cursor)
	if err != nil {
		return err
	}
	return s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(q.Replica)
		if err != nil {
			return err
		}
		want := -1
		if q.Limit > 0 {
			want = q.Limit + 1 // one more tells whether there are more
		}
		hits, err := tx.rank(q, behind, want)
		if err != nil {
			return fmt.Errorf("search: %w", err)
		}
		if q.Limit > 0 && len(hits) > q.Limit {
			hits = hits[:q.Limit]
			*next = place{Key: encode(hits[q.Limit-1])}.encode()
		}
		return tx.hits(r, hits, fn)
	})
}

// parseHit is the hit that a cursor holds; nil for none.
func parseHit(cursor string) (*query.Hit, error) {
	if cursor == "" {
		return nil, nil //nolint:nilnil // the first page is behind none
	}
	at, err := parsePlace(cursor)
	if err != nil {
		return nil, err
	}
	// Of those of one moment, the rows are gone through in the order of their numbers.
	hit := &query.Hit{Row: math.MaxInt64}
	if json.Unmarshal([]byte(at.Key), hit) != nil {
		return nil, api.Invalid("cursor", "is not one that a list gave out")
	}
	return hit, nil
}

// rank finds the first hits of a list's query behind one.
func (t *tx) rank(q List, behind *query.Hit, want int) ([]query.Hit, error) {
	if q.FilterStatus == "deleted" {
		return t.rankTrash(q, behind, want)
	}
	parsed := query.Parse(q.Query)
	narrowing := q
	narrowing.Query = ""
	where, args, err := t.filter(narrowing)
	if err != nil {
		return nil, err
	}
	tiers, err := parsed.Tiers(t.searchSchema(q.Replica), len(args)+1)
	if err != nil {
		return nil, err
	}
	engine := query.Engine{Tier: func(tier query.Tier, behind *query.Hit, want int) ([]query.Hit, error) {
		return t.tier(q.Replica, tier, where, args, behind, want)
	}}
	if q.unfiltered() {
		engine.Newest = func(behind *query.Hit, n int) ([]query.Candidate, error) { return t.newest(q.Replica, behind, n) }
	}
	return parsed.Rank(tiers, engine, behind, want)
}

// tier runs one step of a ranked search.
func (t *tx) tier(replica int64, tier query.Tier, where string, args []any, behind *query.Hit, want int) ([]query.Hit, error) {
	c := hitCondition{where: where + ` AND ` + tier.Where, args: append(append([]any(nil), args...), tier.Args...)}
	if behind != nil {
		at := c.bind(behind.CreatedAt)
		c.where += ` AND b.created_at <= ` + at + ` AND (b.created_at < ` + at + ` OR b.id < ` + c.bind(behind.ID) + `)`
	}
	if tier.Match == "" {
		return t.hitsBy(`bookmark b`, c, want)
	}
	rows, few, err := t.fewHits(replica, tier.Match, want)
	switch {
	case err != nil || few && len(rows) == 0:
		return nil, err
	case few:
		c.where += ` AND b.n IN (SELECT value FROM json_each(` + c.bind(encode(rows)) + `))`
		return t.hitsBy(`bookmark b NOT INDEXED`, c, want)
	}
	c.where += ` AND b.n IN (SELECT rowid FROM search WHERE search MATCH ` + c.bind(tier.Match) +
		` AND rowid > ` + c.bind(replica*partition) + ` AND rowid < ` + c.bind((replica+1)*partition) + `)`
	if want < 0 {
		return t.hitsBy(`bookmark b NOT INDEXED`, c, want)
	}
	return t.hitsByDate(replica, c, behind, want)
}

// hitCondition is the condition that hits pass.
type hitCondition struct {
	where string
	args  []any
}

func (c *hitCondition) bind(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// hitsBy finds the first hits by some index.
func (t *tx) hitsBy(source string, c hitCondition, want int) (hits []query.Hit, err error) {
	text := `SELECT b.n, b.created_at, b.id FROM ` + source + ` WHERE ` + c.where + ` ORDER BY b.created_at DESC, b.id DESC`
	if want >= 0 {
		text += ` LIMIT (0 + ` + c.bind(want) + `)`
	}
	err = t.each(text, c.args, func(row scanner) error {
		var h query.Hit
		err := row.Scan(&h.Row, &h.CreatedAt, &h.ID)
		hits = append(hits, h)
		return err
	})
	return hits, err
}

// hitsByDate goes through the rows by date until enough were hits. Those of a moment
// that thousands share, as what came in a file without dates does, are gone through
// by id: the index by date would have all of them read for their ids.
func (t *tx) hitsByDate(replica int64, c hitCondition, behind *query.Hit, want int) ([]query.Hit, error) {
	moment, crowded, err := t.crowd(replica, behind)
	if err != nil {
		return nil, err
	}
	if !crowded {
		return t.hitsBy(`bookmark b INDEXED BY bookmark_created`, c, want)
	}
	var found []query.Hit
	for _, part := range []struct{ source, is string }{
		{`bookmark b INDEXED BY bookmark_created`, `>`}, {`bookmark b INDEXED BY bookmark_id`, `=`}, {`bookmark b INDEXED BY bookmark_created`, `<`},
	} {
		if len(found) == want {
			break
		}
		of := hitCondition{where: c.where, args: slices.Clone(c.args)}
		of.where += ` AND b.created_at ` + part.is + ` ` + of.bind(moment)
		hits, err := t.hitsBy(part.source, of, want-len(found))
		if err != nil {
			return nil, err
		}
		found = append(found, hits...)
	}
	return found, nil
}

// crowd is the moment that thousands of the newest rows share, or of those behind
// a hit.
func (t *tx) crowd(replica int64, behind *query.Hit) (moment int64, crowded bool, err error) {
	const many = 1000
	from := int64(math.MaxInt64)
	if behind != nil {
		from = behind.CreatedAt
	}
	at := func(n int) string {
		return `COALESCE((SELECT created_at FROM bookmark INDEXED BY bookmark_created WHERE replica = ?1 AND deleted_at = 0 AND created_at <= ?2
			ORDER BY created_at DESC LIMIT 1 OFFSET ` + strconv.Itoa(n) + `), 0)`
	}
	var later int64
	err = t.row(`SELECT `+at(many)+`, `+at(2*many), replica, from).Scan(&moment, &later)
	return moment, moment != 0 && moment == later, err
}

// fewHits are the rows that the index has for an expression, where it has so few
// that to look each of them up, and to sort them, is the shorter way. Of more it
// is shorter to go through the rows by date, to see which of them are hits, until
// as many as are wanted were met. A row that is looked up costs about fifty times
// as much as one that is passed by, since it lies on a page of its own.
func (t *tx) fewHits(replica int64, match string, want int) (rows []int64, few bool, err error) {
	if want < 0 {
		return nil, false, nil
	}
	var all int64
	low, high := replica*partition, (replica+1)*partition
	if err := t.row(`SELECT COALESCE(MAX(n), ?1) - ?1 FROM bookmark WHERE n > ?1 AND n < ?2`, low, high).Scan(&all); err != nil {
		return nil, false, err
	}
	most := int(math.Sqrt(float64(all) * float64(want) / 50))
	err = t.each(`SELECT rowid FROM search WHERE search MATCH ? AND rowid > ? AND rowid < ? LIMIT (0 + ?)`, []any{match, low, high, most + 1},
		func(row scanner) error {
			var n int64
			err := row.Scan(&n)
			rows = append(rows, n)
			return err
		})
	return rows, len(rows) <= most, err
}

// hitsAtOnce is how many rows of hits are read in one statement.
const hitsAtOnce = 500

// hits hands fn the rows of hits, in their order.
func (t *tx) hits(r *Replica, hits []query.Hit, fn func(Bookmark) error) error {
	local := r.State == StateLocal
	for some := range slices.Chunk(hits, hitsAtOnce) {
		err := t.each(`SELECT `+bookmarkColumns+`, `+bookmarkUnsent+` FROM json_each(?) AS each CROSS JOIN bookmark b ON b.n = each.value`,
			[]any{encode(numbersOf(some))}, func(row scanner) error {
				var e Entity
				var unsent bool
				if err := scanBookmark(row, &e, &unsent); err != nil {
					return err
				}
				return fn(e.bookmark(r, unsent && !local))
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func numbersOf(hits []query.Hit) []int64 {
	numbers := make([]int64, len(hits))
	for i := range hits {
		numbers[i] = hits[i].Row
	}
	return numbers
}

// unfiltered reports whether nothing but the query narrows the list.
func (q *List) unfiltered() bool {
	return len(q.Tags) == 0 && (q.FolderID == "" || q.FolderID == api.RootFolder && q.Recursive) && q.FilterStatus == ""
}
