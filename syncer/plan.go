package syncer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"bm/localstore"
	"bm/server/api"
)

// tree is what a plan needs to know of the folders, here and on the server. It
// reads those that differ and those above what is sent: most rounds send one
// bookmark, and there may be thousands of folders.
type tree struct {
	tx *localstore.SyncTx
	// edited are the folders that the server has otherwise, or not at all.
	edited []*localstore.Row
	// known are the folders that were looked at; nil for one that is not there.
	known map[string]*localstore.Row
	// holding are folders of the server below which something lies there that
	// is alive here, elsewhere: deleting them would take it along.
	holding map[string]bool
	parked  map[string]localstore.Parked
	// restoring are the folders whose restore this push sends: the server brings
	// back with them what their deletion took, and the next pull tells of it.
	restoring map[string]bool
}

func (r *round) tree(tx *localstore.SyncTx) (*tree, error) {
	t := &tree{tx: tx, known: map[string]*localstore.Row{}, holding: map[string]bool{}, restoring: r.restoring}
	edited, err := tx.EditedFolders()
	if err != nil {
		return nil, err
	}
	for i := range edited {
		row := &edited[i]
		t.edited, t.known[row.ID] = append(t.edited, row), row
	}
	if t.parked, err = tx.Parked(); err != nil {
		return nil, err
	}
	for _, row := range t.edited {
		if action, ok := actionOf(row, tx.Replica().PurgedRev); ok && action == api.OpRestore && !t.refused(row) {
			t.restoring[row.ID] = true
		}
		if err := t.hold(row); err != nil {
			return nil, err
		}
	}
	return t, eachEdited(tx, t.hold)
}

// eachEdited calls fn for every bookmark that the server has otherwise.
func eachEdited(tx *localstore.SyncTx, fn func(*localstore.Row) error) error {
	for after := int64(0); ; {
		edited, err := tx.EditedBookmarks(after, chunk)
		if err != nil {
			return err
		}
		for i := range edited {
			after = edited[i].N
			if err := fn(&edited[i]); err != nil {
				return err
			}
		}
		if len(edited) < chunk {
			return nil
		}
	}
}

// folder is the folder of an id; nil where there is none.
func (t *tree) folder(id string) (*localstore.Row, error) {
	if row, looked := t.known[id]; looked || id == "" {
		return row, nil
	}
	row, err := t.tx.Find(api.TypeFolder, id)
	if err != nil {
		return nil, err
	}
	t.known[id] = row
	return row, nil
}

// above calls fn for a folder and those above it, up to the top, to one that is
// not there, or until fn has enough. Where what is known of two sides makes a
// circle, it is gone round once.
func (t *tree) above(id string, parent func(*localstore.Row) string, fn func(*localstore.Row) (more bool)) error {
	passed := map[string]bool{}
	for id != "" && !passed[id] {
		passed[id] = true
		folder, err := t.folder(id)
		if err != nil {
			return err
		}
		if folder == nil || !fn(folder) {
			return nil
		}
		id = parent(folder)
	}
	return nil
}

// here is where a row lies on this machine.
func here(row *localstore.Row) string { return row.Parent }

// hold marks the folders that a row lies below on the server, if it is alive
// here and there. What lies there as it does here is held by what is above it.
func (t *tree) hold(row *localstore.Row) error {
	if row.Deleted() || !row.ServerHas() {
		return nil
	}
	return t.above(row.ServerParent(), (*localstore.Row).ServerParent, func(folder *localstore.Row) bool {
		held := t.holding[folder.ID]
		if folder.Deleted() {
			t.holding[folder.ID] = true
		}
		return !held
	})
}

// covered reports whether a row goes with a folder that is deleted here and
// still alive on the server: then that folder's delete takes it along, unless it
// was refused or has to wait.
func (t *tree) covered(row *localstore.Row) (covered bool, err error) {
	err = t.above(row.ServerParent(), (*localstore.Row).ServerParent, func(folder *localstore.Row) bool {
		covered = folder.Deleted() && folder.ServerHas() && !t.refused(folder) && !t.holding[folder.ID]
		return !covered
	})
	return covered, err
}

// depth is how deep a folder lies here.
func (t *tree) depth(row *localstore.Row) (depth int, err error) {
	err = t.above(row.Parent, here, func(*localstore.Row) bool {
		depth++
		return true
	})
	return depth, err
}

// actionOf is what a row's difference from the server's asks for. What the
// server purged can only be made anew.
func actionOf(row *localstore.Row, purged int64) (api.OpAction, bool) {
	switch {
	case row.Rev == 0:
		return api.OpCreate, !row.Deleted()
	case row.Base == nil:
		return "", false
	case row.Deleted():
		return api.OpDelete, !row.Base.Deleted
	case !row.Base.Deleted:
		return api.OpUpdate, true
	case row.Rev <= purged:
		return api.OpCreate, true
	}
	return api.OpRestore, true
}

// blocked reports whether an upsert has to wait: the row was refused as it is,
// goes into a folder that the server does not have, or comes back with its folder.
func (t *tree) blocked(row *localstore.Row, action api.OpAction, made map[string]bool) (bool, error) {
	if t.refused(row) {
		return true, nil
	}
	if row.Parent != "" && !made[row.Parent] {
		if folder, err := t.folder(row.Parent); err != nil || folder == nil || !folder.ServerHas() {
			return true, err
		}
	}
	return action == api.OpRestore && t.restoring[row.ServerParent()], nil
}

