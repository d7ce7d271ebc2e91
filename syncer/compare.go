package syncer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"bm/localstore"
	"bm/server/api"
)

// Values of [localstore.Replica.SharedRev] besides a rev.
const (
	sharedUnknown = -1            // the first page will tell
	sharedAll     = math.MaxInt64 // the epoch is the same
)

// comparison is what a full compare begins with: nothing, or what those before it
// found that were cut off, where it is a defect that they look into.
func (r *round) comparison(ctx context.Context) (c *Comparison, err error) {
	err = r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		c, err = suspected(tx)
		return err
	})
	if r.suspicious = c != nil; !r.suspicious {
		c = &Comparison{}
	}
	return c, err
}

// suspected is what is known so far of a defect that is not told yet; nil for none.
func suspected(tx *localstore.SyncTx) (*Comparison, error) {
	known, err := tx.Defect()
	if known == "" || err != nil {
		return nil, err
	}
	c := &Comparison{}
	if err := json.Unmarshal([]byte(known), c); err != nil {
		c = &Comparison{} // the file was damaged: it was a defect all the same
	}
	return c, nil
}

// suspect keeps that there is a defect, which is told when it is mended.
func suspect(tx *localstore.SyncTx) error {
	c, err := suspected(tx)
	if c != nil || err != nil {
		return err
	}
	return new(Comparison).keep(tx)
}

// keepFound keeps what the compare has found so far, where it is a defect that it
// looks into.
func (r *round) keepFound(tx *localstore.SyncTx) error {
	if !r.suspicious {
		return nil
	}
	return r.report.Compared.keep(tx)
}

func (c *Comparison) keep(tx *localstore.SyncTx) error {
	known, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("keep what a compare found: %w", err)
	}
	return tx.KeepDefect(string(known))
}

// beginCompare makes the next pull a full compare. reason is what the server
// refused with, nil where the digests differed.
func (r *round) beginCompare(ctx context.Context, reason error) error {
	told, known := sharedRev(reason)
	r.told, r.history = known, ""
	return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		at := tx.Replica()
		r.former = cmp.Or(at.Cursor, r.former)
		at.Cursor, at.Whole = "", ""
		if at.State != localstore.StateFrozen {
			at.State = localstore.StateComparing
		}
		if at.SharedRev == nil {
			unknown := int64(sharedUnknown)
			at.SharedRev = &unknown
		}
		if known {
			shareNoMore(at, told)
		}
		if reason == nil {
			if err := suspect(tx); err != nil {
				return err
			}
		}
		return forgetSent(tx)
	})
}

// forgetSent is for what was sent and not answered: a compare finds out what
// became of it, and a verdict that is learnt behind one is of the past.
func forgetSent(tx *localstore.SyncTx) error {
	flights, err := tx.InFlight()
	if err != nil {
		return err
	}
	return tx.Land(flights)
}

// shareNoMore notes a rev that is shared. Of several resets before one compare is
// complete the smallest counts.
func shareNoMore(at *localstore.Replica, rev int64) {
	if *at.SharedRev == sharedUnknown || rev < *at.SharedRev {
		at.SharedRev = &rev
	}
}

// askAgain asks which rev is shared of the server whose epoch it then knows: it may
// have been put back to another backup since it refused the cursor, and a refusal does
// not say of which epoch it is. No epoch ever comes back, so that the compare, which
// begins with the same one, is of the history that was asked.
func (r *round) askAgain(ctx context.Context) error {
	if !r.told || r.former == "" {
		return nil
	}
	r.told = false
	page, err := r.remote.Changes(ctx, r.workspace, "", 1, 0)
	if err != nil {
		return remoteFailure("pull", err)
	}
	_, err = r.remote.Changes(ctx, r.workspace, r.former, 1, 0)
	told, known := sharedRev(err)
	if !known {
		return remoteFailure("pull", err)
	}
	r.history = page.Head.Epoch
	return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		shareNoMore(tx.Replica(), told)
		return nil
	})
}

// errSwapped says that a server which had just been asked of a history has begun
// another one. The next round asks it again.
var errSwapped = errors.New("the server was restored from a backup just now")

