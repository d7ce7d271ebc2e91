package server_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"bm/server"
	"bm/server/api/needtest"
)

// An administrator works on the folder of a server as root, and the server,
// which is another user, can use all of it afterwards.
func TestRootLeavesNothingOfItsOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		needtest.Missing(t, "root", "nobody else can be somebody else")
	}
	const user = 54321
	ctx, config := t.Context(), server.Config{Dir: t.TempDir(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	made, err := server.New(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(ctx); err != nil {
		t.Fatal(err)
	}
	owned := func(each func(path string, info fs.FileInfo) error) {
		t.Helper()
		err := filepath.Walk(config.Dir, func(path string, info fs.FileInfo, err error) error {
			if err != nil {
				return err
			}
			return each(path, info)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	owned(func(path string, _ fs.FileInfo) error { return os.Chown(path, user, user) })
	backup := filepath.Join(t.TempDir(), "backup.db")
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"backup", func(ctx context.Context) error {
			a, err := server.OpenAdmin(ctx, config)
			if err != nil {
				return err
			}
			defer func() { _ = a.Close(ctx) }()
			return a.Backup(ctx, backup)
		}},
		{"migrate", func(ctx context.Context) error {
			_, err := server.Migrate(ctx, config)
			return err
		}},
		{"restore", func(ctx context.Context) error {
			_, err := server.Restore(ctx, config, backup)
			return err
		}},
		{"a server's own", func(context.Context) error {
			lock, err := server.LockDir(config.Dir, "here")
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = lock.Release() })
			return nil
		}},
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		owned(func(path string, info fs.FileInfo) error {
			if owner := info.Sys().(*syscall.Stat_t); owner.Uid != user || owner.Gid != user {
				t.Errorf("after %s, %s is user %d's and group %d's", step.name, filepath.Base(path), owner.Uid, owner.Gid)
			}
			return nil
		})
	}
}
