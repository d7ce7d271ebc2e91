package localstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the "sqlite" driver
	sqlite3 "modernc.org/sqlite/lib"

	"bm/server/api"
)

// Below SQLite 3.51.3 a race in the reset of the log can corrupt a database
// that several processes write, as here. A build with an older one does not
// compile: the constant would be negative.
const _ = uint(sqlite3.SQLITE_VERSION_NUMBER - 3051003)

// Options says which replica to open and what it may use.
type Options struct {
	// Path is the file. Its folder is made, 0700, where it does not exist;
	// the file is 0600.
	Path string
	// Now is the clock; nil means time.Now. It dates rows for people and
	// decides nothing.
	Now func() time.Time
	// IDs makes the ids of new rows. Required unless ReadOnly.
	IDs *api.IDs
	// ReadOnly refuses every edit. The file must exist.
	ReadOnly bool
	// Readers bounds the connections that read at once; 0 means 4.
	Readers int
	// LowMemory keeps the caches small: for the daemon, which idles over a large
	// replica.
	LowMemory bool
	// OneAtATime is for a command that reads and writes by turns: one connection
	// does both, and another is opened where that one is in use. What opening
	// one costs is a tenth of the time of a command that edits one row.
	OneAtATime bool
	// Migrating is called before a file that others may have open is brought to a
	// later schema, and what it answers is called after that. Where it fails the
	// file stays as it is, and is not opened. Another process may do it meanwhile:
	// then it is not due any more. Migrating may be nil.
	Migrating func(ctx context.Context, due func() bool) (done func() error, err error)

	// lenient reads a file that is shorter than it says, as far as it goes.
	lenient bool
}

// Store is an open replica. It is safe for use by several goroutines, and
// several processes may have the same file open.
type Store struct {
	path    string
	now     func() time.Time
	ids     *api.IDs
	version int // of the schema found
	reason  string
	remedy  string
	lean    bool // Options.LowMemory

	reading *sql.DB
	writing *sql.DB
	readers *readers
	writer  *writer
	closing sync.Once
	moment  *tx // of a store that is looked at as it was
}

// Errors that callers tell apart.
var (
	// ErrDamaged is in the chain of an error that says the file is no sound
	// database: see [Recover].
	ErrDamaged = errors.New("the local copy is damaged")
	// ErrReadOnly is in the chain of an error about an edit of a store that
	// may only be read.
	ErrReadOnly = errors.New("the local copy can only be read")
	// errCantOpen says that SQLite could not open the file or what belongs to it.
	errCantOpen = errors.New("the local copy can't be opened")
	// errDisk says that the system failed in something that SQLite asked of it.
	errDisk = errors.New("the disk failed")
	// errLostPage says in what.
	errLostPage = fmt.Errorf("%w: the disk does not give all of it back", ErrDamaged)
	// ErrBusy is in the chain of an error that says another process held the
	// write lock for longer than anyone should.
	ErrBusy = errors.New("another process is writing to the local copy")
)

// ReadOnlyError says why an edit is refused by a store that may only be read:
// [ErrReadOnly] is in its chain.
type ReadOnlyError struct {
	Reason string
	Remedy string // what looks into it; "" where nothing does
	Err    error
}

func (e *ReadOnlyError) Error() string {
	if errors.Is(e.Err, errCantOpen) {
		return errCantOpen.Error() + ": " + e.Reason
	}
	return ErrReadOnly.Error() + ": " + e.Reason
}

func (e *ReadOnlyError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrReadOnly}
	}
	return []error{ErrReadOnly, e.Err}
}

// Open opens the replica at opts.Path, makes it where there is none and brings
// it to this build's schema. A file with a newer schema is opened for reading
// only; [Store.ReadOnlyReason] then says why.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Readers <= 0 {
		opts.Readers = 4
	}
	if opts.IDs == nil && !opts.ReadOnly {
		return nil, errors.New("open the local copy: no source of ids was given")
	}
	fresh, err := prepareFile(ctx, opts)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, opts, fresh, false)
	if errors.Is(err, errDisk) && unreadable(opts.Path) {
		return nil, fmt.Errorf("%w: %w", errLostPage, err)
	}
	if err == nil || fresh || !errors.Is(err, ErrReadOnly) && !errors.Is(err, errCantOpen) {
		return s, err
	}
	// SQLite reads a log's file only where it may write beside it; one that
	// nobody can have written to meanwhile it reads without.
	barred := unwritable(opts.Path)
	switch {
	case barred == "":
		return nil, err
	case logged(opts.Path):
		return nil, &ReadOnlyError{
			Reason: barred + " can't be written, which reading what was written last needs",
			Remedy: "a copy of the data folder, named by BM_DATA_DIR", Err: err,
		}
	}
	opts.ReadOnly = true
	if s, err = connect(ctx, opts, false, true); err != nil {
		return nil, err
	}
	s.reason, s.remedy = because(barred)
	return s, nil
}

