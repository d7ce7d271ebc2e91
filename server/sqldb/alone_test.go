package sqldb

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func openBare(t *testing.T) *DB {
	t.Helper()
	db, err := Open(context.Background(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// What wants the writer's connection to itself gets it though there is always
// somebody waiting to write: an import ends so, and would never answer.
func TestMaintenanceGetsItsTurn(t *testing.T) {
	db := openBare(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var stop atomic.Bool
	var writers sync.WaitGroup
	waiting := func() int {
		db.group.mu.Lock()
		defer db.group.mu.Unlock()
		n := 0
		for _, w := range db.group.queue {
			if w.ctx == ctx { // one of these writers
				n++
			}
		}
		return n
	}
	// Each write sees to it, before it ends, that another waits.
	var write func()
	write = func() {
		_ = db.Write(ctx, func(*Tx) error {
			if !stop.Load() {
				writers.Go(write)
				for waiting() == 0 && ctx.Err() == nil {
					runtime.Gosched()
				}
			}
			return nil
		})
	}
	writers.Go(write)
	defer writers.Wait()
	defer stop.Store(true)
	turn, giveUp := context.WithTimeout(ctx, 5*time.Second)
	defer giveUp()
	if err := db.Release(turn); err != nil {
		t.Error(err)
	}
	if err := db.Checkpoint(turn); err != nil {
		t.Error(err)
	}
}

// Who withdraws from the queue is not run later.
func TestMaintenanceCanBeGivenUp(t *testing.T) {
	db := openBare(t)
	ctx, cancel := context.WithCancel(context.Background())
	ran := false
	err := db.Write(context.Background(), func(*Tx) error {
		cancel()
		if err := db.group.exclusive(ctx, func() error { ran = true; return nil }); err == nil {
			t.Error("it had the connection beside a transaction")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.group.exclusive(context.Background(), func() error { return nil }); err != nil || ran {
		t.Errorf("what was given up ran: %v; %v", ran, err)
	}
}

// The statements that frame transactions run however many others are kept.
func TestFramesNeedNoPlaceAmongTheKept(t *testing.T) {
	db := openBare(t)
	ctx := context.Background()
	err := db.Write(ctx, func(tx *Tx) error {
		for n := range maxStatements {
			if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT %d", n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoint(ctx); err != nil {
		t.Error(err)
	}
}

// A long transaction learns that it is wanted gone: by who waits behind it, and
// by who shares its commit.
func TestALongTransactionIsWanted(t *testing.T) {
	db := openBare(t)
	ctx := context.Background()
	queued := func() int {
		db.group.mu.Lock()
		defer db.group.mu.Unlock()
		return len(db.group.queue)
	}
	var others sync.WaitGroup
	defer others.Wait()
	behind := func(fn func(*Tx) error) {
		before := queued()
		others.Go(func() {
			if err := db.Write(ctx, fn); err != nil {
				t.Error(err)
			}
		})
		for queued() == before {
			runtime.Gosched()
		}
	}
	err := db.Write(ctx, func(tx *Tx) error {
		if tx.Wanted() {
			t.Error("alone, and wanted")
		}
		behind(func(tx *Tx) error {
			if !tx.Wanted() {
				t.Error("the one before it waits for this one's end, and nobody says so")
			}
			return nil
		})
		if !tx.Wanted() {
			t.Error("another waits, and nobody says so")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	others.Wait()
	err = db.Write(ctx, func(tx *Tx) error {
		if tx.Wanted() {
			t.Error("alone again, and wanted still")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
