package tree

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// Tree is the store of every workspace's contents.
type Tree struct {
	db     *sqldb.DB
	now    func() time.Time
	newID  func() string
	notify Notify
}

// Notify is told, within the transaction, of every workspace that it changes.
type Notify func(ctx context.Context, tx *sqldb.Tx, scope access.Scope, rev int64) error

// New makes the store.
func New(db *sqldb.DB, now func() time.Time, newID func() string, notify Notify) *Tree {
	return &Tree{db: db, now: now, newID: newID, notify: notify}
}

// Edit changes one workspace within a transaction. It holds the lock of the
// workspace's head from its beginning to the commit.
type Edit struct {
	tree  *Tree
	tx    *sqldb.Tx
	scope access.Scope
	now   api.Time

	epoch  string
	rev    int64
	digest api.Digest
	count  int64
	purged int64
	// dirty: a reader would see something else; forgot: the horizon has moved.
	dirty, forgot bool
	// last positions that were handed out, by folder
	lastOrder map[string]int64
}

// Write runs fn on a workspace in a transaction of its own.
func (t *Tree) Write(ctx context.Context, scope access.Scope, fn func(*Edit) error) error {
	return t.db.Write(ctx, func(tx *sqldb.Tx) error { return t.Within(ctx, tx, scope, fn) })
}

// Within runs fn on a workspace in a transaction that is open already. Whoever
// takes several workspaces takes them in the order of their ids.
func (t *Tree) Within(ctx context.Context, tx *sqldb.Tx, scope access.Scope, fn func(*Edit) error) error {
	e := &Edit{tree: t, tx: tx, scope: scope, now: api.At(t.now()), lastOrder: map[string]int64{}}
	var digest string
	// This takes the row's lock, which makes the order of commits that of revs.
	err := tx.Rows(ctx, `UPDATE workspace_head SET rev = rev WHERE workspace_id = $1 AND tenant_id = $2
		RETURNING epoch, rev, digest, live_count, purged_rev`,
		[]any{scope.WorkspaceID, scope.TenantID}, func(row sqldb.Scanner) error {
			return row.Scan(&e.epoch, &e.rev, &digest, &e.count, &e.purged)
		})
	if err != nil {
		return fmt.Errorf("lock the workspace: %w", err)
	}
	if e.epoch == "" {
		return api.Errorf(api.CodeNotFound, "no such workspace")
	}
	if e.digest, err = api.ParseDigest(digest); err != nil {
		return fmt.Errorf("read the workspace's head: %w", err)
	}
	if err := fn(e); err != nil {
		return err
	}
	return e.finish(ctx)
}

// finish writes the head, and pokes whoever follows the workspace.
func (e *Edit) finish(ctx context.Context) error {
	if !e.dirty && !e.forgot {
		return nil
	}
	_, err := e.tx.Exec(ctx, `UPDATE workspace_head SET rev = $2, digest = $3, live_count = $4, purged_rev = $5 WHERE workspace_id = $1`,
		e.scope.WorkspaceID, e.rev, e.digest.String(), e.count, e.purged)
	if err != nil {
		return fmt.Errorf("write the workspace's head: %w", err)
	}
	if !e.dirty {
		return nil
	}
	return e.tree.notify(ctx, e.tx, e.scope, e.rev)
}

// Tx is the transaction that the edit is part of.
func (e *Edit) Tx() *sqldb.Tx { return e.tx }

// Now is the edit's time, the same for all of it.
func (e *Edit) Now() api.Time { return e.now }

// Rev is that of the edit's last change.
func (e *Edit) Rev() int64 { return e.rev }

// Scope is where the edit works.
func (e *Edit) Scope() access.Scope { return e.scope }

// Head is the state of the workspace as the edit leaves it.
func (e *Edit) Head(ctx context.Context) (api.Head, error) {
	head, err := readHead(ctx, e.tx, e.scope)
	head.Rev, head.Digest, head.Count = e.rev, e.digest.String(), e.count
	return head, err
}

// Head reads the state of a workspace as a whole.
func (t *Tree) Head(ctx context.Context, tx *sqldb.Tx, scope access.Scope) (api.Head, error) {
	return readHead(ctx, tx, scope)
}

func readHead(ctx context.Context, tx *sqldb.Tx, scope access.Scope) (h api.Head, err error) {
	err = tx.Row(ctx, `SELECT epoch, rev, digest, live_count, shared_rev, purged_rev FROM workspace_head WHERE workspace_id = $1 AND tenant_id = $2`,
		[]any{scope.WorkspaceID, scope.TenantID}, &h.Epoch, &h.Rev, &h.Digest, &h.Count, &h.SharedRev, &h.PurgedRev)
	if errors.Is(err, sqldb.ErrNotFound) {
		return h, api.Errorf(api.CodeNotFound, "no such workspace")
	}
	if err != nil {
		return h, fmt.Errorf("read the workspace's head: %w", err)
	}
	return h, nil
}

// nextRev numbers one change.
func (e *Edit) nextRev() int64 {
	e.rev++
	e.dirty = true
	return e.rev
}

// born, died and changed keep digest and count.
func (e *Edit) born(id string, rev int64) {
	e.digest = e.digest.Add(id, rev)
	e.count++
}

func (e *Edit) died(id string, rev int64) {
	e.digest = e.digest.Remove(id, rev)
	e.count--
}

func (e *Edit) changed(id string, before, after int64) {
	e.digest = e.digest.Remove(id, before).Add(id, after)
}

// unplaced is the sortOrder of what was not given one: it goes last.
const unplaced = math.MinInt64

// NextOrder is the position after everything in a folder.
func (e *Edit) NextOrder(ctx context.Context, folderID string) (int64, error) {
	last, known := e.lastOrder[folderID]
	if !known {
		for _, query := range []string{
			`SELECT COALESCE(MAX(sort_order), 0) FROM bookmark WHERE workspace_id = $1 AND folder_id = $2 AND deleted_at = 0`,
			`SELECT COALESCE(MAX(sort_order), 0) FROM folder WHERE workspace_id = $1 AND parent_id = $2 AND deleted_at = 0`,
		} {
			var order int64
			if err := e.tx.Row(ctx, query, []any{e.scope.WorkspaceID, folderID}, &order); err != nil {
				return 0, fmt.Errorf("find the end of the folder: %w", err)
			}
			last = max(last, order)
		}
	}
	last = min(last+api.SortGap, rules.MaxInteger)
	e.lastOrder[folderID] = last
	return last, nil
}
