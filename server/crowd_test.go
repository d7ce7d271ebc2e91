package server_test

import (
	"context"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// Who has many requests wait for one workspace keeps nobody else waiting: on
// PostgreSQL each of them waits on a connection.
func TestACrowdLeavesRoomForOthers(t *testing.T) {
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t)}
	s := servertest.Start(t, config)
	ada, bob := servertest.Join(t, s, "ada"), servertest.Join(t, s, "bob")
	db := sqldbtest.Open(t, sqldb.Config{URL: config.DatabaseURL})
	ctx, enough := context.WithTimeout(t.Context(), time.Minute)
	defer enough()
	const crowd = 40
	answered := make(chan error, crowd)
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE workspace_head SET rev = rev WHERE workspace_id = $1`, ada.Workspace.ID); err != nil {
			return err
		}
		for range crowd {
			go func() {
				_, err := ada.Key.CreateBookmark(ctx, client.InWorkspace(ada.Workspace.ID), api.BookmarkInput{Title: api.Some("x")})
				answered <- err
			}()
		}
		// A request at a time: the more of the crowd arrive, the fewer places there are.
		for waiting := 0; waiting < 12; {
			err := db.Read(ctx, func(tx *sqldb.Tx) error {
				return tx.Row(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`, nil, &waiting)
			})
			if err != nil {
				return err
			}
		}
		for range 50 {
			hurry, cancel := context.WithTimeout(ctx, 10*time.Second)
			_, err := bob.Key.CreateBookmark(hurry, client.InWorkspace(bob.Workspace.ID), api.BookmarkInput{Title: api.Some("x")})
			cancel()
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("bob waits with the crowd: %v", err)
	}
	for range crowd {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}
