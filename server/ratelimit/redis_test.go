package ratelimit_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bm/server/op"
	"bm/server/ratelimit"
	"bm/server/ratelimit/redistest"
	"bm/server/servertest"
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

// Whether a process lives has nothing to do with Redis, which is not asked.
func TestHealthDoesNotAskRedis(t *testing.T) {
	server := redistest.Start(t)
	var log strings.Builder
	r := connect(t, server.URL(), ratelimit.Limits{IP: 3}, slog.New(slog.NewTextHandler(&log, nil)))
	server.End()
	v, err := r.Admit(t.Context(), op.RateRequest{Class: op.RateHealth, IP: netip.MustParseAddr("192.0.2.1")})
	if err != nil || v.Limit != 3 || v.Remaining != 2 || log.Len() > 0 {
		t.Errorf("%+v, %v\n%s", v, err, log.String())
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

// freeAddr is an address of this machine that nobody serves on.
func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// An address says who connects, and where it is counted.
func TestRedisAddresses(t *testing.T) {
	server := redistest.Start(t)
	addr := freeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	server.Command("config", "set", "port", port)
	server.Command("acl", "setuser", "counter", "on", ">known", "~*", "+@all")
	server.Command("config", "set", "requirepass", "secret")
	socket := strings.TrimPrefix(server.URL(), "unix://")
	for db, address := range map[string]string{
		"0": "redis://:secret@" + addr,
		"3": "redis://counter:known@" + addr + "/3",
		"4": "unix://counter:known@" + socket + "?db=4",
		"5": "redis://counter:known@" + addr + "?db=5",
	} {
		r := connect(t, address, ratelimit.Limits{Key: 3}, slog.New(slog.DiscardHandler))
		if v, err := r.Admit(t.Context(), op.RateRequest{KeyID: "k" + db, TenantID: "t"}); err != nil || v.Remaining != 2 {
			t.Errorf("%s: %+v, %v", address, v, err)
		}
		if keys := server.Command("--no-auth-warning", "-a", "secret", "-n", db, "keys", "bm:rate:*"); !strings.HasSuffix(keys, "k"+db) {
			t.Errorf("%s: in database %s are %q", address, db, keys)
		}
	}
	for address, want := range map[string]string{
		"redis://" + addr:                       "NOAUTH",
		"redis://:wrong@" + addr:                "WRONGPASS",
		"redis://:secret@" + addr + "/300":      "index is out of range",
		"unix://:secret@" + socket + "?db=what": "db=what",
		"redis://:secret@" + addr + "?db=what":  "db=what",
		"unix://:secret@" + socket + ".none":    "no such file",
	} {
		_, err := ratelimit.NewRedis(t.Context(), address, ratelimit.Stated(), time.Now, slog.Default())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A connection that Redis has closed meanwhile is told from one that works.
func TestRedisClosesWhatIsIdle(t *testing.T) {
	server := redistest.Start(t)
	var log strings.Builder
	r := connect(t, server.URL(), ratelimit.Limits{Key: 9}, slog.New(slog.NewTextHandler(&log, nil)))
	request := op.RateRequest{KeyID: "k", TenantID: "t"}
	for i := range 3 {
		if v, err := r.Admit(t.Context(), request); err != nil || v.Remaining != int64(8-i) {
			t.Errorf("request %d: %+v, %v\n%s", i, v, err, log.String())
		}
		server.Command("client", "kill", "type", "normal", "skipme", "yes")
	}
}

// Redis that was started anew answers at once, however many of the connections
// to it are dead.
func TestRedisIsStartedAnew(t *testing.T) {
	server := redistest.Start(t)
	var log strings.Builder
	r := connect(t, server.URL(), ratelimit.Limits{Key: 9}, slog.New(slog.NewTextHandler(&log, nil)))
	server.Command("client", "pause", "100", "all") // so that they wait at the same time
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			if _, err := r.Admit(t.Context(), op.RateRequest{KeyID: fmt.Sprint("k", n), TenantID: "t"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(server.Command("client", "list", "type", "normal"), "\n"); n < 8 {
		t.Fatalf("there are %d connections", n)
	}
	server.End()
	server.Begin()
	if v, err := r.Admit(t.Context(), op.RateRequest{KeyID: "k0", TenantID: "t"}); err != nil || v.Remaining != 8 || log.Len() > 0 {
		t.Errorf("%+v, %v\n%s", v, err, log.String())
	}
}

// rediss:// speaks TLS, and not with anybody.
func TestRedisOverTLS(t *testing.T) {
	server := redistest.Start(t)
	cert, key := servertest.Certificate(t, t.TempDir()) // which nobody vouches for
	for name, value := range map[string]string{"tls-cert-file": cert, "tls-key-file": key, "tls-ca-cert-file": cert, "tls-auth-clients": "no"} {
		server.Command("config", "set", name, value)
	}
	_, port, _ := strings.Cut(freeAddr(t), ":")
	server.Command("config", "set", "tls-port", port)
	for address, want := range map[string]string{
		"rediss://127.0.0.1:" + port: "certificate signed by unknown authority",
		"redis://127.0.0.1:" + port:  "reach Redis at 127.0.0.1:" + port, // which takes what is plain for nonsense
	} {
		_, err := ratelimit.NewRedis(t.Context(), address, ratelimit.Stated(), time.Now, slog.Default())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestRedisIsNotThere(t *testing.T) {
	for url, want := range map[string]string{
		"redis://:secret@127.0.0.1:1/": "reach Redis at 127.0.0.1:1",
		"ftp://:secret@x/":             "read the address of Redis: ftp:// is not",
		"redis:secret":                 "read the address of Redis: it has no host",
		"redis://:secret@x:y/":         "read the address of Redis",
		"redis://:secret/x@h:6379/":    "in a password %2F stands for /",
	} {
		_, err := ratelimit.NewRedis(t.Context(), url, ratelimit.Stated(), time.Now, slog.Default())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
