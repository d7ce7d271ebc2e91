package tree

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// Lookup is what an import's planner sees of a workspace.
type Lookup struct {
	tx    *sqldb.Tx
	scope access.Scope
}

var _ exchange.Existing = Lookup{}

// NewLookup looks at a workspace within a transaction.
func NewLookup(tx *sqldb.Tx, scope access.Scope) Lookup { return Lookup{tx, scope} }

// Hash stands for what the column url_key holds, and of a bookmark without a
// URL for its title.
func (l Lookup) Hash(key exchange.Key) uint64 {
	if key.URL != "" {
		return maphash.String(lookupSeed, "u"+urlKey(key.URL))
	}
	return maphash.String(lookupSeed, "t"+key.Title)
}

// lookupSeed is any: hashes are compared within one import alone.
var lookupSeed = maphash.MakeSeed()

// Contents tells of every live row right in a folder, in their order.
func (l Lookup) Contents(ctx context.Context, folderID string, tell func(exchange.Row)) error {
	args := []any{l.scope.TenantID, l.scope.WorkspaceID, folderID}
	err := l.tx.Rows(ctx, `SELECT id, name, sort_order FROM folder
		WHERE tenant_id = $1 AND workspace_id = $2 AND parent_id = $3 AND deleted_at = 0 ORDER BY sort_order, created_at, id`, args, func(row sqldb.Scanner) error {
		r := exchange.Row{Kind: exchange.Folder}
		err := row.Scan(&r.ID, &r.Name, &r.Order)
		tell(r)
		return err
	})
	if err == nil {
		// A key of another version says nothing to this one: it is made anew.
		err = l.tx.Rows(ctx, `SELECT seq, url_key, CASE WHEN url_key_version = $4 THEN '' ELSE url END, CASE WHEN url = '' THEN title ELSE '' END, url = '', sort_order
			FROM bookmark WHERE tenant_id = $1 AND workspace_id = $2 AND folder_id = $3 AND deleted_at = 0 ORDER BY sort_order, created_at, id`,
			append(args, rules.URLKeyVersion), func(row sqldb.Scanner) error {
				r := exchange.Row{Kind: exchange.Bookmark}
				var key, url, title string
				var bare bool
				err := row.Scan(&r.Number, &key, &url, &title, &bare, &r.Order)
				if url != "" {
					key = URLKey(url)
				}
				if r.Hash = maphash.String(lookupSeed, "u"+key); bare {
					r.Hash = maphash.String(lookupSeed, "t"+title)
				}
				tell(r)
				return err
			})
	}
	if err != nil {
		return fmt.Errorf("look into a folder: %w", err)
	}
	return nil
}

// Bookmark finds one that Contents told of.
func (l Lookup) Bookmark(ctx context.Context, number int64, key exchange.Key) (exchange.Found, bool, error) {
	var found exchange.Found
	var url, title, tags string
	err := l.tx.Row(ctx, `SELECT id, url, title, tags FROM bookmark WHERE seq = $3 AND tenant_id = $1 AND workspace_id = $2 AND deleted_at = 0`,
		[]any{l.scope.TenantID, l.scope.WorkspaceID, number}, &found.ID, &url, &title, &tags)
	if errors.Is(err, sqldb.ErrNotFound) || err == nil && exchange.KeyOf(url, title) != key {
		return found, false, nil
	}
	if err == nil {
		found.Tags, err = decodeTags(tags)
	}
	if err != nil {
		return found, false, fmt.Errorf("look for a bookmark: %w", err)
	}
	return found, true, nil
}

// Depth is how deep a living folder lies: 1 right below the top, 0 for the
// top itself. [ErrNoParent] or [ErrDeadParent] where there is none.
func Depth(ctx context.Context, tx *sqldb.Tx, scope access.Scope, folderID string) (int, error) {
	depth := 0
	for id := folderID; id != ""; depth++ {
		folder, err := findFolder(ctx, tx, scope.TenantID, scope.WorkspaceID, id)
		switch {
		case api.CodeOf(err) == api.CodeNotFound:
			return 0, ErrNoParent
		case err != nil:
			return 0, err
		case !folder.Live():
			return 0, ErrDeadParent
		case depth > api.MaxTreeDepth:
			return 0, ErrTooDeep
		}
		id = folder.ParentID
	}
	return depth, nil
}
