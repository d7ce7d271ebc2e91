package syncer

import (
	"context"
	"fmt"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/rules"
)

// mend makes the merged rows a tree again, at the end of a whole pull: no
// cycles, nothing alive below something dead, nothing twice that was made on
// both sides. The server's tree is sound; only what differs from it can be at
// fault, and only that is changed.
//
// It is done in small transactions, of which each leaves the tree a little
// better: there may be a hundred thousand bookmarks that both sides imported.
func (r *round) mend(ctx context.Context) error {
	m := &mending{round: r, taken: map[string]bool{}}
	// Folders come before bookmarks, since uniting them brings their contents
	// together.
	m.steps = []func(*localstore.SyncTx, int) (int, error){m.rehome, m.uniteFolders, m.uniteBookmarks}
	var pace localstore.Pace
	for first := true; len(m.steps) > 0; first = false {
		if !first {
			if err := r.pause(ctx, gap); err != nil {
				return err
			}
		}
		most := min(pace.Rows(), r.batch)
		err := pace.Time(most, func() error {
			return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error { return m.some(tx, most) })
		})
		if err != nil {
			return fmt.Errorf("mend the tree: %w", err)
		}
	}
	return nil
}

// mending is a mend under way.
type mending struct {
	*round
	// steps are those that are left, each done until there is nothing to do.
	steps  []func(tx *localstore.SyncTx, most int) (did int, err error)
	flying map[string]bool
	// strays are those that were found and are not at home yet.
	strays []localstore.Stray
	// pairs are the twins that were found and not united yet, and after is up to
	// which bookmark they were looked for. Of several alike in one place the first
	// here is the first there, as in an import: taken are those that have theirs.
	pairs []localstore.Pair
	taken map[string]bool
	after int64
}

// some does so much of it.
func (m *mending) some(tx *localstore.SyncTx, most int) (err error) {
	if m.flying == nil {
		if m.flying, err = m.round.flying(tx); err != nil {
			return err
		}
		if err := m.breakCycles(tx); err != nil {
			return err
		}
	}
	for len(m.steps) > 0 {
		if did, err := m.steps[0](tx, most); err != nil || did > 0 {
			return err
		}
		m.steps = m.steps[1:]
	}
	return tx.DropParked()
}

// breakCycles takes back moves of folders that close a circle with those of the
// server.
func (r *round) breakCycles(tx *localstore.SyncTx) error {
	// Only a folder that was moved here, and is elsewhere there, can be at fault.
	edited, err := tx.EditedFolders()
	if err != nil {
		return err
	}
	t := &tree{tx: tx, known: map[string]*localstore.Row{}}
	for i := range edited {
		t.known[edited[i].ID] = &edited[i]
	}
	for i := range edited {
		row := &edited[i]
		if row.Base == nil || row.Base.Parent == row.Parent {
			continue
		}
		circle := false
		err := t.above(row.Parent, here, func(folder *localstore.Row) bool {
			circle = folder.ID == row.ID
			return !circle
		})
		if err != nil {
			return err
		}
		if !circle {
			continue
		}
		next := row.Entity
		next.Parent = row.Base.Parent
		if err := tx.Write(row, next, row.Base); err != nil {
			return err
		}
		if err := note(tx, row, NoteUnmoved); err != nil {
			return err
		}
	}
	return nil
}

// rehome finds a living folder for whatever is alive in a dead one. Where the
// folder was deleted here and the server does not know yet, that deletion is
// taken back; else what is in it goes to the nearest living ancestor.
func (m *mending) rehome(tx *localstore.SyncTx, most int) (did int, err error) {
	if len(m.strays) == 0 {
		if m.strays, err = tx.Strays(); err != nil {
			return 0, err
		}
	}
	for ; len(m.strays) > 0 && did < most; m.strays = m.strays[1:] {
		did++ // what is looked at counts: it may be very many for one folder that comes back
		row, err := tx.Find(m.strays[0].Type, m.strays[0].ID)
		if err != nil {
			return 0, err
		}
		if row == nil || row.Deleted() || row.Parent == "" {
			continue // an edit was faster
		}
		folder, err := tx.Find(api.TypeFolder, row.Parent)
		if err != nil {
			return 0, err
		}
		if folder != nil && !folder.Deleted() {
			continue // mended for one before it
		}
		if folder != nil && folder.ServerHas() {
			err = m.revive(tx, folder)
		} else {
			err = m.toAncestor(tx, row)
		}
		if err != nil {
			return 0, err
		}
	}
	return did, nil
}

func (r *round) revive(tx *localstore.SyncTx, folder *localstore.Row) error {
	next := folder.Entity
	next.DeletedAt, next.Deletion = api.Time{}, ""
	if err := tx.Write(folder, next, folder.Base); err != nil {
		return err
	}
	return note(tx, folder, NoteRevived)
}