// unwritable is what keeps the file from being written: its folder, itself, or
// "" for nothing.
func unwritable(path string) string {
	dir := filepath.Dir(path)
	probe, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return dir
	}
	_ = probe.Close() // nothing was written
	_ = os.Remove(probe.Name())
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return path
	}
	_ = file.Close() // nothing was written
	return ""
}

// because says that what bars can't be written, and what looks into it.
func because(barred string) (reason, remedy string) {
	return barred + " can't be written", "ls -ld " + barred
}

// logged reports whether the log holds what the file lacks.
func logged(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// connect opens the file as it is; immutable promises that nobody writes to it.
func connect(ctx context.Context, opts Options, fresh, immutable bool) (*Store, error) {
	s := &Store{path: opts.Path, now: opts.Now, ids: opts.IDs, lean: opts.LowMemory}
	var err error
	if s.reading, err = sql.Open("sqlite", dsn(opts, false, immutable)); err != nil {
		return nil, fmt.Errorf("open the local copy: %w", err)
	}
	s.writing = s.reading
	if !opts.OneAtATime {
		if s.writing, err = sql.Open("sqlite", dsn(opts, true, immutable)); err != nil {
			return nil, fmt.Errorf("open the local copy: %w", errors.Join(err, s.reading.Close()))
		}
	}
	// A session that is given up takes its connection along: nobody knows in what
	// state that is.
	s.reading.SetMaxIdleConns(0)
	s.writing.SetMaxIdleConns(0)
	s.readers, s.writer = newReaders(s.reading, opts.Readers), newWriter(opts.Path, s.writing)
	if opts.OneAtATime {
		s.readers.lender, s.writer.lender = s.writer.spare, s.readers.spare
	}
	if opts.ReadOnly {
		s.reason = "it was opened for reading"
	}
	if err := s.settle(ctx, fresh, opts); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// settle brings the schema up to date, or finds that it is newer than this
// build.
func (s *Store) settle(ctx context.Context, fresh bool, opts Options) error {
	if !fresh {
		err := s.read(ctx, func(tx *tx) error {
			return tx.row("PRAGMA user_version").Scan(&s.version)
		})
		if err != nil {
			return fmt.Errorf("open the local copy: %w", schemaError(err))
		}
	}
	latest := latestSchema
	switch {
	case s.version == 0 && cutOff(s.path): // also where SQLite has just taken back what was half written
		return fmt.Errorf("open the local copy: %w: its repair was cut off", ErrDamaged)
	case s.version < 0 || s.version > anySchema:
		return fmt.Errorf("open the local copy: %w: it says that its schema is %d", ErrDamaged, s.version)
	case s.version > latest:
		s.reason = newerSchema(s.version)
		return nil
	case s.version == latest || opts.ReadOnly && s.version > 0:
		return nil
	case opts.ReadOnly:
		return fmt.Errorf("open the local copy: %w: it is empty", ErrReadOnly)
	}
	done := func() error { return nil }
	if s.version > 0 && opts.Migrating != nil {
		var err error
		if done, err = opts.Migrating(ctx, func() bool { return s.outdated(ctx) }); err != nil {
			return err
		}
	}
	err := errors.Join(s.migrate(ctx), done())
	if errors.Is(err, ErrReadOnly) && s.version > 0 {
		if barred := unwritable(s.path); barred != "" {
			s.reason, s.remedy = because(barred)
			return nil // this build reads every schema before its own
		}
	}
	if err != nil {
		return fmt.Errorf("bring the local copy to schema %d: %w", latest, err)
	}
	return nil
}

// outdated reports whether the file has an older schema still.
func (s *Store) outdated(ctx context.Context) bool {
	version := 0
	err := s.read(ctx, func(tx *tx) error { return tx.row("PRAGMA user_version").Scan(&version) })
	return err != nil || version < latestSchema
}

// newerSchema is why a file of a later schema is not edited.
func newerSchema(version int) string {
	return fmt.Sprintf("it was written by a newer bm (schema %d, this one knows %d): install that version to edit", version, latestSchema)
}

// prepareFile makes the folder and the file where they do not exist, readable
// by this user alone from the first moment on, and reports whether the file is
// empty. No file of ours is ever without content: one that is has lost it, and
// SQLite would take it for a new one and remove the log beside it.
func prepareFile(ctx context.Context, opts Options) (fresh bool, err error) {
	info, err := os.Stat(opts.Path)
	if err == nil {
		if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			// Where it is another's, the folder keeps others out or is told of.
			for _, part := range []string{"", "-wal", "-shm"} {
				_ = os.Chmod(opts.Path+part, 0o600)
			}
		}
		if info.Mode().IsRegular() && info.Size() == 0 {
			return true, fmt.Errorf("open the local copy: %w: it is empty", ErrDamaged)
		}
		return false, nil
	}
	if opts.ReadOnly || !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("open the local copy: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(opts.Path), 0o700); err != nil {
		return false, fmt.Errorf("make the folder of the local copy: %w", err)
	}
	if fresh, err = makeFile(ctx, opts); err != nil {
		return false, fmt.Errorf("make the local copy: %w", err)
	}
	return fresh, nil
}

// makeFile makes the file beside its place and puts it there as a whole, unless
// another process was faster: killed anywhere, there is none or it is complete.
// Where files can't have two names it is made in its place, and is empty at first.
func makeFile(ctx context.Context, opts Options) (fresh bool, err error) {
	file, err := os.CreateTemp(filepath.Dir(opts.Path), ".new-*.db")
	if err != nil {
		return false, err
	}
	whole := opts
	whole.Path = file.Name()
	defer func() { err = errors.Join(err, removeAll(whole.Path, whole.Path+"-wal", whole.Path+"-shm")) }()
	if err := file.Close(); err != nil {
		return false, err
	}
	s, err := connect(ctx, whole, true, false)
	if err != nil {
		return false, err
	}
	if err := s.Close(); err != nil {
		return false, err
	}
	if logged(whole.Path) {
		// SQLite says nothing where it fails in that. Nobody else has the file: room is
		// all that it can lack.
		return false, fmt.Errorf("bring %s into one file: %w", whole.Path, syscall.ENOSPC)
	}
	err = os.Link(whole.Path, opts.Path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return false, nil
	}
	empty, err := os.OpenFile(opts.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	return true, empty.Close()
}

// dsn is the address of a connection. The write-ahead log is a property of the
// file, so that readers need not ask for it. A writer's busy timeout is 0: how
// to wait for the lock is decided in [writer.begin]. The file is not mapped into
// memory: what a disk does not give back there is no error but a signal, which ends
// the process.
func dsn(opts Options, write, immutable bool) string {
	q := url.Values{}
	if immutable {
		q.Set("immutable", "1")
	}
	add := func(name string, value int) {
		q.Add("_pragma", name+"("+strconv.Itoa(value)+")")
	}
	if opts.lenient {
		add("writable_schema", 1)
		add("query_only", 1)
		// No more than that: some of the others read the schema as if it were sound.
		return address(opts.Path, q)
	}
	cache := 16 << 10
	if opts.LowMemory && !write { // a writer's cache is given back when bulk work ends
		cache = 2 << 10
	}
	add("cache_size", -cache)
	if write || opts.OneAtATime {
		add("foreign_keys", 1)
		// A small edit must not pay for the log that bulk work left; whoever
		// does bulk work, and the last to close, moves it into the file.
		add("wal_autocheckpoint", 16000)
		q.Add("_pragma", "temp_store(memory)")
	}
	if write {
		add("busy_timeout", 0)
	} else {
		add("busy_timeout", 5000)
		add("query_only", 1)
	}
	return address(opts.Path, q)
}

// What tells a connection that reads from one that writes, where one does both
// by turns.
const (
	readingPragmas = "PRAGMA busy_timeout = 5000; PRAGMA query_only = 1"
	writingPragmas = "PRAGMA busy_timeout = 0; PRAGMA query_only = 0"
)

func address(path string, q url.Values) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// Close waits for what runs and closes the file. Once is enough.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		err = errors.Join(s.readers.close(), s.writer.close(), s.reading.Close(), s.writing.Close())
	})
	return err
}

// Path is the file's path.
func (s *Store) Path() string { return s.path }

// Writable is a [ReadOnlyError] where edits are refused.
func (s *Store) Writable() error {
	if s.reason == "" {
		return nil
	}
	return &ReadOnlyError{Reason: s.reason, Remedy: s.remedy}
}

// ReadOnlyReason says why edits are refused; "" where they are not.
func (s *Store) ReadOnlyReason() string { return s.reason }

// ReadOnlyRemedy is what looks into that; "" where nothing does.
func (s *Store) ReadOnlyRemedy() string { return s.remedy }

// SchemaVersion is the version of the schema that the file has.
func (s *Store) SchemaVersion() int { return s.version }
