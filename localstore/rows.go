package localstore

import (
	"database/sql"
	"errors"
	"fmt"

	"bm/server/api"
)

// Columns in the order in which scanBookmark and scanFolder read them. The
// tables go by b and f wherever rows are read.
const (
	bookmarkColumns = `b.n, b.id, b.rev, b.folder, b.url, b.title, b.description, b.tags, b.sort_order,
		b.created_at, b.updated_at, b.snapshot, b.link_status, b.archive, b.rest, b.extra, b.deleted_at, b.deletion`
	folderColumns = `f.n, f.id, f.rev, f.parent, f.title, f.description, f.sort_order,
		f.created_at, f.updated_at, f.extra, f.deleted_at, f.deletion`

	// bookmarkUnsent and folderUnsent say whether the server lacks an edit.
	bookmarkUnsent = `(b.rev = 0 OR EXISTS (SELECT 1 FROM bookmark_base x WHERE x.n = b.n))`
	folderUnsent   = `(f.rev = 0 OR EXISTS (SELECT 1 FROM folder_base x WHERE x.n = f.n))`
)

// partition is how far apart the row numbers of two replicas are.
const partition = 1 << 40

// scanBookmark reads bookmarkColumns, and whatever the query has behind them.
func scanBookmark(row scanner, e *Entity, more ...any) error {
	var (
		tags, extra, rest          string
		created, updated, deletedA int64
	)
	*e = Entity{Type: api.TypeBookmark}
	dest := append([]any{
		&e.n, &e.ID, &e.Rev, &e.Parent, &e.URL, &e.Title, &e.Description, &tags, &e.SortOrder,
		&created, &updated, &e.Snapshot, &e.LinkStatus, &e.Archive.Status, &rest, &extra, &deletedA, &e.Deletion,
	}, more...)
	if err := row.Scan(dest...); err != nil {
		return err
	}
	e.CreatedAt, e.UpdatedAt, e.DeletedAt = api.FromMicros(created), api.FromMicros(updated), api.FromMicros(deletedA)
	return errors.Join(decode(tags, &e.Tags), decode(extra, &e.Extra), e.decodeRest(rest))
}

// scanFolder reads folderColumns, and whatever the query has behind them.
func scanFolder(row scanner, e *Entity, more ...any) error {
	var (
		extra                      string
		created, updated, deletedA int64
	)
	*e = Entity{Type: api.TypeFolder}
	dest := append([]any{
		&e.n, &e.ID, &e.Rev, &e.Parent, &e.Title, &e.Description, &e.SortOrder,
		&created, &updated, &extra, &deletedA, &e.Deletion,
	}, more...)
	if err := row.Scan(dest...); err != nil {
		return err
	}
	e.CreatedAt, e.UpdatedAt, e.DeletedAt = api.FromMicros(created), api.FromMicros(updated), api.FromMicros(deletedA)
	return decode(extra, &e.Extra)
}

// find is the row with that id, alive or deleted; nil where there is none.
func (t *tx) find(replica int64, kind api.EntityType, id string) (*Entity, error) {
	var e Entity
	var err error
	if kind == api.TypeFolder {
		err = scanFolder(t.row(`SELECT `+folderColumns+` FROM folder f WHERE f.replica = ? AND f.id = ?`, replica, id), &e)
	} else {
		err = scanBookmark(t.row(`SELECT `+bookmarkColumns+` FROM bookmark b WHERE b.replica = ? AND b.id = ?`, replica, id), &e)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil //nolint:nilnil // absent is an answer here, and every caller asks
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", kind, id, err)
	}
	return &e, nil
}

// bookmarks are the rows that the query's rest selects, in its order.
func (t *tx) bookmarks(tail string, args ...any) ([]Entity, error) {
	return t.collect(`SELECT `+bookmarkColumns+` FROM bookmark b `+tail, args, scanBookmark)
}

// folders are the rows that the query's rest selects, in its order.
func (t *tx) folders(tail string, args ...any) ([]Entity, error) {
	return t.collect(`SELECT `+folderColumns+` FROM folder f `+tail, args, scanFolder)
}

