package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// session is one SQLite connection with the statements prepared on it. It is
// used by one goroutine at a time.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// What a session keeps is bounded in number and in size: a statement that was
// built from a user's query is not worth keeping for ever.
const (
	maxStatements = 400
	maxStatement  = 16 << 10
)

func openSession(ctx context.Context, pool *sql.DB) (*session, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, mapError(err)
	}
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// stmt is the kept statement for text; nil where it, or what is kept already, is
// too much.
func (s *session) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt := s.stmts[text]; stmt != nil || len(text) > maxStatement || len(s.stmts) >= maxStatements {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.WithoutCancel(ctx), text)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", mapError(err))
	}
	s.stmts[text] = stmt
	return stmt, nil
}

// exec runs one of the statements that frame transactions. It is never
// interrupted.
func (s *session) exec(text string) error {
	stmt, err := s.stmt(context.Background(), text)
	switch {
	case err != nil:
		return err
	case stmt == nil: // there is no place for it among those that are kept
		_, err = s.conn.ExecContext(context.Background(), text)
	default:
		_, err = stmt.ExecContext(context.Background())
	}
	return mapError(err)
}

func (s *session) close() error {
	errs := make([]error, 0, len(s.stmts)+1)
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// end is close, and gives the connection's memory back too: the pool would keep
// it open.
func (s *session) end() error {
	errs := make([]error, 0, len(s.stmts)+1)
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	if err := s.conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// readers is a bounded pool of reading sessions, opened as they are needed.
type readers struct {
	pool *sql.DB
	// free holds a place for every session there may be: nil for one that is
	// not open yet.
	free chan *session
}

func newReaders(pool *sql.DB, n int) *readers {
	r := &readers{pool: pool, free: make(chan *session, n)}
	for range n {
		r.free <- nil
	}
	return r
}

func (r *readers) take(ctx context.Context) (*session, error) {
	select {
	case s := <-r.free:
		if s != nil {
			return s, nil
		}
		s, err := openSession(ctx, r.pool)
		if err != nil {
			r.free <- nil
			return nil, fmt.Errorf("open a reader: %w", err)
		}
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read runs fn in a deferred transaction: its first statement fixes the state
// that it sees.
func (r *readers) read(ctx context.Context, db *DB, fn func(*Tx) error) (err error) {
	s, err := r.take(ctx)
	if err != nil {
		return err
	}
	if err := s.exec("BEGIN"); err != nil {
		r.discard(s)
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if rollback := s.exec("ROLLBACK"); rollback != nil {
			r.discard(s)
			err = errors.Join(err, fmt.Errorf("end reading: %w", rollback))
			return
		}
		r.free <- s
	}()
	return fn(&Tx{db: db, runner: s.conn, session: s})
}

// discard gives a broken session up; its place stays.
func (r *readers) discard(s *session) {
	_ = s.end() // it is broken: that it cannot be closed well is no news
	r.free <- nil
}

// release ends the sessions that nobody uses now.
func (r *readers) release() error {
	var errs []error
	for range cap(r.free) {
		select {
		case s := <-r.free:
			if s != nil {
				errs = append(errs, s.end())
			}
			r.free <- nil
		default:
			return errors.Join(errs...) // the others are in use
		}
	}
	return errors.Join(errs...)
}

// close waits for every reader to finish and closes it.
func (r *readers) close() error {
	var errs []error
	for range cap(r.free) {
		if s := <-r.free; s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}
