package ratelimit

import (
	"net/netip"
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
	// maxScopes is how many scopes a request falls in at most.
	maxScopes = 3
)

type kind uint8

const (
	byKey kind = iota
	byTenant
	byIP
	byAuth
	byFailure // credentials of an address that are none
)

type key struct {
	kind kind
	id   string
	ip   netip.Prefix
}

// scope is one limit that a request counts against.
type scope struct {
	key    key
	limit  int64
	window time.Duration
}

// scopes are the limits that a request counts against.
func (l Limits) scopes(request op.RateRequest, buffer []scope) []scope {
	add := func(k key, limit int, w time.Duration) {
		if limit > 0 {
			buffer = append(buffer, scope{k, int64(limit), w})
		}
	}
	address := network(request.IP)
	switch {
	case request.Class == op.RateAuth:
		add(key{kind: byAuth, ip: address}, l.Auth, authWindow)
	case request.KeyID != "":
		add(key{kind: byKey, id: request.KeyID}, l.Key, window)
		add(key{kind: byTenant, id: request.TenantID}, l.Tenant, window)
	}
	if request.Versioned || len(buffer) == 0 && request.KeyID == "" && request.Class != op.RateAuth {
		add(key{kind: byIP, ip: address}, l.IP, window)
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

// counts are the requests of a key's present window and of the one before it.
type counts struct{ current, previous int64 }

// judge gives the verdict on one more request, where so many were counted in
// each of its scopes. The headers describe the scope with the fewest left.
func judge(scopes []scope, counted []counts, now time.Time) op.RateVerdict {
	verdict := op.RateVerdict{Allowed: true, Limit: Off, Remaining: Off, Reset: windowEnd(window, now)}
	for i, s := range scopes {
		used, wait := counted[i].usage(s, now)
		if wait > 0 && (verdict.Allowed || wait > verdict.RetryAfter) {
			verdict = op.RateVerdict{Limit: s.limit, Reset: windowEnd(s.window, now), RetryAfter: wait}
		}
		if verdict.Allowed && s.limit-used-1 < verdict.Remaining {
			verdict.Limit, verdict.Remaining, verdict.Reset = s.limit, s.limit-used-1, windowEnd(s.window, now)
		}
	}
	return verdict
}

func windowEnd(w time.Duration, now time.Time) time.Time { return now.Truncate(w).Add(w) }

// usage is how many requests count now, and how long to wait where one more
// is too many.
func (c counts) usage(s scope, now time.Time) (used int64, wait time.Duration) {
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
