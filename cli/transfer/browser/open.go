package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"bm/localstore/places"
)

// File is what a profile holds, as a file that is read.
type File struct {
	io.Reader
	Size int64 // in bytes; 0 where it is not known

	closers []func() error
}

// Close closes the file, and removes what was copied for it.
func (f *File) Close() error {
	var all error
	for i := len(f.closers) - 1; i >= 0; i-- {
		all = errors.Join(all, f.closers[i]())
	}
	f.closers = nil
	return all
}

// Copying is how that is copied which can't be read in its place.
type Copying struct {
	// Folder is where the copies go, which is made, and removed when the file is
	// closed; what a crash has left there is removed. One at a time uses it.
	Folder string
	// Waiting is called where another one does, before it is waited for.
	Waiting func()
	// Progress is told now and then how many bookmarks are copied; may be nil.
	Progress func(bookmarks int)
}

// Open opens a profile.
func (p *Profile) Open(ctx context.Context, how Copying) (file *File, err error) {
	f := &File{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	switch {
	case p.Engine == Firefox:
		err = f.firefox(ctx, filepath.Join(p.Folder, databaseFile), how)
	case len(p.files) > 1:
		err = f.both(p)
	default:
		_, err = f.open(filepath.Join(p.Folder, p.files[0]))
	}
	return f, err
}

// open reads a file as it is: it is replaced as a whole when it changes.
func (f *File) open(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, file.Close)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f.Reader, f.Size = file, f.Size+info.Size()
	return file, nil
}

// BrokenError says that a file of a browser is not as it should be.
type BrokenError struct {
	Path string
	Err  error
}

func (e *BrokenError) Error() string { return fmt.Sprintf("read %s: %v", e.Path, e.Err) }

func (e *BrokenError) Unwrap() error { return e.Err }

// both reads two files as one.
func (f *File) both(p *Profile) error {
	var files [2]*chromeFile
	for i := range files {
		path := filepath.Join(p.Folder, p.files[i])
		file, err := f.open(path)
		if err != nil {
			return err
		}
		found, err := findRoots(file)
		if err != nil {
			return &BrokenError{Path: path, Err: err}
		}
		files[i] = &chromeFile{file, found}
	}
	merged, err := merge(files[0], files[1])
	f.Reader = merged
	return err
}

// firefox makes a backup of the database, in the folder for copies.
func (f *File) firefox(ctx context.Context, database string, how Copying) error {
	if err := f.take(ctx, how.Folder, how.Waiting); err != nil {
		return err
	}
	copied, err := places.Copy(ctx, database, how.Folder)
	if err != nil {
		return err
	}
	name := filepath.Join(how.Folder, "backup.json")
	if err := write(ctx, copied, name, how.Progress); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-journal"} {
		// Only for its room: the folder is removed with all that is in it.
		_ = os.Remove(copied + suffix)
	}
	_, err = f.open(name)
	return err
}

func write(ctx context.Context, database, name string, progress func(int)) error {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = places.Backup(ctx, database, out, progress)
	return errors.Join(err, out.Close())
}

// take has the folder for copies, empty, until the file is closed.
func (f *File) take(ctx context.Context, folder string, waiting func()) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return err
	}
	lock := flock.New(folder + ".lock")
	free, err := lock.TryLock()
	if err == nil && !free {
		waiting()
		_, err = lock.TryLockContext(ctx, 50*time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", folder, err)
	}
	f.closers = append(f.closers, lock.Unlock)
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	f.closers = append(f.closers, func() error { return os.RemoveAll(folder) })
	return os.Mkdir(folder, 0o700)
}
