package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// ErrTaken says that the id which a client chose belongs to something else.
var ErrTaken = errors.New("the id is taken")

// Bookmark reads a bookmark, live or in the trash.
func (e *Edit) Bookmark(ctx context.Context, id string) (Bookmark, error) {
	return findBookmark(ctx, e.tx, e.scope.TenantID, e.scope.WorkspaceID, id)
}

func findBookmark(ctx context.Context, tx *sqldb.Tx, tenantID, workspaceID, id string) (b Bookmark, err error) {
	if !api.ValidID(id) {
		return b, noBookmark()
	}
	found := false
	err = tx.Rows(ctx, `SELECT `+BookmarkColumns+` FROM bookmark b WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.id = $3`,
		[]any{tenantID, workspaceID, id}, func(row sqldb.Scanner) error {
			b, err = ScanBookmark(row)
			found = true
			return err
		})
	if err != nil {
		return b, fmt.Errorf("read the bookmark: %w", err)
	}
	if !found || b.DeletionID == Purged {
		return b, noBookmark()
	}
	return b, nil
}

func noBookmark() error { return api.Errorf(api.CodeNotFound, "no such bookmark") }

// NewBookmark is a bookmark with every default, before any input.
func (e *Edit) NewBookmark(id string) Bookmark {
	if id == "" {
		id = e.tree.newID()
	}
	return Bookmark{Bookmark: api.Bookmark{
		ID: id, TenantID: e.scope.TenantID, WorkspaceID: e.scope.WorkspaceID, Tags: []string{},
		CreatedAt: e.now, UpdatedAt: e.now, SortOrder: unplaced, LinkStatus: api.LinkUnknown, Archive: api.Archive{Status: api.ArchiveNone},
	}}
}

// Apply writes the given fields of in, which are in normal form, into the
// bookmark. createdAt is heeded where the caller says so.
func (b *Bookmark) Apply(in *api.BookmarkInput, withCreatedAt bool) {
	if url, ok := in.URL.Get(); ok {
		if url != b.URL {
			b.LinkStatus, b.LastLinkCheckedAt = api.LinkUnknown, api.Time{}
		}
		b.URL = url
	}
	b.Title = in.Title.Or(b.Title)
	b.Title = rules.DefaultTitle(b.Title, b.URL)
	b.Description = in.Description.Or(b.Description)
	b.Tags = in.Tags.Or(b.Tags)
	if b.Tags == nil {
		b.Tags = []string{}
	}
	b.FolderID = in.FolderID.Or(b.FolderID)
	if order, ok := in.SortOrder.Get(); ok && !in.SortOrder.Null {
		b.SortOrder = order
	}
	b.SnapshotEnabled = in.SnapshotEnabled.Or(b.SnapshotEnabled)
	b.ReaderExcerpt = in.ReaderExcerpt.Or(b.ReaderExcerpt)
	b.VideoEmbedURL = in.VideoEmbedURL.Or(b.VideoEmbedURL)
	b.Extra = in.Extra.Or(b.Extra)
	if at := in.CreatedAt.Value; withCreatedAt && !at.IsZero() {
		b.CreatedAt = at
	}
}

// InsertBookmark adds a bookmark; without a position it goes last in its
// folder. [ErrTaken] where its id is another row's.
func (e *Edit) InsertBookmark(ctx context.Context, b *Bookmark) error {
	if b.SortOrder == unplaced {
		order, err := e.NextOrder(ctx, b.FolderID)
		if err != nil {
			return err
		}
		b.SortOrder = order
	}
	b.Rev = e.nextRev()
	index := query.NewIndex(document(b))
	args, err := bookmarkArgs(b)
	if err != nil {
		return err
	}
	if e.tx.Dialect() == sqldb.Postgres {
		args = append(args, index.TSVector(query.ScopeToken(b.WorkspaceID)))
	}
	// A taken id is found without a failing statement, which would end a
	// transaction on PostgreSQL.
	err = e.tx.Rows(ctx, e.statements().insertBookmark, args, func(row sqldb.Scanner) error { return row.Scan(&b.seq) })
	if err != nil {
		return fmt.Errorf("add the bookmark: %w", err)
	}
	if b.seq == 0 {
		return ErrTaken
	}
	e.born(b.ID, b.Rev)
	if err := e.index(ctx, b, index); err != nil {
		return err
	}
	return e.insertTags(ctx, b)
}

