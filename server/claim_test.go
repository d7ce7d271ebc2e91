package server_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"bm/server"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// Of servers that start on a new database at once, one makes its schema and
// all of them serve.
func TestFirstStartsTogether(t *testing.T) {
	config := complete(server.Config{DatabaseURL: sqldbtest.Postgres(t)})
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			s, err := server.New(context.Background(), config)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
}

// A server does nothing to a database that somebody has alone, keeps its claim
// on one that was started anew, and stops where it came too late for that.
func TestClaim(t *testing.T) {
	config := complete(server.Config{Dir: t.TempDir(), DatabaseURL: sqldbtest.Postgres(t)})
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: config.DatabaseURL})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	claim := func() (*sqldb.Claim, error) { return db.Claim(t.Context(), true) }
	release := func(c *sqldb.Claim) {
		t.Helper()
		if err := c.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	alone, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	err = server.Run(t.Context(), config, server.Listen{Addr: "127.0.0.1:0"}, func(string) { t.Error("it serves") })
	if !errors.Is(err, sqldb.ErrServing) {
		t.Errorf("a server beside somebody who has the database alone: %v", err)
	}
	if pending, err := db.Pending(t.Context()); err != nil || pending == 0 {
		t.Errorf("the refused server made the schema: %d pending, %v", pending, err)
	}
	release(alone)

	ready, done := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		done <- server.Run(ctx, config, server.Listen{Addr: "127.0.0.1:0"}, func(addr string) { ready <- addr })
	}()
	<-ready
	if _, err := claim(); !errors.Is(err, sqldb.ErrServing) {
		t.Fatalf("beside a server: %v", err)
	}
	cut := func() {
		t.Helper()
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cut()
	held := func() bool {
		c, err := claim()
		if err == nil {
			release(c)
		}
		return errors.Is(err, sqldb.ErrServing)
	}
	for deadline := time.Now().Add(20 * time.Second); !held(); {
		if time.Now().After(deadline) {
			t.Fatal("the server never took its claim again")
		}
	}
	// Whoever is quicker has it alone, and the server stops.
	for deadline := time.Now().Add(20 * time.Second); ; {
		cut()
		if alone, err = claim(); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the claim is never free")
		}
	}
	select {
	case err := <-done:
		if !errors.Is(err, sqldb.ErrServing) {
			t.Errorf("the server stopped with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server goes on beside somebody who has the database alone")
	}
	release(alone)
}

// A supervisor hears at once that a server is well which has served many.
func TestReadyAfterManyRequests(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	secret := string(servertest.Join(t, s, "ada").Secret)
	var calls sync.WaitGroup
	for range 40 {
		calls.Go(func() { call(t, "GET", s.URL+"/api/v1/me", secret, "") })
	}
	// All readers are in use, and are kept.
	held, free := make(chan struct{}, 8), make(chan struct{})
	for range 7 {
		calls.Go(func() {
			err := s.DB().Read(context.Background(), func(*sqldb.Tx) error {
				held <- struct{}{}
				<-free
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 7 {
		<-held
	}
	if a := call(t, "GET", s.URL+"/readyz", "", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	close(free)
	calls.Wait()
}
