package sqldb

import (
	"context"
	"slices"
	"sync"
)

type callerKey struct{}

// For says on whose behalf everything under ctx reads and writes. However much one
// caller asks for at once, some connections are left for others, and who has the
// fewest gets the next.
func For(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// places are those on the connections.
type places struct {
	most int // of one caller; the server's own work, which is nobody's, has no bound

	mu      sync.Mutex
	free    int
	has     map[string]int
	waiting []*waiter // in the order in which they came
}

type waiter struct {
	caller string
	turn   chan struct{} // closed when it has its place
}

func newPlaces(n int) *places {
	return &places{most: max(1, n*3/4), free: n, has: map[string]int{}}
}

// take waits for a place; leave gives it back.
func (p *places) take(ctx context.Context) (leave func(), err error) {
	caller, _ := ctx.Value(callerKey{}).(string)
	leave = func() { p.leave(caller) }
	p.mu.Lock()
	if p.free > 0 && p.may(caller) {
		p.give(caller)
		p.mu.Unlock()
		return leave, nil
	}
	w := &waiter{caller, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	select {
	case <-w.turn:
		return leave, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	n := slices.Index(p.waiting, w)
	if n >= 0 {
		p.waiting = slices.Delete(p.waiting, n, n+1)
	}
	p.mu.Unlock()
	if n < 0 { // its turn came in this moment
		leave()
	}
	return nil, ctx.Err()
}

func (p *places) may(caller string) bool { return caller == "" || p.has[caller] < p.most }

func (p *places) give(caller string) {
	p.free--
	p.has[caller]++
}

// leave hands the place on: to who has the fewest, and of those to who waits longest.
func (p *places) leave(caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if p.has[caller]--; p.has[caller] == 0 {
		delete(p.has, caller)
	}
	next := -1
	for n, w := range p.waiting {
		if p.may(w.caller) && (next < 0 || p.has[w.caller] < p.has[p.waiting[next].caller]) {
			next = n
		}
	}
	if next < 0 {
		return
	}
	w := p.waiting[next]
	p.waiting = slices.Delete(p.waiting, next, next+1)
	p.give(w.caller)
	close(w.turn)
}