// identify asks the server whether the history of a replica that was repaired goes
// on there, before it is compared: only a cursor tells up to which rev a former
// epoch is shared. Where it goes on, nothing was lost, and what the server lacks
// was deleted. Of one that the server knows nothing of, rows that may not be all that
// there were say nothing.
func (r *round) identify(ctx context.Context, at *localstore.Replica) error {
	if r.goesOn = false; at.Cursor == "" {
		return nil
	}
	page, err := r.remote.Changes(ctx, r.workspace, at.Cursor, 1, 0)
	err = remoteFailure("pull", err)
	_, told := sharedRev(err)
	if told || err != nil && !errors.Is(err, errReset) {
		return err
	}
	// That is kept nowhere: a server may be put back before the compare is complete.
	if r.goesOn = err == nil && page.Head.Epoch == at.Epoch; r.goesOn {
		return nil
	}
	if err != nil {
		page, failed := r.remote.Changes(ctx, r.workspace, "", 1, 0)
		switch {
		case failed != nil:
			return remoteFailure("pull", failed)
		case page.Head.Epoch != at.Epoch && !at.Doubtful():
			return err // put back again, to a backup of before: as for who was not repaired
		case page.Head.Rev < at.Rev:
			return nil // its files were put back by hand, which mints no epoch
		}
	}
	return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		tx.Replica().Rev, tx.Replica().Epoch = -1, ""
		return nil
	})
}

// compare goes through every live row of the server and every row of ours. It
// begins again from the start when it was cut off.
func (r *round) compare(ctx context.Context) error {
	r.compared = true
	c, err := r.comparison(ctx)
	if err != nil {
		return err
	}
	r.report.Compared = c
	seen := map[key]struct{}{}
	var first, last *api.ChangesPage
	err = r.pages(ctx, "", func(page *api.ChangesPage) error {
		if first == nil {
			first = page
			if err := r.shareUpTo(ctx, page.Head); err != nil {
				return err
			}
			r.former = *page.Pagination.NextCursor
		}
		last = page
		for i := range page.Data {
			seen[key{page.Data[i].Type, page.Data[i].ID}] = struct{}{}
		}
		r.report.Pulled += len(page.Data)
		return r.inChunks(ctx, page.Data, func(tx *localstore.SyncTx, some []api.Change) error {
			if tx.Replica().Epoch != page.Head.Epoch {
				return errReset
			}
			return r.compareRows(tx, some)
		})
	})
	if err != nil {
		return err
	}
	c.Rows = len(seen)
	if err := r.missing(ctx, seen, last.Head); err != nil {
		return err
	}
	digest, live, err := r.store.Sum(ctx, r.replica)
	if err != nil {
		return err
	}
	return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		at := tx.Replica()
		at.SharedRev, at.Digest, at.Live = nil, digest, live
		at.Cursor = *last.Pagination.NextCursor
		at.Whole, at.PurgedRev = at.Cursor, last.Head.PurgedRev
		at.Rev = first.Head.Rev // which is where that cursor is
		return r.keepFound(tx)  // with how many rows there are
	})
}

// shareUpTo works out up to which rev replica and server share their history. From
// there on the compare counts, and not what was sent before it.
func (r *round) shareUpTo(ctx context.Context, head api.Head) error {
	return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
		at := tx.Replica()
		switch {
		case at.Epoch != head.Epoch && at.Epoch != "":
			switch {
			case r.history == head.Epoch:
			case at.Cursor != "":
				return errSwapped
			default:
				shareNoMore(at, head.SharedRev)
			}
		case *at.SharedRev == sharedUnknown:
			shareNoMore(at, sharedAll)
		}
		at.Epoch = head.Epoch
		return forgetSent(tx)
	})
}

// inChunks runs fn over changes in small transactions with gaps between.
func (r *round) inChunks(ctx context.Context, changes []api.Change, fn func(*localstore.SyncTx, []api.Change) error) error {
	for len(changes) > 0 {
		some := changes[:upTo(min(chunk, r.pace.Rows()), changes)]
		changes = changes[len(some):]
		err := r.pace.Time(len(some), func() error {
			return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error { return fn(tx, some) })
		})
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if err := r.pause(ctx, gap); err != nil {
			return err
		}
	}
	return nil
}

