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

// among is a column, and the values of which it has one.
type among struct {
	column string
	values []string
}

// newcomersOf are those of which a caller who pulled up to a rev has not heard, of
// what the ops would make. Most callers have heard of everything. A URL so long that
// the column has no more than a hash of it is not looked for.
func newcomersOf(ctx context.Context, tx *sqldb.Tx, scope access.Scope, ops []api.Op, heard int64) (map[spot]bool, error) {
	var keys, parents, names []string
	for i := range ops {
		op := &ops[i]
		if op.Action != api.OpCreate {
			continue
		}
		if op.Type == api.TypeFolder {
			if in, bad := decodeFolder(op); bad == nil {
				rules.CutFolder(&in)
				parents, names = append(parents, in.ParentID.Value), append(names, in.Name.Or(api.Untitled))
			}
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
	// By what they are, not by what is new: that may be all that another is sending.
	look := func(kind api.EntityType, text string, all ...among) error {
		args := []any{scope.TenantID, scope.WorkspaceID, heard}
		for _, a := range all {
			list, condition, err := tree.In(tx.Dialect(), a.column, len(args)+1, a.values)
			if err != nil {
				return err
			}
			text, args = text+` AND `+condition, append(args, list)
		}
		return tx.Rows(ctx, text, args, found(kind))
	}
	var err error
	if len(names) > 0 {
		err = look(api.TypeFolder, `SELECT f.parent_id, f.name FROM folder f
			WHERE f.tenant_id = $1 AND f.workspace_id = $2 AND +f.rev > $3 AND f.deleted_at = 0`, among{"f.parent_id", parents}, among{"f.name", names})
	}
	if err == nil && len(keys) > 0 {
		err = look(api.TypeBookmark, `SELECT b.folder_id, b.url_key FROM bookmark b
			WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND +b.rev > $3 AND b.deleted_at = 0`, among{"b.url_key", keys})
	}
	if err != nil {
		return nil, fmt.Errorf("look for the like of what is made: %w", err)
	}
	return newcomers, nil
}
