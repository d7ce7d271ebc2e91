package localstore

import (
	"context"
	"fmt"

	"bm/server/api"
)

// Row is an entity together with what the server last had of it.
type Row struct {
	Entity
	// N is the row's number: the order in which rows came to this replica.
	N int64
	// Base is the row as the server last had it; nil where that is the row
	// itself (Rev > 0) or nothing (Rev = 0: never sent).
	Base *Base
}

// Unsent reports whether the server lacks something of the row. A row that was
// deleted before it was ever sent is not to be sent.
func (r *Row) Unsent() bool {
	if r.Base != nil {
		return !r.Deleted() || !r.Base.Deleted
	}
	return r.Rev == 0 && !r.Deleted()
}

// ServerHas reports whether the row is alive on the server as last seen.
func (r *Row) ServerHas() bool {
	switch {
	case r.Rev == 0:
		return false
	case r.Base != nil:
		return !r.Base.Deleted
	}
	return !r.Deleted()
}

// ServerParent is the folder that the row is in on the server as last seen.
func (r *Row) ServerParent() string {
	if r.Base != nil {
		return r.Base.Parent
	}
	return r.Parent
}

// SyncTx is a transaction of replication on one replica. It keeps the digest in
// step with what the server is known to have.
type SyncTx struct {
	tx      *tx
	replica *Replica
	saved   Replica
	at      api.Time
}

// Sync runs fn in a transaction on a replica, for package syncer. What it writes
// can be fetched again, so that it waits for no disk.
func (s *Store) Sync(ctx context.Context, replica int64, fn func(*SyncTx) error) error {
	return s.sync(ctx, refetchable, replica, fn)
}

// SyncDurably is [Store.Sync] for what must survive a power cut: what is about to
// be sent.
func (s *Store) SyncDurably(ctx context.Context, replica int64, fn func(*SyncTx) error) error {
	return s.sync(ctx, durable, replica, fn)
}

func (s *Store) sync(ctx context.Context, mode durability, replica int64, fn func(*SyncTx) error) error {
	return s.write(ctx, mode, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		st := &SyncTx{tx: tx, replica: r, saved: *r, at: api.At(s.now())}
		if err := fn(st); err != nil {
			return err
		}
		if *r == st.saved {
			return nil
		}
		return tx.saveReplica(r)
	})
}

// Replica is the replica's record. What fn changes in it is saved with the
// transaction.
func (t *SyncTx) Replica() *Replica { return t.replica }

// Find is a row with its base; nil where the replica has none with that id.
func (t *SyncTx) Find(kind api.EntityType, id string) (*Row, error) {
	e, err := t.tx.find(t.replica.N, kind, id)
	if err != nil || e == nil {
		return nil, err
	}
	return t.withBase(e)
}

