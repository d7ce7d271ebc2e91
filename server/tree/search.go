package tree

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// maxCandidates bounds how many hits of one tier are ranked: a word that nearly
// every bookmark has would otherwise cost a second at a million rows. The tiers
// are walked title first, so that an old exact title is not lost behind new
// descriptions. Where anything else narrows the list there is no bound, since
// it would be applied before the narrowing.
const maxCandidates = 2000

// hit is a bookmark that a search found, before its row is read.
type hit struct {
	Tier      int    `json:"tier"`
	CreatedAt int64  `json:"at"`
	ID        string `json:"id"`
}

func (h hit) after(other hit) bool {
	if h.Tier != other.Tier {
		return h.Tier > other.Tier
	}
	if h.CreatedAt != other.CreatedAt {
		return h.CreatedAt < other.CreatedAt
	}
	return h.ID < other.ID
}

// Found is a bookmark with its place in the answer.
type Found struct {
	Bookmark
	place hit
}

// Position is where a page that ends here goes on.
func (f Found) Position() any { return f.place }

// Search reads a page of what a query finds, by relevance: best field, exact
// before prefix, newest first; and one more where there is one.
func (t *Tree) Search(ctx context.Context, scope access.Scope, filter api.BookmarkFilter, page Page) (found []Found, err error) {
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		hits, err := t.rank(ctx, tx, scope, filter, page)
		if err != nil {
			return err
		}
		found, err = readHits(ctx, tx, scope, hits)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return found, nil
}

// rank walks the tiers until the page is full.
func (t *Tree) rank(ctx context.Context, tx *sqldb.Tx, scope access.Scope, filter api.BookmarkFilter, page Page) ([]hit, error) {
	var last hit
	if page.After != nil {
		if err := json.Unmarshal(page.After, &last); err != nil {
			return nil, fmt.Errorf("read a cursor: %w", err)
		}
	}
	if err := check(ctx, tx, scope, filter); err != nil {
		return nil, err
	}
	if filter.FilterStatus == "deleted" {
		all, err := trashHits(ctx, tx, scope, filter)
		return inPage(all, page, last), err
	}
	look := newTagLook(ctx, tx, scope)
	how, err := look.shortest(ctx, filter)
	if err != nil {
		return nil, err
	}
	base, err := filtered(ctx, look, filter, how)
	if err != nil {
		return nil, err
	}
	tiers, err := query.Parse(filter.Query).Tiers(schema(ctx, look, how), len(base.args)+2)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	skip := page.Offset
	var hits []hit
	for number, tier := range tiers {
		candidates, err := tierHits(ctx, tx, base, tier, number, unfiltered(filter) && tier.Where == "TRUE")
		if err != nil {
			return nil, err
		}
		for _, h := range candidates {
			if seen[h.ID] {
				continue
			}
			seen[h.ID] = true
			if page.After != nil && !h.after(last) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if hits = append(hits, h); len(hits) > page.Limit {
				return hits, nil
			}
		}
	}
	return hits, nil
}

// inPage is the part of all hits, in their order, that a page shows, and one more.
func inPage(hits []hit, page Page, last hit) []hit {
	if page.After != nil {
		hits = slices.DeleteFunc(hits, func(h hit) bool { return !h.after(last) })
	}
	hits = hits[min(page.Offset, len(hits)):]
	return hits[:min(page.Limit+1, len(hits))]
}

// tierHits are the candidates of one tier, newest first: all of them, or where
// they are bounded those that arrived last.
func tierHits(ctx context.Context, tx *sqldb.Tx, base *condition, tier query.Tier, number int, bounded bool) (hits []hit, err error) {
	c := &condition{parts: append([]string(nil), base.parts...), args: append([]any(nil), base.args...)}
	match := c.bind(tier.Match)
	c.args = append(c.args, tier.Args...)
	c.and(tier.Where)
	bound := ""
	if bounded {
		bound = fmt.Sprintf(" LIMIT %d", maxCandidates)
	}
	text := `SELECT b.id, b.created_at FROM `
	switch {
	case tier.Match == "":
		// The placeholder is kept in use, whatever the dialect.
		c.and("CAST(" + match + " AS TEXT) = ''")
		text += `bookmark b WHERE ` + c.String()
	case tx.Dialect() == sqldb.Postgres:
		text += `bookmark b WHERE b.search @@ ` + match + `::text::tsquery AND ` + c.String()
	case bounded:
		text += `bookmark b NOT INDEXED WHERE b.seq IN (SELECT rowid FROM bookmark_fts WHERE bookmark_fts MATCH ` + match +
			` ORDER BY rowid DESC` + bound + `) AND ` + c.String()
	default:
		text += `bookmark b NOT INDEXED WHERE b.seq IN (SELECT rowid FROM bookmark_fts WHERE bookmark_fts MATCH ` + match + `) AND ` + c.String()
	}
	err = tx.Rows(ctx, text+` ORDER BY b.created_at DESC, b.id DESC`+bound, c.args, func(row sqldb.Scanner) error {
		h := hit{Tier: number}
		err := row.Scan(&h.ID, &h.CreatedAt)
		hits = append(hits, h)
		return err
	})
	return hits, err
}

// unfiltered reports whether nothing but the query narrows a list.
func unfiltered(f api.BookmarkFilter) bool {
	return len(f.Tags) == 0 && (f.FolderID == "" || f.FolderID == api.RootFolder && f.Recursive) && f.FilterStatus == ""
}

// readHits reads the rows in the order of the hits.
func readHits(ctx context.Context, tx *sqldb.Tx, scope access.Scope, hits []hit) ([]Found, error) {
	found := make([]Found, 0, len(hits))
	load := NewLoad(ctx)
	for _, h := range hits {
		b, err := findBookmark(ctx, tx, scope.TenantID, scope.WorkspaceID, h.ID)
		if err == nil {
			err = load.Add(sizeOf(&b.Bookmark))
		}
		if err != nil {
			return nil, err
		}
		found = append(found, Found{b, h})
	}
	return found, nil
}

// queryRow is a bookmark as a query looks at it in Go.
func queryRow(b *Bookmark) query.Row {
	keys := make([]string, len(b.Tags))
	for i, tag := range b.Tags {
		keys[i] = rules.TagKey(tag)
	}
	return query.Row{
		Index: query.NewIndex(document(b)), TagKeys: keys, CreatedAt: b.CreatedAt.Time,
		LinkStatus: string(b.LinkStatus), ArchiveStatus: string(b.Archive.Status), FolderID: b.FolderID,
	}
}
