package sqldb

import (
	"context"
	"fmt"
)

// Learn has PostgreSQL look at those tables of which a fifth has changed since
// it last did. By itself it does that once a minute at most: in the minute
// after an import it takes a workspace for one row, and deletes a folder in
// half a minute instead of a second. SQLite's statistics never change.
func (db *DB) Learn(ctx context.Context) error {
	if db.dialect != Postgres {
		return nil
	}
	var changed []string
	err := db.Read(ctx, func(tx *Tx) error {
		changed = nil
		return tx.Rows(ctx, `SELECT quote_ident(relname) FROM pg_stat_user_tables
			WHERE schemaname = current_schema() AND n_mod_since_analyze > 1000 + n_live_tup / 5`, nil, func(row Scanner) error {
			var table string
			err := row.Scan(&table)
			changed = append(changed, table)
			return err
		})
	})
	for _, table := range changed {
		if err == nil {
			err = db.Write(ctx, func(tx *Tx) error {
				_, err := tx.Exec(ctx, "ANALYZE "+table)
				return err
			})
		}
	}
	if err != nil {
		return fmt.Errorf("have the database look at its tables: %w", err)
	}
	return nil
}
