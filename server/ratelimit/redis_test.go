package ratelimit_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bm/server/op"
	"bm/server/ratelimit"
	"bm/server/ratelimit/redistest"
)

func connect(t *testing.T, url string, limits ratelimit.Limits, logger *slog.Logger) *ratelimit.Redis {
	t.Helper()
	r, err := ratelimit.NewRedis(t.Context(), url, limits, time.Now, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Two processes admit together what is allowed, and not one more.
func TestRedisIsShared(t *testing.T) {
	server := redistest.Start(t)
	limits := ratelimit.Limits{Key: 100, Tenant: 150, IP: 1000, Auth: 7}
	processes := []*ratelimit.Redis{
		connect(t, server.URL(), limits, slog.New(slog.DiscardHandler)), connect(t, server.URL(), limits, slog.New(slog.DiscardHandler)),
	}
	var admitted [2]atomic.Int64
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 50 {
				key := i % 2
				v, err := processes[worker%2].Admit(t.Context(), op.RateRequest{KeyID: fmt.Sprint("k", key), TenantID: "t"})
				switch {
				case err != nil:
					t.Error(err)
				case v.Allowed:
					admitted[key].Add(1)
				case v.RetryAfter <= 0 || v.RetryAfter > 2*time.Minute || v.Remaining != 0:
					t.Errorf("refused with %+v", v)
				}
			}
		})
	}
	wg.Wait()
	a, b := admitted[0].Load(), admitted[1].Load()
	if a > 100 || b > 100 || a+b != 150 {
		t.Errorf("%d and %d admitted, want 150 in all and at most 100 of a key", a, b)
	}
	auth := op.RateRequest{Class: op.RateAuth, IP: netip.MustParseAddr("2001:db8::1")}
	for i := range 7 {
		if v, err := processes[i%2].Admit(t.Context(), auth); err != nil || !v.Allowed || v.Limit != 7 || v.Remaining != int64(6-i) {
			t.Fatalf("attempt %d: %+v, %v", i, v, err)
		}
	}
	auth.IP = netip.MustParseAddr("2001:db8::2") // the same network
	if v, err := processes[0].Admit(t.Context(), auth); err != nil || v.Allowed {
		t.Errorf("the eighth attempt: %+v, %v", v, err)
	}
}

// Without Redis a process counts for itself, says so once, and goes back.
func TestRedisGoesAway(t *testing.T) {
	server := redistest.Start(t)
	var log strings.Builder
	r := connect(t, server.URL(), ratelimit.Limits{Key: 3}, slog.New(slog.NewTextHandler(&log, nil)))
	request := op.RateRequest{KeyID: "k", TenantID: "t"}
	admit := func() op.RateVerdict {
		t.Helper()
		v, err := r.Admit(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	admit()
	server.End()
	var wg sync.WaitGroup
	for n := range 32 { // at the same moment
		wg.Go(func() {
			if _, err := r.Admit(t.Context(), op.RateRequest{KeyID: fmt.Sprint("other ", n), TenantID: "t"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 3 {
		if v := admit(); !v.Allowed || v.Remaining != int64(2-i) {
			t.Errorf("request %d without Redis: %+v", i, v)
		}
	}
	if v := admit(); v.Allowed {
		t.Errorf("the fourth without Redis: %+v", v)
	}
	if n := strings.Count(log.String(), "counted in this process alone"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	server.Begin()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(log.String(), "from Redis again"); time.Sleep(20 * time.Millisecond) {
		admit()
		if time.Now().After(deadline) {
			t.Fatal("never goes back to Redis")
		}
	}
}

// A clock that is set back does not keep a process from Redis for so long.
func TestRedisAfterTheClockWasSetBack(t *testing.T) {
	server := redistest.Start(t)
	var log strings.Builder
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r, err := ratelimit.NewRedis(t.Context(), server.URL(), ratelimit.Limits{Key: 3}, func() time.Time { return at }, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	admit := func() {
		t.Helper()
		if _, err := r.Admit(t.Context(), op.RateRequest{KeyID: "k", TenantID: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	server.End()
	admit()
	server.Begin()
	at = at.AddDate(-1, 0, 0)
	admit()
	if !strings.Contains(log.String(), "from Redis again") {
		t.Errorf("a year is waited:\n%s", log.String())
	}
}

func TestRedisIsNotThere(t *testing.T) {
	for url, want := range map[string]string{
		"redis://:secret@127.0.0.1:1/": "reach Redis at 127.0.0.1:1",
		"ftp://:secret@x/":             "read the address of Redis",
		"redis://:secret@x:y/":         "read the address of Redis",
	} {
		_, err := ratelimit.NewRedis(t.Context(), url, ratelimit.Stated(), time.Now, slog.Default())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
