//go:build unix

package main_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bm/server/api/needtest"
)

// nobody is a user that owns nothing of the test's.
const nobody = 65534

// openDir is a folder of the test's that every user can look into.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != filepath.Dir(os.TempDir()) && len(at) > 1; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.Mode().Perm()&0o055 != 0o055 {
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// A home that can't be written can be read: a snapshot, another's, or one on a
// medium that is full of faults.
func TestAReadOnlyHomeIsRead(t *testing.T) {
	if os.Getuid() != 0 {
		needtest.Missing(t, "root", "nobody else can be somebody else")
	}
	dir := openDir(t)
	program := buildBM(t, dir)
	for name, owner := range map[string]int{"its own": nobody, "another's": 0} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(dir, strings.ReplaceAll(name, "'", ""))
			replica := filepath.Join(home, "d", "profiles", "default")
			bm := func(as int, args ...string) (string, string, int) {
				t.Helper()
				cmd := exec.Command(program, args...)
				cmd.Dir = "/"
				cmd.Env = []string{
					"HOME=" + home, "BM_CONFIG_DIR=" + filepath.Join(home, "c"), "BM_DATA_DIR=" + filepath.Join(home, "d"),
					"BM_DAEMON_AUTOSTART=false", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + filepath.Join(home, "none"),
				}
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(as), Gid: uint32(as)}}
				var out, said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &said
				err := cmd.Run()
				exit := (*exec.ExitError)(nil)
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				return out.String(), said.String(), cmd.ProcessState.ExitCode()
			}
			if _, said, code := bm(0, "add", "https://go.dev", "--title", "Go"); code != 0 {
				t.Fatal(said)
			}
			err := filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				mode := fs.FileMode(0o444)
				if entry.IsDir() {
					mode = 0o555
				}
				if owner != 0 {
					mode &= 0o700
				}
				return errors.Join(os.Chown(path, owner, owner), os.Chmod(path, mode))
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"ls"}, {"search", "go"}, {"export"}, {"get", "https://go.dev"}} {
				out, said, code := bm(nobody, args...)
				if code != 0 || !strings.Contains(out, "go.dev") {
					t.Errorf("bm %s: exit %d\n%s%s", strings.Join(args, " "), code, out, said)
				}
				if open := strings.Contains(said, "warning: others can read "+filepath.Join(home, "d")); open != (owner == 0) {
					t.Errorf("bm %s says %q", strings.Join(args, " "), said)
				}
			}
			_, said, code := bm(nobody, "add", "https://sqlite.org")
			if code != 1 || !strings.Contains(said, "can only be read: "+replica+" can't be written.\n  try: ls -ld "+replica) {
				t.Errorf("an edit: exit %d, %q", code, said)
			}
			out, _, code := bm(nobody, "doctor")
			if code != 1 || strings.Contains(out, "--repair") || !strings.Contains(out, "local copy\tnote\tit can only be read: "+replica) {
				t.Errorf("doctor: exit %d\n%s", code, out)
			}
			// One that an older bm left is read as it is, also beside a log that
			// somebody else writes.
			db, err := sql.Open("sqlite", filepath.Join(replica, "replica.db"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err = db.Exec(`DROP INDEX journal_undone; PRAGMA user_version = 2`); err != nil {
				t.Fatal(err)
			}
			for _, when := range []string{"beside a log", "alone"} {
				if out, said, code := bm(nobody, "ls"); code != 0 || !strings.Contains(out, "go.dev") {
					t.Errorf("of an older bm, %s: exit %d\n%s%s", when, code, out, said)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			// A log that was left behind can't be read without writing: said, and
			// not passed over.
			if err := os.WriteFile(filepath.Join(replica, "replica.db-wal"), []byte("left"), 0o444); err != nil {
				t.Fatal(err)
			}
			_, said, code = bm(nobody, "ls")
			if code != 1 || !strings.Contains(said, "can't be opened: "+replica+" can't be written, which") {
				t.Errorf("with a log: exit %d, %q", code, said)
			}
		})
	}
}

