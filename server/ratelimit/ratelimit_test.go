package ratelimit_test

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bm/server/op"
	"bm/server/ratelimit"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func admit(t testing.TB, m *ratelimit.Memory, request op.RateRequest) op.RateVerdict {
	t.Helper()
	verdict, err := m.Admit(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func TestKeyAndTenantLimits(t *testing.T) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m := ratelimit.NewMemory(ratelimit.Limits{Key: 3, Tenant: 5}, c.now)
	request := func(key string) op.RateRequest { return op.RateRequest{KeyID: key, TenantID: "t"} }
	for i := range 3 {
		v := admit(t, m, request("a"))
		if !v.Allowed || v.Limit != 3 || v.Remaining != int64(2-i) {
			t.Fatalf("request %d: %+v", i, v)
		}
	}
	if v := admit(t, m, request("a")); v.Allowed || v.RetryAfter <= 0 || v.Limit != 3 {
		t.Errorf("the fourth of a key: %+v", v)
	}
	if v := admit(t, m, request("b")); !v.Allowed || v.Limit != 5 || v.Remaining != 1 {
		t.Errorf("another key, with the tenant's fewest left: %+v", v)
	}
	admit(t, m, request("b"))
	if v := admit(t, m, request("c")); v.Allowed || v.Limit != 5 {
		t.Errorf("the tenant's sum: %+v", v)
	}
	if v := admit(t, m, op.RateRequest{KeyID: "d", TenantID: "other"}); !v.Allowed {
		t.Errorf("another tenant: %+v", v)
	}
}

// Whoever waits as long as was said is admitted; a moment less is not enough.
func TestRetryAfterIsEnoughAndNeeded(t *testing.T) {
	for _, before := range []time.Duration{0, 10 * time.Second, 59 * time.Second} {
		c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(before)}
		m := ratelimit.NewMemory(ratelimit.Limits{Key: 10}, c.now)
		request := op.RateRequest{KeyID: "k", TenantID: "t"}
		for range 10 {
			admit(t, m, request)
		}
		v := admit(t, m, request)
		if v.Allowed {
			t.Fatal("the eleventh was admitted")
		}
		c.at = c.at.Add(v.RetryAfter - 2*time.Second)
		if admit(t, m, request).Allowed {
			t.Errorf("after %v: two seconds before the time that was said, it was admitted", before)
		}
		c.at = c.at.Add(2 * time.Second)
		if !admit(t, m, request).Allowed {
			t.Errorf("after %v: it was refused after waiting %v", before, v.RetryAfter)
		}
	}
}

func TestWindowSlides(t *testing.T) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m := ratelimit.NewMemory(ratelimit.Limits{IP: 60}, c.now)
	request := op.RateRequest{IP: netip.MustParseAddr("192.0.2.1")}
	// At a steady rate just under the limit nothing is ever refused.
	for i := range 600 {
		if v := admit(t, m, request); !v.Allowed {
			t.Fatalf("request %d at one a second was refused: %+v", i, v)
		}
		c.at = c.at.Add(1017 * time.Millisecond)
	}
	// A burst across the border of two windows does not get twice the limit.
	c.at = c.at.Truncate(time.Minute).Add(5*time.Minute + 59*time.Second)
	allowed := 0
	for range 200 {
		if admit(t, m, request).Allowed {
			allowed++
		}
		c.at = c.at.Add(10 * time.Millisecond)
	}
	if allowed > 62 {
		t.Errorf("a burst of %d got through a limit of 60", allowed)
	}
}

