package tree

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"bm/server/access"
	"bm/server/sqldb"
)

// epochJump is how far a new epoch moves a workspace's rev ahead at least, so that
// no rev of it was given out by the server that was lost.
const epochJump = 1 << 32

// jump is how far an epoch moves the rev ahead: each its own way, for the server that
// was lost may have begun at the same backup. Of the numbers that JSON holds exactly
// some ten thousand restores use up all.
func jump(epoch string) int64 {
	sum := sha256.Sum256([]byte(epoch))
	return epochJump + int64(binary.BigEndian.Uint64(sum[:8])>>24)
}

// MintEpochs begins a new epoch in every workspace: the database was put back
// to an older state. Replicas compare everything, and offer again what they
// had acknowledged and the older state lacks.
func MintEpochs(ctx context.Context, tx *sqldb.Tx, newID func() string) error {
	var workspaces []string
	err := tx.Rows(ctx, `SELECT workspace_id FROM workspace_head ORDER BY workspace_id`, nil, func(row sqldb.Scanner) error {
		var id string
		err := row.Scan(&id)
		workspaces = append(workspaces, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("list the workspaces: %w", err)
	}
	for _, id := range workspaces {
		epoch := newID()
		_, err := tx.Exec(ctx, `INSERT INTO workspace_epoch (workspace_id, epoch, shared_rev)
			SELECT workspace_id, epoch, rev FROM workspace_head WHERE workspace_id = $1`, id)
		if err != nil {
			return fmt.Errorf("keep the former epoch: %w", err)
		}
		_, err = tx.Exec(ctx, `UPDATE workspace_head SET epoch = $2, rev = rev + $3,
			shared_rev = (SELECT MIN(e.shared_rev) FROM workspace_epoch e WHERE e.workspace_id = $1) WHERE workspace_id = $1`,
			id, epoch, jump(epoch))
		if err != nil {
			return fmt.Errorf("begin an epoch: %w", err)
		}
	}
	return nil
}

// SharedRev is up to which rev a former epoch of a workspace is part of the
// present one's history; false where it is not known.
func (t *Tree) SharedRev(ctx context.Context, tx *sqldb.Tx, scope access.Scope, epoch string) (rev int64, ok bool, err error) {
	err = tx.Row(ctx, `SELECT e.shared_rev FROM workspace_epoch e JOIN workspace_head h ON h.workspace_id = e.workspace_id
		WHERE e.workspace_id = $1 AND h.tenant_id = $2 AND e.epoch = $3`, []any{scope.WorkspaceID, scope.TenantID, epoch}, &rev)
	if errors.Is(err, sqldb.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look up a former epoch: %w", err)
	}
	return rev, true, nil
}
