package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bm/server/sqldb"
	"bm/server/tree"
)

// Backup writes all that was committed by now into a new SQLite file, while
// servers go on. The file appears under its name once it is whole.
func Backup(ctx context.Context, db *sqldb.DB, path string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("write %s: %w", path, os.ErrExist)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".bm-backup-*")
	if err != nil {
		return fmt.Errorf("make room for the backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	part := filepath.Join(dir, sqldb.FileName)
	if db.Dialect() == sqldb.SQLite {
		err = db.CopyTo(ctx, part)
	} else {
		err = copyInto(ctx, db, dir)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	return nil
}

// copyInto makes a SQLite database of one on PostgreSQL, as one snapshot shows
// it.
func copyInto(ctx context.Context, from *sqldb.DB, dir string) (err error) {
	to, err := sqldb.Open(ctx, sqldb.Config{Dir: dir, Readers: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := to.Migrate(ctx); err != nil {
		return err
	}
	return copyAll(ctx, from, to, func(*sqldb.Tx) error { return nil })
}

// copyAll copies every table, and ends with last, in one transaction. One of
// the two is SQLite, which says what tables there are.
func copyAll(ctx context.Context, from, to *sqldb.DB, last func(*sqldb.Tx) error) error {
	lite := from
	if from.Dialect() == sqldb.Postgres {
		lite = to
	}
	var tables []table
	err := lite.Read(ctx, func(tx *sqldb.Tx) (err error) {
		tables, err = tablesOf(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	return from.Read(ctx, func(source *sqldb.Tx) error {
		return to.Write(ctx, func(target *sqldb.Tx) error {
			for _, t := range tables {
				if err := copyTable(ctx, source, target, t); err != nil {
					return err
				}
			}
			if err := afterCopy(ctx, target); err != nil {
				return err
			}
			return last(target)
		})
	})
}

// RestoreInto fills an empty database from a backup, and begins a new epoch in
// every workspace.
func RestoreInto(ctx context.Context, to *sqldb.DB, backup string, newID func() string) (err error) {
	if empty, err := Empty(ctx, to); err != nil {
		return err
	} else if !empty {
		return ErrNotEmpty
	}
	// The backup itself is not touched: a copy of it is brought up to this
	// build's schema.
	dir, err := os.MkdirTemp("", "bm-restore-*")
	if err != nil {
		return fmt.Errorf("make room for the restore: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := Place(ctx, dir, backup); err != nil {
		return err
	}
	from, err := sqldb.Open(ctx, sqldb.Config{Dir: dir, Readers: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	return copyAll(ctx, from, to, func(tx *sqldb.Tx) error { return tree.MintEpochs(ctx, tx, newID) })
}

// Place puts a copy of a backup into a data folder as its database, with this
// build's schema.
func Place(ctx context.Context, dir, backup string) (err error) {
	path := filepath.Join(dir, sqldb.FileName)
	if err := copyDatabase(backup, path); err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, sqldb.Config{Dir: dir, Readers: 1})
	if err != nil {
		return fmt.Errorf("%s is %w: %w", backup, ErrNoBackup, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, step := range []func() error{
		func() error { return whole(ctx, db) },
		// Before the schema is made: any database would have one after that.
		func() error { _, err := Empty(ctx, db); return err },
		func() error { _, err := db.Migrate(ctx); return err },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("%s is %w: %w", backup, ErrNoBackup, err)
		}
	}
	return nil
}

// whole refuses a file that is damaged: whoever restores it has no other way
// of learning so before it is too late.
func whole(ctx context.Context, db *sqldb.DB) error {
	var verdict string
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Row(ctx, `PRAGMA quick_check(1)`, nil, &verdict)
	})
	if err != nil {
		return fmt.Errorf("check the file: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("the file is damaged: %s", verdict)
	}
	return nil
}

// Renew begins a new epoch in every workspace of a data folder.
func Renew(ctx context.Context, dir string, newID func() string) (err error) {
	db, err := sqldb.Open(ctx, sqldb.Config{Dir: dir, Readers: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Write(ctx, func(tx *sqldb.Tx) error { return tree.MintEpochs(ctx, tx, newID) })
}