// FindAll is [SyncTx.Find] for many ids at once; those that the replica does
// not have are not in it.
func (t *SyncTx) FindAll(kind api.EntityType, ids []string) (map[string]*Row, error) {
	found := make(map[string]*Row, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	letter := table(kind)[:1]
	rows, err := t.rows(kind, `WHERE `+letter+`.replica = ? AND `+letter+`.id IN (SELECT value FROM json_each(?))`, t.replica.N, encode(ids))
	if err != nil {
		return nil, fmt.Errorf("look for rows: %w", err)
	}
	for i := range rows {
		found[rows[i].ID] = &rows[i]
	}
	return found, nil
}

func (t *SyncTx) withBase(e *Entity) (*Row, error) {
	row := &Row{Entity: *e, N: e.n}
	if e.Rev == 0 {
		return row, nil
	}
	base, err := t.tx.base(e)
	row.Base = base
	return row, err
}

// Insert adds rows of the server that the replica does not have.
func (t *SyncTx) Insert(rows []Entity) error {
	for i := range rows {
		if rows[i].Deleted() {
			return fmt.Errorf("insert %s %s: it is deleted", rows[i].Type, rows[i].ID)
		}
		t.count(rows[i].ID, 0, false, rows[i].Rev, true)
	}
	return t.tx.insertAll(t.replica.N, rows)
}

// count moves a row's share of the digest from one state of the server's row to
// another.
func (t *SyncTx) count(id string, was int64, wasAlive bool, rev int64, alive bool) {
	r := t.replica
	if wasAlive {
		r.Digest, r.Live = r.Digest.Remove(id, was), r.Live-1
	}
	if alive {
		r.Digest, r.Live = r.Digest.Add(id, rev), r.Live+1
	}
}

// Write makes a row what next says, and base what the server has of it; nil
// where that is next itself, or nothing.
func (t *SyncTx) Write(row *Row, next Entity, base *Base) error {
	after := Row{Entity: next, N: row.N, Base: base}
	if base != nil && next.Rev > 0 && base.Deleted == next.Deleted() && base.Equal(&next.Fields) {
		after.Base = nil
	}
	if next.Rev == 0 {
		after.Base = nil
	}
	before := row.Entity
	before.n, after.n = row.N, row.N
	t.count(row.ID, row.Rev, row.ServerHas(), next.Rev, after.ServerHas())
	if err := t.tx.replace(t.replica.N, &before, &after.Entity); err != nil {
		return err
	}
	if row.Base != nil || after.Base != nil {
		if err := t.tx.setBase(&after.Entity, after.Base); err != nil {
			return err
		}
	}
	*row = after
	return nil
}

// Touch notes that the server has a row just as it stands here, at rev: the
// common end of a push.
func (t *SyncTx) Touch(row *Row, rev int64, updated api.Time) error {
	t.count(row.ID, row.Rev, row.ServerHas(), rev, !row.Deleted())
	if err := t.tx.run(`UPDATE `+table(row.Type)+` SET rev = ?, updated_at = ? WHERE n = ?`, rev, updated.Micros(), row.N); err != nil {
		return fmt.Errorf("note what the server has of %s %s: %w", row.Type, row.ID, err)
	}
	if row.Base != nil {
		if err := t.tx.setBase(&row.Entity, nil); err != nil {
			return err
		}
	}
	row.Rev, row.UpdatedAt, row.Base = rev, updated, nil
	return nil
}

// Remove takes a row that was never sent out of the replica for good.
func (t *SyncTx) Remove(row *Row) error {
	if row.Rev != 0 {
		return fmt.Errorf("remove %s %s: the server has it", row.Type, row.ID)
	}
	return t.tx.remove(t.replica.N, &row.Entity)
}

// Now is the moment that the transaction dates rows with.
func (t *SyncTx) Now() api.Time { return t.at }

// Sum is digest and count over the rows of a replica as the server last had them,
// computed anew. It goes through all of them, and holds nobody up: an edit beside it
// changes nothing of what the server is known to have.
func (s *Store) Sum(ctx context.Context, replica int64) (digest api.Digest, live int64, err error) {
	err = s.read(ctx, func(tx *tx) (err error) {
		digest, live, err = tx.sum(replica)
		return err
	})
	return digest, live, err
}

func (t *tx) sum(replica int64) (digest api.Digest, live int64, err error) {
	for _, query := range []string{
		`SELECT f.id, f.rev FROM folder f LEFT JOIN folder_base x ON x.n = f.n WHERE f.replica = ? AND f.rev > 0
			AND CASE WHEN x.n IS NULL THEN f.deleted_at = 0 ELSE x.deleted = 0 END`,
		`SELECT b.id, b.rev FROM bookmark b LEFT JOIN bookmark_base x ON x.n = b.n WHERE b.replica = ? AND b.rev > 0
			AND CASE WHEN x.n IS NULL THEN b.deleted_at = 0 ELSE x.deleted = 0 END`,
	} {
		err := t.each(query, []any{replica}, func(row scanner) error {
			var id string
			var rev int64
			if err := row.Scan(&id, &rev); err != nil {
				return err
			}
			digest, live = digest.Add(id, rev), live+1
			return nil
		})
		if err != nil {
			return digest, live, fmt.Errorf("compute the digest: %w", err)
		}
	}
	return digest, live, nil
}

// Rows are rows with their bases in the order of their numbers, from the one
// after a number on; the query is one of the fixed ones below.
func (t *SyncTx) rows(kind api.EntityType, where string, args ...any) ([]Row, error) {
	var entities []Entity
	var err error
	if kind == api.TypeFolder {
		entities, err = t.tx.folders(where, args...)
	} else {
		entities, err = t.tx.bookmarks(where, args...)
	}
	if err != nil {
		return nil, err
	}
	edited := func(int64) bool { return true }
	if len(entities) > fewRows {
		// Of many rows hardly any has a base: they are listed at once.
		if edited, err = t.based(kind, entities); err != nil {
			return nil, err
		}
	}
	rows := make([]Row, 0, len(entities))
	for i := range entities {
		if !edited(entities[i].n) {
			rows = append(rows, Row{Entity: entities[i], N: entities[i].n})
			continue
		}
		row, err := t.withBase(&entities[i])
		if err != nil {
			return nil, err
		}
		rows = append(rows, *row)
	}
	return rows, nil
}

// Edited tells whether the replica has rows of a kind that were never sent, and
// whether it has any that the server has otherwise.
func (t *SyncTx) Edited(kind api.EntityType) (made, changed bool, err error) {
	low, high := t.span(0)
	err = t.tx.row(`SELECT EXISTS (SELECT 1 FROM `+table(kind)+` WHERE replica = ? AND rev = 0), EXISTS (SELECT 1 FROM `+table(kind)+`_base WHERE n > ? AND n < ?)`,
		t.replica.N, low, high).Scan(&made, &changed)
	if err != nil {
		return false, false, fmt.Errorf("look for edits: %w", err)
	}
	return made, changed, nil
}

// fewRows is up to how many rows are asked for their bases one by one.
const fewRows = 8

// based tells which of many rows have a base.
func (t *SyncTx) based(kind api.EntityType, entities []Entity) (func(n int64) bool, error) {
	var held []int64
	for i := range entities {
		if entities[i].Rev > 0 {
			held = append(held, entities[i].n)
		}
	}
	with := map[int64]bool{}
	if len(held) == 0 {
		return func(int64) bool { return false }, nil
	}
	err := t.tx.each(`SELECT n FROM `+table(kind)+`_base WHERE n IN (SELECT value FROM json_each(?))`, []any{encode(held)}, func(row scanner) error {
		var n int64
		err := row.Scan(&n)
		with[n] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list what was edited: %w", err)
	}
	return func(n int64) bool { return with[n] }, nil
}

// span is the range of the replica's row numbers above a number.
func (t *SyncTx) span(after int64) (low, high int64) {
	return max(after, t.replica.N*partition), (t.replica.N + 1) * partition
}

// NewBookmarks are live bookmarks that were never sent, from a number on.
func (t *SyncTx) NewBookmarks(after int64, limit int) ([]Row, error) {
	low, _ := t.span(after)
	return t.rows(api.TypeBookmark, `WHERE b.replica = ? AND b.rev = 0 AND b.deleted_at = 0 AND b.n > ? ORDER BY b.n LIMIT (0 + ?)`, t.replica.N, low, limit)
}

// EditedBookmarks are bookmarks that the server has otherwise, or that one of
// both has deleted, from a number on.
func (t *SyncTx) EditedBookmarks(after int64, limit int) ([]Row, error) {
	low, high := t.span(after)
	return t.rows(api.TypeBookmark, `WHERE b.n IN (SELECT n FROM bookmark_base WHERE n > ? AND n < ? ORDER BY n LIMIT (0 + ?)) ORDER BY b.n`, low, high, limit)
}

// EditedFolders are the folders that the server does not have, has otherwise, or
// that one of both has deleted.
func (t *SyncTx) EditedFolders() ([]Row, error) {
	low, high := t.span(0)
	return t.rows(api.TypeFolder, `WHERE f.n IN (SELECT n FROM folder WHERE replica = ? AND rev = 0
		UNION ALL SELECT n FROM folder_base WHERE n > ? AND n < ?) ORDER BY f.n`, t.replica.N, low, high)
}

// Stored are rows that the server is known to have had, from a number on.
func (t *SyncTx) Stored(kind api.EntityType, after int64, limit int) ([]Row, error) {
	low, high := t.span(after)
	letter := "b"
	if kind == api.TypeFolder {
		letter = "f"
	}
	return t.rows(kind, `WHERE `+letter+`.n > ? AND `+letter+`.n < ? AND `+letter+`.rev > 0 ORDER BY `+letter+`.n LIMIT (0 + ?)`, low, high, limit)
}

// NearestAlive is a folder, or the first above it with nothing dead between it
// and the top; "" is the top.
func (t *SyncTx) NearestAlive(id string) (string, error) {
	return t.tx.nearestAlive(t.replica.N, id)
}

// Last is the sort order behind everything in a folder.
func (t *SyncTx) Last(parent string) (int64, error) {
	ed := Editor{tx: t.tx, replica: t.replica}
	return ed.last(parent)
}
