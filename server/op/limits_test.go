package op_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"bm/server/api"
	"bm/server/op"
	"bm/server/ratelimit"
)

func declareClasses(r *op.Router) {
	nothing := func(context.Context, *op.Call, *struct{}) (op.None, error) { return op.None{}, nil }
	declare := func(s op.Spec, class op.RateClass) {
		s.Status, s.Rate = http.StatusNoContent, class
		op.Register(r, s, nothing)
	}
	declare(spec("plain", http.MethodGet, "/plain"), op.RateDefault)
	declare(spec("versioned", http.MethodGet, "/api/v1/versioned"), op.RateDefault)
	declare(public("open", http.MethodGet, "/open"), op.RateDefault)
	declare(public("login", http.MethodPost, "/login"), op.RateAuth)
	r.Page("GET /healthz", op.RateHealth, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

// budget is what an answer's headers say.
func budget(t *testing.T, a answer) (limit, remaining, reset int64) {
	t.Helper()
	number := func(name string) int64 {
		n, err := strconv.ParseInt(a.header.Get(name), 10, 64)
		if err != nil {
			t.Errorf("%s: %q", name, a.header.Get(name))
		}
		return n
	}
	return number("X-RateLimit-Limit"), number("X-RateLimit-Remaining"), number("X-RateLimit-Reset")
}

func limited(t *testing.T, limits ratelimit.Limits) *world {
	t.Helper()
	c := newClock()
	w := newWorld(t, declareClasses, func(d *op.Deps) {
		d.Limiter, d.Now = ratelimit.NewMemory(limits, c.now), c.now
	})
	w.clock = c
	return w
}

// The headers tell the scope with the fewest requests left.
func TestScopesOfLimits(t *testing.T) {
	limits := ratelimit.Limits{Key: 10, Tenant: 15, IP: 12, Auth: 2}
	for _, c := range []struct {
		name, method, path, token string
		limit                     int64
	}{
		{"a key", "GET", "/plain", "wide", 10},
		{"a key under /api/v1", "GET", "/api/v1/versioned", "wide", 10},
		{"a user", "GET", "/plain", "ada", 12},
		{"a user under /api/v1", "GET", "/api/v1/versioned", "ada", 12},
		{"nobody", "GET", "/open", "", 12},
		{"a wrong key", "GET", "/plain", "bmk_wrong", 12},
		{"signing in", "POST", "/login", "", 2},
		{"an unknown path", "GET", "/unknown", "", 12},
		{"a wrong method", "PUT", "/plain", "", 12},
		{"health", "GET", "/healthz", "", 12},
	} {
		w := limited(t, limits)
		a := w.do(t, c.method, c.path, c.token, "")
		limit, remaining, reset := budget(t, a)
		if limit != c.limit || remaining != c.limit-1 && c.limit != ratelimit.Off {
			t.Errorf("%s: %d of %d left", c.name, remaining, limit)
		}
		now := w.clock.now().Unix()
		if reset <= now || reset > now+900 {
			t.Errorf("%s: the reset is %d s away", c.name, reset-now)
		}
	}
}

func TestEachScopeLimits(t *testing.T) {
	for _, c := range []struct {
		name         string
		limits       ratelimit.Limits
		method, path string
		tokens       []string
		free         func(t *testing.T, w *world) // what is not limited by it
	}{
		{"key", ratelimit.Limits{Key: 3}, "GET", "/plain", []string{"wide"}, func(t *testing.T, w *world) {
			w.do(t, "GET", "/plain", "narrow", "").ok(t, 204)
			w.do(t, "GET", "/plain", "ada", "").ok(t, 204)
		}},
		{"tenant", ratelimit.Limits{Tenant: 3}, "GET", "/plain", []string{"wide", "narrow"}, func(t *testing.T, w *world) {
			w.do(t, "GET", "/plain", "ada", "").ok(t, 204)
		}},
		{"address", ratelimit.Limits{IP: 3}, "GET", "/api/v1/versioned", []string{"wide", "ada", "bob"}, func(t *testing.T, w *world) {
			w.do(t, "GET", "/plain", "wide", "").ok(t, 204)
			w.do(t, "GET", "/api/v1/versioned", "ada", "", "X-Test-IP", "192.0.2.9").ok(t, 204)
		}},
		{"signing in", ratelimit.Limits{Auth: 3}, "POST", "/login", []string{""}, func(t *testing.T, w *world) {
			w.do(t, "GET", "/open", "", "").ok(t, 204)
			w.do(t, "POST", "/login", "", "", "X-Test-IP", "192.0.2.9").ok(t, 204)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := limited(t, c.limits)
			for i := range 3 {
				w.do(t, c.method, c.path, c.tokens[i%len(c.tokens)], "").ok(t, 204)
			}
			a := w.do(t, c.method, c.path, c.tokens[0], "")
			a.want(t, api.CodeRateLimited)
			limit, remaining, _ := budget(t, a)
			wait, err := strconv.Atoi(a.header.Get("Retry-After"))
			if limit != 3 || remaining != 0 || err != nil || wait < 1 || wait > 1800 {
				t.Errorf("%d of %d left, Retry-After %q", remaining, limit, a.header.Get("Retry-After"))
			}
			c.free(t, w)
			w.clock.advance(time.Duration(wait) * time.Second)
			w.do(t, c.method, c.path, c.tokens[0], "").ok(t, 204)
		})
	}
}

func TestLimitsOff(t *testing.T) {
	w := limited(t, ratelimit.Limits{})
	for range 20 {
		for _, a := range []answer{
			w.do(t, "GET", "/plain", "wide", ""), w.do(t, "POST", "/login", "", ""), w.do(t, "GET", "/unknown", "", ""),
			w.do(t, "GET", "/plain", "", ""),
		} {
			if limit, remaining, _ := budget(t, a); limit != ratelimit.Off || remaining != ratelimit.Off || a.status == 429 {
				t.Fatalf("%d: %d of %d left", a.status, remaining, limit)
			}
		}
	}
}

// A supervisor is told how much is left like anybody, but never that it asks too
// often: it would take that for a server that has failed.
func TestHealthIsNeverRefused(t *testing.T) {
	w := limited(t, ratelimit.Limits{IP: 3})
	for _, left := range []int64{2, 1, 0, 0, 0} {
		a := w.do(t, "GET", "/healthz", "", "")
		a.ok(t, 200)
		if limit, remaining, _ := budget(t, a); limit != 3 || remaining != left {
			t.Errorf("%d of %d left, want %d", remaining, limit, left)
		}
	}
	w.do(t, "GET", "/open", "", "").want(t, api.CodeRateLimited)
}

// Guessing tokens is limited like anything else.
func TestWrongTokensCount(t *testing.T) {
	w := limited(t, ratelimit.Limits{IP: 3})
	for range 3 {
		w.do(t, "GET", "/plain", "wrong", "").want(t, api.CodeUnauthorized)
	}
	w.do(t, "GET", "/plain", "wrong", "").want(t, api.CodeRateLimited)
}
