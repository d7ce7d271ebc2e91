package localstore

import (
	"fmt"
	"slices"

	"bm/server/api"
)

// deleteAny puts a row into the trash if it is still there, and as the step knew
// it.
func (ed *Editor) deleteAny(s *step, i int, did *Undone) error {
	if s.kind == api.TypeFolder && s.left.Deletion != "" {
		return ed.deleteBack(s, did)
	}
	row := brought{Type: s.kind, ID: s.ids[i]}
	if i < len(s.left.Rows) {
		row.Print = s.left.Rows[i]
	}
	var into *trashed
	if i < len(s.left.From) { // it goes back to where it was restored from
		into = &s.left.From[i]
	}
	return ed.deleteAs(row, ed.deletion, into, did)
}

// deleteBack deletes again what went with a folder and came back by an undo. What
// is in the folder beside that, others put there since.
func (ed *Editor) deleteBack(s *step, did *Undone) error {
	if len(s.left.Back) == 0 { // an undo by a bm that did not keep it
		did.skip(s.ids[0])
	}
	ed.expect(len(s.left.Back))
	for _, back := range slices.Backward(s.left.Back) {
		before := did.Rows
		err := ed.deleteAs(back, s.left.Deletion, nil, did)
		if err == nil && did.Rows == before {
			err = ed.step()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteAs puts a row into the trash, as part of a deletion or to a place of its
// own there, if it is as its fingerprint says; "" stands for any. A folder goes
// only when nothing is in it: what the command put there is gone by then, and the
// rest is not its own.
func (ed *Editor) deleteAs(row brought, deletion string, into *trashed, did *Undone) error {
	e, united, err := ed.findUnited(row.Type, row.ID)
	if err != nil {
		return err
	}
	if e == nil {
		did.skip(row.ID)
		return nil
	}
	if e.Deleted() {
		return nil
	}
	same := !united
	if same && row.Print != "" {
		if same, err = ed.is(e, row.Print); err != nil {
			return err
		}
	}
	switch {
	case !same:
		did.skip(e.ID)
		return nil
	case row.Type == api.TypeFolder:
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
	if into == nil {
		into = &trashed{deletion, e.Parent}
	}
	did.Rows++
	return ed.hide(e, *into)
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
		if s.left.Deletion != "" {
			ed.expect(1)
		}
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
	ed.expect(len(all))
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
