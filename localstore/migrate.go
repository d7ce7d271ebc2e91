package localstore

import (
	"context"
	"embed"
	"fmt"
	"strconv"
)

// schema holds one script for each version, immutable once released. The
// version of a file is its user_version, which costs nothing to read: a
// migration library's table would take more time than a whole `bm ls`.
//
//go:embed schema/*.sql
var schema embed.FS

// latestSchema is the version that this build reads and writes.
const latestSchema = 3

// anySchema is more than any build will ever know: what says to have a newer one
// is damaged.
const anySchema = 9999

// migrate runs the scripts that the file lacks, each in a transaction of its
// own with its version. Another process may do so at the same moment, so the
// version is read again under the lock.
func (s *Store) migrate(ctx context.Context) error {
	if err := s.writer.setUp(ctx); err != nil {
		return err
	}
	for {
		done := false
		err := s.write(ctx, durable, func(tx *tx) error {
			if err := tx.row("PRAGMA user_version").Scan(&s.version); err != nil {
				return fmt.Errorf("read the schema's version: %w", err)
			}
			if s.version >= latestSchema {
				done = true
				return nil
			}
			next := s.version + 1
			script, err := schema.ReadFile(fmt.Sprintf("schema/%04d.sql", next))
			if err != nil {
				return fmt.Errorf("read the schema's script: %w", err)
			}
			if err := tx.script(string(script)); err != nil {
				return fmt.Errorf("run schema script %d: %w", next, schemaError(err))
			}
			if next == 1 {
				if err := tx.createIndex(); err != nil {
					return err
				}
			}
			if err := tx.script("PRAGMA user_version = " + strconv.Itoa(next)); err != nil {
				return fmt.Errorf("note the schema's version: %w", err)
			}
			s.version = next
			return nil
		})
		if err != nil || done {
			return err
		}
	}
}
