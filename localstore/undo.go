package localstore

import (
	"context"
	"errors"
	"fmt"

	"bm/server/api"
)

// Undone is what [Store.Undo] and [Store.Redo] did.
type Undone struct {
	Command string
	Replica int64
	// Rows is how many rows it touched. Skipped names what was left alone
	// because it changed again in the meantime: fields, as "id.field", and rows,
	// as "id".
	Rows    int
	Skipped []string
}

// Undo takes back the last command that is in force in a workspace that can be
// edited. It is an edit like any other, so that it works after a sync too: what
// has changed since, here or elsewhere, is left alone. It is not_found where
// there is nothing to undo.
//
// A command of many rows is taken back in small transactions with gaps between,
// and when it is cut off the next Undo goes on. Only a folder comes back as it
// went, with all that is in it at once. Now and then progress, which may be nil, is
// told how many of how many rows are done.
func (s *Store) Undo(ctx context.Context, progress func(done, total int)) (Undone, error) {
	did, err := s.turn(ctx, undone, progress)
	if err != nil {
		return did, fmt.Errorf("undo: %w", err)
	}
	return did, nil
}

// Redo does again what the last undo took back, in the same way.
func (s *Store) Redo(ctx context.Context, progress func(done, total int)) (Undone, error) {
	did, err := s.turn(ctx, inForce, progress)
	if err != nil {
		return did, fmt.Errorf("redo: %w", err)
	}
	return did, nil
}

// turning is a command that is being undone or redone, as the setting of that
// name keeps it between two transactions.
type turning struct {
	Entry int64 `json:"entry"`
	To    int   `json:"to"`
	// Step is the number of the step that comes next, IDs how many of its ids
	// are done.
	Step int64 `json:"step"`
	IDs  int   `json:"ids"`
	// Deletion is common to what is deleted by it.
	Deletion string `json:"deletion"`

	done bool
}

const turningSetting = "turning"

func (s *Store) turn(ctx context.Context, to int, progress func(done, total int)) (Undone, error) {
	var did Undone
	var pace Pace
	done, total := 0, 0
	folder := func(more, of int) {
		if progress != nil {
			progress(done+more, max(total, done+of))
		}
	}
	for at := (*turning)(nil); at == nil || !at.done; {
		if at != nil {
			if progress != nil && total == 0 {
				left, err := s.leftToTurn(ctx, at)
				if err != nil {
					return did, err
				}
				total = done + left
			}
			if progress != nil {
				progress(done, total)
			}
			if err := sleep(ctx, bulkGap); err != nil {
				return did, err
			}
		}
		rows := pace.Rows()
		var next *turning
		var more Undone
		err := pace.Time(rows, func() error {
			return s.write(ctx, durable, func(tx *tx) (err error) {
				more = did
				next, err = tx.turnSome(ctx, at, to, rows, &more, folder)
				return err
			})
		})
		if err != nil {
			return did, err
		}
		at, did = next, more
		done += rows
	}
	return did, nil
}

