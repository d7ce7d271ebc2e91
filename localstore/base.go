package localstore

import (
	"database/sql"
	"errors"
	"fmt"

	"bm/server/api"
)

// Base is a row as the server last had it.
type Base struct {
	Fields
	Deleted bool
}

// Unknown reports whether of what the server has nothing is known but that it is
// in the trash there.
func (b *Base) Unknown() bool { return b.CreatedAt.IsZero() }

// keepBase puts the row aside as the server has it, unless that was done by an
// earlier edit or the server has no such row. It comes before every edit.
func (t *tx) keepBase(e *Entity) error {
	if e.Rev == 0 {
		return nil
	}
	var err error
	if e.Type == api.TypeFolder {
		err = t.run(keepFolderBase+`n = ? ON CONFLICT DO NOTHING`, e.n)
	} else {
		err = t.run(keepBookmarkBase+`n = ? ON CONFLICT DO NOTHING`, e.n)
	}
	if err != nil {
		return fmt.Errorf("keep the base of %s %s: %w", e.Type, e.ID, err)
	}
	return nil
}

const (
	keepFolderBase = `INSERT INTO folder_base (n, parent, title, description, sort_order, created_at, extra, deleted)
		SELECT n, parent, title, description, sort_order, created_at, extra, deleted_at > 0 FROM folder WHERE rev > 0 AND `
	keepBookmarkBase = `INSERT INTO bookmark_base (n, folder, url, title, description, tags, sort_order, created_at, snapshot, extra, deleted)
		SELECT n, folder, url, title, description, tags, sort_order, created_at, snapshot, extra, deleted_at > 0 FROM bookmark WHERE rev > 0 AND `
)

// base is the row as the server last had it; nil where the row has no unsent
// edit or was never sent.
func (t *tx) base(e *Entity) (*Base, error) {
	var (
		b           Base
		tags, extra string
		created     int64
		err         error
	)
	if e.Type == api.TypeFolder {
		err = t.row(`SELECT parent, title, description, sort_order, created_at, extra, deleted FROM folder_base WHERE n = ?`, e.n).
			Scan(&b.Parent, &b.Title, &b.Description, &b.SortOrder, &created, &extra, &b.Deleted)
	} else {
		err = t.row(`SELECT folder, url, title, description, tags, sort_order, created_at, snapshot, extra, deleted FROM bookmark_base WHERE n = ?`, e.n).
			Scan(&b.Parent, &b.URL, &b.Title, &b.Description, &tags, &b.SortOrder, &created, &b.Snapshot, &extra, &b.Deleted)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // a clean row has no base, and every caller asks
	}
	b.CreatedAt = api.FromMicros(created)
	if err := errors.Join(err, decode(tags, &b.Tags), decode(extra, &b.Extra)); err != nil {
		return nil, fmt.Errorf("read the base of %s %s: %w", e.Type, e.ID, err)
	}
	return &b, nil
}

// setBase says what the server has: nil is the same as the row.
func (t *tx) setBase(e *Entity, b *Base) error {
	var err error
	switch {
	case b == nil:
		err = t.run(`DELETE FROM `+table(e.Type)+`_base WHERE n = ?`, e.n)
	case e.Type == api.TypeFolder:
		err = t.run(`INSERT OR REPLACE INTO folder_base (n, parent, title, description, sort_order, created_at, extra, deleted)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			e.n, b.Parent, b.Title, b.Description, b.SortOrder, b.CreatedAt.Micros(), encodeExtra(b.Extra), b.Deleted)
	default:
		err = t.run(`INSERT OR REPLACE INTO bookmark_base (n, folder, url, title, description, tags, sort_order, created_at, snapshot, extra, deleted)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			e.n, b.Parent, b.URL, b.Title, b.Description, encodeTags(b.Tags), b.SortOrder, b.CreatedAt.Micros(), b.Snapshot,
			encodeExtra(b.Extra), b.Deleted)
	}
	if err != nil {
		return fmt.Errorf("write the base of %s %s: %w", e.Type, e.ID, err)
	}
	return nil
}
