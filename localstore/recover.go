package localstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"bm/server/api"
)

// Check goes through the whole file and reports, with [ErrDamaged], whether it
// is sound. It reads everything, and is for `bm doctor`.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, func(tx *tx) error {
		var verdict string
		if err := tx.row(`PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
			return fmt.Errorf("check the local copy: %w", err)
		}
		if verdict != "ok" {
			return fmt.Errorf("check the local copy: %w: %s", ErrDamaged, verdict)
		}
		return nil
	})
}

// SetAside moves a damaged file, with its log, out of the way and answers where
// to. Nothing is deleted.
func SetAside(path string, now time.Time) (string, error) {
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405.000000")
	// The log first: without its file it is nothing, while the file without
	// its log would be an older state that looks sound.
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && (suffix == "" || !errors.Is(err, os.ErrNotExist)) {
			return "", fmt.Errorf("set the damaged local copy aside: %w", err)
		}
	}
	return aside, nil
}

// Recovery is what [Recover] did.
type Recovery struct {
	// Aside is where the damaged file is now; "" where it was sound after all.
	Aside string
	// Rows is how many rows with unsent edits were saved from it.
	Rows int
	// Incomplete is true where some of it could not be read: there may have
	// been more.
	Incomplete bool
}

// Recover opens a replica that [Open] or a later call found damaged: it sets the
// file aside, makes a new one and saves into it what no server has, that is
// unsent edits, all of a local replica, settings and saved searches. What the
// server has comes back with the next round.
//
// The caller sees to it that no other process has the file open.
func Recover(ctx context.Context, opts Options) (*Store, Recovery, error) {
	var did Recovery
	if sound, err := Open(ctx, opts); err == nil {
		check := sound.Check(ctx)
		if check == nil {
			return sound, did, nil // someone else mended it
		}
		if err := sound.Close(); err != nil && !errors.Is(check, ErrDamaged) {
			return nil, did, err
		}
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	var err error
	if did.Aside, err = SetAside(opts.Path, now()); err != nil {
		return nil, did, err
	}
	fresh, err := Open(ctx, opts)
	if err != nil {
		return nil, did, err
	}
	old, err := Open(ctx, Options{Path: did.Aside, ReadOnly: true})
	if err != nil {
		did.Incomplete = true // not even its beginning can be read
		return fresh, did, nil
	}
	v := &salvage{did: &did}
	err = old.read(ctx, func(from *tx) error {
		v.collect(from)
		return nil
	})
	// Closing what is damaged may fail, and that is no news.
	_ = old.Close()
	if err != nil {
		did.Incomplete = true
	}
	err = fresh.write(ctx, durable, v.store)
	return fresh, did, err
}

// salvage is what could be read of a damaged file.
type salvage struct {
	did      *Recovery
	replicas []Replica
	rows     map[int64][]Row
	settings [][2]string
	searches []SavedSearch
}

// collect reads what it can; what it cannot is left out.
func (v *salvage) collect(from *tx) {
	v.rows = map[int64][]Row{}
	replicas, err := from.replicas()
	v.note(err)
	v.replicas = replicas
	for i := range replicas {
		r := &replicas[i]
		st := &SyncTx{tx: from, replica: r}
		low, high := st.span(0)
		v.both(func(direction string) error {
			return v.read(st, api.TypeFolder, `WHERE f.n > ? AND f.n < ? AND (f.rev = 0 OR f.n IN (SELECT n FROM folder_base)) ORDER BY f.n `+direction, low, high)
		})
		v.both(func(direction string) error {
			return v.read(st, api.TypeBookmark, `WHERE b.n > ? AND b.n < ? AND (b.rev = 0 OR b.n IN (SELECT n FROM bookmark_base)) ORDER BY b.n `+direction, low, high)
		})
	}
	v.note(from.each(`SELECT name, value FROM setting`, nil, func(row scanner) error {
		var pair [2]string
		err := row.Scan(&pair[0], &pair[1])
		v.settings = append(v.settings, pair)
		return err
	}))
	v.note(from.each(`SELECT name, query, created_at FROM saved_search`, nil, func(row scanner) error {
		var s SavedSearch
		var at int64
		err := row.Scan(&s.Name, &s.Query, &at)
		s.CreatedAt = api.FromMicros(at)
		v.searches = append(v.searches, s)
		return err
	}))
}

// both reads from one end and, where that breaks off, from the other.
func (v *salvage) both(read func(direction string) error) {
	if err := read("ASC"); err != nil {
		v.did.Incomplete = true
		v.note(read("DESC"))
	}
}

func (v *salvage) note(err error) {
	if err != nil {
		v.did.Incomplete = true
	}
}

// read keeps each row as it comes, so that those before a damaged page stay.
func (v *salvage) read(st *SyncTx, kind api.EntityType, where string, low, high int64) error {
	known := map[string]bool{}
	for i := range v.rows[st.replica.N] {
		known[v.rows[st.replica.N][i].ID] = true
	}
	query, scan := `SELECT `+bookmarkColumns+` FROM bookmark b `+where, scanBookmark
	if kind == api.TypeFolder {
		query, scan = `SELECT `+folderColumns+` FROM folder f `+where, scanFolder
	}
	var found []Entity
	err := st.tx.each(query, []any{low, high}, func(row scanner) error {
		var e Entity
		if err := scan(row, &e); err != nil {
			return err
		}
		if !known[e.ID] {
			found = append(found, e)
		}
		return nil
	})
	for i := range found {
		row, baseErr := st.withBase(&found[i])
		if baseErr != nil {
			err = errors.Join(err, baseErr)
			continue
		}
		v.rows[st.replica.N] = append(v.rows[st.replica.N], *row)
	}
	return err
}

// store puts what was read into a new file. Its replicas begin anew, with the
// edits already in place.
func (v *salvage) store(into *tx) error {
	for i := range v.replicas {
		r := v.replicas[i]
		old := r.N
		r.Epoch, r.Cursor, r.Whole, r.Rev, r.Digest, r.Live, r.PurgedRev, r.SharedRev = "", "", "", 0, 0, 0, 0, nil
		r.SyncedAt = api.Time{}
		if r.State != StateLocal && r.RemoteID != "" {
			r.State, r.Reason = StateBootstrapping, ""
		}
		if err := into.insertReplica(&r); err != nil {
			return err
		}
		st := &SyncTx{tx: into, replica: &r}
		for at := range v.rows[old] {
			row := &v.rows[old][at]
			if err := into.insert(r.N, &row.Entity); err != nil {
				return err
			}
			if row.Base != nil {
				if err := into.setBase(&row.Entity, row.Base); err != nil {
					return err
				}
			}
			st.count(row.ID, 0, false, row.Rev, row.ServerHas())
			v.did.Rows++
		}
		if err := into.saveReplica(&r); err != nil {
			return err
		}
	}
	for _, pair := range v.settings {
		if err := into.run(`INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)`, pair[0], pair[1]); err != nil {
			return fmt.Errorf("keep the settings: %w", err)
		}
	}
	for _, s := range v.searches {
		if err := into.run(`INSERT OR REPLACE INTO saved_search (name, query, created_at) VALUES (?, ?, ?)`, s.Name, s.Query, s.CreatedAt.Micros()); err != nil {
			return fmt.Errorf("keep the saved searches: %w", err)
		}
	}
	return nil
}
