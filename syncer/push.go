package syncer

import (
	"context"
	"fmt"
	"maps"

	"bm/localstore"
	"bm/server/api"
)

// maxPushBytes bounds a request, well below what the server takes.
const maxPushBytes = 4 << 20

// settle learns the verdicts on what was sent before, before anything is
// pulled: the same ops are asked again, word for word.
func (r *round) settle(ctx context.Context) error {
	at, err := r.store.Replica(ctx, r.replica)
	if err != nil || at.SharedRev != nil {
		return err
	}
	var flights []localstore.Flight
	err = r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) (err error) {
		flights, err = tx.InFlight()
		return err
	})
	if err != nil {
		return err
	}
	for len(flights) > 0 {
		n := 1
		for n < min(len(flights), api.MaxChangesOps) && flights[n].Epoch == flights[0].Epoch && flights[n].Cursor == flights[0].Cursor {
			n++
		}
		if _, err := r.send(ctx, flights[:n]); err != nil {
			return err
		}
		flights = flights[n:]
	}
	return nil
}

// push sends what differs: creates, restores and updates of folders top-down,
// then those of bookmarks, then deletes.
func (r *round) push(ctx context.Context) (sent, applied int, err error) {
	send := func(flights []localstore.Flight) error {
		for len(flights) > 0 {
			n := batch(flights)
			some := flights[:n]
			flights = flights[n:]
			for i := range some {
				some[i].Cursor = r.onward(some[i].Cursor)
			}
			err := r.store.SyncDurably(ctx, r.replica, func(tx *localstore.SyncTx) error { return tx.Launch(some) })
			if err != nil {
				return err
			}
			took, err := r.send(ctx, some)
			if err != nil {
				return err
			}
			sent, applied = sent+n, applied+took
		}
		return nil
	}
	plan := func(needed func(*localstore.SyncTx) (bool, error), fn func(*localstore.SyncTx, *tree) ([]localstore.Flight, error)) error {
		var flights []localstore.Flight
		err := r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
			if there, err := needed(tx); err != nil || !there {
				return err
			}
			t, err := r.tree(tx)
			if err != nil {
				return err
			}
			flights, err = fn(tx, t)
			return err
		})
		if err != nil {
			return fmt.Errorf("plan what to send: %w", err)
		}
		return send(flights)
	}
	if err := plan(foldersEdited, r.folderUpserts); err != nil {
		return sent, applied, err
	}
	if err := r.pushBookmarks(ctx, send); err != nil {
		return sent, applied, err
	}
	return sent, applied, plan(anyChanged, r.deletes)
}

// foldersEdited and anyChanged tell whether there is anything to plan: most
// rounds send a bookmark or nothing, and the tree is not read for those.
func foldersEdited(tx *localstore.SyncTx) (bool, error) {
	made, changed, err := tx.Edited(api.TypeFolder)
	return made || changed, err
}

func anyChanged(tx *localstore.SyncTx) (bool, error) {
	_, folders, err := tx.Edited(api.TypeFolder)
	if err != nil || folders {
		return folders, err
	}
	_, bookmarks, err := tx.Edited(api.TypeBookmark)
	return bookmarks, err
}

// pushBookmarks sends the bookmarks in the order of their numbers, so many at a
// time: there may be a hundred thousand of them.
func (r *round) pushBookmarks(ctx context.Context, send func([]localstore.Flight) error) error {
	var t *tree
	for _, next := range []func(*localstore.SyncTx, int64, int) ([]localstore.Row, error){
		(*localstore.SyncTx).NewBookmarks, (*localstore.SyncTx).EditedBookmarks,
	} {
		for after := int64(0); ; {
			var flights []localstore.Flight
			n := 0
			err := r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) (err error) {
				rows, err := next(tx, after, api.MaxChangesOps)
				if n = len(rows); err != nil || n == 0 {
					return err
				}
				if t == nil {
					if t, err = r.tree(tx); err != nil {
						return err
					}
				}
				for i := range rows {
					row := &rows[i]
					after = row.N
					action, ok := actionOf(row, tx.Replica().PurgedRev)
					if !ok || action == api.OpDelete || t.blocked(row, action, nil) {
						continue
					}
					flight, err := r.flight(tx, row, action)
					if err != nil {
						return err
					}
					flights = append(flights, flight)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("plan what to send: %w", err)
			}
			if err := send(flights); err != nil {
				return err
			}
			if n < api.MaxChangesOps {
				break
			}
		}
	}
	return nil
}

