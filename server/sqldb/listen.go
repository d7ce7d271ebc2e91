package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Notify tells every process that listens on a PostgreSQL channel, once the
// transaction is committed. It does nothing on SQLite, which serves one.
func (tx *Tx) Notify(ctx context.Context, channel, payload string) error {
	if tx.db.dialect != Postgres {
		return nil
	}
	if _, err := tx.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, payload); err != nil {
		return fmt.Errorf("notify the other servers: %w", err)
	}
	return nil
}

// listenRetry is how long a broken connection is left alone.
const listenRetry = 2 * time.Second

// Listen calls each for what is notified on a PostgreSQL channel, from a
// connection of its own, until ctx ends. What was notified while there was no
// connection is lost: again is called with why there was none, and after each
// new start. On SQLite it returns at once.
func (db *DB) Listen(ctx context.Context, channel string, each func(payload string), again func(lost error)) {
	if db.dialect != Postgres {
		return
	}
	for ctx.Err() == nil {
		err := db.listen(ctx, channel, each, again)
		if ctx.Err() != nil {
			return
		}
		again(err)
		timer := time.NewTimer(listenRetry)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (db *DB) listen(ctx context.Context, channel string, each func(string), again func(error)) error {
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return fmt.Errorf("connect to listen: %w", mapError(err))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it only read
	if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", mapError(err))
	}
	again(nil)
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("wait for a notification: %w", mapError(err))
		}
		each(notice.Payload)
	}
}
