package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
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
