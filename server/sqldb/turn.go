package sqldb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// turns lets what has one name come one after the other, within this process.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

type turn struct {
	free  chan struct{} // holds one while nobody has it
	users int           // have it or wait for it
}

// take waits for the name's turn; done ends it.
func (t *turns) take(ctx context.Context, name string) (done func(), err error) {
	t.mu.Lock()
	own := t.of[name]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		if t.of == nil {
			t.of = map[string]*turn{}
		}
		t.of[name] = own
	}
	own.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.of, name)
		}
	}
	select {
	case <-own.free:
		return func() { own.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// InTurn runs fn while nothing else of that name runs, in this process or in
// another one on the same database. It is for works of many transactions; others
// do not wait for them.
func (db *DB) InTurn(ctx context.Context, name string, fn func() error) error {
	done, err := db.turns.take(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	// Two numbers are locks of another kind than one: none is that of a claim.
	sum := sha256.Sum256([]byte(name))
	first, second := int32(binary.BigEndian.Uint32(sum[:4])), int32(binary.BigEndian.Uint32(sum[4:8])) //nolint:gosec // any number will do
	return db.locked(ctx, `SELECT pg_advisory_lock($1::int, $2::int)`, []any{first, second}, fn)
}
