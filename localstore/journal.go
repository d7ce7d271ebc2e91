package localstore

import (
	"context"
	"errors"
	"fmt"

	"bm/server/api"
)

// action is what a step of a command did.
type action string

const (
	actionCreate  action = "create"
	actionUpdate  action = "update"
	actionDelete  action = "delete"
	actionRestore action = "restore"
)

// step is a part of a command. Of an update it holds the fields that changed,
// before and after; what else was done can be taken back knowing the ids, since
// deleted rows keep their contents.
type step struct {
	action action
	kind   api.EntityType
	ids    []string
	before *patch
	after  *patch
}

// maxStepIDs bounds the ids of one step.
const maxStepIDs = 1000

// note adds what was done to one row, to the step before where it is alike.
func (ed *Editor) note(a action, kind api.EntityType, id string) {
	if n := len(ed.steps) - 1; n >= 0 {
		last := &ed.steps[n]
		if last.action == a && last.kind == kind && a != actionUpdate && len(last.ids) < maxStepIDs {
			last.ids = append(last.ids, id)
			return
		}
	}
	ed.steps = append(ed.steps, step{action: a, kind: kind, ids: []string{id}})
}

func (ed *Editor) noteUpdate(before, after *Entity) {
	was, is := diff(&before.Fields, &after.Fields)
	ed.steps = append(ed.steps, step{action: actionUpdate, kind: before.Type, ids: []string{before.ID}, before: &was, after: &is})
}

// keptCommands is how many commands the journal keeps.
const keptCommands = 1000

// record writes the command to the journal, unless it did nothing. What was
// undone before it can no longer be redone.
func (ed *Editor) record(command string) error {
	if len(ed.steps) == 0 {
		return nil
	}
	entry, err := ed.tx.openEntry(ed.replica.N, command, ed.at)
	if err != nil {
		return err
	}
	return ed.tx.writeSteps(entry, 0, ed.steps)
}

func (t *tx) openEntry(replica int64, command string, at api.Time) (int64, error) {
	var entry int64
	err := t.row(`INSERT INTO journal (replica, command, at, undone) VALUES (?, ?, ?, 0) RETURNING n`,
		replica, command, at.Micros()).Scan(&entry)
	if err != nil {
		return 0, fmt.Errorf("write the journal: %w", err)
	}
	err = errors.Join(
		t.run(`UPDATE journal SET undone = ? WHERE undone = ?`, undoneForGood, undone),
		t.run(`DELETE FROM journal WHERE n <= ?`, entry-keptCommands),
	)
	if err != nil {
		return 0, fmt.Errorf("write the journal: %w", err)
	}
	return entry, nil
}

