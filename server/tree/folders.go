package tree

import (
	"context"
	"errors"
	"fmt"

	"bm/server/api"
	"bm/server/sqldb"
)

// What is wrong with the place that something is put.
var (
	// ErrNoParent: the folder does not exist in the workspace.
	ErrNoParent = errors.New("the folder does not exist")
	// ErrDeadParent: it is in the trash.
	ErrDeadParent = errors.New("the folder is in the trash")
	// ErrCycle: a folder would be below itself.
	ErrCycle = errors.New("a folder cannot be moved below itself")
	// ErrTooDeep: the tree would be deeper than allowed.
	ErrTooDeep = fmt.Errorf("the tree would be deeper than %d folders", api.MaxTreeDepth)
)

// Folder reads a folder, live or in the trash.
func (e *Edit) Folder(ctx context.Context, id string) (Folder, error) {
	return findFolder(ctx, e.tx, e.scope.TenantID, e.scope.WorkspaceID, id)
}

func findFolder(ctx context.Context, tx *sqldb.Tx, tenantID, workspaceID, id string) (f Folder, err error) {
	if !api.ValidID(id) {
		return f, noFolder()
	}
	found := false
	err = tx.Rows(ctx, `SELECT `+folderColumns+` FROM folder WHERE tenant_id = $1 AND workspace_id = $2 AND id = $3`,
		[]any{tenantID, workspaceID, id}, func(row sqldb.Scanner) error {
			f, err = scanFolder(row)
			found = true
			return err
		})
	if err != nil {
		return f, fmt.Errorf("read the folder: %w", err)
	}
	if !found || f.DeletionID == Purged {
		return f, noFolder()
	}
	return f, nil
}

func noFolder() error { return api.Errorf(api.CodeNotFound, "no such folder") }

// NewFolder is a folder with every default, before any input.
func (e *Edit) NewFolder(id string) Folder {
	if id == "" {
		id = e.tree.newID()
	}
	return Folder{Folder: api.Folder{
		ID: id, TenantID: e.scope.TenantID, WorkspaceID: e.scope.WorkspaceID, CreatedAt: e.now, UpdatedAt: e.now, SortOrder: unplaced,
	}}
}

// Apply writes the given fields of in, which are in normal form, into the
// folder.
func (f *Folder) Apply(in *api.FolderInput, withCreatedAt bool) {
	f.Name = in.Name.Or(f.Name)
	f.Description = in.Description.Or(f.Description)
	f.ParentID = in.ParentID.Or(f.ParentID)
	if order, ok := in.SortOrder.Get(); ok && !in.SortOrder.Null {
		f.SortOrder = order
	}
	f.Extra = in.Extra.Or(f.Extra)
	if at := in.CreatedAt.Value; withCreatedAt && !at.IsZero() {
		f.CreatedAt = at
	}
}

// CheckParent reports whether a bookmark may be put into a folder, "" being
// the top. Above a living folder all are alive: one look is enough.
func (e *Edit) CheckParent(ctx context.Context, parentID string) error {
	if parentID == "" {
		return nil
	}
	_, err := e.livingParent(ctx, parentID)
	return err
}

func (e *Edit) livingParent(ctx context.Context, id string) (Folder, error) {
	parent, err := e.Folder(ctx, id)
	switch {
	case api.CodeOf(err) == api.CodeNotFound:
		return parent, ErrNoParent
	case err == nil && !parent.Live():
		return parent, ErrDeadParent
	}
	return parent, err
}

// CheckFolderParent is the same for a folder, which may be new: it must not
// come to lie below itself, nor too deep.
func (e *Edit) CheckFolderParent(ctx context.Context, parentID, folderID string) error {
	depth := 0
	for id := parentID; id != ""; depth++ {
		if id == folderID {
			return ErrCycle
		}
		parent, err := e.livingParent(ctx, id)
		if err != nil {
			return err
		}
		if depth > api.MaxTreeDepth {
			return ErrTooDeep
		}
		id = parent.ParentID
	}
	height, err := e.height(ctx, folderID)
	if err != nil {
		return err
	}
	if depth+height > api.MaxTreeDepth {
		return ErrTooDeep
	}
	return nil
}

// height is how many levels a folder and what is below it take: what is alive
// and, of a folder in the trash, what its deletion took and its restoring
// brings back.
func (e *Edit) height(ctx context.Context, folderID string) (int, error) {
	var height int
	err := e.tx.Row(ctx, `WITH RECURSIVE below (id, level) AS (
			SELECT CAST($2 AS TEXT), 1
			UNION ALL
			SELECT f.id, b.level + 1 FROM folder f JOIN below b ON f.parent_id = b.id
			WHERE f.workspace_id = $1 AND b.level <= $3 AND (f.deleted_at = 0 OR f.deletion_id =
				(SELECT d.deletion_id FROM folder d WHERE d.workspace_id = $1 AND d.id = $2 AND d.deleted_at > 0)))
		SELECT MAX(level) FROM below`, []any{e.scope.WorkspaceID, folderID, api.MaxTreeDepth + 1}, &height)
	if err != nil {
		return 0, fmt.Errorf("measure the folder: %w", err)
	}
	return height, nil
}

