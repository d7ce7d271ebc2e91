package tree

import (
	"context"
	"fmt"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
)

// purgeRows is how many rows one transaction removes: short enough for other
// writers not to notice.
const purgeRows = 500

// PurgeTrash removes what was deleted before a time, tombstones and all, and the
// tags that nobody carries, and says how many rows of the first that were. A
// replica that has not asked since then is told to begin anew.
func (t *Tree) PurgeTrash(ctx context.Context, before time.Time) (int, error) {
	var scopes []access.Scope
	err := t.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Rows(ctx, `SELECT h.tenant_id, h.workspace_id FROM workspace_head h
			WHERE EXISTS (SELECT 1 FROM bookmark b WHERE b.workspace_id = h.workspace_id AND b.deleted_at > 0 AND b.deleted_at < $1)
			OR EXISTS (SELECT 1 FROM folder f WHERE f.workspace_id = h.workspace_id AND f.deleted_at > 0 AND f.deleted_at < $1)
			OR EXISTS (SELECT 1 FROM tag t WHERE t.workspace_id = h.workspace_id AND NOT EXISTS (SELECT 1 FROM bookmark_tag bt WHERE bt.tag_seq = t.seq))
			ORDER BY h.workspace_id`, []any{before.UnixMicro()}, func(row sqldb.Scanner) error {
			var scope access.Scope
			err := row.Scan(&scope.TenantID, &scope.WorkspaceID)
			scopes = append(scopes, scope)
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("look for what is to be purged: %w", err)
	}
	total := 0
	for _, scope := range scopes {
		n, err := t.purgeWorkspace(ctx, scope, before)
		total += n
		// Another server may have removed the workspace itself meanwhile.
		if err != nil && api.CodeOf(err) != api.CodeNotFound {
			return total, fmt.Errorf("purge the trash: %w", err)
		}
	}
	return total, nil
}

// purgeWorkspace takes the folders first: one comes back with all that was in it,
// or not at all.
func (t *Tree) purgeWorkspace(ctx context.Context, scope access.Scope, before time.Time) (total int, err error) {
	for _, table := range []string{"folder", "bookmark"} {
		n, err := t.purgeTable(ctx, scope, table, before)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, t.Write(ctx, scope, func(e *Edit) error { return e.forgetTags(ctx) })
}

func (t *Tree) purgeTable(ctx context.Context, scope access.Scope, table string, before time.Time) (total int, err error) {
	for n := purgeRows; n == purgeRows; total += n {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		err := t.Write(ctx, scope, func(e *Edit) error {
			n = 0
			return e.tx.Rows(ctx, `DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+`
				WHERE tenant_id = $1 AND workspace_id = $2 AND deleted_at > 0 AND deleted_at < $3 ORDER BY deleted_at`+limited("$4")+`) RETURNING rev`,
				[]any{scope.TenantID, scope.WorkspaceID, before.UnixMicro(), purgeRows}, func(row sqldb.Scanner) error {
					var rev int64
					if err := row.Scan(&rev); err != nil {
						return err
					}
					e.purged, e.forgot = max(e.purged, rev), true
					n++
					return nil
				})
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// PurgeVerdicts removes what is kept of ops that were judged before a time.
func (t *Tree) PurgeVerdicts(ctx context.Context, before time.Time) error {
	for n := int64(purgeRows); n == purgeRows; {
		err := t.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
			n, err = tx.Exec(ctx, `DELETE FROM op_result WHERE (workspace_id, op_id) IN (
				SELECT workspace_id, op_id FROM op_result WHERE created_at < $1`+limited("$2")+`)`, before.UnixMicro(), purgeRows)
			return err
		})
		if err != nil {
			return fmt.Errorf("purge the verdicts: %w", err)
		}
	}
	return nil
}

// Empty removes everything in a workspace that is being purged itself.
func (t *Tree) Empty(ctx context.Context, scope access.Scope) error {
	if err := t.emptyTags(ctx, scope); err != nil {
		return err
	}
	of := func(table, key string) string {
		return key + ` IN (SELECT ` + key + ` FROM ` + table + ` WHERE workspace_id = $1 ORDER BY ` + key + limited("$2") + `)`
	}
	for _, step := range []struct{ table, key string }{{"bookmark", "id"}, {"folder", "id"}, {"op_result", "op_id"}} {
		err := t.empty(ctx, scope, func(tx *sqldb.Tx) (int64, error) {
			if tx.Dialect() == sqldb.SQLite && step.table == "bookmark" {
				_, err := tx.Exec(ctx, `DELETE FROM bookmark_fts WHERE rowid IN (SELECT seq FROM bookmark WHERE deleted_at = 0 AND `+of("bookmark", "id")+`)`,
					scope.WorkspaceID, purgeRows)
				if err != nil {
					return 0, err
				}
			}
			return tx.Exec(ctx, `DELETE FROM `+step.table+` WHERE workspace_id = $1 AND `+of(step.table, step.key), scope.WorkspaceID, purgeRows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// empty has a step remove up to [purgeRows] rows of a workspace until there are no
// more. Each step holds the workspace: of two servers that remove the same rows
// at once the slower one would find none, take that for the end, and leave the
// workspace's tags without it.
func (t *Tree) empty(ctx context.Context, scope access.Scope, step func(tx *sqldb.Tx) (int64, error)) error {
	for n := int64(purgeRows); n == purgeRows; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := t.Write(ctx, scope, func(e *Edit) (err error) {
			n, err = step(e.tx)
			return err
		})
		if api.CodeOf(err) == api.CodeNotFound {
			return nil // another server has finished
		}
		if err != nil {
			return fmt.Errorf("empty the workspace: %w", err)
		}
	}
	return nil
}
