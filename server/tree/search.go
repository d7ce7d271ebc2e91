package tree

import (
	"context"
	"encoding/json"
	"fmt"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// maxCandidates bounds how many hits of one tier are ranked: the newest of
// them. A common word's tiers are walked title first, so that an old exact
// title is not lost behind new descriptions.
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
	base := filtered(scope, filter)
	tiers, err := query.Parse(filter.Query).Tiers(schema(ctx, tx, scope), len(base.args)+2)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	skip := page.Offset
	var hits []hit
	for number, tier := range tiers {
		candidates, err := tierHits(ctx, tx, base, tier, number)
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

// tierHits are the newest candidates of one tier, newest first.
func tierHits(ctx context.Context, tx *sqldb.Tx, base *condition, tier query.Tier, number int) (hits []hit, err error) {
	c := &condition{parts: append([]string(nil), base.parts...), args: append([]any(nil), base.args...)}
	match := c.bind(tier.Match)
	c.args = append(c.args, tier.Args...)
	c.and(tier.Where)
	text := `SELECT b.id, b.created_at FROM `
	switch {
	case tier.Match == "":
		// The placeholder is kept in use, whatever the dialect.
		c.and("CAST(" + match + " AS TEXT) = ''")
		text += `bookmark b WHERE ` + c.String()
	case tx.Dialect() == sqldb.Postgres:
		text += `bookmark b WHERE b.search @@ ` + match + `::text::tsquery AND ` + c.String()
	default:
		text += fmt.Sprintf(`(SELECT rowid AS seq FROM bookmark_fts WHERE bookmark_fts MATCH %s ORDER BY rowid DESC LIMIT %d) h
			JOIN bookmark b ON b.seq = h.seq WHERE `, match, maxCandidates) + c.String()
	}
	text += fmt.Sprintf(` ORDER BY b.created_at DESC, b.id DESC LIMIT %d`, maxCandidates)
	err = tx.Rows(ctx, text, c.args, func(row sqldb.Scanner) error {
		h := hit{Tier: number}
		err := row.Scan(&h.ID, &h.CreatedAt)
		hits = append(hits, h)
		return err
	})
	return hits, err
}

// readHits reads the rows in the order of the hits.
func readHits(ctx context.Context, tx *sqldb.Tx, scope access.Scope, hits []hit) ([]Found, error) {
	found := make([]Found, 0, len(hits))
	for _, h := range hits {
		b, err := findBookmark(ctx, tx, scope.TenantID, scope.WorkspaceID, h.ID)
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
