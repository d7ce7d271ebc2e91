package ratelimit

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"bm/server/op"
)

// Limits are requests in the stated windows; 0 switches a scope off.
type Limits struct {
	Key    int // each API key, in 60 s
	Tenant int // the sum of a tenant's keys, in 60 s
	IP     int // each address on /api/v1, and wherever no other scope applies, in 60 s
	Auth   int // each address on the operations of signing in, in 900 s
}

// Stated are the limits of the specification.
func Stated() Limits { return Limits{Key: 600, Tenant: 6000, IP: 1200, Auth: 5} }

// Off is what the headers say where no scope applies.
const Off = 2147483647

const (
	window     = time.Minute
	authWindow = 15 * time.Minute
	// maxEntries bounds the memory under any number of distinct keys and
	// addresses: about 100 bytes each.
	maxEntries = 200_000
)

type kind uint8

const (
	byKey kind = iota
	byTenant
	byIP
	byAuth
)

type key struct {
	kind kind
	id   string
	ip   netip.Prefix
}

// counter holds the requests of a window and of the one before it.
type counter struct {
	start    int64 // of the current window, in its windows since 1970
	current  int64
	previous int64
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

// scope is one limit that a request counts against.
type scope struct {
	key    key
	limit  int64
	window time.Duration
}

func (m *Memory) scopes(request op.RateRequest, buffer []scope) []scope {
	add := func(k key, limit int, w time.Duration) {
		if limit > 0 {
			buffer = append(buffer, scope{k, int64(limit), w})
		}
	}
	address := network(request.IP)
	switch {
	case request.Class == op.RateNone:
		return buffer
	case request.Class == op.RateAuth:
		add(key{kind: byAuth, ip: address}, m.limits.Auth, authWindow)
	case request.KeyID != "":
		add(key{kind: byKey, id: request.KeyID}, m.limits.Key, window)
		add(key{kind: byTenant, id: request.TenantID}, m.limits.Tenant, window)
	}
	if request.Versioned || len(buffer) == 0 && request.KeyID == "" && request.Class != op.RateAuth {
		add(key{kind: byIP, ip: address}, m.limits.IP, window)
	}
	return buffer
}

// network is what an address counts as: IPv6 hosts own a whole /64.
func network(address netip.Addr) netip.Prefix {
	address = address.Unmap()
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, err := address.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{} // the zero address: no peer is known
	}
	return prefix
}

// Admit counts the request in every scope that it falls in, or in none where
// one of them is used up.
func (m *Memory) Admit(_ context.Context, request op.RateRequest) (op.RateVerdict, error) {
	var buffer [3]scope
	scopes := m.scopes(request, buffer[:0])
	now := m.now()
	verdict := op.RateVerdict{Allowed: true, Limit: Off, Remaining: Off, Reset: now.Truncate(window).Add(window)}
	if len(scopes) == 0 {
		return verdict, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var counters [3]*counter
	for i, s := range scopes {
		c := m.counter(s, now)
		counters[i] = c
		used, wait := c.usage(s, now)
		if wait > 0 && (verdict.Allowed || wait > verdict.RetryAfter) {
			verdict = op.RateVerdict{Limit: s.limit, Reset: windowEnd(s.window, now), RetryAfter: wait}
		}
		if verdict.Allowed && s.limit-used-1 < verdict.Remaining {
			verdict.Limit, verdict.Remaining, verdict.Reset = s.limit, s.limit-used-1, windowEnd(s.window, now)
		}
	}
	if verdict.Allowed {
		for i := range scopes {
			counters[i].current++
		}
	}
	return verdict, nil
}

func windowEnd(w time.Duration, now time.Time) time.Time { return now.Truncate(w).Add(w) }

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

// usage is how many requests count now, and how long to wait where one more
// is too many.
func (c *counter) usage(s scope, now time.Time) (used int64, wait time.Duration) {
	elapsed := now.Sub(now.Truncate(s.window))
	share := 1 - float64(elapsed)/float64(s.window)
	used = int64(float64(c.previous)*share) + c.current
	if used < s.limit {
		return used, 0
	}
	if c.current < s.limit {
		// Enough of the previous window has to slide out.
		free := 1 - float64(s.limit-c.current)/float64(c.previous)
		return used, max(time.Duration(free*float64(s.window))-elapsed, time.Millisecond)
	}
	// This window itself is full: it has to begin sliding out.
	free := 1 - float64(s.limit)/float64(c.current)
	return used, s.window - elapsed + time.Duration(free*float64(s.window)) + time.Millisecond
}
