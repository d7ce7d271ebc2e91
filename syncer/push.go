package syncer

import (
	"context"
	"fmt"

	"bm/localstore"
	"bm/server/api"
)

// settle learns the verdicts on what was sent before, before anything is
// pulled: the same ops are asked again, word for word.
func (r *round) settle(ctx context.Context) error {
	var flights []localstore.Flight
	err := r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) (err error) {
		flights, err = tx.InFlight()
		return err
	})
	if err != nil {
		return err
	}
	for len(flights) > 0 {
		n := 1
		for n < len(flights) && flights[n].Epoch == flights[0].Epoch && flights[n].Cursor == flights[0].Cursor {
			n++
		}
		n = r.fitting(flights[:n])
		asked := r.begin(ctx, flights[:n])
		response, err := asked.answer()
		if api.CodeOf(err) == api.CodePayloadTooLarge {
			if n > 1 {
				continue // what fits is less now
			}
			response, err = tooLarge(flights[0], err), nil
		}
		if err != nil {
			return err
		}
		if _, err := r.takeIn(ctx, asked, &response); err != nil {
			return err
		}
		flights = flights[n:]
	}
	return nil
}

// tooLarge is the verdict on an op that does not even get through alone.
func tooLarge(f localstore.Flight, err error) api.PushResponse {
	return api.PushResponse{Results: []api.OpResult{{
		OpID: f.Op.OpID, Status: api.OpRejected,
		Error: &api.EnvelopeError{Code: api.CodePayloadTooLarge, Message: err.Error()},
	}}}
}

// push sends what differs: creates, restores and updates of folders top-down,
// then those of bookmarks, then deletes. All that was sent before is settled by
// then, so that nothing is on its way twice.
func (r *round) push(ctx context.Context) (sent, applied int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	out := &outgoing{round: r}
	r.restoring = map[string]bool{}
	defer out.drop()
	defer cancel()
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
		if err := out.send(ctx, flights); err != nil {
			return err
		}
		return out.finish(ctx)
	}
	err = plan(foldersEdited, r.folderUpserts)
	if err == nil {
		err = r.pushBookmarks(ctx, out)
	}
	if err == nil {
		err = plan(anyChanged, r.deletes)
	}
	return out.sent, out.applied, err
}

// foldersEdited and anyChanged tell whether there is anything to plan: most
// rounds send a bookmark or nothing.
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
func (r *round) pushBookmarks(ctx context.Context, out *outgoing) error {
	var t *tree
	for _, next := range []func(*localstore.SyncTx, int64, int) ([]localstore.Row, error){
		(*localstore.SyncTx).NewBookmarks, (*localstore.SyncTx).EditedBookmarks,
	} {
		for after := int64(0); ; {
			var flights []localstore.Flight
			n := 0
			err := r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) (err error) {
				rows, err := next(tx, after, r.batch)
				if n = len(rows); err != nil || n == 0 {
					return err
				}
				if t == nil {
					if t, err = r.tree(tx); err != nil {
						return err
					}
				}
				t.tx = tx
				for i := range rows {
					row := &rows[i]
					after = row.N
					action, ok := actionOf(row, tx.Replica().PurgedRev)
					if !ok || action == api.OpDelete {
						continue
					}
					if blocked, err := t.blocked(row, action, nil); err != nil {
						return err
					} else if blocked {
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
			if err := out.send(ctx, flights); err != nil {
				return err
			}
			if n < r.batch {
				break
			}
		}
		if err := out.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf are the rows that ops are about, as they are now. Of one row there is
// one op at a time.
func rowsOf(tx *localstore.SyncTx, flights []localstore.Flight) (map[key]*localstore.Row, error) {
	ids := map[api.EntityType][]string{}
	for i := range flights {
		ids[flights[i].Op.Type] = append(ids[flights[i].Op.Type], flights[i].Op.ID)
	}
	return find(tx, ids)
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
	known := f.Op.Action != api.OpCreate || sameSystem(row.System, there.entity.System)
	if known && there.Deleted == row.Deleted() && (there.Bare || there.Equal(&row.Fields)) {
		updated := there.entity.UpdatedAt
		if there.Bare {
			updated = row.UpdatedAt
		}
		return tx.Touch(row, there.entity.Rev, updated)
	}
	return r.merge(tx, row, &Version{Fields: f.Sent.Fields, Deleted: f.Sent.Deleted}, there)
}

// neverChecked is what the server has of a bookmark that was just made, beside what
// people edit: what was sent along, and nothing of its own. One that is made anew was
// another's, which the server purged or lost, and may have been checked.
func neverChecked(row *localstore.Row) localstore.System {
	return localstore.System{
		UpdatedAt: row.UpdatedAt, LinkStatus: api.LinkUnknown, Archive: api.Archive{Status: api.ArchiveNone},
		ReaderExcerpt: row.ReaderExcerpt, VideoEmbedURL: row.VideoEmbedURL,
	}
}

// sameSystem reports whether two versions differ in no more than when they were
// written.
func sameSystem(a, b localstore.System) bool {
	a.UpdatedAt = b.UpdatedAt
	return a == b
}

// answered is what the server has after an op took effect.
func answered(row *localstore.Row, f *localstore.Flight, verdict *api.OpResult) (remote, error) {
	if verdict.Entity == nil {
		e := row.Entity
		e.Fields, e.Rev = f.Sent.Fields, verdict.Rev
		if f.Op.Action == api.OpCreate && row.Type == api.TypeBookmark {
			e.System = neverChecked(row)
		}
		if !verdict.UpdatedAt.IsZero() {
			e.UpdatedAt = verdict.UpdatedAt
		}
		return remote{Version: Version{Fields: f.Sent.Fields, Deleted: f.Sent.Deleted, Bare: f.Sent.Deleted}, entity: e}, nil
	}
	e, err := localstore.EntityOf(verdict.Entity)
	if err != nil {
		return remote{}, fmt.Errorf("%w", api.Errorf(api.CodeInternal, "the server sent what cannot be read: %v", err))
	}
	return remoteOf(verdict.Entity, e), nil
}

// takeStale merges with what the server has. The next turn sends what is left. Its row
// is as it stands, so that one of a lower rev than ours is of another history: ours was
// lost when the server was restored, and is an edit of that row, as in a compare.
func (r *round) takeStale(tx *localstore.SyncTx, row *localstore.Row, verdict *api.OpResult) error {
	if verdict.Entity == nil || verdict.Entity.Rev == row.Rev {
		return nil // what is in the way comes with the next pull
	}
	e, err := localstore.EntityOf(verdict.Entity)
	if err != nil {
		return fmt.Errorf("%w", api.Errorf(api.CodeInternal, "the server sent what cannot be read: %v", err))
	}
	base, there := baseVersion(row), remoteOf(verdict.Entity, e)
	if e.Rev < row.Rev && !there.Deleted {
		if base != nil && !base.Deleted {
			return offer(tx, row, there)
		}
		base = nil // what was deleted in between is no common version
	}
	return r.merge(tx, row, base, there)
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