func (t *tx) collect(query string, args []any, scan func(scanner, *Entity, ...any) error) ([]Entity, error) {
	var all []Entity
	err := t.each(query, args, func(row scanner) error {
		var e Entity
		if err := scan(row, &e); err != nil {
			return err
		}
		all = append(all, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return all, nil
}

// insert adds a row and gives it its number. A live bookmark is indexed.
func (t *tx) insert(replica int64, e *Entity) error {
	table := table(e.Type)
	err := t.row(`SELECT COALESCE(MAX(n), ?1) + 1 FROM `+table+` WHERE n > ?1 AND n < ?2`,
		replica*partition, (replica+1)*partition).Scan(&e.n)
	if err != nil {
		return fmt.Errorf("number a new %s: %w", e.Type, err)
	}
	if err := t.insertNumbered(replica, e); err != nil {
		return err
	}
	if e.Type == api.TypeBookmark && !e.Deleted() {
		if err := t.writeTags(replica, e.n, nil, e.Tags); err != nil {
			return err
		}
		return t.index(e)
	}
	return nil
}

func table(kind api.EntityType) string {
	if kind == api.TypeFolder {
		return "folder"
	}
	return "bookmark"
}

const (
	insertFolder = `INSERT INTO folder (n, replica, id, rev, parent, title, description, sort_order,
		created_at, updated_at, extra, deleted_at, deletion) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertBookmark = `INSERT INTO bookmark (n, replica, id, rev, folder, url, url_hash, title, description, tags, sort_order,
		created_at, updated_at, snapshot, link_status, archive, rest, extra, deleted_at, deletion)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// insertNumbered adds the row alone, without tags and index.
func (t *tx) insertNumbered(replica int64, e *Entity) error {
	var err error
	if e.Type == api.TypeFolder {
		err = t.run(insertFolder,
			e.n, replica, e.ID, e.Rev, e.Parent, e.Title, e.Description, e.SortOrder,
			e.CreatedAt.Micros(), e.UpdatedAt.Micros(), encodeExtra(e.Extra), e.DeletedAt.Micros(), e.Deletion)
	} else {
		e.setDefaults()
		err = t.run(insertBookmark,
			e.n, replica, e.ID, e.Rev, e.Parent, e.URL, urlHash(e.URL), e.Title, e.Description, encodeTags(e.Tags), e.SortOrder,
			e.CreatedAt.Micros(), e.UpdatedAt.Micros(), e.Snapshot, string(e.LinkStatus), string(e.Archive.Status),
			e.encodeRest(), encodeExtra(e.Extra), e.DeletedAt.Micros(), e.Deletion)
	}
	if err != nil {
		return fmt.Errorf("add %s %s: %w", e.Type, e.ID, err)
	}
	return nil
}

// setDefaults fills what a bookmark always has.
func (e *Entity) setDefaults() {
	if e.LinkStatus == "" {
		e.LinkStatus = api.LinkUnknown
	}
	if e.Archive.Status == "" {
		e.Archive.Status = api.ArchiveNone
	}
}

// replace writes after over before, the same row, and keeps tags and index in
// step. Bases are the caller's business.
func (t *tx) replace(replica int64, before, after *Entity) error {
	after.n = before.n
	if after.Type == api.TypeFolder {
		err := t.run(`UPDATE folder SET rev = ?, parent = ?, title = ?, description = ?, sort_order = ?,
			created_at = ?, updated_at = ?, extra = ?, deleted_at = ?, deletion = ? WHERE n = ?`,
			after.Rev, after.Parent, after.Title, after.Description, after.SortOrder,
			after.CreatedAt.Micros(), after.UpdatedAt.Micros(), encodeExtra(after.Extra),
			after.DeletedAt.Micros(), after.Deletion, after.n)
		if err != nil {
			return fmt.Errorf("write folder %s: %w", after.ID, err)
		}
		return nil
	}
	after.setDefaults()
	err := t.run(`UPDATE bookmark SET rev = ?, folder = ?, url = ?, url_hash = ?, title = ?, description = ?, tags = ?, sort_order = ?,
		created_at = ?, updated_at = ?, snapshot = ?, link_status = ?, archive = ?, rest = ?, extra = ?, deleted_at = ?, deletion = ? WHERE n = ?`,
		after.Rev, after.Parent, after.URL, urlHash(after.URL), after.Title, after.Description, encodeTags(after.Tags), after.SortOrder,
		after.CreatedAt.Micros(), after.UpdatedAt.Micros(), after.Snapshot, string(after.LinkStatus), string(after.Archive.Status),
		after.encodeRest(), encodeExtra(after.Extra), after.DeletedAt.Micros(), after.Deletion, after.n)
	if err != nil {
		return fmt.Errorf("write bookmark %s: %w", after.ID, err)
	}
	var had, has []string
	if !before.Deleted() {
		had = before.Tags
	}
	if !after.Deleted() {
		has = after.Tags
	}
	if err := t.writeTags(replica, after.n, had, has); err != nil {
		return err
	}
	switch {
	case before.Deleted() && after.Deleted():
		return nil
	case after.Deleted():
		return t.unindex(after.n)
	case before.Deleted():
		return t.index(after)
	case sameText(&before.Fields, &after.Fields):
		return nil
	}
	return t.index(after)
}

// remove takes a row that was never sent out of the replica for good.
func (t *tx) remove(replica int64, e *Entity) error {
	if e.Type == api.TypeBookmark && !e.Deleted() {
		if err := errors.Join(t.writeTags(replica, e.n, e.Tags, nil), t.unindex(e.n)); err != nil {
			return err
		}
	}
	if err := t.run(`DELETE FROM `+table(e.Type)+` WHERE n = ?`, e.n); err != nil {
		return fmt.Errorf("remove %s %s: %w", e.Type, e.ID, err)
	}
	return nil
}
