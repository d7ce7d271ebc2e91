package localstore

import (
	"context"
	"fmt"

	"bm/server/api"
	"bm/server/api/rules"
)

// Editor is one command of the user at work: a transaction, an entry in the
// journal, one `bm undo`. Nothing of it stays when it fails.
type Editor struct {
	tx      *tx
	replica *Replica
	at      api.Time
	steps   []step
	// deletion is common to what an undo deletes.
	deletion string
	watch    watch
	united   map[string]string   // see [Editor.became]
	formerly map[string][]string // the same the other way round
}

// Edit runs fn as one command on a replica. The command's words, as the user
// would recognise them, go to the journal. It costs no network, and when it
// returns the edit survives a power cut.
//
// It fails with forbidden where the replica is frozen or read-only, and with
// [ErrReadOnly] where the file is. A command of many rows heeds ctx between them.
func (s *Store) Edit(ctx context.Context, replica int64, command string, fn func(*Editor) error) error {
	return s.edit(ctx, durable, replica, command, fn)
}

func (s *Store) edit(ctx context.Context, mode durability, replica int64, command string, fn func(*Editor) error) error {
	return s.write(ctx, mode, func(tx *tx) error {
		ed, err := tx.editor(ctx, replica)
		if err != nil {
			return err
		}
		if err := fn(ed); err != nil {
			return err
		}
		return ed.record(command)
	})
}

func (t *tx) editor(ctx context.Context, replica int64) (*Editor, error) {
	r, err := t.replica(replica)
	if err != nil {
		return nil, err
	}
	if err := r.Editable(); err != nil {
		return nil, err
	}
	return &Editor{tx: t, replica: r, at: api.At(t.store.now()), watch: watch{ctx: ctx}}, nil
}

// Replica is the replica that is being edited.
func (ed *Editor) Replica() *Replica { return ed.replica }

// get is a live row; not_found where there is none.
func (ed *Editor) get(kind api.EntityType, id string) (*Entity, error) {
	e, err := ed.tx.find(ed.replica.N, kind, id)
	if err != nil {
		return nil, err
	}
	if e == nil || e.Deleted() {
		return nil, notFound(kind, id)
	}
	return e, nil
}

func notFound(kind api.EntityType, id string) error {
	return api.Errorf(api.CodeNotFound, "there is no %s %s here", kind, id)
}

// add inserts a new row and notes it in the journal.
func (ed *Editor) add(e *Entity) error {
	if e.ID == "" {
		e.ID = ed.tx.store.ids.New()
	}
	if e.CreatedAt.IsZero() {
		e.CreatedAt = ed.at
	}
	e.UpdatedAt = ed.at
	if err := ed.tx.insert(ed.replica.N, e); err != nil {
		return err
	}
	ed.note(actionCreate, e)
	return ed.step()
}

// put writes new fields of a live row and notes them in the journal. An edit
// that changes nothing is none.
func (ed *Editor) put(before *Entity, fields Fields) (*Entity, error) {
	if before.Equal(&fields) {
		return before, ed.step()
	}
	after := *before
	after.Fields = fields
	if after.URL != before.URL {
		after.LinkStatus, after.LinkCheckedAt = api.LinkUnknown, api.Time{}
	}
	after.UpdatedAt = ed.at
	if err := ed.overwrite(before, &after); err != nil {
		return nil, err
	}
	ed.noteUpdate(before, &after)
	return &after, nil
}

// overwrite keeps the base, writes the row, and lets go of the base again
// where the edit put the row back to what the server has.
func (ed *Editor) overwrite(before, after *Entity) error {
	if err := ed.tx.keepBase(before); err != nil {
		return err
	}
	if err := ed.tx.replace(ed.replica.N, before, after); err != nil {
		return err
	}
	if err := ed.tx.dropEqualBase(after); err != nil {
		return err
	}
	return ed.step()
}

// dropEqualBase lets go of a base that says the same as the row.
func (t *tx) dropEqualBase(e *Entity) error {
	if e.Rev == 0 {
		return nil
	}
	base, err := t.base(e)
	if err != nil || base == nil {
		return err
	}
	if base.Deleted == e.Deleted() && base.Equal(&e.Fields) {
		return t.setBase(e, nil)
	}
	return nil
}

// parent checks that id is a live folder, or "" for the top.
func (ed *Editor) parent(field, id string) error {
	if id == "" {
		return nil
	}
	f, err := ed.tx.find(ed.replica.N, api.TypeFolder, id)
	if err != nil {
		return err
	}
	if f == nil || f.Deleted() {
		return api.Invalid(field, "there is no such folder")
	}
	return nil
}

// last is the sort order behind everything in a folder.
func (ed *Editor) last(parent string) (int64, error) {
	var n int64
	err := ed.tx.row(`SELECT MAX(
		COALESCE((SELECT MAX(sort_order) FROM folder WHERE replica = ?1 AND parent = ?2 AND deleted_at = 0), 0),
		COALESCE((SELECT MAX(sort_order) FROM bookmark WHERE replica = ?1 AND folder = ?2 AND deleted_at = 0), 0))`,
		ed.replica.N, parent).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("find the end of a folder: %w", err)
	}
	if n > rules.MaxInteger-api.SortGap {
		return rules.MaxInteger, nil // the rows there are told apart by their ids
	}
	return n + api.SortGap, nil
}

// shown is a bookmark as a caller sees it.
func (ed *Editor) shown(e *Entity) Bookmark {
	return e.bookmark(ed.replica, ed.replica.State != StateLocal)
}