// batch is how many ops fit into one request.
func batch(flights []localstore.Flight) int {
	size := 0
	for n := range flights {
		size += len(flights[n].Op.Set) + 256
		if n == api.MaxChangesOps || n > 0 && size > maxPushBytes {
			return n
		}
	}
	return len(flights)
}

// send sends ops that are kept as in flight, and takes their verdicts in.
func (r *round) send(ctx context.Context, flights []localstore.Flight) (applied int, err error) {
	request := api.PushRequest{Epoch: flights[0].Epoch, Cursor: flights[0].Cursor, Ops: make([]api.Op, len(flights))}
	for i := range flights {
		request.Ops[i] = flights[i].Op
	}
	response, err := r.remote.Push(ctx, r.workspace, request)
	if err != nil {
		return 0, remoteFailure("push", err)
	}
	verdicts := make(map[string]*api.OpResult, len(response.Results))
	for i := range response.Results {
		verdicts[response.Results[i].OpID] = &response.Results[i]
	}
	err = r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		rows, err := rowsOf(tx, flights)
		if err != nil {
			return err
		}
		parked, err := tx.Parked()
		if err != nil {
			return err
		}
		for i := range flights {
			f := &flights[i]
			verdict := verdicts[f.Op.OpID]
			if verdict == nil {
				return fmt.Errorf("%w", api.Errorf(api.CodeInternal, "the server gave no verdict on an op"))
			}
			row := rows[f.Op.ID]
			if row != nil && row.Type != f.Op.Type {
				row = nil
			}
			if _, was := parked[f.Op.ID]; was && verdict.Status == api.OpApplied {
				if err := tx.Unpark(f.Op.ID); err != nil {
					return err
				}
			}
			if err := r.takeVerdict(tx, row, f, verdict); err != nil {
				return err
			}
			if verdict.Status == api.OpApplied {
				applied++
			}
		}
		r.moveOn(tx.Replica(), flights[0].Cursor, &response)
		return tx.Land(flights)
	})
	if err != nil {
		return 0, fmt.Errorf("take in what the server said: %w", err)
	}
	return applied, nil
}

// moveOn takes the cursor behind what was pushed, where the server says that
// nothing else has changed: what one has just sent need not be pulled back.
func (r *round) moveOn(at *localstore.Replica, from string, response *api.PushResponse) {
	if response.NextCursor == "" || at.Cursor != from || at.Whole != from || at.Epoch != response.Head.Epoch {
		return
	}
	r.moved[from] = response.NextCursor
	at.Cursor, at.Whole, at.Rev = response.NextCursor, response.NextCursor, response.Head.Rev
	at.PurgedRev = response.Head.PurgedRev
	r.head = response.Head
}

// onward is where a cursor has moved since by pushes alone: what was decided
// there holds here.
func (r *round) onward(cursor string) string {
	for {
		next, ok := r.moved[cursor]
		if !ok {
			return cursor
		}
		cursor = next
	}
}

// rowsOf are the rows that ops are about, as they are now. Of one row there is
// one op at a time.
func rowsOf(tx *localstore.SyncTx, flights []localstore.Flight) (map[string]*localstore.Row, error) {
	ids := map[api.EntityType][]string{}
	for i := range flights {
		ids[flights[i].Op.Type] = append(ids[flights[i].Op.Type], flights[i].Op.ID)
	}
	rows, err := tx.FindAll(api.TypeBookmark, ids[api.TypeBookmark])
	if err != nil {
		return nil, err
	}
	folders, err := tx.FindAll(api.TypeFolder, ids[api.TypeFolder])
	maps.Copy(rows, folders)
	return rows, err
}