func TestAddressesCount(t *testing.T) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m := ratelimit.NewMemory(ratelimit.Limits{IP: 1, Auth: 1}, c.now)
	ip := func(text string) op.RateRequest { return op.RateRequest{IP: netip.MustParseAddr(text)} }
	if !admit(t, m, ip("2001:db8::1")).Allowed || admit(t, m, ip("2001:db8::2")).Allowed {
		t.Error("two hosts of one IPv6 /64 must share a budget")
	}
	if !admit(t, m, ip("2001:db8:0:1::1")).Allowed {
		t.Error("another /64 has its own")
	}
	if !admit(t, m, ip("192.0.2.1")).Allowed || admit(t, m, ip("::ffff:192.0.2.1")).Allowed {
		t.Error("an IPv4 address is the same when it comes mapped into IPv6")
	}
	auth := op.RateRequest{Class: op.RateAuth, IP: netip.MustParseAddr("192.0.2.1")}
	if v := admit(t, m, auth); !v.Allowed || v.Limit != 1 {
		t.Errorf("signing in has a budget of its own: %+v", v)
	}
	if v := admit(t, m, auth); v.Allowed || v.RetryAfter < time.Minute {
		t.Errorf("its window is 900 s: %+v", v)
	}
}

func TestOffSaysSo(t *testing.T) {
	m := ratelimit.NewMemory(ratelimit.Limits{}, time.Now)
	for _, request := range []op.RateRequest{{}, {KeyID: "k"}, {Class: op.RateAuth}, {Versioned: true}} {
		if v := admit(t, m, request); !v.Allowed || v.Limit != ratelimit.Off || v.Remaining != ratelimit.Off {
			t.Errorf("%+v: %+v", request, v)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	m := ratelimit.NewMemory(ratelimit.Limits{Key: 1 << 30, Tenant: 1 << 30, IP: 1 << 30}, time.Now)
	requests := make([]op.RateRequest, 1000)
	for i := range requests {
		requests[i] = op.RateRequest{KeyID: fmt.Sprint(i), TenantID: fmt.Sprint(i % 10), Versioned: true, IP: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		admit(b, m, requests[i%len(requests)])
	}
}

// A clock that is set back shuts nobody out until it has caught up.
func TestClockSetBack(t *testing.T) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m := ratelimit.NewMemory(ratelimit.Limits{Key: 3, Auth: 3}, c.now)
	key := op.RateRequest{KeyID: "k", TenantID: "t"}
	auth := op.RateRequest{Class: op.RateAuth, IP: netip.MustParseAddr("192.0.2.1")}
	for range 4 {
		admit(t, m, key)
		admit(t, m, auth)
	}
	c.at = c.at.AddDate(-1, 0, 0)
	for _, request := range []op.RateRequest{key, auth} {
		for i := range 3 {
			if v := admit(t, m, request); !v.Allowed || v.Remaining != int64(2-i) {
				t.Errorf("request %d a year before: %+v", i, v)
			}
		}
		if v := admit(t, m, request); v.Allowed || v.RetryAfter > 30*time.Minute {
			t.Errorf("the fourth: %+v", v)
		}
	}
}

// However many addresses ask, the memory is bounded, and whoever asks now is
// counted all the same.
func TestMemoryIsBounded(t *testing.T) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m := ratelimit.NewMemory(ratelimit.Limits{IP: 3}, c.now)
	ask := func(n int) op.RateVerdict {
		return admit(t, m, op.RateRequest{IP: netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})})
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const crowd = 1_000_000
	for n := range crowd {
		ask(n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d addresses cost %d MiB", crowd, grown>>20)
	}
	for range 2 {
		ask(crowd - 1)
	}
	if ask(crowd - 1).Allowed {
		t.Error("the latest address is not counted")
	}
}

// Many at once are counted one by one.
func TestCountsAtOnce(t *testing.T) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	m := ratelimit.NewMemory(ratelimit.Limits{Key: 100, Tenant: 150}, c.now)
	var allowed atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 50 {
				if admit(t, m, op.RateRequest{KeyID: fmt.Sprint(i % 2), TenantID: "t"}).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	group.Wait()
	if allowed.Load() != 150 {
		t.Errorf("%d were admitted, want the tenant's 150", allowed.Load())
	}
}
