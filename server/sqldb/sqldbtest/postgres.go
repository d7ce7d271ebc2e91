//go:build unix

package sqldbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver

	"bm/server/api/needtest"
)

var databases atomic.Int64

// Postgres is the URL of a new, empty database in a throwaway cluster that all
// tests of this machine's user share. Without PostgreSQL's binaries the test
// is skipped, or fails where BM_TEST_REQUIRE names postgres.
func Postgres(t testing.TB) string {
	t.Helper()
	socketDir, err := cluster()
	if err != nil {
		needtest.Missing(t, "postgres", "%v", err)
	}
	name := fmt.Sprintf("bm_%d_%d", os.Getpid(), databases.Add(1))
	admin, err := sql.Open("pgx", address(socketDir, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if _, err := admin.ExecContext(context.Background(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() {
		admin, err := sql.Open("pgx", address(socketDir, "postgres"))
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = admin.Close() }()
		if _, err := admin.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	return address(socketDir, name)
}

func address(socketDir, database string) string {
	return "postgres:///" + database + "?host=" + socketDir + "&user=bm"
}

// watcher stops the cluster when no process that took a lease has lived for a
// minute. It says so before it looks for the last time, so that a process
// which took its lease just then knows to wait and start anew.
const watcher = `
idle=0
while [ $idle -lt 12 ]; do
  sleep 5
  idle=$((idle + 1))
  for lease in leases/*; do
    [ -e "$lease" ] || continue
    if kill -0 "${lease##*/}" 2>/dev/null || [ -d "/proc/${lease##*/}" ]; then idle=0; else rm -f "$lease"; fi
  done
  if [ $idle -ge 12 ]; then
    : > stopping
    for lease in leases/*; do
      [ -e "$lease" ] && idle=0
    done
    [ $idle -eq 0 ] && rm -f stopping
  fi
done
"$0/pg_ctl" -D data -m immediate stop
rm -rf data stopping
`

// cluster starts the shared cluster, or finds it running, takes a lease on it
// for as long as this process lives, and returns the folder of its socket.
func cluster() (string, error) {
	bin, err := postgresBin()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(os.TempDir(), "bm-test-postgres-"+strconv.Itoa(os.Getuid()))
	leases := filepath.Join(dir, "leases")
	if err := os.MkdirAll(leases, 0o755); err != nil {
		return "", fmt.Errorf("make the cluster's folder: %w", err)
	}
	lock := flock.New(dir + ".lock")
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("lock the cluster: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if err := os.WriteFile(filepath.Join(leases, strconv.Itoa(os.Getpid())), nil, 0o644); err != nil {
		return "", fmt.Errorf("take a lease on the cluster: %w", err)
	}
	for wait := 0; stopping(dir) && wait < 300; wait++ {
		time.Sleep(100 * time.Millisecond)
	}
	if answers(dir) {
		return dir, nil
	}
	credential, owner, err := unprivileged()
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if err := os.RemoveAll(data); err != nil {
		return "", fmt.Errorf("remove the old cluster: %w", err)
	}
	if credential != nil {
		if err := errors.Join(os.Chmod(leases, 0o777), os.Chown(dir, int(credential.Uid), int(credential.Gid))); err != nil {
			return "", fmt.Errorf("hand the folder to %s: %w", owner, err)
		}
	}
	run := func(name string, args ...string) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...) //nolint:gosec // the names are constants
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setsid: true}
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, output)
		}
		return nil
	}
	if err := run("initdb", "-D", data, "-U", "bm", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"); err != nil {
		return "", err
	}
	options := fmt.Sprintf("-k %s -c listen_addresses='' -c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=300 -c shared_buffers=64MB", dir)
	if err := run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", options, "start"); err != nil {
		return "", err
	}
	watch := exec.Command("/bin/sh", "-c", watcher, bin) //nolint:noctx // it outlives this process on purpose
	watch.Dir = dir
	watch.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if credential != nil {
		watch.SysProcAttr.Credential = credential
	}
	if err := watch.Start(); err != nil {
		return "", fmt.Errorf("watch the cluster: %w", err)
	}
	return dir, watch.Process.Release()
}

func stopping(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "stopping"))
	return err == nil
}

func answers(dir string) bool {
	db, err := sql.Open("pgx", address(dir, "postgres"))
	if err != nil {
		return false
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return db.PingContext(ctx) == nil
}

// unprivileged is the credential to run PostgreSQL under, which refuses root.
func unprivileged() (*syscall.Credential, string, error) {
	if os.Getuid() != 0 {
		return nil, "", nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, "", fmt.Errorf("look up %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, name, nil
	}
	return nil, "", errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", fmt.Errorf("look for initdb: %w", err)
	}
	sort.Strings(found)
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("look for initdb: %w", err)
	}
	return filepath.Dir(path), nil
}
