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

// Connections is how many places there are.
func (db *DB) Connections() int { return db.Idle() + db.used() }

// Idle is how many places nobody has.
func (db *DB) Idle() int {
	db.places.mu.Lock()
	defer db.places.mu.Unlock()
	return db.places.free
}

// Waiting is how many wait for a place.
func (db *DB) Waiting() int {
	db.places.mu.Lock()
	defer db.places.mu.Unlock()
	return len(db.places.waiting)
}

func (db *DB) used() (n int) {
	db.places.mu.Lock()
	defer db.places.mu.Unlock()
	for _, has := range db.places.has {
		n += has
	}
	return n
}
