package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What a statement can fail with that its caller is meant to handle. They are
// wrapped around the driver's own error, which stays in the chain for the log.
var (
	// ErrNotFound: no row where one was asked for.
	ErrNotFound = errors.New("no such row")
	// ErrConflict: a unique key is taken.
	ErrConflict = errors.New("a unique key is taken")
	// ErrReference: a row that is referred to does not exist, or one that is
	// still referred to was to be removed.
	ErrReference = errors.New("a reference does not hold")
	// ErrUnavailable: the database cannot be reached, is full or too busy;
	// trying again later may help.
	ErrUnavailable = errors.New("the database is not available")
	// ErrUnknown: the database's answer to a commit was lost. What the transaction
	// did holds, or it does not. It comes with ErrUnavailable.
	ErrUnknown = errors.New("whether it was committed is not known")
	// ErrDamaged: the file is no database, or no longer one.
	ErrDamaged = errors.New("the database is damaged")
)

// mapError puts the driver's code into one of this package's errors.
func mapError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return mapSQLite(e)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return mapPostgres(e)
	}
	if lost(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// lost reports whether it is the connection that failed.
func lost(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.ErrUnexpectedEOF)
}

func mapSQLite(err *sqlite.Error) error {
	switch err.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return fmt.Errorf("%w: %w", ErrReference, err)
	}
	switch err.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

func mapPostgres(err *pgconn.PgError) error {
	switch err.Code {
	case "23505":
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case "23503":
		return fmt.Errorf("%w: %w", ErrReference, err)
	}
	switch {
	case err.SeverityUnlocalized == "FATAL", // it ended the connection, or let none begin
		slices.Contains([]string{"08", "53", "57"}, err.Code[:2]): // connection, resources, operator intervention
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// mapCommit is mapError of a commit on PostgreSQL.
func mapCommit(err error) error {
	e, answered := errors.AsType[*pgconn.PgError](err)
	if answered && e.SeverityUnlocalized != "FATAL" || errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, sql.ErrTxDone) {
		return mapError(err)
	}
	return fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrUnknown, err)
}

// transient reports whether running the whole transaction again may succeed:
// PostgreSQL chose it to break a deadlock or a serialization conflict.
func transient(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}
