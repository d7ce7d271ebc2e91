package localstore

import (
	"context"
	"fmt"
	"strconv"

	"bm/server/api"
	"bm/server/api/query"
)

// candidates is how many of a tier's hits are ranked, the latest arrivals, when
// a page is asked for: a word that nearly every bookmark has would otherwise
// cost a second at a million rows.
const candidates = 2000

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

// searchPage lists by relevance: tier after tier, in each the newest first,
// each bookmark once. A cursor holds how many were given before.
func (s *Store) searchPage(ctx context.Context, q List) (Page, error) {
	skip := 0
	if q.Cursor != "" {
		at, err := parsePlace(q.Cursor)
		if err != nil {
			return Page{}, err
		}
		if skip, err = strconv.Atoi(at.Key); err != nil || skip < 0 {
			return Page{}, api.Invalid("cursor", "is not one that a list gave out")
		}
	}
	var page Page
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(q.Replica)
		if err != nil {
			return err
		}
		want := -1
		if q.Limit > 0 {
			want = skip + q.Limit + 1
		}
		rows, err := tx.ranked(q, want)
		if err != nil {
			return err
		}
		rows = rows[min(skip, len(rows)):]
		if q.Limit > 0 && len(rows) > q.Limit {
			rows = rows[:q.Limit]
			page.Next = place{Key: strconv.Itoa(skip + q.Limit)}.encode()
		}
		page.Bookmarks, err = tx.shownAll(r, rows)
		return err
	})
	return page, err
}

// ranked is what a search finds, best first, at most want rows; -1 means all.
func (t *tx) ranked(q List, want int) ([]Entity, error) {
	parsed := query.Parse(q.Query)
	text := q.Query
	q.Query = ""
	where, args, err := t.filter(q)
	if err != nil {
		return nil, err
	}
	q.Query = text
	tiers, err := parsed.Tiers(t.searchSchema(q.Replica), len(args)+1)
	if err != nil {
		return nil, err
	}
	var found []Entity
	given := map[int64]bool{}
	for _, tier := range tiers {
		rows, err := t.tier(q, tier, where, args, want)
		if err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		for i := range rows {
			if given[rows[i].n] {
				continue
			}
			given[rows[i].n] = true
			if found = append(found, rows[i]); len(found) == want {
				return found, nil
			}
		}
	}
	return found, nil
}

// tier runs one step of a ranked search.
func (t *tx) tier(q List, tier query.Tier, where string, args []any, want int) ([]Entity, error) {
	args = append(append([]any(nil), args...), tier.Args...)
	bind := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	source, tail := `bookmark b`, ` WHERE `+where+` AND `+tier.Where
	if tier.Match != "" {
		// From the hits to their rows, never from a hundred thousand rows in
		// the order wanted to the few that are hits.
		source += ` NOT INDEXED`
		tail += ` AND b.n IN (SELECT rowid FROM search WHERE search MATCH ` + bind(tier.Match) +
			` AND rowid > ` + bind(q.Replica*partition) + ` AND rowid < ` + bind((q.Replica+1)*partition)
		if want >= 0 && want <= candidates/4 && tier.Where == "TRUE" && q.unfiltered() {
			tail += ` ORDER BY rowid DESC LIMIT ` + strconv.Itoa(candidates)
		}
		tail += `)`
	}
	tail += ` ORDER BY b.created_at DESC, b.id DESC`
	if want >= 0 {
		tail += ` LIMIT ` + bind(want)
	}
	return t.collect(`SELECT `+bookmarkColumns+` FROM `+source+tail, args, scanBookmark)
}

// unfiltered reports whether nothing but the query narrows the list.
func (q *List) unfiltered() bool {
	return len(q.Tags) == 0 && q.FolderID == "" && q.FilterStatus == ""
}