// LivingAncestor is the nearest living folder at or above id, "" for the top.
func (e *Edit) LivingAncestor(ctx context.Context, id string) (string, error) {
	for steps := 0; id != "" && steps <= 2*api.MaxTreeDepth; steps++ {
		var parent string
		var deletedAt int64
		err := e.tx.Row(ctx, `SELECT parent_id, deleted_at FROM folder WHERE tenant_id = $1 AND workspace_id = $2 AND id = $3`,
			[]any{e.scope.TenantID, e.scope.WorkspaceID, id}, &parent, &deletedAt)
		switch {
		case errors.Is(err, sqldb.ErrNotFound):
			return "", nil
		case err != nil:
			return "", fmt.Errorf("look for the nearest folder that lives: %w", err)
		case deletedAt == 0:
			return id, nil
		}
		id = parent // of one that was removed for good too
	}
	return "", nil
}

// InsertFolder adds a folder; without a position it goes last in its parent.
func (e *Edit) InsertFolder(ctx context.Context, f *Folder) error {
	if f.SortOrder == unplaced {
		order, err := e.NextOrder(ctx, f.ParentID)
		if err != nil {
			return err
		}
		f.SortOrder = order
	}
	f.Rev = e.nextRev()
	args, err := folderArgs(f)
	if err != nil {
		return err
	}
	n, err := e.tx.Exec(ctx, e.statements().insertFolder, args...)
	if err != nil {
		return fmt.Errorf("add the folder: %w", err)
	}
	if n == 0 {
		return ErrTaken
	}
	e.born(f.ID, f.Rev)
	return nil
}

// UpdateFolder writes a live folder that was read in this edit.
func (e *Edit) UpdateFolder(ctx context.Context, before, after *Folder) error {
	after.UpdatedAt, after.Rev = e.now, e.nextRev()
	e.changed(after.ID, before.Rev, after.Rev)
	return e.writeFolder(ctx, after)
}

func (e *Edit) writeFolder(ctx context.Context, f *Folder) error {
	args, err := folderArgs(f)
	if err != nil {
		return err
	}
	if _, err := e.tx.Exec(ctx, e.statements().updateFolder, args...); err != nil {
		return fmt.Errorf("write the folder: %w", err)
	}
	return nil
}

// below is a condition that a folder is in the living subtree of $3.
const below = `IN (WITH RECURSIVE below (id) AS (
		SELECT CAST($3 AS TEXT)
		UNION ALL
		SELECT f.id FROM folder f JOIN below ON f.parent_id = below.id WHERE f.workspace_id = $2 AND f.deleted_at = 0)
	SELECT id FROM below)`

// NewestBelow is the highest rev of what lives below a folder, itself not
// counted; 0 where nothing does.
func (e *Edit) NewestBelow(ctx context.Context, folderID string) (newest int64, err error) {
	for _, query := range []string{
		`SELECT COALESCE(MAX(b.rev), 0) FROM bookmark b WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.deleted_at = 0 AND b.folder_id ` + below,
		`SELECT COALESCE(MAX(b.rev), 0) FROM folder b WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.deleted_at = 0 AND b.parent_id ` + below,
	} {
		var rev int64
		if err := e.tx.Row(ctx, query, []any{e.scope.TenantID, e.scope.WorkspaceID, folderID}, &rev); err != nil {
			return 0, fmt.Errorf("look below the folder: %w", err)
		}
		newest = max(newest, rev)
	}
	return newest, nil
}

// DeleteFolder puts a folder with all below it into the trash, as one
// deletion that can be taken back.
func (e *Edit) DeleteFolder(ctx context.Context, id string) error {
	deletionID := e.tree.newID()
	if _, err := e.trash(ctx, "bookmark", deletionID, `b.folder_id `+below, []any{id}); err != nil {
		return err
	}
	_, err := e.trash(ctx, "folder", deletionID, `b.id `+below, []any{id})
	return err
}

// PurgeFolder removes a deleted folder, and what its deletion took, for good;
// the tombstones stay for the replicas.
func (e *Edit) PurgeFolder(ctx context.Context, f *Folder) error {
	_, err := e.tx.Exec(ctx, `UPDATE bookmark SET `+e.blank()+`, deletion_id = $5
		WHERE tenant_id = $1 AND workspace_id = $2 AND `+ofDeletion+`$4 AND folder_id `+belowDeletion, e.scope.TenantID, e.scope.WorkspaceID, f.ID, f.DeletionID, Purged)
	if err != nil {
		return fmt.Errorf("remove the folder's bookmarks for good: %w", err)
	}
	_, err = e.tx.Exec(ctx, `UPDATE folder SET name = '', description = '', extra = '', deletion_id = $5
		WHERE tenant_id = $1 AND workspace_id = $2 AND `+ofDeletion+`$4 AND id `+belowDeletion, e.scope.TenantID, e.scope.WorkspaceID, f.ID, f.DeletionID, Purged)
	if err != nil {
		return fmt.Errorf("remove the folder for good: %w", err)
	}
	return nil
}
