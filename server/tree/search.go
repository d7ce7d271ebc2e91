package tree

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// Found is a bookmark with its place in the answer.
type Found struct {
	Bookmark
	place query.Hit
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

// rank finds the hits of a page, and one more.
func (t *Tree) rank(ctx context.Context, tx *sqldb.Tx, scope access.Scope, filter api.BookmarkFilter, page Page) ([]query.Hit, error) {
	var behind *query.Hit
	if page.After != nil {
		behind = &query.Hit{}
		if err := json.Unmarshal(page.After, behind); err != nil {
			return nil, fmt.Errorf("read a cursor: %w", err)
		}
	}
	if err := check(ctx, tx, scope, filter); err != nil {
		return nil, err
	}
	if filter.FilterStatus == "deleted" {
		all, err := trashHits(ctx, tx, scope, filter)
		return inPage(all, page, behind), err
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
	parsed := query.Parse(filter.Query)
	tiers, err := parsed.Tiers(schema(ctx, look, how), len(base.args)+2)
	if err != nil {
		return nil, err
	}
	r := ranking{ctx: ctx, tx: tx, scope: scope, base: base, load: look.load, wide: unfiltered(filter)}
	engine := query.Engine{Tier: r.tier}
	if r.wide {
		engine.Newest = r.newest
	}
	hits, err := parsed.Rank(tiers, engine, behind, min(page.Offset, farthestOffset)+page.Limit+1)
	return hits[min(page.Offset, len(hits)):], err
}

// farthestOffset is more than any workspace holds, and so much that what is asked
// for stays a number of 32 bits.
const farthestOffset = 1 << 30

// inPage is the part of all hits, in their order, that a page shows, and one more.
func inPage(hits []query.Hit, page Page, behind *query.Hit) []query.Hit {
	if behind != nil {
		hits = slices.DeleteFunc(hits, func(h query.Hit) bool { return h.Compare(*behind) <= 0 })
	}
	hits = hits[min(page.Offset, len(hits)):]
	return hits[:min(page.Limit+1, len(hits))]
}

// ranking is a ranked search of a workspace.
type ranking struct {
	ctx   context.Context
	tx    *sqldb.Tx
	scope access.Scope
	base  *condition // of all tiers
	load  *Load
	wide  bool // nothing but the query narrows it
}

// hitBytes is about what a hit holds. Those that an offset passes by are held, too.
const hitBytes = 100

// tier finds the first hits of a tier.
func (r *ranking) tier(tier query.Tier, behind *query.Hit, want int) ([]query.Hit, error) {
	c := &condition{parts: append([]string(nil), r.base.parts...), args: append([]any(nil), r.base.args...)}
	match := c.bind(tier.Match)
	c.args = append(c.args, tier.Args...)
	c.and(tier.Where)
	if behind != nil {
		c.and(fmt.Sprintf("(b.created_at, b.id) < (%s, %s)", c.bind(behind.CreatedAt), c.bind(behind.ID)))
	}
	switch {
	case tier.Match == "":
		// The placeholder is kept in use, whatever the dialect.
		c.and("CAST(" + match + " AS TEXT) = ''")
		return r.sorted(`bookmark b`, c, want)
	case r.tx.Dialect() == sqldb.Postgres:
		c.and("b.search @@ " + match + "::text::tsquery")
		return r.postgresTier(c, want)
	}
	few, err := r.few(tier.Match, want)
	if err != nil {
		return nil, err
	}
	source := `bookmark b INDEXED BY bookmark_created`
	if few {
		source = `bookmark b NOT INDEXED`
	}
	c.and("b.seq IN (SELECT rowid FROM bookmark_fts WHERE bookmark_fts MATCH " + match + ")")
	return r.sorted(source, c, want)
}

// sorted are the first rows that pass a condition, newest first.
func (r *ranking) sorted(source string, c *condition, want int) ([]query.Hit, error) {
	return r.hits(`SELECT b.id, b.created_at FROM `+source+` WHERE `+c.String()+` ORDER BY b.created_at DESC, b.id DESC`+limited(c.bind(want)), c.args)
}

func (r *ranking) hits(text string, args []any) (hits []query.Hit, err error) {
	err = r.tx.Rows(r.ctx, text, args, func(row sqldb.Scanner) error {
		var h query.Hit
		if err := row.Scan(&h.ID, &h.CreatedAt); err != nil {
			return err
		}
		hits = append(hits, h)
		return r.load.Add(hitBytes)
	})
	return hits, err
}

// fewHits is up to how many hits of the index are looked up one by one, to be
// sorted. Of more it is shorter to go through the workspace by date, to see which
// of its rows are hits, until the page is full.
const fewHits = 1000

// few tells whether SQLite's index has few rows for an expression.
func (r *ranking) few(match string, want int) (bool, error) {
	most, n := max(fewHits, want), 0
	err := r.tx.Row(r.ctx, `SELECT count(*) FROM (SELECT 1 FROM bookmark_fts WHERE bookmark_fts MATCH $1`+limited("$2")+`)`, []any{match, most}, &n)
	return n < most, err
}

// postgresTier has PostgreSQL ask the index for all that it has of a tier, and
// stops at what are no longer few. Asked for a page in its order, it goes through
// the workspace by date even for a word that three have: what it knows of rare
// words is that they are not common.
func (r *ranking) postgresTier(c *condition, want int) ([]query.Hit, error) {
	most, where := max(fewHits, want), c.String()
	if r.wide {
		// Before it has looked at a table that has grown it takes a workspace for a
		// few rows. The index of words has the workspace, too.
		where = strings.Replace(where, "b.workspace_id = ", "b.workspace_id || '' = ", 1)
	}
	hits, err := r.hits(`WITH hits AS MATERIALIZED (SELECT b.id, b.created_at FROM bookmark b WHERE `+where+`) SELECT id, created_at FROM hits`+
		limited(fmt.Sprintf("$%d", len(c.args)+1)), append(c.args[:len(c.args):len(c.args)], most+1))
	switch {
	case err != nil:
		return nil, err
	case len(hits) > most:
		return r.sorted(`bookmark b`, c, want)
	}
	slices.SortFunc(hits, query.Hit.Compare)
	return hits[:min(want, len(hits))], nil
}

// newest reads some of the newest bookmarks, as a query looks at them.
func (r *ranking) newest(behind *query.Hit, n int) (found []query.Candidate, err error) {
	c := inScope(r.scope)
	c.and("b.deleted_at = 0")
	if behind != nil {
		c.and(fmt.Sprintf("(b.created_at, b.id) < (%s, %s)", c.bind(behind.CreatedAt), c.bind(behind.ID)))
	}
	source := `bookmark b`
	if r.tx.Dialect() == sqldb.SQLite {
		source += ` INDEXED BY bookmark_created`
	}
	var reader BookmarkReader
	err = r.tx.Rows(r.ctx, `SELECT `+BookmarkColumns+` FROM `+source+` WHERE `+c.String()+
		` ORDER BY b.created_at DESC, b.id DESC`+limited(c.bind(n)), c.args, func(row sqldb.Scanner) error {
		b, err := reader.Read(row)
		if err != nil {
			return err
		}
		found = append(found, query.Candidate{Hit: query.Hit{CreatedAt: b.CreatedAt.Micros(), ID: b.ID}, Row: queryRow(b)})
		return r.load.Add(sizeOf(&b.Bookmark))
	})
	if err != nil {
		return nil, fmt.Errorf("look at the newest bookmarks: %w", err)
	}
	return found, nil
}

// unfiltered reports whether nothing but the query narrows a list.
func unfiltered(f api.BookmarkFilter) bool {
	return len(f.Tags) == 0 && (f.FolderID == "" || f.FolderID == api.RootFolder && f.Recursive) && f.FilterStatus == ""
}

// readHits reads the rows in the order of the hits.
func readHits(ctx context.Context, tx *sqldb.Tx, scope access.Scope, hits []query.Hit) ([]Found, error) {
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