// What the local copy could not follow is not done on the server: it would be done
// again, once the copy can be written.
func TestAReadOnlyHomeChangesNoServer(t *testing.T) {
	if os.Getuid() != 0 {
		needtest.Missing(t, "root", "nobody else can be somebody else")
	}
	dir := openDir(t)
	w := &world{t: t, dir: dir, program: buildBM(t, dir), data: filepath.Join(dir, "server"), addr: freeAddr(t)}
	w.serve()
	m := w.machine("ada")
	m.register()
	m.run("workspace", "create", "Work")
	m.run("workspace", "create", "Old")
	m.run("workspace", "rm", "old", "--yes")
	before := m.run("api", "GET", "/workspaces")
	home := filepath.Join(dir, "ada")
	err := filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
		mode := fs.FileMode(0o400)
		if err == nil && entry.IsDir() {
			mode = 0o500
		}
		return errors.Join(err, os.Chown(path, nobody, nobody), os.Chmod(path, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"workspace", "create", "New"}, {"workspace", "rename", "work", "New"}, {"workspace", "rm", "work", "--yes"}, {"workspace", "restore", "old"}, {"key", "rotate", "--yes"},
	} {
		cmd := exec.Command(w.program, args...)
		cmd.Dir, cmd.Env = "/", m.env
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("bm %s: exit %d, %v, %s", strings.Join(args, " "), code, err, out)
		}
	}
	if after := m.run("api", "GET", "/workspaces"); after != before {
		t.Errorf("the server has %s, and had %s", after, before)
	}
}

// A server's folder that is another user's is told as one, with what shows whose it
// is: that of a packaged server is root's.
func TestAServersFolderOfAnother(t *testing.T) {
	if os.Getuid() != 0 {
		needtest.Missing(t, "root", "nobody else can be somebody else")
	}
	dir := openDir(t)
	program := buildBM(t, dir)
	bm := func(as int, args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = "/"
		cmd.Env = []string{"HOME=" + dir, "BM_CONFIG_DIR=" + filepath.Join(dir, "c"), "BM_DATA_DIR=" + filepath.Join(dir, "d")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(as), Gid: uint32(as)}}
		cmd.Stdin = strings.NewReader("correct horse battery\n")
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return said.String(), cmd.ProcessState.ExitCode()
	}
	closed, file := filepath.Join(dir, "closed"), filepath.Join(dir, "closed", "srv", "bm.db")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("SQLite format 3\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"check"}, {"user", "ls"}, {"migrate"}, {"backup", "b.db"}} {
		said, code := bm(nobody, append([]string{"serve", "admin", "--data-dir", filepath.Dir(file)}, command...)...)
		if want := "bm: Can't look for the database: " + file + ": permission denied.\n  try: ls -ld " + closed + "\n"; code != 1 || said != want {
			t.Errorf("%s: exit %d, %q, want %q", command, code, said, want)
		}
	}
	said, code := bm(nobody, "serve", "admin", "restore", file, "--data-dir", filepath.Join(dir, "new"))
	if want := "bm: Can't open the backup: " + file + ": permission denied.\n  try: ls -ld " + closed + "\n"; code != 1 || said != want {
		t.Errorf("restore: exit %d, %q, want %q", code, said, want)
	}
	// What can't be made is not there to be looked at: its folder is.
	srv := filepath.Join(dir, "readable")
	if err := errors.Join(os.Mkdir(srv, 0o500), os.Chown(srv, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	said, code = bm(nobody, "serve", "--addr", "127.0.0.1:0", "--data-dir", srv)
	if want := "  try: ls -ld " + srv + "\n"; code != 1 || !strings.Contains(said, "permission denied") || !strings.HasSuffix(said, want) {
		t.Errorf("serve: exit %d, %q, want %q", code, said, want)
	}
}
