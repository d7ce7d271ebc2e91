package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// CopyTo writes all that was committed by now into a new SQLite file, beside
// whatever else goes on. It is for SQLite alone.
func (db *DB) CopyTo(ctx context.Context, path string) (err error) {
	conn, err := sql.Open("sqlite", dsn(db.path, false))
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// Made here, so that no other user can read it even for a moment; SQLite
	// takes an empty file.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the file: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("make the file: %w", err)
	}
	if _, err := conn.ExecContext(ctx, `VACUUM INTO $1`, path); err != nil {
		return fmt.Errorf("copy the database: %w", mapError(err))
	}
	return syncFile(path)
}

// Fold moves all of the log into the SQLite file, so that the file is complete
// without it; [ErrUnavailable] where somebody still reads an older state.
func (db *DB) Fold(ctx context.Context) (err error) {
	conn, err := sql.Open("sqlite", dsn(db.path, false))
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var busy, pages, moved int
	if err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved); err != nil {
		return fmt.Errorf("fold the log: %w", mapError(err))
	}
	if busy != 0 {
		return fmt.Errorf("fold the log: %w: another program uses the database", ErrUnavailable)
	}
	return nil
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("write the file to disk: %w", err)
	}
	if err := file.Sync(); err != nil {
		return errors.Join(fmt.Errorf("write the file to disk: %w", err), file.Close())
	}
	return file.Close()
}

// serving is the advisory lock that servers share on PostgreSQL, and that who
// needs them stopped has alone.
const serving = 0x626d2e73 // "bm.s"

// ErrServing says that servers use the database.
var ErrServing = errors.New("a server is using the database")

// Claim holds PostgreSQL's advisory lock: with other servers, or alone. It
// dies with its connection. On SQLite the data folder's lock does this, and it
// is nil.
type Claim struct{ conn *pgx.Conn }

// Claim takes the lock; [ErrServing] where that cannot be now.
func (db *DB) Claim(ctx context.Context, alone bool) (*Claim, error) {
	if db.dialect != Postgres {
		return nil, nil //nolint:nilnil // there is nothing to hold
	}
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return nil, fmt.Errorf("connect to claim the database: %w", mapError(err))
	}
	text := `SELECT pg_try_advisory_lock_shared($1)`
	if alone {
		text = `SELECT pg_try_advisory_lock($1)`
	}
	var ok bool
	err = conn.QueryRow(ctx, text, serving).Scan(&ok)
	if err == nil && !ok {
		err = ErrServing
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claim the database: %w", mapError(err)), conn.Close(ctx))
	}
	return &Claim{conn}, nil
}

// Release gives the lock up.
func (c *Claim) Release(ctx context.Context) error {
	if c == nil {
		return nil
	}
	if err := c.conn.Close(ctx); err != nil {
		return fmt.Errorf("release the database: %w", err)
	}
	return nil
}
