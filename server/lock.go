package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"bm/server/sqldb"
)

// lockName is the file within a data folder that whoever serves it has locked.
const lockName = "server.lock"

// DirLock keeps a data folder to one server. It dies with its process.
type DirLock struct {
	lock    *flock.Flock
	note    string
	started time.Time
}

// holder is who has the lock.
type holder struct {
	PID     int       `json:"pid"`
	Addr    string    `json:"addr,omitempty"`
	Started time.Time `json:"started"`
}

// LockDir takes a data folder, which it makes where there is none, for this
// process; addr says who it is to whoever comes second.
func LockDir(dir, addr string) (*DirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	if err := closedToOthers(dir); err != nil {
		return nil, err
	}
	l := &DirLock{
		lock: flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600)), note: filepath.Join(dir, "server.json"),
		started: time.Now().UTC().Truncate(time.Second),
	}
	taken, err := l.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if !taken {
		return nil, l.held(dir)
	}
	if err := errors.Join(handOver(dir, l.lock.Path()), l.Note(addr)); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// Note says to whoever comes second on which address this process serves.
func (l *DirLock) Note(addr string) error {
	raw, err := json.Marshal(holder{PID: os.Getpid(), Addr: addr, Started: l.started})
	if err != nil {
		return fmt.Errorf("note who has the data folder: %w", err)
	}
	// Renamed, so that nobody reads half of it.
	part := l.note + ".part"
	if err := os.WriteFile(part, raw, 0o600); err != nil {
		return fmt.Errorf("note who has the data folder: %w", err)
	}
	if err := handOver(filepath.Dir(part), part); err != nil {
		return err
	}
	if err := os.Rename(part, l.note); err != nil {
		return fmt.Errorf("note who has the data folder: %w", err)
	}
	return nil
}

// ErrHeld says that another server has the data folder.
var ErrHeld = errors.New("another bm serve has the data folder")

func (l *DirLock) held(dir string) error {
	raw, err := os.ReadFile(l.note)
	var who holder
	if err != nil || json.Unmarshal(raw, &who) != nil || who.PID == 0 {
		return fmt.Errorf("%w %s", ErrHeld, dir)
	}
	where := ""
	if who.Addr != "" {
		where = " on " + who.Addr
	}
	return fmt.Errorf("%w %s: process %d%s, since %s", ErrHeld, dir, who.PID, where, who.Started.Format(time.RFC3339))
}

// Release gives the folder free.
func (l *DirLock) Release() error {
	// The note goes first: without the lock it would be another's.
	if err := os.Remove(l.note); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("release the data folder: %w", err), l.lock.Close())
	}
	if err := l.lock.Close(); err != nil {
		return fmt.Errorf("release the data folder: %w", err)
	}
	return nil
}

// errEverybodys says that a folder is not a server's to close.
var errEverybodys = errors.New("it is everybody's")

// ErrForeign says that a data folder was in use before any server's data came into
// it, and is not closed to those who may use it.
var ErrForeign = errors.New("it is open to others, and holds what is not the server's")

// closedToOthers closes a data folder, and the files in it, to the other users
// of the machine: they hold everybody's bookmarks, and what keys are checked
// against.
func closedToOthers(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // modes say nothing there
	}
	files, err := filepath.Glob(filepath.Join(dir, sqldb.FileName+"*"))
	if err != nil {
		return fmt.Errorf("look into the data folder: %w", err)
	}
	for _, path := range append([]string{dir}, files...) {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // the log of a database that was closed just now
		}
		if err != nil {
			return fmt.Errorf("look at the data folder: %w", err)
		}
		if info.Mode().Perm()&0o077 == 0 {
			continue
		}
		switch foreign, failed := holdsOthers(path, info); {
		case failed != nil:
			err = failed
		case info.Mode()&os.ModeSticky != 0: // root would close /tmp to everybody
			err = &os.PathError{Op: "chmod", Path: path, Err: errEverybodys}
		case foreign: // and /etc
			err = &os.PathError{Op: "chmod", Path: path, Err: ErrForeign}
		default:
			err = os.Chmod(path, info.Mode().Perm()&0o700)
		}
		if err != nil {
			return fmt.Errorf("keep others out of the data folder: %w", err)
		}
	}
	return nil
}

// holdsOthers reports whether a folder was in use before any server's data came
// into it. What a new disk holds by itself is no use.
func holdsOthers(path string, info os.FileInfo) (bool, error) {
	if !info.IsDir() {
		return false, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false, err
	}
	ours := slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return slices.Contains([]string{sqldb.FileName, lockName, spoolDir}, e.Name())
	})
	others := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "lost+found" })
	return others && !ours, nil
}