func (r *round) takeVerdict(tx *localstore.SyncTx, row *localstore.Row, f *localstore.Flight, verdict *api.OpResult) error {
	if row == nil {
		return nil
	}
	switch verdict.Status {
	case api.OpApplied:
		r.report.Pushed++
		return r.takeApplied(tx, row, f, verdict)
	case api.OpStale:
		r.report.Stale++
		return r.takeStale(tx, row, verdict)
	}
	return r.takeRejected(tx, row, f, verdict)
}

// takeApplied makes the row as it was sent the base: what was edited while it
// was under way stays a difference.
func (r *round) takeApplied(tx *localstore.SyncTx, row *localstore.Row, f *localstore.Flight, verdict *api.OpResult) error {
	there, err := answered(row, f, verdict)
	if err != nil {
		return err
	}
	if there.entity.Rev < row.Rev {
		return nil // a later state is known already
	}
	untouched := row.Deleted() == f.Sent.Deleted && row.Equal(&f.Sent.Fields)
	if untouched && there.Deleted == row.Deleted() && (there.Bare || there.Equal(&row.Fields)) {
		updated := there.entity.UpdatedAt
		if there.Bare {
			updated = row.UpdatedAt
		}
		return tx.Touch(row, there.entity.Rev, updated)
	}
	return r.merge(tx, row, &Version{Fields: f.Sent.Fields, Deleted: f.Sent.Deleted}, there)
}

// answered is what the server has after an op took effect.
func answered(row *localstore.Row, f *localstore.Flight, verdict *api.OpResult) (remote, error) {
	if verdict.Entity == nil {
		e := row.Entity
		e.Fields, e.Rev = f.Sent.Fields, verdict.Rev
		return remote{Version: Version{Fields: f.Sent.Fields, Deleted: f.Sent.Deleted, Bare: f.Sent.Deleted}, entity: e}, nil
	}
	e, err := localstore.EntityOf(verdict.Entity)
	if err != nil {
		return remote{}, fmt.Errorf("%w", api.Errorf(api.CodeInternal, "the server sent what cannot be read: %v", err))
	}
	return remoteOf(verdict.Entity, e), nil
}

// takeStale merges with what the server has. The next turn sends what is left.
func (r *round) takeStale(tx *localstore.SyncTx, row *localstore.Row, verdict *api.OpResult) error {
	if verdict.Entity == nil || verdict.Entity.Rev <= row.Rev {
		return nil // what is in the way comes with the next pull
	}
	e, err := localstore.EntityOf(verdict.Entity)
	if err != nil {
		return fmt.Errorf("%w", api.Errorf(api.CodeInternal, "the server sent what cannot be read: %v", err))
	}
	return r.merge(tx, row, baseVersion(row), remoteOf(verdict.Entity, e))
}

// takeRejected parks the edit, except for what the server does not know any
// more: an edit of that is made anew, a delete of it is done.
func (r *round) takeRejected(tx *localstore.SyncTx, row *localstore.Row, f *localstore.Flight, verdict *api.OpResult) error {
	failure := api.EnvelopeError{Code: api.CodeInternal, Message: "the server did not say why"}
	if verdict.Error != nil {
		failure = *verdict.Error
	}
	if failure.Code == api.CodeNotFound && f.Op.Action != api.OpCreate {
		next := row.Entity
		if row.Deleted() {
			return tx.Write(row, next, &localstore.Base{Fields: row.Fields, Deleted: true})
		}
		next.Rev = 0
		return tx.Write(row, next, nil)
	}
	r.report.Parked++
	return tx.Park(localstore.Parked{
		Type: row.Type, ID: row.ID, Action: f.Op.Action, Code: failure.Code, Message: failure.Message, Sent: f.Sent,
	})
}