// UpdateBookmark writes a live bookmark that was read in this edit.
func (e *Edit) UpdateBookmark(ctx context.Context, before, after *Bookmark) error {
	after.UpdatedAt, after.Rev = e.now, e.nextRev()
	after.seq = before.seq
	e.changed(after.ID, before.Rev, after.Rev)
	return e.writeBookmark(ctx, before, after)
}

func (e *Edit) writeBookmark(ctx context.Context, before, after *Bookmark) error {
	args, err := bookmarkArgs(after)
	if err != nil {
		return err
	}
	index := query.NewIndex(document(after))
	if e.tx.Dialect() == sqldb.Postgres {
		args = append(args, index.TSVector(query.ScopeToken(after.WorkspaceID)))
	}
	if _, err := e.tx.Exec(ctx, e.statements().updateBookmark, args...); err != nil {
		return fmt.Errorf("write the bookmark: %w", err)
	}
	if before.Live() {
		if query.NewIndex(document(before)) != index {
			if err := e.unindex(ctx, before.seq); err != nil {
				return err
			}
			if err := e.index(ctx, after, index); err != nil {
				return err
			}
		}
		if !slices.Equal(before.Tags, after.Tags) {
			if err := e.deleteTags(ctx, before.seq, before.Tags); err != nil {
				return err
			}
			return e.insertTags(ctx, after)
		}
		return nil
	}
	if err := e.index(ctx, after, index); err != nil {
		return err
	}
	return e.insertTags(ctx, after)
}

// RestoreBookmark takes a bookmark out of the trash, as after says. Where its
// folder is gone, the caller has chosen another.
func (e *Edit) RestoreBookmark(ctx context.Context, before, after *Bookmark) error {
	after.DeletedAt, after.DeletionID = api.Time{}, ""
	after.UpdatedAt, after.Rev, after.seq = e.now, e.nextRev(), before.seq
	e.born(after.ID, after.Rev)
	return e.writeBookmark(ctx, before, after)
}

func document(b *Bookmark) query.Document {
	return query.Document{Title: b.Title, Tags: b.Tags, URL: b.URL, Description: b.Description}
}

// index puts a live bookmark into SQLite's index; PostgreSQL has it in the row.
func (e *Edit) index(ctx context.Context, b *Bookmark, index query.Index) error {
	if e.tx.Dialect() == sqldb.Postgres {
		return nil
	}
	_, err := e.tx.Exec(ctx, indexSQL, b.seq, index.Title, index.Tags, index.URL, index.Description, query.ScopeToken(b.WorkspaceID))
	if err != nil {
		return fmt.Errorf("index the bookmark: %w", err)
	}
	return nil
}

func (e *Edit) unindex(ctx context.Context, seq int64) error {
	if e.tx.Dialect() == sqldb.Postgres {
		return nil
	}
	if _, err := e.tx.Exec(ctx, `DELETE FROM bookmark_fts WHERE rowid = $1`, seq); err != nil {
		return fmt.Errorf("take the bookmark out of the index: %w", err)
	}
	return nil
}

// DeleteBookmarks puts the live bookmarks that meet a condition (over the
// columns of bookmark b, placeholders from $3 on) into the trash, and says how
// many they were.
func (e *Edit) DeleteBookmarks(ctx context.Context, condition string, args ...any) (int, error) {
	return e.trash(ctx, "bookmark", e.tree.newID(), condition, args)
}

// DeleteBookmarksByID is [Edit.DeleteBookmarks] of those ids that live.
func (e *Edit) DeleteBookmarksByID(ctx context.Context, ids []string) (int, error) {
	list, condition, err := In(e.tx.Dialect(), "b.id", 3, ids)
	if err != nil {
		return 0, wrapTrash(err)
	}
	return e.DeleteBookmarks(ctx, condition, list)
}

// DeleteSelected is [Edit.DeleteBookmarks] of some of what a filter, which has
// no query, selected, as far as they still pass it.
func (e *Edit) DeleteSelected(ctx context.Context, filter api.BookmarkFilter, rows []int64) (int, error) {
	list, err := json.Marshal(rows)
	if err != nil {
		return 0, wrapTrash(err)
	}
	c, err := filtered(ctx, newTagLook(ctx, e.tx, e.scope), filter, unlessCommon)
	if err != nil {
		return 0, wrapTrash(err)
	}
	part := `b.seq IN (SELECT value FROM json_each(` + c.bind(string(list)) + `))`
	if e.tx.Dialect() == sqldb.Postgres {
		part = fmt.Sprintf(`b.seq IN (SELECT jsonb_array_elements($%d::text::jsonb)::bigint)`, len(c.args))
	}
	c.and(part)
	return e.DeleteBookmarks(ctx, c.String(), c.args[2:]...) // the first two are those of every condition
}

