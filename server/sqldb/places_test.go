package sqldb_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// Whoever asks for more than there are connections leaves some for others, and
// where none is left, who has the fewest comes next.
func TestNobodyHasAllConnections(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		began := make(chan string, 100)
		end := map[string]chan struct{}{"greedy": make(chan struct{}), "second": make(chan struct{}), "third": make(chan struct{})}
		read := func(caller string) {
			// Those that still wait at the end are given up with the test.
			_ = db.Read(sqldb.For(ctx, caller), func(*sqldb.Tx) error {
				began <- caller
				<-end[caller]
				return nil
			})
		}
		for range 40 {
			go read("greedy")
		}
		defer func() {
			for _, open := range end {
				close(open)
			}
		}()
		greedy, others := db.Connections()*3/4, db.Connections()/4
		for range greedy {
			<-began
		}
		for range others {
			go read("second")
			if caller := <-began; caller != "second" {
				t.Fatalf("%s has the next place, of which it has %d", caller, greedy)
			}
		}
		given, give := context.WithCancel(sqldb.For(ctx, "third"))
		give()
		if err := db.Read(given, func(*sqldb.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("who left while it waited is told %v", err)
		}
		go read("third")
		for db.Waiting() < 40-greedy+1 {
			runtime.Gosched()
		}
		end["greedy"] <- struct{}{}
		if caller := <-began; caller != "third" {
			t.Errorf("the next is %s", caller)
		}
	})
}
