package localstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
// and when it is cut off the next Undo goes on.
func (s *Store) Undo(ctx context.Context) (Undone, error) {
	did, err := s.turn(ctx, undone)
	if err != nil {
		return did, fmt.Errorf("undo: %w", err)
	}
	return did, nil
}

// Redo does again what the last undo took back.
func (s *Store) Redo(ctx context.Context) (Undone, error) {
	did, err := s.turn(ctx, inForce)
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

func (s *Store) turn(ctx context.Context, to int) (Undone, error) {
	var did Undone
	var pace Pace
	for at := (*turning)(nil); at == nil || !at.done; {
		if at != nil {
			if err := sleep(ctx, bulkGap); err != nil {
				return did, err
			}
		}
		rows := pace.Rows()
		err := pace.Time(rows, func() error {
			return s.write(ctx, durable, func(tx *tx) (err error) {
				at, err = tx.turnSome(at, to, rows, &did)
				return err
			})
		})
		if err != nil {
			return did, err
		}
	}
	return did, nil
}

// turnSome undoes or redoes so many rows. Without a command to go on with it
// begins with the one whose turn it is.
func (t *tx) turnSome(at *turning, to, most int, did *Undone) (*turning, error) {
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
	ed, err := t.editor(did.Replica)
	if err != nil {
		return nil, err
	}
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
	s := &step{entry: at.Entry, seq: at.Step, before: new(patch), after: new(patch), conflict: new(Conflict)}
	var ids, before, after string
	err := t.row(`SELECT action, type, ids, before, after FROM journal_step WHERE entry = ? AND seq = ?`, at.Entry, at.Step).
		Scan(&s.action, &s.kind, &ids, &before, &after)
	if isNoRows(err) {
		return nil, nil //nolint:nilnil // absent is an answer here
	}
	if err == nil {
		err = decode(ids, &s.ids)
	}
	switch s.action {
	case actionUpdate:
		err = errors.Join(err, decode(before, s.before), decode(after, s.after))
	case actionResolve:
		err = errors.Join(err, decode(before, s.conflict))
	default:
		err = errors.Join(err, decode(after, &s.left))
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return s, nil
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

// deleteAny puts a row into the trash if it is still there, and as the step knew
// it.
func (ed *Editor) deleteAny(s *step, i int, did *Undone) error {
	if s.kind == api.TypeFolder && s.left.Deletion != "" {
		return ed.deleteBack(s, did)
	}
	print := ""
	if i < len(s.left.Rows) {
		print = s.left.Rows[i]
	}
	return ed.deleteAs(s.kind, s.ids[i], print, ed.deletion, did)
}

// deleteBack deletes again what went with a folder and came back by an undo. What
// is in the folder beside that, others put there since.
func (ed *Editor) deleteBack(s *step, did *Undone) error {
	if len(s.left.Back) == 0 { // an undo by a bm that did not keep it
		did.skip(s.ids[0])
	}
	for _, back := range slices.Backward(s.left.Back) {
		if err := ed.deleteAs(back.Type, back.ID, back.Print, s.left.Deletion, did); err != nil {
			return err
		}
	}
	return nil
}

// deleteAs puts a row into the trash if it is as its fingerprint says; "" stands
// for any. A folder goes only when nothing is in it: what the command put there
// is gone by then, and the rest is not its own.
func (ed *Editor) deleteAs(kind api.EntityType, id, print, deletion string, did *Undone) error {
	e, united, err := ed.findUnited(kind, id)
	if err != nil {
		return err
	}
	if e == nil {
		did.skip(id)
		return nil
	}
	if e.Deleted() {
		return nil
	}
	same := !united
	if same && print != "" {
		if same, err = ed.is(e, print); err != nil {
			return err
		}
	}
	switch {
	case !same:
		did.skip(e.ID)
		return nil
	case kind == api.TypeFolder:
		var full bool
		err := ed.tx.row(`SELECT EXISTS (SELECT 1 FROM folder WHERE replica = ?1 AND parent = ?2 AND deleted_at = 0)
			OR EXISTS (SELECT 1 FROM bookmark WHERE replica = ?1 AND folder = ?2 AND deleted_at = 0)`, ed.replica.N, e.ID).Scan(&full)
		if err != nil {
			return fmt.Errorf("look into a folder: %w", err)
		}
		if full {
			did.skip(e.ID)
			return nil
		}
	}
	did.Rows++
	return ed.hide(e, deletion)
}

// restoreAny takes a row out of the trash if it is still in it, and what a
// deletion took along with a folder, be that folder back or not.
func (ed *Editor) restoreAny(s *step, i int, did *Undone) error {
	e, _, err := ed.findUnited(s.kind, s.ids[i])
	if err != nil {
		return err
	}
	if e == nil {
		did.skip(s.ids[i])
		return nil
	}
	var back []brought
	if e.Deleted() {
		if err := ed.show(e); err != nil {
			return err
		}
		did.Rows++
		back = append(back, broughtBack(e))
	}
	if s.left.Deletion == "" {
		return nil
	}
	taken, err := ed.showTaken(s.left.Deletion)
	if err != nil {
		return err
	}
	did.Rows += len(taken)
	return ed.keepBack(s, append(back, taken...))
}

// showTaken brings back what went with a deletion, parents first.
func (ed *Editor) showTaken(deletion string) ([]brought, error) {
	folders, err := ed.tx.folders(`WHERE f.replica = ? AND f.deletion = ? AND f.deleted_at > 0 ORDER BY f.n`, ed.replica.N, deletion)
	if err != nil {
		return nil, err
	}
	bookmarks, err := ed.tx.bookmarks(`WHERE b.replica = ? AND b.deletion = ? AND b.deleted_at > 0 ORDER BY b.n`, ed.replica.N, deletion)
	if err != nil {
		return nil, err
	}
	all := append(topDown(folders), bookmarks...)
	back := make([]brought, len(all))
	for i := range all {
		if err := ed.show(&all[i]); err != nil {
			return nil, err
		}
		back[i] = broughtBack(&all[i])
	}
	return back, nil
}

// keepBack notes with a deletion what came back of it, for a redo.
func (ed *Editor) keepBack(s *step, back []brought) error {
	if len(back) == 0 {
		return nil
	}
	now := make(map[string]bool, len(back))
	for _, b := range back {
		now[b.ID] = true
	}
	before := slices.DeleteFunc(s.left.Back, func(b brought) bool { return now[b.ID] })
	s.left.Back = append(before, back...)
	err := ed.tx.run(`UPDATE journal_step SET after = ? WHERE entry = ? AND seq = ?`, encode(s.left), s.entry, s.seq)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// reopen lists a conflict again that was decided on.
func (ed *Editor) reopen(c *Conflict, did *Undone) error {
	n, err := ed.tx.changed(`INSERT INTO conflict (n, replica, type, id, field, mine, theirs, at)
		SELECT CASE WHEN EXISTS (SELECT 1 FROM conflict WHERE n = ?1) THEN NULL ELSE ?1 END, ?2, ?3, ?4, ?5, ?6, ?7, ?8
		WHERE NOT EXISTS (SELECT 1 FROM conflict WHERE replica = ?2 AND id = ?4 AND field = ?5 AND mine = ?6)`,
		c.N, ed.replica.N, string(c.Type), c.ID, c.Field, string(c.Mine), string(c.Theirs), c.At.Micros())
	if err != nil {
		return fmt.Errorf("keep a conflict: %w", err)
	}
	did.Rows += n
	return nil
}

// decide takes a conflict off the list.
func (ed *Editor) decide(c *Conflict, did *Undone) error {
	n, err := ed.tx.changed(`DELETE FROM conflict WHERE replica = ? AND id = ? AND field = ? AND mine = ?`,
		ed.replica.N, c.ID, c.Field, string(c.Mine))
	if err != nil {
		return fmt.Errorf("resolve a conflict: %w", err)
	}
	did.Rows += n
	return nil
}

// patch brings the fields that are as from says to what to says.
func (ed *Editor) patch(kind api.EntityType, id string, from, to *patch, did *Undone) error {
	e, _, err := ed.findUnited(kind, id)
	if err != nil {
		return err
	}
	if e == nil {
		did.skip(id)
		return nil
	}
	if from, err = ed.survivingParent(from); err != nil {
		return err
	}
	if to, err = ed.survivingParent(to); err != nil {
		return err
	}
	fields, skipped := to.over(e.Fields, from)
	for _, field := range skipped {
		did.skip(e.ID + "." + field)
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