// compareRows compares live rows of the server with ours.
func (r *round) compareRows(tx *localstore.SyncTx, changes []api.Change) error {
	met := 0
	err := takeChanges(tx, changes, func(row *localstore.Row, change *api.Change, e localstore.Entity) error {
		met++
		return r.compareRow(tx, row, remoteOf(change, e))
	})
	r.report.Compared.Unknown += len(changes) - met
	if err != nil {
		return err
	}
	return r.keepFound(tx)
}

func (r *round) compareRow(tx *localstore.SyncTx, row *localstore.Row, there remote) error {
	shared := *tx.Replica().SharedRev
	base := baseVersion(row)
	doubtful := (r.goesOn || tx.Replica().Doubtful()) && row.Base == nil
	if row.Rev == there.entity.Rev && base != nil && !base.Deleted && base.Equal(&there.Fields) {
		return nil
	}
	r.report.Compared.Differ++
	rev := there.entity.Rev
	switch {
	case doubtful && (shared == sharedAll || rev > shared || row.Deleted()):
		// It may be of any age, and then the server's is the later one.
	case row.Rev > shared && rev <= shared, shared == sharedAll && row.Rev > rev:
		// We were told of a later version, which the server lost since: ours
		// is an edit of what it has.
		r.report.Compared.Offered++
		return offer(tx, row, there)
	case row.Rev > shared && (base == nil || base.Deleted || edited(&base.Fields, &there.Fields)):
		base = nil // it changed again after the loss, to the same rev maybe: there is no common version
	}
	return r.merge(tx, row, base, there)
}

// offer makes all that a row is here an edit of what the server has.
func offer(tx *localstore.SyncTx, row *localstore.Row, there remote) error {
	next := row.Entity
	next.Rev, next.System = there.entity.Rev, there.entity.System
	return tx.Write(row, next, &localstore.Base{Fields: there.Fields})
}

// missing judges the rows that the server was known to have and has no more.
func (r *round) missing(ctx context.Context, seen map[key]struct{}, head api.Head) error {
	for _, kind := range []api.EntityType{api.TypeFolder, api.TypeBookmark} {
		for after := int64(0); ; {
			n, most := 0, min(chunk, r.pace.Rows())
			err := r.pace.Time(most, func() error {
				return r.store.Sync(ctx, r.replica, func(tx *localstore.SyncTx) error {
					rows, err := tx.Stored(kind, after, most)
					if err != nil {
						return err
					}
					n = len(rows)
					for i := range rows {
						after = rows[i].N
						if _, ok := seen[key{kind, rows[i].ID}]; ok {
							continue
						}
						if err := r.missingRow(tx, &rows[i], head); err != nil {
							return err
						}
					}
					return r.keepFound(tx)
				})
			})
			if err != nil {
				return fmt.Errorf("compare: %w", err)
			}
			if n < most {
				break
			}
			if err := r.pause(ctx, gap); err != nil {
				return err
			}
		}
	}
	return nil
}

// missingRow tells a row that the server purged, which stays deleted, from one
// that it lost, which is offered again. An edit survives either.
func (r *round) missingRow(tx *localstore.SyncTx, row *localstore.Row, head api.Head) error {
	if row.Deleted() && !row.ServerHas() {
		return nil // both agree
	}
	r.report.Compared.Missing++
	at := tx.Replica()
	shared := *at.SharedRev
	lost := row.Rev > shared
	if shared == sharedAll {
		// The epoch is the same. Whatever happened since the last whole pull
		// explains what is missing; nothing else does.
		lost = at.Rev >= head.Rev && row.Rev > head.PurgedRev
	}
	m := Merge(baseVersion(row), Version{Fields: row.Fields, Deleted: row.Deleted()}, Version{Deleted: true, Bare: true})
	next := row.Entity
	switch {
	case row.Deleted():
		return tx.Write(row, next, nil) // what was to be deleted is gone
	case lost || !m.Row.Deleted:
		r.report.Compared.Offered++
		next.Rev = 0
	default:
		next.DeletedAt, next.Deletion = tx.Now(), ""
		if row.Base != nil {
			next.Fields = row.Base.Fields
		}
	}
	return tx.Write(row, next, nil)
}
