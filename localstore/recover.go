package localstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// Check goes through the whole file and reports, with [ErrDamaged], whether it
// is sound. It reads everything, and is for `bm doctor`.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, func(tx *tx) error {
		var verdict string
		if err := tx.row(`PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
			return fmt.Errorf("check the local copy: %w", schemaError(err))
		}
		if verdict != "ok" {
			return fmt.Errorf("check the local copy: %w: %s", ErrDamaged, verdict)
		}
		return nil
	})
}

// Recovery is what [Recover] did.
type Recovery struct {
	// Aside is where a copy of the damaged file is now; "" where it was sound
	// after all.
	Aside string
	// Rows is how many rows with unsent edits were saved from it.
	Rows int
	// Incomplete is true where some of it could not be read: there may have
	// been more.
	Incomplete bool
}

// Recover mends the file of a replica that [Open] or a later call found damaged:
// it keeps a copy of it aside, and what stands in the file then is what this
// machine alone knows, as far as it can be read: unsent edits and what was sent
// without an answer, all of a local replica, conflicts, refused edits, notes,
// the journal, settings and saved searches. What the server has stands there too,
// as far as it is certain, and the next round compares all of it with the
// server's. A file that is sound is left as it is, and so is one that cannot be
// checked to the end.
//
// Where what leads to rows is damaged, or the file can't be opened at all, they
// are looked for page by page.
//
// The new content goes into the file that is there, in one transaction of
// SQLite's, under the write lock that is held from before the first row is
// saved: killed anywhere, the file is the damaged one or the mended one, and
// who has it open edits before that or after it, never in between. One that can't
// be opened is emptied first: killed there, [Open] refuses the empty file until
// the repair is done. Two repairs at once are the caller's to prevent.
func Recover(ctx context.Context, opts Options) (*Store, Recovery, error) {
	var did Recovery
	r := &repair{opts: opts, did: &did}
	if err := r.removeFresh(); err != nil {
		return nil, did, err
	}
	old, err := Open(ctx, opts)
	readable := err == nil
	if readable {
		if err = old.Check(ctx); err == nil {
			return old, did, r.removeSaved() // someone else mended it
		}
		if reason := old.ReadOnlyReason(); reason != "" && errors.Is(err, ErrDamaged) {
			err = &ReadOnlyError{Reason: reason, Remedy: old.remedy, Err: err}
			return nil, did, errors.Join(err, old.Close())
		}
		if !errors.Is(err, ErrDamaged) {
			return nil, did, errors.Join(err, old.Close())
		}
	} else if !errors.Is(err, ErrDamaged) {
		return nil, did, err
	}
	if readable {
		r.old = old
		err = errors.Join(r.run(ctx), r.removeSaved())
	} else {
		err = r.anew(ctx)
	}
	if err != nil {
		return nil, did, fmt.Errorf("mend the local copy: %w", err)
	}
	mended, err := Open(ctx, opts)
	return mended, did, err
}

// repair is a repair under way.
type repair struct {
	opts Options
	old  *Store
	did  *Recovery
	// found holds what was found page by page; nil where nobody had to look.
	found *Store
	// lost are the places in the file of pages that the disk does not give back.
	lost []int64
	// gathered, where set, runs before the file is written over; tests break
	// off there.
	gathered func() error
}

// fresh is where the new content is gathered.
func (r *repair) fresh() string { return r.opts.Path + ".new" }

// loose is where rows are gathered that nothing sound leads to.
func (r *repair) loose() string { return r.opts.Path + ".loose" }

// removeFresh is for what a repair that was cut off left: it is of no use.
func (r *repair) removeFresh() error {
	var parts []string
	for _, path := range []string{r.fresh(), r.loose()} {
		parts = append(parts, path, path+"-wal", path+"-shm")
	}
	return removeAll(parts...)
}

// saved is where all that was gathered stands while the file is written anew: a
// repair that is cut off there leaves an empty file, and the next one goes on
// with this.
func saved(path string) string { return path + ".saved" }

func (r *repair) removeSaved() error { return removeAll(saved(r.opts.Path)) }

// cutOff reports whether a repair left the file empty and all that it had gathered
// beside it.
func cutOff(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 0 {
		return false
	}
	_, err = os.Stat(saved(path))
	return err == nil
}

// run gathers what is to stand in the file, and writes it over what stands
// there.
func (r *repair) run(ctx context.Context) (err error) {
	// Closing a file takes all of a process's locks off it. So this one is
	// opened before SQLite needs them, and closed when SQLite is done.
	damaged, err := os.OpenFile(r.opts.Path, os.O_RDWR, 0)
	if err != nil {
		return errors.Join(err, r.old.Close())
	}
	defer func() {
		_ = r.old.Close() // closing what was damaged may fail, and that is no news
		err = errors.Join(err, damaged.Close(), r.removeFresh())
	}()
	opts := r.opts
	opts.Path = r.fresh()
	fresh, err := Open(ctx, opts)
	if err != nil {
		return err
	}
	written, err := overwrite(ctx, r.opts, opts, func() error {
		if err := r.gather(ctx, fresh); err != nil {
			return err
		}
		if err := r.setAside(damaged); err != nil {
			return err
		}
		if r.gathered != nil {
			if err := r.gathered(); err != nil {
				return err
			}
		}
		return blank(damaged, r.lost)
	})
	if !written {
		err = errors.Join(err, r.dropAside()) // the file is what it was
	}
	return errors.Join(err, fresh.Close())
}

// gather saves what can be read of the old file into the fresh one.
func (r *repair) gather(ctx context.Context, fresh *Store) (err error) {
	v := &salvage{did: r.did}
	if r.old != nil {
		v.note(r.old.read(ctx, func(from *tx) error {
			v.collect(from)
			return nil
		}))
	}
	defer func() { err = errors.Join(err, r.closeLoose()) }()
	if r.old == nil || r.did.Incomplete {
		r.did.Incomplete = true
		if err := r.scavenge(ctx, v); err != nil {
			return err
		}
		v.loose = true
		err := r.found.read(ctx, func(from *tx) error {
			v.collect(from)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // what was not read for that is not lost
	}
	if err := fresh.write(ctx, durable, v.store); err != nil {
		return err
	}
	return r.keep(ctx, v, fresh)
}

// anew is for a file that can't even be opened, which is why nobody edits it
// either. What is in its pages is gathered first, and is beside the file before
// that is emptied.
func (r *repair) anew(ctx context.Context) error {
	if cutOff(r.opts.Path) {
		r.did.Incomplete = true
		r.did.Aside = lastAside(r.opts.Path)
		return r.replace(ctx)
	}
	damaged, err := os.Open(r.opts.Path)
	if err != nil {
		return err
	}
	if err := errors.Join(r.setAside(damaged), damaged.Close()); err != nil {
		return err
	}
	if err := r.save(ctx); err != nil {
		return errors.Join(err, r.removeFresh(), r.dropAside())
	}
	if r.gathered != nil {
		if err := r.gathered(); err != nil {
			return err
		}
	}
	// A file without content takes no notice of the log beside it, and SQLite
	// removes that log.
	if err := os.Truncate(r.opts.Path, 0); err != nil {
		return err
	}
	return r.replace(ctx)
}

// save gathers what can be read of a file that can't be opened, and lets it stand
// beside the file at once.
func (r *repair) save(ctx context.Context) (err error) {
	// One that is too short, and else sound, can be read with a word to SQLite.
	opts := r.opts
	opts.ReadOnly, opts.lenient = true, true
	if r.old, err = Open(ctx, opts); err != nil {
		r.old = nil
	} else if r.old.version > latestSchema {
		return errors.Join(&ReadOnlyError{Reason: r.old.reason, Err: ErrDamaged}, r.old.Close())
	}
	opts = r.opts
	opts.Path = r.fresh()
	fresh, err := Open(ctx, opts)
	if err != nil {
		return err
	}
	err = r.gather(ctx, fresh)
	if r.old != nil {
		_ = r.old.Close() // closing what was damaged may fail, and that is no news
	}
	if err = errors.Join(err, fresh.Close()); err != nil {
		return err
	}
	if logged(r.fresh()) { // SQLite says nothing where it fails in that, as on a full disk
		return fmt.Errorf("keep what was saved: %s could not be brought into one file", r.fresh())
	}
	if err := os.Rename(r.fresh(), saved(r.opts.Path)); err != nil {
		return fmt.Errorf("keep what was saved: %w", err)
	}
	return r.removeFresh()
}

// replace writes what was saved into the emptied file.
func (r *repair) replace(ctx context.Context) error {
	by := r.opts
	by.Path = saved(r.opts.Path)
	if _, err := overwrite(ctx, r.opts, by, func() error { return nil }); err != nil {
		return err
	}
	return errors.Join(r.removeSaved(), removeAll(by.Path+"-wal", by.Path+"-shm"))
}

// asideMark is between the file's name and the time, in the name of a copy.
const asideMark = ".damaged-"

// setAside copies the damaged file, and then its log: what is moved from the log
// into the file meanwhile is in the log still.
func (r *repair) setAside(damaged *os.File) error {
	now := r.opts.Now
	if now == nil {
		now = time.Now
	}
	aside := r.opts.Path + asideMark + now().UTC().Format("20060102T150405.000000")
	lost, err := copyTo(aside, damaged)
	if r.lost = lost; err == nil {
		var log *os.File
		if log, err = os.Open(r.opts.Path + "-wal"); err == nil {
			_, err = copyTo(aside+"-wal", log)
			err = errors.Join(err, log.Close())
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	r.did.Aside = aside
	if err != nil {
		return fmt.Errorf("keep a copy of the damaged file: %w", errors.Join(err, r.dropAside()))
	}
	return nil
}

// lastAside is the newest copy of a damaged file; "" where there is none.
func lastAside(path string) (newest string) {
	beside, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	for _, file := range beside { // by name, which ends in the time
		if name := file.Name(); strings.HasPrefix(name, filepath.Base(path)+asideMark) && !strings.HasSuffix(name, "-wal") {
			newest = filepath.Join(filepath.Dir(path), name)
		}
	}
	return newest
}

// dropAside removes the copy of a file that was left as it is.
func (r *repair) dropAside() error {
	if r.did.Aside == "" {
		return nil
	}
	err := removeAll(r.did.Aside, r.did.Aside+"-wal")
	r.did.Aside = ""
	return err
}

func removeAll(paths ...string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a file that is not needed any more: %w", err)
		}
	}
	return nil
}

func copyTo(path string, from *os.File) (lost []int64, err error) {
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	lost, err = copyWhatIsThere(to, from, info.Size())
	return lost, errors.Join(err, to.Sync(), to.Close())
}

// overwrite takes the write lock of one file, runs fn, makes the file what another
// one is, and answers whether it did. It reads no page of what it writes over.
func overwrite(ctx context.Context, over, by Options, fn func() error) (written bool, err error) {
	pool, err := sql.Open("sqlite", dsn(over, true, false))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return false, mapError(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = conn.Raw(func(driver any) (err error) {
		restorer, ok := driver.(interface {
			NewRestore(address string) (*sqlite.Backup, error)
		})
		if !ok {
			return errors.New("the driver writes over no file")
		}
		restore, err := restorer.NewRestore(dsn(by, false, false))
		if err != nil {
			return mapError(err)
		}
		defer func() { err = errors.Join(err, mapError(restore.Finish())) }()
		lock := func() error {
			_, err := restore.Step(0)
			return mapError(err)
		}
		if err := patiently(ctx, lock); err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
		_, err = restore.Step(-1)
		written = err == nil
		return mapError(err)
	})
	return written, err
}