func (t *tx) writeSteps(entry int64, from int, steps []step) error {
	for i := range steps {
		s := &steps[i]
		before, after := "", ""
		if s.before != nil {
			before, after = encode(s.before), encode(s.after)
		}
		err := t.run(`INSERT INTO journal_step (entry, seq, action, type, ids, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			entry, from+i, string(s.action), string(s.kind), encode(s.ids), before, after)
		if err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
	}
	return nil
}

// The values of journal.undone.
const (
	inForce = iota
	undone
	undoneForGood // another command came after
)

// Command is an entry of the journal.
type Command struct {
	N       int64    `json:"n"`
	Replica int64    `json:"-"`
	Command string   `json:"command"`
	At      api.Time `json:"at"`
	Undone  bool     `json:"undone"`
	// Created, Updated, Deleted and Restored count rows.
	Created  int `json:"created"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Restored int `json:"restored"`
}

// Log is what the user did, newest first, at most limit commands.
func (s *Store) Log(ctx context.Context, limit int) ([]Command, error) {
	var all []Command
	err := s.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT j.n, j.replica, j.command, j.at, j.undone > 0,
			COALESCE(SUM(CASE s.action WHEN 'create' THEN json_array_length(s.ids) END), 0),
			COALESCE(SUM(CASE s.action WHEN 'update' THEN json_array_length(s.ids) END), 0),
			COALESCE(SUM(CASE s.action WHEN 'delete' THEN json_array_length(s.ids) END), 0),
			COALESCE(SUM(CASE s.action WHEN 'restore' THEN json_array_length(s.ids) END), 0)
			FROM journal j LEFT JOIN journal_step s ON s.entry = j.n
			WHERE j.n IN (SELECT n FROM journal ORDER BY n DESC LIMIT ?) GROUP BY j.n ORDER BY j.n DESC`,
			[]any{limit}, func(row scanner) error {
				var c Command
				var at int64
				err := row.Scan(&c.N, &c.Replica, &c.Command, &at, &c.Undone, &c.Created, &c.Updated, &c.Deleted, &c.Restored)
				c.At = api.FromMicros(at)
				all = append(all, c)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return all, nil
}

// Undone is what [Store.Undo] and [Store.Redo] did.
type Undone struct {
	Command string
	Replica int64
	// Rows is how many rows it touched. Skipped names fields that were left
	// alone because they changed again in the meantime, as "id.field".
	Rows    int
	Skipped []string
}

// Undo takes back the last command that is in force. It is an edit like any
// other, so that it works after a sync too: fields that have changed since, here
// or elsewhere, are left alone. It is not_found where there is nothing to undo.
func (s *Store) Undo(ctx context.Context) (Undone, error) {
	return s.turn(ctx, `SELECT n, replica, command FROM journal WHERE undone = 0 ORDER BY n DESC LIMIT 1`,
		undone, "there is nothing to undo")
}

// Redo does again what the last undo took back.
func (s *Store) Redo(ctx context.Context) (Undone, error) {
	return s.turn(ctx, `SELECT n, replica, command FROM journal WHERE undone = 1 ORDER BY n LIMIT 1`,
		inForce, "there is nothing to redo")
}

func (s *Store) turn(ctx context.Context, find string, to int, nothing string) (Undone, error) {
	var did Undone
	err := s.write(ctx, durable, func(tx *tx) error {
		var entry int64
		if err := tx.row(find).Scan(&entry, &did.Replica, &did.Command); err != nil {
			if isNoRows(err) {
				return api.Errorf(api.CodeNotFound, "%s", nothing)
			}
			return err
		}
		ed, err := tx.editor(did.Replica)
		if err != nil {
			return err
		}
		steps, err := tx.stepsOf(entry)
		if err != nil {
			return err
		}
		if to == undone {
			err = ed.undo(steps, &did)
		} else {
			err = ed.redo(steps, &did)
		}
		if err != nil {
			return err
		}
		return tx.run(`UPDATE journal SET undone = ? WHERE n = ?`, to, entry)
	})
	return did, err
}

func (t *tx) stepsOf(entry int64) ([]step, error) {
	var steps []step
	err := t.each(`SELECT action, type, ids, before, after FROM journal_step WHERE entry = ? ORDER BY seq`, []any{entry},
		func(row scanner) error {
			s := step{before: new(patch), after: new(patch)}
			var ids, before, after string
			if err := row.Scan(&s.action, &s.kind, &ids, &before, &after); err != nil {
				return err
			}
			steps = append(steps, s)
			last := &steps[len(steps)-1]
			return errors.Join(decode(ids, &last.ids), decode(before, last.before), decode(after, last.after))
		})
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return steps, nil
}

func (ed *Editor) undo(steps []step, did *Undone) error {
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		for j := len(s.ids) - 1; j >= 0; j-- {
			var err error
			switch s.action {
			case actionCreate, actionRestore:
				err = ed.deleteAny(s.kind, s.ids[j], did)
			case actionDelete:
				err = ed.restoreAny(s.kind, s.ids[j], did)
			case actionUpdate:
				err = ed.patch(s.kind, s.ids[j], s.after, s.before, did)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (ed *Editor) redo(steps []step, did *Undone) error {
	for i := range steps {
		s := &steps[i]
		for _, id := range s.ids {
			var err error
			switch s.action {
			case actionCreate, actionRestore:
				err = ed.restoreAny(s.kind, id, did)
			case actionDelete:
				err = ed.deleteAny(s.kind, id, did)
			case actionUpdate:
				err = ed.patch(s.kind, id, s.before, s.after, did)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteAny puts a row into the trash if it is still there.
func (ed *Editor) deleteAny(kind api.EntityType, id string, did *Undone) error {
	e, err := ed.tx.find(ed.replica.N, kind, id)
	if err != nil || e == nil || e.Deleted() {
		return err
	}
	did.Rows++
	if kind == api.TypeBookmark {
		return ed.hide(e, ed.tx.store.ids.New())
	}
	_, _, err = ed.DeleteFolder(id)
	return err
}

// restoreAny takes a row out of the trash if it is still in it.
func (ed *Editor) restoreAny(kind api.EntityType, id string, did *Undone) error {
	e, err := ed.tx.find(ed.replica.N, kind, id)
	if err != nil || e == nil || !e.Deleted() {
		return err
	}
	did.Rows++
	if kind == api.TypeBookmark {
		return ed.show(e)
	}
	return ed.showSubtree(e)
}

// patch brings the fields that are as from says to what to says.
func (ed *Editor) patch(kind api.EntityType, id string, from, to *patch, did *Undone) error {
	e, err := ed.tx.find(ed.replica.N, kind, id)
	if err != nil || e == nil {
		return err
	}
	fields, skipped := to.over(e.Fields, from)
	for _, field := range skipped {
		did.Skipped = append(did.Skipped, id+"."+field)
	}
	if fields.Parent != e.Parent {
		alive, err := ed.undoneParent(e, fields.Parent)
		if err != nil {
			return err
		}
		fields.Parent = alive
	}
	if e.Equal(&fields) {
		return nil
	}
	after := *e
	after.Fields, after.UpdatedAt = fields, ed.at
	did.Rows++
	return ed.overwrite(e, &after)
}

// undoneParent is where a row may go back to: its former folder, the nearest
// living one above it, or, where that would close a circle, where it is.
func (ed *Editor) undoneParent(e *Entity, parent string) (string, error) {
	alive, err := ed.tx.nearestAlive(ed.replica.N, parent)
	if err != nil || e.Type == api.TypeBookmark {
		return alive, err
	}
	above, err := ed.tx.ancestors(ed.replica.N, alive)
	if err != nil {
		return "", err
	}
	for i := range above {
		if above[i].ID == e.ID {
			return e.Parent, nil
		}
	}
	return alive, nil
}
