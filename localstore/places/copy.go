package places

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// ErrBusy says that a browser rewrote its database whenever it was copied.
var ErrBusy = errors.New("the browser is rewriting its database")

// What stands beside a database: the journal of a transaction that was cut off,
// or the write-ahead log. The log's index (-shm) is made anew from the log.
const (
	journalSuffix = "-journal"
	logSuffix     = "-wal"
)

// tries is how often a copy is begun, and firstPause what is waited before the
// second time; before each next time it is twice as long.
const (
	tries      = 6
	firstPause = 10 * time.Millisecond
)

// Copy copies a database into a folder as it stood at one moment, and answers
// the name of the copy. The browser may go on writing: see [moment].
func Copy(ctx context.Context, from, dir string) (string, error) {
	to := filepath.Join(dir, filepath.Base(from))
	pause := firstPause
	for range tries {
		same, err := copyOnce(ctx, from, to)
		if err != nil {
			return "", fmt.Errorf("copy %s: %w", from, err)
		}
		if same {
			return to, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause *= 2
		case <-ctx.Done():
			timer.Stop()
			return "", ctx.Err()
		}
	}
	return "", fmt.Errorf("copy %s: %w", from, ErrBusy)
}

// copyOnce reports whether what it has copied belongs together. The log comes
// last: what went from it into the file meanwhile is in it still.
func copyOnce(ctx context.Context, from, to string) (bool, error) {
	before, err := look(from)
	if err != nil {
		return false, err
	}
	if err := copyFile(ctx, from, to); err != nil {
		return false, err
	}
	for _, suffix := range []string{journalSuffix, logSuffix} {
		err := copyFile(ctx, from+suffix, to+suffix)
		if errors.Is(err, os.ErrNotExist) {
			err = os.Remove(to + suffix) // of a copy that did not succeed
			if errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return false, err
		}
	}
	after, err := look(from)
	return err == nil && after == before, err
}

// moment tells whether a database was rewritten between two looks at it.
//
// A database with a log is only appended to: its file changes when what is in
// the log is brought over, and then the log still has all of that, so that a
// file which was copied half before and half after it is made whole by the log;
// what was appended while the log was copied is known by its checksums, and
// ignored where it is not whole. Only when the log begins anew is that lost, and
// then it has another header, which holds random numbers. Without a log every
// transaction changes the file, and counts itself in the file's header.
type moment struct {
	log           [logHeader]byte
	file, journal state
}

// state is what a file looked like; zero where there is none.
type state struct {
	size    int64
	changed time.Time
	header  [fileHeader]byte
}

// How long the headers are that SQLite's file formats begin with.
const (
	fileHeader = 100
	logHeader  = 32
)

func look(database string) (moment, error) {
	var m moment
	log, err := open(database + logSuffix)
	switch {
	case err == nil:
		defer func() { _ = log.Close() }() // it was only read
		_, err = io.ReadFull(log, m.log[:])
		if err == nil {
			return m, nil
		}
		m.log = [logHeader]byte{} // an empty log, or one that is being begun
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return m, err
		}
	case !errors.Is(err, os.ErrNotExist):
		return m, err
	}
	if m.file, err = stateOf(database); err != nil {
		return m, err
	}
	m.journal, err = stateOf(database + journalSuffix)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return m, err
}

func stateOf(name string) (state, error) {
	file, err := open(name)
	if err != nil {
		return state{}, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return state{}, err
	}
	s := state{size: info.Size(), changed: info.ModTime()}
	if _, err := io.ReadFull(file, s.header[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return state{}, err
	}
	return s, nil
}

// open opens a file to be read, and nothing else: a pipe would have its reader wait
// for ever, and could not be interrupted.
func open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no file", ErrForeign, filepath.Base(name))
	}
	return os.Open(name)
}

// copyFile copies a file, and can be interrupted.
func copyFile(ctx context.Context, from, to string) error {
	src, err := open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // it was only read
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, until{ctx, src})
	return errors.Join(err, dst.Close())
}

// until reads until nobody waits any more.
type until struct {
	ctx context.Context
	src io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.src.Read(p)
}
