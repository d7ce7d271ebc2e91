package ratelimit

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"bm/server/op"
)

// maxEntries bounds the memory under any number of distinct keys and addresses:
// about 100 bytes each.
const maxEntries = 200_000

// counter is what is counted of one key.
type counter struct {
	start int64 // of the current window, in its windows since 1970
	counts
}

// Memory counts in this process.
type Memory struct {
	limits Limits
	now    func() time.Time

	mu       sync.Mutex
	counters map[key]*counter
}

// NewMemory makes a limiter; now is its clock.
func NewMemory(limits Limits, now func() time.Time) *Memory {
	return &Memory{limits: limits, now: now, counters: map[key]*counter{}}
}

// Admit counts the request in every scope that it falls in, or in none where
// one of them is used up.
func (m *Memory) Admit(_ context.Context, request op.RateRequest) (op.RateVerdict, error) {
	var buffer [maxScopes]scope
	scopes := m.limits.scopes(request, buffer[:0])
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	var counters [maxScopes]*counter
	var counted [maxScopes]counts
	for i, s := range scopes {
		counters[i] = m.counter(s, now)
		counted[i] = counters[i].counts
	}
	verdict := judge(scopes, counted[:len(scopes)], now)
	if verdict.Allowed {
		for i := range scopes {
			counters[i].current++
		}
	}
	return verdict, nil
}

// failures is the scope of an address's credentials that are none: as many as
// it has requests.
func (m *Memory) failures(ip netip.Addr) scope {
	return scope{key{kind: byFailure, ip: network(ip)}, int64(m.limits.IP), window}
}

// Failed counts a credential that is none.
func (m *Memory) Failed(ip netip.Addr) {
	if m.limits.IP == 0 {
		return
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counter(m.failures(ip), now).current++
}

// Doubts is how long none of the address is looked up.
func (m *Memory) Doubts(ip netip.Addr) time.Duration {
	s := m.failures(ip)
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counters[s.key] == nil {
		return 0
	}
	_, wait := m.counter(s, now).usage(s, now)
	return wait
}

// counter finds a key's counter, moved on to the present window.
func (m *Memory) counter(s scope, now time.Time) *counter {
	start := now.UnixNano() / int64(s.window)
	c := m.counters[s.key]
	if c == nil {
		if len(m.counters) >= maxEntries {
			m.evict(now)
		}
		c = &counter{start: start}
		m.counters[s.key] = c
	}
	switch start {
	case c.start:
	case c.start + 1:
		c.start, c.previous, c.current = start, c.current, 0
	default: // long ago, or the clock was set back
		*c = counter{start: start}
	}
	return c
}

// evict makes room: what counts no more goes, and where all still count, a
// tenth of them.
func (m *Memory) evict(now time.Time) {
	for k, c := range m.counters {
		w := window
		if k.kind == byAuth {
			w = authWindow
		}
		if c.start+1 < now.UnixNano()/int64(w) {
			delete(m.counters, k)
		}
	}
	excess := len(m.counters) - maxEntries*9/10
	for k := range m.counters {
		if excess <= 0 {
			return
		}
		delete(m.counters, k)
		excess--
	}
}
