package changes

import (
	"context"
	"fmt"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
	"bm/server/tree"
)

// spot is what something is, and in which folder: of two alike in one place a
// replica makes one thing, if it hears of the other before its own is sent.
type spot struct {
	kind   api.EntityType
	parent string
	like   string // a folder's name, a bookmark's URL as a key
}

// newcomersOf are those of which a caller who pulled up to a rev has not heard, of
// what the ops would make. Most callers have heard of everything. A URL so long that
// the column has no more than a hash of it is not looked for.
func newcomersOf(ctx context.Context, tx *sqldb.Tx, scope access.Scope, ops []api.Op, heard int64) (map[spot]bool, error) {
	var keys []string
	folders := false
	for i := range ops {
		op := &ops[i]
		if op.Action != api.OpCreate {
			continue
		}
		if op.Type == api.TypeFolder {
			folders = true
			continue
		}
		if in, bad := decodeBookmark(op); bad == nil && in.URL.Value != "" {
			keys = append(keys, rules.URLKey(in.URL.Value))
		}
	}
	newcomers := map[spot]bool{}
	found := func(kind api.EntityType) func(sqldb.Scanner) error {
		return func(row sqldb.Scanner) error {
			s := spot{kind: kind}
			err := row.Scan(&s.parent, &s.like)
			newcomers[s] = true
			return err
		}
	}
	args := []any{scope.TenantID, scope.WorkspaceID, heard}
	var err error
	if folders {
		err = tx.Rows(ctx, `SELECT parent_id, name FROM folder WHERE tenant_id = $1 AND workspace_id = $2 AND rev > $3 AND deleted_at = 0`,
			args, found(api.TypeFolder))
	}
	if err == nil && len(keys) > 0 {
		var list, among string
		if list, among, err = tree.In(tx.Dialect(), "b.url_key", 4, keys); err != nil {
			return nil, err
		}
		// By their keys, not by what is new: that may be all that another is sending.
		err = tx.Rows(ctx, `SELECT b.folder_id, b.url_key FROM bookmark b
			WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND +b.rev > $3 AND b.deleted_at = 0 AND `+among, append(args, list), found(api.TypeBookmark))
	}
	if err != nil {
		return nil, fmt.Errorf("look for the like of what is made: %w", err)
	}
	return newcomers, nil
}