// refused reports whether the server refused the row just as it is now.
func (t *tree) refused(row *localstore.Row) bool {
	p, ok := t.parked[row.ID]
	return ok && p.Sent.Deleted == row.Deleted() && p.Sent.Equal(&row.Fields)
}

// folderUpserts are the ops that bring the server's folders to what they are
// here, top-down, without deletes.
func (r *round) folderUpserts(tx *localstore.SyncTx, t *tree) ([]localstore.Flight, error) {
	type upsert struct {
		row    *localstore.Row
		action api.OpAction
		depth  int
	}
	var upserts []upsert
	for _, row := range t.edited {
		if action, ok := actionOf(row, tx.Replica().PurgedRev); ok && action != api.OpDelete {
			depth, err := t.depth(row)
			if err != nil {
				return nil, err
			}
			upserts = append(upserts, upsert{row, action, depth})
		}
	}
	slices.SortFunc(upserts, func(a, b upsert) int {
		if a.depth != b.depth {
			return a.depth - b.depth
		}
		return int(a.row.N - b.row.N)
	})
	made := map[string]bool{}
	var flights []localstore.Flight
	for _, u := range upserts {
		if blocked, err := t.blocked(u.row, u.action, made); err != nil {
			return nil, err
		} else if blocked {
			continue
		}
		made[u.row.ID] = true
		flight, err := r.flight(tx, u.row, u.action)
		if err != nil {
			return nil, err
		}
		flights = append(flights, flight)
	}
	return flights, nil
}

// deletes are the ops that delete what is not alive here any more: bookmarks on
// their own first, then folders that nothing holds.
func (r *round) deletes(tx *localstore.SyncTx, t *tree) ([]localstore.Flight, error) {
	var flights []localstore.Flight
	take := func(row *localstore.Row) error {
		action, ok := actionOf(row, tx.Replica().PurgedRev)
		if !ok || action != api.OpDelete || t.refused(row) || t.holding[row.ID] {
			return nil
		}
		if covered, err := t.covered(row); err != nil || covered {
			return err
		}
		flight, err := r.flight(tx, row, action)
		flights = append(flights, flight)
		return err
	}
	if err := eachEdited(tx, take); err != nil {
		return nil, err
	}
	for _, row := range t.edited {
		if err := take(row); err != nil {
			return nil, err
		}
	}
	return flights, nil
}

// flight is an op ready to be sent.
func (r *round) flight(tx *localstore.SyncTx, row *localstore.Row, action api.OpAction) (localstore.Flight, error) {
	at := tx.Replica()
	op := api.Op{OpID: r.ids.New(), Action: action, Type: row.Type, ID: row.ID, BaseRev: row.Rev}
	if action == api.OpCreate {
		op.BaseRev = 0
	}
	if action != api.OpDelete {
		set, err := json.Marshal(input(row, action))
		if err != nil {
			return localstore.Flight{}, fmt.Errorf("encode %s %s: %w", row.Type, row.ID, err)
		}
		op.Set = set
	}
	return localstore.Flight{
		Epoch: at.Epoch, Cursor: at.Whole, Op: op,
		Sent: localstore.Sent{Fields: row.Fields, Deleted: row.Deleted()},
	}, nil
}

// input is the fields to write: all of them on create and where the base is not
// known, else those that differ from it. A restore says where to, since the folder
// it was in may be gone.
func input(row *localstore.Row, action api.OpAction) any {
	all := action == api.OpCreate || row.Base != nil && row.Base.Unknown()
	var base localstore.Fields
	if row.Base != nil {
		base = row.Base.Fields
	}
	parent := all || action == api.OpRestore || row.Parent != base.Parent
	if row.Type == api.TypeFolder {
		var in api.FolderInput
		set(&in.Name, row.Title, all || row.Title != base.Title)
		set(&in.Description, row.Description, all || row.Description != base.Description)
		set(&in.ParentID, row.Parent, parent)
		set(&in.SortOrder, row.SortOrder, all || row.SortOrder != base.SortOrder)
		set(&in.Extra, row.Extra, all && row.Extra != nil || !all && !maps.Equal(row.Extra, base.Extra))
		set(&in.CreatedAt, row.CreatedAt, all || !row.CreatedAt.Equal(base.CreatedAt.Time))
		return in
	}
	var in api.BookmarkInput
	tags := row.Tags
	if tags == nil {
		tags = []string{}
	}
	set(&in.URL, row.URL, all || row.URL != base.URL)
	set(&in.Title, row.Title, all || row.Title != base.Title)
	set(&in.Description, row.Description, all || row.Description != base.Description)
	set(&in.Tags, tags, all || !slices.Equal(row.Tags, base.Tags))
	set(&in.FolderID, row.Parent, parent)
	set(&in.SortOrder, row.SortOrder, all || row.SortOrder != base.SortOrder)
	set(&in.SnapshotEnabled, row.Snapshot, all || row.Snapshot != base.Snapshot)
	set(&in.Extra, row.Extra, all && row.Extra != nil || !all && !maps.Equal(row.Extra, base.Extra))
	set(&in.CreatedAt, row.CreatedAt, all || !row.CreatedAt.Equal(base.CreatedAt.Time))
	// Nobody edits these: they came with an import, or from a server that lost them.
	set(&in.ReaderExcerpt, row.ReaderExcerpt, all && row.ReaderExcerpt != "")
	set(&in.VideoEmbedURL, row.VideoEmbedURL, all && row.VideoEmbedURL != "")
	return in
}

func set[T any](field *api.Optional[T], value T, yes bool) {
	if yes {
		*field = api.Some(value)
	}
}
