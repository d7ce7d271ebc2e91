package tree

import (
	"context"
	"fmt"
	"slices"

	"bm/server/api"
	"bm/server/api/query"
	"bm/server/sqldb"
)

// Restoring a folder: with what its deletion took, however much that is, in one
// transaction.

// belowDeletion is a condition that a folder is $3, or below it taken by the
// deletion $4.
const belowDeletion = `IN (WITH RECURSIVE below (id) AS (
		SELECT CAST($3 AS TEXT)
		UNION ALL
		SELECT f.id FROM folder f JOIN below ON f.parent_id = below.id WHERE f.workspace_id = $2 AND f.deletion_id <> '' AND f.deletion_id = $4)
	SELECT id FROM below)`

// RestoreFolder takes a folder out of the trash, as after says, with all that
// its deletion took. Where its parent is gone, the caller has chosen another.
func (e *Edit) RestoreFolder(ctx context.Context, before, after *Folder) error {
	args := []any{e.scope.TenantID, e.scope.WorkspaceID, before.ID, before.DeletionID}
	var bookmarks []int64
	err := e.tx.Rows(ctx, `SELECT b.seq FROM bookmark b WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.`+ofDeletion+`$4 AND b.folder_id `+belowDeletion+`
		ORDER BY b.rev`, args, func(row sqldb.Scanner) error {
		var seq int64
		err := row.Scan(&seq)
		bookmarks = append(bookmarks, seq)
		return err
	})
	if err != nil {
		return fmt.Errorf("find what the deletion took: %w", err)
	}
	children := map[string][]Folder{}
	err = e.tx.Rows(ctx, `SELECT `+folderColumns+` FROM folder WHERE tenant_id = $1 AND workspace_id = $2 AND `+ofDeletion+`$4 AND id <> $3 AND parent_id `+belowDeletion+`
		ORDER BY sort_order, id`, args, func(row sqldb.Scanner) error {
		f, err := scanFolder(row)
		children[f.ParentID] = append(children[f.ParentID], f)
		return err
	})
	if err != nil {
		return fmt.Errorf("find what the deletion took: %w", err)
	}
	if err := e.reviveFolders(ctx, after, children); err != nil {
		return err
	}
	for chunk := range slices.Chunk(bookmarks, selectionChunk) {
		if err := e.reviveBookmarks(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// reviveFolders brings a folder back, and after it those below: in the order of
// revs a parent comes before its children.
func (e *Edit) reviveFolders(ctx context.Context, top *Folder, children map[string][]Folder) error {
	top.DeletedAt, top.DeletionID = api.Time{}, ""
	top.UpdatedAt, top.Rev = e.now, e.nextRev()
	e.born(top.ID, top.Rev)
	if err := e.writeFolder(ctx, top); err != nil {
		return err
	}
	for i := range children[top.ID] {
		if err := e.reviveFolders(ctx, &children[top.ID][i], children); err != nil {
			return err
		}
	}
	return nil
}

// reviveBookmarks brings a chunk of deleted bookmarks back, given in the order
// of their revs. PostgreSQL has kept their search index.
func (e *Edit) reviveBookmarks(ctx context.Context, chunk []int64) error {
	args := selectionArgs(e.scope, chunk)
	rows := make([]Bookmark, 0, len(chunk))
	err := e.tx.Rows(ctx, selectionSQL()+` ORDER BY b.rev`, args, func(row sqldb.Scanner) error {
		b, err := ScanBookmark(row)
		rows = append(rows, b)
		return err
	})
	if err != nil {
		return fmt.Errorf("read what the deletion took: %w", err)
	}
	n := len(args)
	_, err = e.tx.Exec(ctx, fmt.Sprintf(`UPDATE bookmark SET deleted_at = 0, deletion_id = '', updated_at = $%d, rev = $%d + r.n
		FROM (SELECT b.seq, row_number() OVER (ORDER BY b.rev) AS n FROM bookmark b WHERE %s) AS r WHERE bookmark.seq = r.seq`,
		n+1, n+2, selectionWhere()), append(args, e.now.Micros(), e.rev)...)
	if err != nil {
		return fmt.Errorf("bring back what the deletion took: %w", err)
	}
	for i := range rows {
		e.born(rows[i].ID, e.nextRev())
	}
	if err := e.tagBookmarks(ctx, rows, e.bulkStatements()); err != nil {
		return err
	}
	if e.tx.Dialect() == sqldb.Postgres {
		return nil
	}
	for i := range rows {
		if err := e.index(ctx, &rows[i], query.NewIndex(document(&rows[i]))); err != nil {
			return err
		}
	}
	return nil
}
