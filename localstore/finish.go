package localstore

import (
	"context"
	"fmt"
)

// The merging of the index at the end of bulk work, in transactions of a few
// milliseconds each.
const (
	mergePages = 300
	maxMerges  = 64
)

// FinishBulk does what bulk work leaves behind, so that the next small edit does
// not pay for it: it merges the parts of the search index and moves the log into
// the file. It leaves gaps as bulk work does, and may be cut off at any point.
func (s *Store) FinishBulk(ctx context.Context) error {
	for range maxMerges {
		done := false
		err := s.write(ctx, refetchable, func(tx *tx) error {
			var before, after int64
			if err := tx.row(`SELECT total_changes()`).Scan(&before); err != nil {
				return err
			}
			if err := tx.run(`INSERT INTO search (search, rank) VALUES ('merge', ?)`, mergePages); err != nil {
				return err
			}
			if err := tx.row(`SELECT total_changes()`).Scan(&after); err != nil {
				return err
			}
			done = after-before < 2 // FTS5's own sign that nothing was left
			return nil
		})
		if err != nil {
			return fmt.Errorf("merge the search index: %w", err)
		}
		if done {
			break
		}
		if err := sleep(ctx, bulkGap); err != nil {
			return err
		}
	}
	if err := s.Checkpoint(ctx); err != nil || !s.lean {
		return err
	}
	return s.ReleaseMemory(ctx)
}
