package tree

import (
	"context"
	"errors"
	"fmt"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/exchange"
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

// Folder finds the n-th folder with a name in a parent.
func (l Lookup) Folder(ctx context.Context, parentID, name string, n int) (id string, ok bool, err error) {
	err = l.tx.Row(ctx, `SELECT id FROM folder WHERE tenant_id = $1 AND workspace_id = $2 AND parent_id = $3 AND deleted_at = 0 AND name = $4
		ORDER BY sort_order, id LIMIT 1 OFFSET $5`, []any{l.scope.TenantID, l.scope.WorkspaceID, parentID, name, n}, &id)
	if errors.Is(err, sqldb.ErrNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look for a folder: %w", err)
	}
	return id, true, nil
}

// Bookmark finds the n-th bookmark with a key in a folder.
func (l Lookup) Bookmark(ctx context.Context, folderID string, key exchange.Key, n int) (found exchange.Found, ok bool, err error) {
	column, value := "url_key", urlKey(key.URL)
	if key.URL == "" {
		column, value = "url = '' AND title", key.Title
	}
	var tags string
	err = l.tx.Row(ctx, `SELECT id, tags FROM bookmark WHERE tenant_id = $1 AND workspace_id = $2 AND folder_id = $3 AND deleted_at = 0 AND `+column+` = $4
		ORDER BY sort_order, id LIMIT 1 OFFSET $5`, []any{l.scope.TenantID, l.scope.WorkspaceID, folderID, value, n}, &found.ID, &tags)
	if errors.Is(err, sqldb.ErrNotFound) {
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

// Contents is what lies right in a folder.
func (l Lookup) Contents(ctx context.Context, folderID string) (c exchange.Contents, err error) {
	var folderOrder, bookmarkOrder int64
	args := []any{l.scope.TenantID, l.scope.WorkspaceID, folderID}
	err = errors.Join(
		l.tx.Row(ctx, `SELECT count(*), COALESCE(MAX(sort_order), 0) FROM folder
			WHERE tenant_id = $1 AND workspace_id = $2 AND parent_id = $3 AND deleted_at = 0`, args, &c.Folders, &folderOrder),
		l.tx.Row(ctx, `SELECT count(*), COALESCE(MAX(sort_order), 0) FROM bookmark
			WHERE tenant_id = $1 AND workspace_id = $2 AND folder_id = $3 AND deleted_at = 0`, args, &c.Bookmarks, &bookmarkOrder),
	)
	if err != nil {
		return c, fmt.Errorf("look into a folder: %w", err)
	}
	c.LastOrder = max(folderOrder, bookmarkOrder)
	return c, nil
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
