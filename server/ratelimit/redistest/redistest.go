// Package redistest starts a real Redis for a test.
package redistest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/server/api/needtest"
)

// Redis is a throwaway Redis server that listens on a socket of its own.
type Redis struct {
	t      testing.TB
	dir    string
	server *exec.Cmd
}

// Start starts one. Without Redis' program the test is skipped, or fails where
// BM_TEST_REQUIRE names redis.
func Start(t testing.TB) *Redis {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		needtest.Missing(t, "redis", "%v", err)
	}
	r := &Redis{t: t, dir: t.TempDir()}
	r.Begin()
	t.Cleanup(r.End)
	return r
}

// URL is where it is reached.
func (r *Redis) URL() string { return "unix://" + r.socket() }

func (r *Redis) socket() string { return filepath.Join(r.dir, "s") }

// Command has the server do something, by its own client program.
func (r *Redis) Command(args ...string) string {
	r.t.Helper()
	output, err := exec.Command("redis-cli", append([]string{"-s", r.socket()}, args...)...).CombinedOutput() //nolint:noctx // answers at once
	if err != nil {
		r.t.Fatalf("redis-cli %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// Begin starts the server, anew where it was ended.
func (r *Redis) Begin() {
	r.t.Helper()
	r.server = exec.Command("redis-server", "--port", "0", "--unixsocket", r.socket(), "--save", "", "--dir", r.dir) //nolint:noctx // ended by End
	if err := r.server.Start(); err != nil {
		r.t.Fatalf("start Redis: %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if exec.Command("redis-cli", "-s", r.socket(), "ping").Run() == nil { //nolint:noctx // answers at once
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatal("Redis does not answer")
		}
	}
}

// End ends the server; what it counted is gone.
func (r *Redis) End() {
	if r.server == nil {
		return
	}
	_ = r.server.Process.Kill()
	_ = r.server.Wait()
	r.server = nil
}
