package localstore

import (
	"context"
	"fmt"
	"slices"

	"bm/server/api"
)

// Attach gives what was made without a server to a workspace of one: it is how
// a sign-in takes the local profile along. The rows were never sent, so the
// next round sends them, and the rules of replication do the rest: what the
// workspace already has under the same URL and folder is united with it.
//
// Where this machine mirrors the workspace already, the rows move into that
// replica and the local one goes; where there is nothing local, the workspace
// is simply mirrored.
func (s *Store) Attach(ctx context.Context, w api.Workspace) (*Replica, error) {
	var attached *Replica
	err := s.write(ctx, durable, func(tx *tx) error {
		all, err := tx.replicas()
		if err != nil {
			return err
		}
		var locals []*Replica // more than one where a repair found nothing but rows
		var known *Replica
		for i := range all {
			switch r := &all[i]; {
			case r.State == StateLocal:
				locals = append(locals, r)
			case r.Kind == KindWorkspace && r.RemoteID == w.ID:
				known = r
			}
		}
		switch {
		case len(locals) == 0 && known == nil:
			attached = &Replica{Kind: KindWorkspace, RemoteID: w.ID, State: StateBootstrapping}
			attached.describe(w, true)
			return tx.insertReplica(attached)
		case known == nil:
			attached, locals = locals[0], locals[1:]
			attached.RemoteID, attached.State = w.ID, StateBootstrapping
			attached.describe(w, true)
			if err := tx.saveReplica(attached); err != nil {
				return err
			}
		default:
			attached = known
		}
		for _, local := range locals {
			if err := tx.moveReplica(local, attached); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("attach what is local to %q: %w", w.Name, err)
	}
	return attached, nil
}

// moveReplica moves every row of a local replica into another one, under new
// numbers. The server's copies of the same things, if any, are already there
// and thus older; equal ones are united here, since the structural pass of a
// round unites only what arrived later.
func (t *tx) moveReplica(from, to *Replica) error {
	folders, err := t.folders(`WHERE f.replica = ? ORDER BY f.n`, from.N)
	if err != nil {
		return err
	}
	bookmarks, err := t.bookmarks(`WHERE b.replica = ? ORDER BY b.n`, from.N)
	if err != nil {
		return err
	}
	if err := t.unindexReplica(from.N); err != nil {
		return err
	}
	for _, statement := range []string{
		`UPDATE journal SET replica = ?2 WHERE replica = ?1`,
		`DELETE FROM tag WHERE replica = ?1`,
		`DELETE FROM bookmark WHERE replica = ?1`,
		`DELETE FROM folder WHERE replica = ?1`,
	} {
		if err := t.run(statement, from.N, to.N); err != nil {
			return fmt.Errorf("move the local rows: %w", err)
		}
	}
	if err := t.deleteReplica(from.N); err != nil {
		return fmt.Errorf("move the local rows: %w", err)
	}
	united, err := t.moveFolders(to, folders)
	if err != nil {
		return err
	}
	taken := map[string]bool{} // those of the server's that one of ours became
	for i := range bookmarks {
		b := &bookmarks[i]
		if into, ok := united[b.Parent]; ok {
			b.Parent = into
		}
		if b.Deleted() {
			if err := t.insert(to.N, b); err != nil {
				return err
			}
			continue
		}
		same, err := t.sameURL(to.N, b.URL)
		if err != nil {
			return err
		}
		there := inFolder(slices.DeleteFunc(same, func(e Entity) bool { return e.Rev == 0 || taken[e.ID] }), b.Parent)
		if there == nil {
			if err := t.insert(to.N, b); err != nil {
				return err
			}
			continue
		}
		taken[there.ID] = true
		if err := t.absorb(to, there, b); err != nil {
			return err
		}
	}
	return nil
}

// moveFolders moves the folders, parents first, and answers which of them were
// united with one that was there.
func (t *tx) moveFolders(to *Replica, folders []Entity) (map[string]string, error) {
	united := map[string]string{}
	for _, f := range topDown(folders) {
		if into, ok := united[f.Parent]; ok {
			f.Parent = into
		}
		if !f.Deleted() {
			there, err := t.folderNamed(to.N, f.Parent, f.Title)
			if err != nil {
				return nil, err
			}
			if there != nil && there.Rev > 0 && there.Title == f.Title {
				united[f.ID] = there.ID
				if err := t.became(f.ID, there.ID); err != nil {
					return nil, err
				}
				fields, differ := Unite(there, &f)
				if err := t.becomes(to, there, fields, differ); err != nil {
					return nil, err
				}
				continue
			}
		}
		if err := t.insert(to.N, &f); err != nil {
			return nil, err
		}
	}
	return united, nil
}

// absorb unites a row that was never sent with one that is there; the former
// is not in the replica (yet).
func (t *tx) absorb(to *Replica, there, e *Entity) error {
	extra, differ := uniteExtra(there.Extra, e.Extra)
	fields := unite(there.Fields, &e.Fields)
	fields.Extra = extra
	return t.becomes(to, there, fields, differ)
}

// becomes makes a row what came of uniting it with one of ours.
func (t *tx) becomes(to *Replica, there *Entity, fields Fields, differ []Difference) error {
	st := &SyncTx{tx: t, replica: to, at: api.At(t.store.now())}
	for _, d := range differ {
		if err := st.AddConflict(there.Type, there.ID, d.Field, d.Mine, d.Theirs); err != nil {
			return err
		}
	}
	if there.Equal(&fields) {
		return nil
	}
	after := *there
	after.Fields = fields
	if err := t.keepBase(there); err != nil {
		return err
	}
	if err := t.replace(to.N, there, &after); err != nil {
		return fmt.Errorf("unite what is the same: %w", err)
	}
	return nil
}

// topDown orders folders so that each comes after its parent.
func topDown(folders []Entity) []Entity {
	children := map[string][]int{}
	known := make(map[string]bool, len(folders))
	for i := range folders {
		known[folders[i].ID] = true
	}
	var queue []int
	for i := range folders {
		if parent := folders[i].Parent; known[parent] {
			children[parent] = append(children[parent], i)
		} else {
			queue = append(queue, i)
		}
	}
	ordered := make([]Entity, 0, len(folders))
	for len(queue) > 0 {
		at := queue[0]
		queue = append(queue[1:], children[folders[at].ID]...)
		ordered = append(ordered, folders[at])
	}
	return ordered
}
