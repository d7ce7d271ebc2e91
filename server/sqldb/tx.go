package sqldb

import (
	"context"
	"database/sql"
)

// Tx is a transaction. It is used by one goroutine.
type Tx struct {
	db     *DB
	runner runner
	// session keeps the prepared statements on SQLite; PostgreSQL's driver
	// keeps its own.
	session *session
	// detached: a statement must not be interrupted, since SQLite would roll
	// back everything that shares the transaction. The context is looked at
	// between statements instead.
	detached    bool
	afterCommit []func()
}

type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Dialect says which database is underneath.
func (tx *Tx) Dialect() Dialect { return tx.db.dialect }

// Wanted reports whether another writing transaction may be waiting for this
// one's end. On PostgreSQL, where nobody can tell, it always may.
func (tx *Tx) Wanted() bool {
	return tx.db.dialect != SQLite || tx.db.group.wanted()
}

// AfterCommit has fn run once the transaction is on disk; not at all where it
// is rolled back.
func (tx *Tx) AfterCommit(fn func()) { tx.afterCommit = append(tx.afterCommit, fn) }

func (tx *Tx) committed() {
	for _, fn := range tx.afterCommit {
		fn()
	}
}

// ready looks at the context and finds the kept statement for text; nil where
// it is to be run as text.
func (tx *Tx) ready(ctx context.Context, text string) (context.Context, *sql.Stmt, error) {
	if watch := tx.db.watch.Load(); watch != nil {
		(*watch)(text)
	}
	if tx.detached {
		if err := ctx.Err(); err != nil {
			return ctx, nil, err
		}
		ctx = context.WithoutCancel(ctx)
	}
	if tx.session == nil {
		return ctx, nil, nil
	}
	stmt, err := tx.session.stmt(ctx, text)
	return ctx, stmt, err
}

func (tx *Tx) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	ctx, stmt, err := tx.ready(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return tx.runner.QueryContext(ctx, text, args...)
}

// Exec runs a statement and says how many rows it changed.
func (tx *Tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	ctx, stmt, err := tx.ready(ctx, text)
	if err != nil {
		return 0, err
	}
	var result sql.Result
	if stmt != nil {
		result, err = stmt.ExecContext(ctx, args...)
	} else {
		result, err = tx.runner.ExecContext(ctx, text, args...)
	}
	if err != nil {
		return 0, mapError(err)
	}
	n, err := result.RowsAffected()
	return n, mapError(err)
}

// Scanner is a row being read.
type Scanner interface{ Scan(dest ...any) error }

// Row reads the first row of a query into dest; [ErrNotFound] where there is none.
func (tx *Tx) Row(ctx context.Context, text string, args []any, dest ...any) error {
	found := false
	err := tx.Rows(ctx, text, args, func(row Scanner) error {
		if found {
			return nil
		}
		found = true
		return row.Scan(dest...)
	})
	if err == nil && !found {
		return ErrNotFound
	}
	return err
}

// Rows calls each for every row of a query, in order, and stops at its first
// error.
func (tx *Tx) Rows(ctx context.Context, text string, args []any, each func(Scanner) error) (err error) {
	rows, err := tx.query(ctx, text, args)
	if err != nil {
		return mapError(err)
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = mapError(closeErr)
		}
	}()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return mapError(rows.Err())
}
