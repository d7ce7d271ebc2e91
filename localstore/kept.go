package localstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"bm/server/api"
)

// keptRows is how many rows of the server one transaction of a repair keeps.
const keptRows = 10_000

// keep adds the rows that the server has, as far as they can be read, beside the
// edits. The full compare that a repair is followed by leaves of them what the
// server has too; what they are for is a server that was put back to an older
// backup meanwhile, and would have lost them for good.
//
// A page may be of the past. The digest, which is kept in another page than the
// rows, tells whether what was read is what there was: then the replica is what
// it was, and the compare takes its word as ever. Where it is not, a row counts
// only where nothing hints that its page is none of the table's, and the compare
// is told to doubt it (see [Replica.Doubtful]).
func (r *repair) keep(ctx context.Context, v *salvage, fresh *Store) error {
	for i := range v.replicas {
		was := &v.replicas[i]
		if was.RemoteID == "" || was.Epoch == "" || was.Cursor == "" && was.SharedRev == nil {
			continue // nothing says of what history the rows are
		}
		proper := r.old != nil && i < v.proper
		if !proper {
			// Which of the pages were in use is not known either.
			whole, err := r.found.hasAllOf(ctx, was)
			if err != nil {
				return err
			}
			if !whole {
				continue
			}
		}
		k := &keeping{fresh: fresh, was: was}
		if err := r.keepRows(ctx, v, k, proper); err != nil {
			return err
		}
		if err := k.judge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keepRows keeps those of one replica: first as the file leads to them, and where
// that breaks off or ends early, from whatever pages hold the others.
func (r *repair) keepRows(ctx context.Context, v *salvage, k *keeping, proper bool) error {
	if proper {
		if err := k.from(ctx, r.old); err != nil {
			return err
		}
		if !k.brokeOff && !r.did.Incomplete {
			return nil
		}
	}
	if r.found == nil {
		if err := r.scavenge(ctx, v); err != nil {
			return err
		}
	}
	return k.from(ctx, r.found)
}

// hasAllOf reports whether a store holds just the rows that a replica's digest is
// over.
func (s *Store) hasAllOf(ctx context.Context, was *Replica) (whole bool, err error) {
	digest, live, err := s.Sum(ctx, was.N)
	return digest == was.Digest && live == was.Live, err
}

// keeping is what the repair of one replica keeps of the server's rows.
type keeping struct {
	fresh *Store
	was   *Replica // as it was read
	// brokeOff is set where not all rows could be read.
	brokeOff bool
}

// from keeps the rows of a store, each as it comes, so that those before a
// damaged page stay; then those behind it, from the other end.
func (k *keeping) from(ctx context.Context, source *Store) error {
	for _, kind := range []api.EntityType{api.TypeFolder, api.TypeBookmark} {
		broken, err := k.each(ctx, source, kind, "ASC")
		if err == nil && broken {
			k.brokeOff = true
			_, err = k.each(ctx, source, kind, "DESC")
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err() // what was not read for that is not lost
}

func (k *keeping) each(ctx context.Context, source *Store, kind api.EntityType, direction string) (broken bool, err error) {
	query, scan := `SELECT `+bookmarkColumns+` FROM bookmark b`, scanBookmark
	if kind == api.TypeFolder {
		query, scan = `SELECT `+folderColumns+` FROM folder f`, scanFolder
	}
	rows := make([]Entity, 0, keptRows)
	flush := func() error {
		err := k.fresh.write(ctx, refetchable, func(into *tx) error { return k.put(into, kind, rows) })
		rows = rows[:0]
		return err
	}
	var failed error // in the file that is written
	reading := source.read(ctx, func(tx *tx) error {
		low, high := (&SyncTx{replica: k.was}).span(0)
		return tx.each(query+` WHERE n > ? AND n < ? AND rev > 0 ORDER BY n `+direction, []any{low, high}, func(row scanner) error {
			var e Entity
			if err := scan(row, &e); err != nil || e.n <= low || e.n >= high || !utf8.ValidString(e.ID) {
				k.brokeOff = true // this row alone; or it is another workspace's
				return nil
			}
			if rows = append(rows, e); len(rows) == keptRows {
				failed = flush()
			}
			return failed
		})
	})
	if failed == nil {
		failed = flush()
	}
	if failed != nil {
		return false, fmt.Errorf("keep what the server has: %w", failed)
	}
	return reading != nil, nil
}

// put keeps some rows. Of one that is there already the later version counts,
// unless that has an edit which was not sent.
func (k *keeping) put(into *tx, kind api.EntityType, rows []Entity) error {
	rows = k.once(rows)
	if len(rows) == 0 {
		return nil
	}
	there, err := k.there(into, kind, rows)
	if err != nil {
		return err
	}
	numbers := make([]int64, len(rows))
	for i := range rows {
		numbers[i] = rows[i].n
	}
	taken := map[int64]bool{}
	err = into.each(`SELECT n FROM `+table(kind)+` WHERE n IN (SELECT value FROM json_each(?))`, []any{encode(numbers)}, func(row scanner) error {
		var n int64
		err := row.Scan(&n)
		taken[n] = true
		return err
	})
	if err != nil {
		return fmt.Errorf("look for numbers that are taken: %w", err)
	}
	fresh := make([]Entity, 0, len(rows))
	var displaced []Entity
	for i := range rows {
		e := &rows[i]
		rev, known := there[e.ID]
		switch {
		case known && rev < e.Rev:
			before, err := into.find(k.was.N, kind, e.ID)
			if err != nil {
				return err
			}
			if err := into.replace(k.was.N, before, e); err != nil {
				return err
			}
		case known:
		case taken[e.n]:
			displaced = append(displaced, *e)
		default:
			taken[e.n] = true
			fresh = append(fresh, *e)
		}
	}
	// Neighbours are written together, whichever end they were read from.
	slices.SortFunc(fresh, func(a, b Entity) int { return int(a.n - b.n) })
	if err := into.insertAllNumbered(k.was.N, fresh); err != nil {
		return err
	}
	return into.insertAll(k.was.N, displaced) // behind all of them
}

// once are the rows, each once, in its later version: a page that stands in two
// places has them twice.
func (k *keeping) once(rows []Entity) []Entity {
	at := make(map[string]int, len(rows))
	all := rows[:0]
	for i := range rows {
		before, twice := at[rows[i].ID]
		switch {
		case !twice:
			at[rows[i].ID] = len(all)
			all = append(all, rows[i])
		case all[before].before(&rows[i]):
			all[before] = rows[i]
		}
		k.brokeOff = k.brokeOff || twice
	}
	return all
}

// there are those of the rows that were kept already, with their revs. One with an
// edit that was not sent has the last.
func (k *keeping) there(into *tx, kind api.EntityType, rows []Entity) (map[string]int64, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	there := map[string]int64{}
	err := into.each(`SELECT r.id, CASE WHEN r.rev = 0 OR EXISTS (SELECT 1 FROM `+table(kind)+`_base x WHERE x.n = r.n) THEN ? ELSE r.rev END
		FROM `+table(kind)+` r WHERE r.replica = ? AND r.id IN (SELECT value FROM json_each(?))`,
		[]any{int64(math.MaxInt64), k.was.N, encode(ids)}, func(row scanner) error {
			var id string
			var rev int64
			err := row.Scan(&id, &rev)
			there[id] = rev
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("look for what was kept: %w", err)
	}
	return there, nil
}

// judge says with the replica what its rows are worth.
func (k *keeping) judge(ctx context.Context) error {
	whole := false
	err := k.fresh.sync(ctx, refetchable, k.was.N, func(st *SyncTx) (err error) {
		at := st.Replica()
		if at.Digest, at.Live, err = st.tx.sum(at.N); err != nil {
			return err
		}
		if whole = at.Digest == k.was.Digest && at.Live == k.was.Live; whole {
			k.place(at)
			if at.Whole = k.was.Whole; at.Whole != "" || k.was.SharedRev != nil {
				at.Rev = k.was.Rev
			}
		}
		return nil
	})
	if err != nil || whole {
		return err
	}
	if err := k.dropAhead(ctx); err != nil {
		return err
	}
	return k.fresh.sync(ctx, durable, k.was.N, func(st *SyncTx) (err error) {
		at := st.Replica()
		k.place(at)
		at.Digest, at.Live, err = st.tx.sum(at.N)
		return err
	})
}

// place says where in the server's history the replica is.
func (k *keeping) place(at *Replica) {
	at.Epoch, at.Cursor, at.PurgedRev = k.was.Epoch, k.was.Cursor, k.was.PurgedRev
	if k.was.SharedRev != nil {
		at.SharedRev = k.was.SharedRev
	}
}

// dropAhead lets go of rows that are newer than the last whole pull: among rows
// that are not all that there were, such a number may be the damage's.
func (k *keeping) dropAhead(ctx context.Context) error {
	for _, kind := range []api.EntityType{api.TypeFolder, api.TypeBookmark} {
		for more := true; more; {
			err := k.fresh.write(ctx, refetchable, func(into *tx) error {
				st := &SyncTx{tx: into, replica: k.was}
				letter := table(kind)[:1]
				low, high := st.span(0)
				rows, err := st.rows(kind, `WHERE `+letter+`.n > ? AND `+letter+`.n < ? AND `+letter+`.rev > ?
					AND NOT EXISTS (SELECT 1 FROM `+table(kind)+`_base x WHERE x.n = `+letter+`.n) LIMIT ?`, low, high, max(k.was.Rev, 0), keptRows)
				more = len(rows) == keptRows
				for i := range rows {
					err = errors.Join(err, into.remove(k.was.N, &rows[i].Entity))
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("drop what is not certain: %w", err)
			}
		}
	}
	return nil
}

// insertAgain adds a row under the number that it had, if that is free: the
// numbers say in which order rows came.
func (t *tx) insertAgain(replica int64, e *Entity) error {
	if e.n <= replica*partition || e.n >= (replica+1)*partition {
		return t.insert(replica, e)
	}
	taken := false
	if err := t.row(`SELECT EXISTS (SELECT 1 FROM `+table(e.Type)+` WHERE n = ?)`, e.n).Scan(&taken); err != nil {
		return fmt.Errorf("look for a number that is taken: %w", err)
	}
	if taken {
		return t.insert(replica, e)
	}
	return t.insertAllNumbered(replica, []Entity{*e})
}