// CopyContent takes over what a reader sees of another bookmark, but for its
// place and its snapshot.
func (b *Bookmark) CopyContent(o *Bookmark) {
	b.URL, b.Title, b.Description, b.Tags, b.Extra = o.URL, o.Title, o.Description, o.Tags, o.Extra
	b.LinkStatus, b.LastLinkCheckedAt, b.SnapshotEnabled = o.LinkStatus, o.LastLinkCheckedAt, o.SnapshotEnabled
	b.ReaderExcerpt, b.VideoEmbedURL, b.CreatedAt = o.ReaderExcerpt, o.VideoEmbedURL, o.CreatedAt
}

// trash moves rows of a table into the trash as one deletion.
func (e *Edit) trash(ctx context.Context, table, deletionID, condition string, args []any) (int, error) {
	where := ` FROM ` + table + ` b WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.deleted_at = 0 AND (` + condition + `)`
	args = append([]any{e.scope.TenantID, e.scope.WorkspaceID}, args...)
	base, n := e.rev, 0
	tags, columns := map[int64]string{}, `0, ''`
	if table == "bookmark" {
		columns = `b.seq, b.tags`
	}
	err := e.tx.Rows(ctx, `SELECT b.id, b.rev, `+columns+where, args, func(row sqldb.Scanner) error {
		var id, text string
		var rev, seq int64
		if err := row.Scan(&id, &rev, &seq, &text); err != nil {
			return err
		}
		e.died(id, rev)
		if n++; table == "bookmark" && n <= fewTrashed && text != "[]" {
			tags[seq] = text
		}
		return nil
	})
	if err != nil || n == 0 {
		return 0, wrapTrash(err)
	}
	e.rev, e.dirty = e.rev+int64(n), true
	next := len(args) + 1
	_, err = e.tx.Exec(ctx, fmt.Sprintf(`UPDATE %s SET deleted_at = $%d, updated_at = $%d, deletion_id = $%d, rev = $%d + r.n
		FROM (SELECT b.id, row_number() OVER (ORDER BY b.rev) AS n%s) AS r WHERE %s.id = r.id`,
		table, next, next, next+1, next+2, where, table), append(args, e.now.Micros(), deletionID, base)...)
	if err != nil || table != "bookmark" {
		return n, wrapTrash(err)
	}
	if e.tx.Dialect() == sqldb.SQLite {
		_, err = e.tx.Exec(ctx, `DELETE FROM bookmark_fts WHERE rowid IN (SELECT seq FROM bookmark WHERE workspace_id = $1 AND `+ofDeletion+`$2)`,
			e.scope.WorkspaceID, deletionID)
		if err != nil {
			return n, wrapTrash(err)
		}
	}
	return n, wrapTrash(e.untag(ctx, n, tags, deletionID))
}

// ofDeletion is what one deletion took. SQLite has to be told that a deletion
// is meant to use the index of them.
const ofDeletion = `deletion_id <> '' AND deletion_id = `

func wrapTrash(err error) error {
	if err != nil {
		return fmt.Errorf("move to the trash: %w", err)
	}
	return nil
}

// blank empties what a bookmark that was removed for good has said; SQLite's
// index let go of it with the deletion.
func (e *Edit) blank() string {
	set := `url = '', url_key = '', title = '', title_key = '', description = '', tags = '[]', reader_excerpt = '',
		video_embed_url = '', extra = '', archive_metadata_id = ''`
	if e.tx.Dialect() == sqldb.Postgres {
		set += `, search = NULL`
	}
	return set
}

// PurgeBookmark removes a deleted bookmark for good; its tombstone stays for
// the replicas.
func (e *Edit) PurgeBookmark(ctx context.Context, b *Bookmark) error {
	_, err := e.tx.Exec(ctx, `UPDATE bookmark SET `+e.blank()+`, deletion_id = $4 WHERE tenant_id = $1 AND workspace_id = $2 AND id = $3 AND deleted_at > 0`,
		e.scope.TenantID, e.scope.WorkspaceID, b.ID, Purged)
	if err != nil {
		return fmt.Errorf("remove the bookmark for good: %w", err)
	}
	return nil
}
