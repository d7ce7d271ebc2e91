package sqldb

import "context"

// MigrateTo brings an empty database to an older schema.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	provider, err := db.migrator()
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, version)
	return err
}
