package localstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// session is one connection with the statements prepared on it, used by one
// goroutine at a time.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	mode  durability // of what it writes; "" where it has not written
}

// maxStatements bounds what a session keeps: statements made from a user's
// query differ each time.
const maxStatements = 256

func openSession(ctx context.Context, pool *sql.DB) (*session, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, mapError(err)
	}
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// stmt is the prepared statement for text. Statements are prepared when they
// are first used: a command that lists twenty rows needs two of them.
func (s *session) stmt(text string) (*sql.Stmt, error) {
	if stmt := s.stmts[text]; stmt != nil {
		return stmt, nil
	}
	if len(s.stmts) >= maxStatements {
		for old, stmt := range s.stmts {
			delete(s.stmts, old)
			if err := stmt.Close(); err != nil {
				return nil, mapError(err)
			}
			break
		}
	}
	stmt, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, mapError(err)
	}
	s.stmts[text] = stmt
	return stmt, nil
}

func (s *session) exec(text string, args ...any) (sql.Result, error) {
	stmt, err := s.stmt(text)
	if err != nil {
		return nil, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	return result, mapError(err)
}

// turn sets a connection up for its next use, where one of them reads and writes
// by turns.
func (s *session) turn(pragmas string) error {
	_, err := s.conn.ExecContext(context.Background(), pragmas)
	return mapError(err)
}

func (s *session) close() error {
	errs := make([]error, 0, len(s.stmts)+1)
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// tx is a transaction on a session. Its context cancels reads; in a writing
// transaction it is never cancelled in the middle of a statement: bulk work
// looks at it between transactions.
type tx struct {
	*session
	store   *Store
	ctx     context.Context
	toIndex toIndex
}

// row is the first row that query answers; its Scan reports sql.ErrNoRows.
func (t *tx) row(query string, args ...any) scanner {
	stmt, err := t.stmt(query)
	if err != nil {
		return failedRow{err}
	}
	return mappedRow{stmt.QueryRowContext(t.ctx, args...)}
}

// each calls fn for every row that query answers.
func (t *tx) each(query string, args []any, fn func(scanner) error) (err error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return mapError(err)
	}
	defer func() { err = errors.Join(err, mapError(rows.Close())) }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return mapError(rows.Err())
}

// changed runs a statement and answers how many rows it changed.
func (t *tx) changed(query string, args ...any) (int, error) {
	result, err := t.exec(query, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), mapError(err)
}

// run runs a statement of which nothing needs to be known.
func (t *tx) run(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// script runs several statements at once, unprepared.
func (t *tx) script(text string) error {
	_, err := t.conn.ExecContext(context.Background(), text)
	return mapError(err)
}

// scanner is a row that can be scanned.
type scanner interface{ Scan(dest ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

type mappedRow struct{ row *sql.Row }

func (r mappedRow) Scan(dest ...any) error { return mapError(r.row.Scan(dest...)) }

// readers is a bounded pool of reading sessions, opened as they are needed. The
// one that was used last is taken first, so that a command that reads one thing
// after another needs one connection.
type readers struct {
	pool   *sql.DB
	slots  chan struct{}   // one token for each session that may be taken
	lender func() *session // see [Options.OneAtATime]; nil where none is lent

	mu   sync.Mutex
	free []*session
}

func newReaders(pool *sql.DB, n int) *readers {
	r := &readers{pool: pool, slots: make(chan struct{}, n)}
	for range n {
		r.slots <- struct{}{}
	}
	return r
}

func (r *readers) take(ctx context.Context) (*session, error) {
	select {
	case <-r.slots:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := r.spare(); s != nil {
		return s, nil
	}
	if r.lender != nil {
		if s := r.lender(); s != nil {
			if err := s.turn(readingPragmas); err == nil {
				return s, nil
			}
			_ = s.close() // it is broken
		}
	}
	s, err := openSession(ctx, r.pool)
	if err != nil {
		r.slots <- struct{}{}
		return nil, err
	}
	return s, nil
}

// spare is a session that nobody reads with, or nil.
func (r *readers) spare() *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.free) - 1
	if last < 0 {
		return nil
	}
	s := r.free[last]
	r.free = r.free[:last]
	return s
}

func (r *readers) giveBack(s *session) {
	r.mu.Lock()
	r.free = append(r.free, s)
	r.mu.Unlock()
	r.slots <- struct{}{}
}

// discard gives up a session that is in no known state; its slot stays.
func (r *readers) discard(s *session) {
	_ = s.close() // it is broken already
	r.slots <- struct{}{}
}

// close waits for every reader to finish.
func (r *readers) close() error {
	for range cap(r.slots) {
		<-r.slots
	}
	errs := make([]error, 0, len(r.free))
	for _, s := range r.free {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// read runs fn on one state of the file.
func (s *Store) read(ctx context.Context, fn func(*tx) error) (err error) {
	if s.moment != nil {
		return fn(s.moment)
	}
	session, err := s.readers.take(ctx)
	if err != nil {
		return fmt.Errorf("read the local copy: %w", err)
	}
	if _, err := session.exec("BEGIN"); err != nil {
		s.readers.discard(session)
		return fmt.Errorf("read the local copy: %w", err)
	}
	defer func() {
		if _, end := session.exec("ROLLBACK"); end != nil {
			s.readers.discard(session)
			err = errors.Join(err, fmt.Errorf("end reading the local copy: %w", end))
			return
		}
		s.readers.giveBack(session)
	}()
	return fn(&tx{session: session, store: s, ctx: ctx})
}

// momentCache is how much of the file a moment keeps in memory, in KiB.
const momentCache = 2 << 10

// Moment hands fn the store as it is now, for reading: whatever is edited
// meanwhile, what fn reads of it in several calls fits together. It is for going
// through much of it once, for which a large cache is of no use.
func (s *Store) Moment(ctx context.Context, fn func(*Store) error) error {
	return s.read(ctx, func(t *tx) (err error) {
		var before int
		if err := t.row(`PRAGMA cache_size`).Scan(&before); err != nil {
			return fmt.Errorf("look how large the cache is: %w", err)
		}
		resize := func(size int) error { return t.run(`PRAGMA cache_size = ` + strconv.Itoa(size)) }
		if err := resize(-momentCache); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, resize(before)) }()
		return fn(&Store{path: s.path, now: s.now, version: s.version, reason: "it is looked at as it was", moment: t})
	})
}
