package localstore

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// mapError gives the driver's codes the names of this package.
func mapError(err error) error {
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch failure.Code() {
	case sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_DATA, sqlite3.SQLITE_IOERR_CORRUPTFS:
		return fmt.Errorf("%w: %w", errLostPage, err)
	}
	switch failure.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %w", errCantOpen, err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	return err
}

// schemaError gives an error of a statement that is right for every sound file
// the name of what it means: the schema that the file holds says nonsense.
func schemaError(err error) error {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok && failure.Code()&0xff == sqlite3.SQLITE_ERROR {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