// leftToTurn is how many rows are left of a command that is being undone or
// redone.
func (s *Store) leftToTurn(ctx context.Context, at *turning) (n int, err error) {
	steps := `seq >= ?`
	if at.To == undone {
		steps = `seq <= ?`
	}
	err = s.read(ctx, func(tx *tx) error {
		return tx.row(`SELECT COALESCE(SUM(json_array_length(ids)), 0) FROM journal_step WHERE entry = ? AND `+steps, at.Entry, at.Step).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	return n - at.IDs, nil
}

// turnSome undoes or redoes so many rows. Without a command to go on with it
// begins with the one whose turn it is. How far it is with all that is in a folder
// is told to folder.
func (t *tx) turnSome(ctx context.Context, at *turning, to, most int, did *Undone, folder func(done, total int)) (*turning, error) {
	kept, err := t.turning()
	if err != nil {
		return nil, err
	}
	switch {
	case at == nil:
		if at, err = t.beginTurn(kept, to, did); err != nil {
			return nil, err
		}
	case kept == nil || kept.Entry != at.Entry || kept.To != at.To:
		return nil, api.Errorf(api.CodeConflict, "another command took over what was being done to %q", did.Command)
	}
	ed, err := t.editor(ctx, did.Replica)
	if err != nil {
		return nil, err
	}
	ed.Watch(0, folder)
	ed.deletion = at.Deletion
	for most > 0 && !at.done {
		s, err := t.nextStep(at)
		if err != nil {
			return nil, err
		}
		if s == nil {
			at.done = true
			break
		}
		for ; most > 0 && at.IDs < len(s.ids); at.IDs++ {
			if to == undone {
				err = ed.undo(s, len(s.ids)-1-at.IDs, did)
			} else {
				err = ed.redo(s, at.IDs, did)
			}
			if err != nil {
				return nil, err
			}
			most--
		}
		if at.IDs == len(s.ids) {
			at.IDs = 0
			if at.Step++; to == undone {
				at.Step -= 2
			}
		}
	}
	if !at.done {
		return at, t.keepTurning(at)
	}
	return at, errors.Join(t.keepTurning(nil), t.run(`UPDATE journal SET undone = ? WHERE n = ?`, to, at.Entry))
}

// beginTurn finds the command whose turn it is, and where to go on with it.
func (t *tx) beginTurn(kept *turning, to int, did *Undone) (*turning, error) {
	cutOff := int64(-1) // what was begun the other way round comes first
	if kept != nil && kept.To != to {
		cutOff = kept.Entry
	}
	which, nothing := fmt.Sprintf(`(j.undone = 0 OR j.n = %d) ORDER BY j.n DESC`, cutOff), "there is nothing to undo"
	if to == inForce {
		which, nothing = fmt.Sprintf(`(j.undone = 1 OR j.n = %d AND NOT EXISTS (SELECT 1 FROM journal k WHERE k.n > j.n AND k.undone <> 1)) ORDER BY j.n`, cutOff),
			"there is nothing to redo"
	}
	at := &turning{To: to, Deletion: t.store.ids.New()}
	find := func(editable string) error {
		return t.row(`SELECT j.n, j.replica, j.command FROM journal j JOIN replica r ON r.n = j.replica WHERE `+editable+which+` LIMIT 1`).
			Scan(&at.Entry, &did.Replica, &did.Command)
	}
	// What nobody can edit is in nobody's way, and is the answer where there is
	// nothing else.
	err := find(`r.writable AND r.state <> '` + string(StateFrozen) + `' AND `)
	if isNoRows(err) {
		err = find("")
	}
	switch {
	case isNoRows(err):
		return nil, api.Errorf(api.CodeNotFound, "%s", nothing)
	case err != nil:
		return nil, fmt.Errorf("read the journal: %w", err)
	case kept != nil && kept.Entry == at.Entry && kept.To == to:
		return kept, nil
	}
	if to == undone {
		if err := t.row(`SELECT COALESCE(MAX(seq), -1) FROM journal_step WHERE entry = ?`, at.Entry).Scan(&at.Step); err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
	}
	return at, nil
}

// turning is the command that is being undone or redone; nil for none.
func (t *tx) turning() (*turning, error) {
	var text string
	err := t.row(`SELECT value FROM setting WHERE name = ?`, turningSetting).Scan(&text)
	if isNoRows(err) {
		return nil, nil //nolint:nilnil // absent is an answer here
	}
	at := new(turning)
	if err := errors.Join(err, decode(text, at)); err != nil {
		return nil, fmt.Errorf("read how far an undo is: %w", err)
	}
	return at, nil
}

func (t *tx) keepTurning(at *turning) error {
	err := t.run(`DELETE FROM setting WHERE name = ?`, turningSetting)
	if err == nil && at != nil {
		err = t.run(`INSERT INTO setting (name, value) VALUES (?, ?)`, turningSetting, encode(at))
	}
	if err != nil {
		return fmt.Errorf("keep how far an undo is: %w", err)
	}
	return nil
}

// nextStep is the step that comes next; nil where all are done.
func (t *tx) nextStep(at *turning) (*step, error) {
	s := &step{entry: at.Entry, seq: at.Step}
	var ids, before, after string
	err := t.row(`SELECT action, type, ids, before, after FROM journal_step WHERE entry = ? AND seq = ?`, at.Entry, at.Step).
		Scan(&s.action, &s.kind, &ids, &before, &after)
	if isNoRows(err) {
		return nil, nil //nolint:nilnil // absent is an answer here
	}
	if err == nil {
		err = s.decode(ids, before, after)
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return s, nil
}

// decode reads the columns of a step whose action is known.
func (s *step) decode(ids, before, after string) error {
	s.before, s.after, s.conflict = new(patch), new(patch), new(Conflict)
	err := decode(ids, &s.ids)
	switch s.action {
	case actionUpdate:
		return errors.Join(err, decode(before, s.before), decode(after, s.after))
	case actionResolve:
		return errors.Join(err, decode(before, s.conflict))
	}
	return errors.Join(err, decode(after, &s.left))
}

func (ed *Editor) undo(s *step, i int, did *Undone) error {
	switch s.action {
	case actionCreate, actionRestore:
		return ed.deleteAny(s, i, did)
	case actionDelete:
		return ed.restoreAny(s, i, did)
	case actionUpdate:
		return ed.patch(s.kind, s.ids[i], s.after, s.before, did)
	case actionResolve:
		return ed.reopen(s.conflict, did)
	}
	return nil
}

func (ed *Editor) redo(s *step, i int, did *Undone) error {
	switch s.action {
	case actionCreate, actionRestore:
		return ed.restoreAny(s, i, did)
	case actionDelete:
		return ed.deleteAny(s, i, did)
	case actionUpdate:
		return ed.patch(s.kind, s.ids[i], s.before, s.after, did)
	case actionResolve:
		return ed.decide(s.conflict, did)
	}
	return nil
}

func (did *Undone) skip(what string) { did.Skipped = append(did.Skipped, what) }