func (r *round) toAncestor(tx *localstore.SyncTx, row *localstore.Row) error {
	alive, err := tx.NearestAlive(row.Parent)
	if err != nil {
		return err
	}
	next := row.Entity
	if next.Parent = alive; next.SortOrder != 0 {
		if next.SortOrder, err = tx.Last(alive); err != nil {
			return err
		}
	}
	if err := tx.Write(row, next, keptBase(row)); err != nil {
		return err
	}
	return note(tx, row, NoteRehomed)
}

// keptBase is what the server has of a row that is about to be changed here.
func keptBase(row *localstore.Row) *localstore.Base {
	if row.Base == nil && row.Rev > 0 {
		return &localstore.Base{Fields: row.Fields, Deleted: row.Deleted()}
	}
	return row.Base
}

// uniteFolders makes one of folders that were made on both sides. Those in them
// come to lie beside each other by that, and are found when those are done.
func (m *mending) uniteFolders(tx *localstore.SyncTx, most int) (did int, err error) {
	if len(m.pairs) == 0 {
		if m.pairs, err = tx.TwinFolders(); err != nil {
			return 0, err
		}
	}
	for ; len(m.pairs) > 0 && did < most; m.pairs = m.pairs[1:] {
		p := m.pairs[0]
		if m.taken[p.Mine] || m.taken[p.Theirs] || m.flying[p.Mine] {
			continue
		}
		t, err := tx.Twin(api.TypeFolder, p)
		if err != nil {
			return 0, err
		}
		if t == nil {
			continue
		}
		moved, whole, err := m.uniteFolder(tx, t, most-did)
		if err != nil {
			return 0, err
		}
		if did += moved; !whole {
			break
		}
		m.taken[p.Mine], m.taken[p.Theirs] = true, true
	}
	return did, nil
}

// uniteBookmarks makes one of bookmarks that were made on both sides.
func (m *mending) uniteBookmarks(tx *localstore.SyncTx, most int) (did int, err error) {
	if len(m.pairs) == 0 && m.after >= 0 {
		if m.pairs, m.after, err = tx.TwinBookmarks(m.after); err != nil {
			return 0, err
		}
		if m.after > 0 {
			did++ // what was looked at counts: a transaction looks no further
		} else {
			m.after = -1 // all were looked at
		}
	}
	for ; len(m.pairs) > 0 && did < most; m.pairs = m.pairs[1:] {
		p := m.pairs[0]
		if m.taken[p.Mine] || m.taken[p.Theirs] || m.flying[p.Mine] {
			continue
		}
		t, err := tx.Twin(api.TypeBookmark, p)
		if err != nil {
			return 0, err
		}
		if t == nil || rules.URLKey(t.Mine.URL) != rules.URLKey(t.Theirs.URL) {
			continue
		}
		m.taken[p.Mine], m.taken[p.Theirs] = true, true
		if err := m.united(tx, t); err != nil {
			return 0, err
		}
		did++
	}
	return did, nil
}

// flying are the rows that are part of ops without a verdict: whether the server
// has them is not known.
func (r *round) flying(tx *localstore.SyncTx) (map[string]bool, error) {
	flights, err := tx.InFlight()
	ids := make(map[string]bool, len(flights))
	for i := range flights {
		ids[flights[i].Op.ID] = true
	}
	return ids, err
}

// uniteFolder moves so much of what is in a folder into its twin, and makes one
// of both when all of it is there. It answers how much it did, and whether that
// was the whole.
func (r *round) uniteFolder(tx *localstore.SyncTx, t *localstore.Twin, most int) (did int, whole bool, err error) {
	inside, err := tx.Inside(t.Mine.ID, most)
	if err != nil {
		return 0, false, err
	}
	for i := range inside {
		row := &inside[i]
		next := row.Entity
		next.Parent = t.Theirs.ID
		if err := tx.Write(row, next, keptBase(row)); err != nil {
			return 0, false, err
		}
	}
	if len(inside) == most {
		return most, false, nil // there may be more
	}
	if err := tx.Became(t.Mine.ID, t.Theirs.ID); err != nil {
		return 0, false, err
	}
	return len(inside) + 1, true, r.united(tx, t)
}

// united makes theirs what both are together, and ours is no more.
func (r *round) united(tx *localstore.SyncTx, t *localstore.Twin) error {
	theirs := &t.Theirs
	next := theirs.Entity
	fields, differ := localstore.Unite(&theirs.Entity, &t.Mine.Entity)
	next.Fields = fields
	for _, d := range differ {
		r.report.Conflicts++
		if err := tx.AddConflict(theirs.Type, theirs.ID, d.Field, d.Mine, d.Theirs); err != nil {
			return err
		}
	}
	if err := tx.Write(theirs, next, keptBase(theirs)); err != nil {
		return err
	}
	if err := tx.MoveConflicts(t.Mine.ID, t.Theirs.ID); err != nil {
		return err
	}
	if err := tx.Unpark(t.Mine.ID); err != nil {
		return err
	}
	if err := tx.Remove(&t.Mine); err != nil {
		return err
	}
	return note(tx, &t.Theirs, NoteUnited)
}
