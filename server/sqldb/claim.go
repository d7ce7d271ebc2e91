package sqldb

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The advisory locks on PostgreSQL: servers share the first, and who needs them
// stopped has it alone; the second is held while the schema is changed.
const (
	serving   = 0x626d2e73 // "bm.s"
	migrating = 0x626d2e6d // "bm.m"
)

// ErrServing says that servers use the database, or that somebody has it alone.
var ErrServing = errors.New("a server is using the database")

// Claim holds PostgreSQL's advisory lock: with other servers, or alone. It
// dies with its connection. On SQLite the data folder's lock does this, and it
// is nil.
type Claim struct {
	conn *pgx.Conn
	end  context.CancelFunc
	lost chan struct{}
}

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
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Claim{conn, end, make(chan struct{})}
	go func() {
		defer close(c.lost)
		for {
			// Nobody notifies this connection: the wait ends with it.
			if _, err := conn.WaitForNotification(watching); err != nil {
				return
			}
		}
	}()
	return c, nil
}

// Lost is closed when the lock was lost with its connection, as when the
// database is started anew. It is nil on SQLite.
func (c *Claim) Lost() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.lost
}

// Release gives the lock up.
func (c *Claim) Release(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.end()
	<-c.lost
	if err := c.conn.Close(ctx); err != nil {
		return fmt.Errorf("release the database: %w", err)
	}
	return nil
}

// exclusively runs fn while no other process does, on PostgreSQL.
func (db *DB) exclusively(ctx context.Context, lock int64, fn func() error) error {
	return db.locked(ctx, `SELECT pg_advisory_lock($1)`, []any{lock}, fn)
}

// locked runs fn while a connection of its own holds an advisory lock, on
// PostgreSQL.
func (db *DB) locked(ctx context.Context, text string, args []any, fn func() error) (err error) {
	if db.dialect != Postgres {
		return fn()
	}
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return fmt.Errorf("connect to lock the database: %w", mapError(err))
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, text, args...); err != nil {
		return fmt.Errorf("lock the database: %w", mapError(err))
	}
	return fn()
}
