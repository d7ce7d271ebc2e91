package localstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// durability says what a commit waits for.
type durability string

const (
	// durable commits survive a power cut: edits of the user.
	durable durability = "FULL"
	// refetchable commits survive the death of the process. What was pulled
	// can be pulled again, and an import run again.
	refetchable durability = "NORMAL"
)

// How long to wait for the write lock. The holder is another process; polling
// each millisecond finds the short gaps that bulk work leaves, which SQLite's
// own timeout, sleeping up to 100 ms, would miss.
const (
	lockPatience = 10 * time.Second
	lockPoll     = time.Millisecond
)

// writer is the one connection that writes.
type writer struct {
	path    string
	pool    *sql.DB
	turn    chan struct{} // holds one token: whose turn it is
	waiting atomic.Int32  // how many of this process wait for it
	session *session
	lender  func() *session // see [Options.OneAtATime]; nil where none is lent
}

func newWriter(path string, pool *sql.DB) *writer {
	w := &writer{path: path, pool: pool, turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	return w
}

// open opens the connection when it is first needed. The caller has the turn.
func (w *writer) open(ctx context.Context) error {
	if w.session != nil {
		return nil
	}
	if w.lender != nil {
		if s := w.lender(); s != nil {
			if err := s.turn(writingPragmas); err == nil {
				w.session = s
				return nil
			}
			_ = s.close() // it is broken
		}
	}
	session, err := openSession(context.WithoutCancel(ctx), w.pool)
	if err != nil {
		return err
	}
	if w.lender != nil {
		if err := session.turn(writingPragmas); err != nil {
			return errors.Join(err, session.close())
		}
	}
	w.session = session
	return nil
}

// spare is the session, where nobody writes, or nil.
func (w *writer) spare() *session {
	select {
	case <-w.turn:
	default:
		return nil
	}
	s := w.session
	w.session = nil
	w.turn <- struct{}{}
	return s
}

// setUp turns the write-ahead log on, once in a file's life.
func (w *writer) setUp(ctx context.Context) error {
	return w.exclusive(ctx, func() error {
		return patiently(ctx, func() error {
			_, err := w.session.conn.ExecContext(context.Background(), "PRAGMA journal_mode = WAL")
			return mapError(err)
		})
	})
}

// exclusive runs fn while no transaction of this process writes.
func (w *writer) exclusive(ctx context.Context, fn func() error) error {
	w.waiting.Add(1)
	select {
	case <-w.turn:
		w.waiting.Add(-1)
	case <-ctx.Done():
		w.waiting.Add(-1)
		return ctx.Err()
	}
	defer func() { w.turn <- struct{}{} }()
	// The settings of a new connection read the file, which another process may
	// be switching to its log just now.
	if err := patiently(ctx, func() error { return w.open(ctx) }); err != nil {
		return err
	}
	return fn()
}

// begin starts a transaction that holds the write lock.
func (w *writer) begin(ctx context.Context, mode durability) error {
	if w.session.mode != mode {
		// The pragma reads the schema, which waits for a lock too.
		err := patiently(ctx, func() error {
			_, err := w.session.exec("PRAGMA synchronous = " + string(mode))
			return err
		})
		if err != nil {
			return err
		}
		w.session.mode = mode
	}
	take := func() error {
		_, err := w.session.exec("BEGIN IMMEDIATE")
		return err
	}
	err := take()
	if !errors.Is(err, ErrBusy) {
		return err
	}
	waiting := waitingFile(w.path)
	defer func() { _ = waiting.Close() }() // nobody waits any more
	return patiently(ctx, func() error {
		if !waiting.RLocked() {
			_, _ = waiting.TryRLock() // without it the wait is longer
		}
		return take()
	})
}

// patiently repeats fn while another process holds the lock that it needs.
func patiently(ctx context.Context, fn func() error) error {
	err := fn()
	if !errors.Is(err, ErrBusy) {
		return err
	}
	timer := time.NewTimer(lockPatience)
	defer timer.Stop()
	for errors.Is(err, ErrBusy) {
		// A little unevenness, lest two that wait meet each time.
		pause := time.NewTimer(lockPoll + rand.N(lockPoll/2))
		select {
		case <-pause.C:
			err = fn()
		case <-timer.C:
			pause.Stop()
			return err
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
	return err
}

// discard gives up a session that is in no known state.
func (w *writer) discard() {
	_ = w.session.close() // it is broken already
	w.session = nil
}

func (w *writer) close() error {
	<-w.turn
	if w.session == nil {
		return nil
	}
	return w.session.close()
}

// write runs fn in a transaction that holds the write lock, and commits it
// unless fn fails.
func (s *Store) write(ctx context.Context, mode durability, fn func(*tx) error) error {
	if err := s.Writable(); err != nil {
		return err
	}
	w := s.writer
	err := w.exclusive(ctx, func() (err error) {
		if err := w.begin(ctx, mode); err != nil {
			return err
		}
		committed := false
		defer func() {
			if committed {
				return
			}
			// fn failed or panicked, or the commit did.
			if _, back := w.session.exec("ROLLBACK"); back != nil {
				w.discard()
			}
		}()
		tx := &tx{session: w.session, store: s, ctx: context.WithoutCancel(ctx)}
		if err := tx.knowsSchema(); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		if err := tx.indexNow(); err != nil {
			return err
		}
		if _, err := w.session.exec("COMMIT"); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		committed = true
		return nil
	})
	if _, told := errors.AsType[*ReadOnlyError](err); !told && errors.Is(err, ErrReadOnly) {
		if barred := unwritable(s.path); barred != "" {
			reason, remedy := because(barred)
			return &ReadOnlyError{Reason: reason, Remedy: remedy, Err: err}
		}
	}
	if errors.Is(err, ErrBusy) {
		return fmt.Errorf("write to the local copy: %w", err)
	}
	return err
}

// knowsSchema refuses to write where a newer bm has brought the file to its schema
// since this one opened it.
func (t *tx) knowsSchema() error {
	var version int
	if err := t.row("PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if version > latestSchema {
		return &ReadOnlyError{Reason: newerSchema(version)}
	}
	return nil
}

// Checkpoint moves the log that bulk work left into the file, so that the next
// small edit does not pay for it.
func (s *Store) Checkpoint(ctx context.Context) error {
	err := s.writer.exclusive(ctx, func() error {
		var busy, log, moved int
		row := s.writer.session.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)")
		return mapError(row.Scan(&busy, &log, &moved))
	})
	if err != nil {
		return fmt.Errorf("checkpoint the local copy: %w", err)
	}
	return nil
}

// ReleaseMemory gives back what caches hold, at the end of bulk work in a
// process that goes on idling.
func (s *Store) ReleaseMemory(ctx context.Context) error {
	err := s.writer.exclusive(ctx, func() error {
		_, err := s.writer.session.exec("PRAGMA shrink_memory")
		return err
	})
	if err != nil {
		return fmt.Errorf("release memory: %w", err)
	}
	return nil
}
