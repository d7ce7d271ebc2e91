package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/config"
	"bm/daemon/control"
)

// SyncLock is the file whose lock says which process syncs a profile.
func SyncLock(c *config.Config) string {
	return filepath.Join(c.Folders.ProfileData(c.ProfileName()), "sync.lock")
}

// Quiet has the daemon, where there is one, let go of its files until the answer
// is called.
func (a *App) Quiet(ctx context.Context) (awake func() error, err error) {
	d, err := a.Daemon()
	if err != nil {
		return nil, err
	}
	conn, err := d.Open(ctx, control.Request{Command: control.Quiesce})
	if errors.Is(err, control.ErrNotRunning) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := conn.Next(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn.Close, nil
}

// leaving is how long whoever syncs the profile may take to come to an end.
const leaving = 30 * time.Second

// migrating asks the running daemon to leave, since it is an older bm's and could
// only read what comes, and takes the profile's lock. Once that is done the
// daemon of this bm takes its place, and keeps the lock: who came second waits for
// it only while there is something left to do.
func (a *App) migrating(ctx context.Context, due func() bool) (done func() error, err error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	d, err := a.Daemon()
	if err != nil {
		return nil, err
	}
	_, err = d.Ask(ctx, control.Request{Command: control.Stop})
	if err != nil && !errors.Is(err, control.ErrNotRunning) {
		return nil, fmt.Errorf("ask the daemon to leave: %w", err)
	}
	left := err == nil
	defer func() {
		if left && err != nil {
			_ = a.StartDaemon(c.Folders) // else the next edit, or bm sync, does
		}
	}()
	lock := flock.New(SyncLock(c))
	err = lockWhile(ctx, lock, due)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, Fail(Conflict, "Another bm syncs this profile, whose local copy this one has to bring up to date.").
			Try("the same command once it is done").Because(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS): // then the copy can't be written either
	case err != nil:
		return nil, fmt.Errorf("take the profile's lock: %w", err)
	}
	return func() error {
		if err := lock.Unlock(); err != nil || !left {
			return err
		}
		if err := a.StartDaemon(c.Folders); err == nil {
			_, _ = a.DaemonAnswers(ctx) // the command may ask it for something next
		} // else the next edit, or bm sync, tries again
		return nil
	}, nil
}

// lockWhile waits for a lock for as long as there is something to do with it.
func lockWhile(ctx context.Context, lock *flock.Flock, due func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	for {
		if taken, err := lock.TryLock(); taken || err != nil || !due() {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
