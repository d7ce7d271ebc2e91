package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver
	_ "modernc.org/sqlite"             // the "sqlite" driver
)

// Dialect is which database is underneath, for the few statements that must
// differ (search, maintenance).
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// FileName is the SQLite file within the server's data folder.
const FileName = "bm.db"

// minSQLite is the first release without the WAL-reset race, which corrupts
// a database under exactly this workload.
const minSQLite = "3.51.3"

// Config says which database to open.
type Config struct {
	// Dir holds the SQLite file; it is made, 0700, where it does not exist.
	Dir string
	// URL is a postgres:// address; where set, Dir is not used.
	URL string
	// Readers bounds the connections: SQLite's readers, or all of PostgreSQL's.
	// 0 means 8.
	Readers int
}

// DB is an open database. On SQLite it has one writing connection, whose
// transactions are grouped into shared commits, and a pool of readers.
type DB struct {
	dialect Dialect
	path    string
	url     string
	writer  *sql.DB
	reader  *sql.DB
	readers *readers     // SQLite only
	group   *committer   // SQLite only
	version versionProbe // SQLite only
	turns   turns
	places  *places // of the readers; on PostgreSQL, of all connections
	watch   atomic.Pointer[func(text string)]
}

// Watch has fn told the text of every statement of a transaction before it
// runs, from now on; nil ends it. It is for tests that look at plans.
func (db *DB) Watch(fn func(text string)) {
	if fn == nil {
		db.watch.Store(nil)
		return
	}
	db.watch.Store(&fn)
}

// Open opens the database that cfg names. It does not migrate: see [DB.Migrate].
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Readers == 0 {
		cfg.Readers = 8
	}
	if cfg.URL != "" {
		return openPostgres(ctx, cfg)
	}
	return openSQLite(ctx, cfg)
}

func openPostgres(ctx context.Context, cfg Config) (*DB, error) {
	pool, err := sql.Open("pgx", cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	pool.SetMaxOpenConns(cfg.Readers * 2)
	pool.SetMaxIdleConns(cfg.Readers * 2)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach postgres: %w", mapError(err)), pool.Close())
	}
	return &DB{dialect: Postgres, url: cfg.URL, writer: pool, reader: pool, places: newPlaces(cfg.Readers * 2)}, nil
}

func openSQLite(ctx context.Context, cfg Config) (*DB, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	path := filepath.Join(cfg.Dir, FileName)
	// Made here, so that no other user can read it even for a moment.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open the database file: %w", err)
	}
	db := &DB{dialect: SQLite, path: path, places: newPlaces(cfg.Readers)}
	if db.writer, err = sql.Open("sqlite", dsn(path, false)); err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	db.writer.SetMaxOpenConns(1)
	db.writer.SetMaxIdleConns(1)
	if db.reader, err = sql.Open("sqlite", dsn(path, true)); err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite: %w", err), db.writer.Close())
	}
	db.reader.SetMaxOpenConns(cfg.Readers + 1) // one watches the version
	db.reader.SetMaxIdleConns(cfg.Readers + 1)
	if err := db.checkSQLite(ctx); err != nil {
		return nil, errors.Join(err, db.writer.Close(), db.reader.Close())
	}
	db.readers = newReaders(db.reader, cfg.Readers)
	db.group = newCommitter(db)
	return db, nil
}

func dsn(path string, readOnly bool) string {
	q := url.Values{}
	add := func(pragma string) { q.Add("_pragma", pragma) }
	add("busy_timeout(5000)")
	add("foreign_keys(1)")
	add("temp_store(memory)")
	add("mmap_size(4294967296)")
	add("cache_size(-16384)")
	if readOnly {
		add("query_only(1)")
	} else {
		// FULL: a write that was answered survives a power cut. Commits are
		// shared, so its price is paid once for many.
		add("journal_mode(wal)")
		add("synchronous(full)")
		add("journal_size_limit(67108864)")
		// Hot pages of the indexes are written once into the database for many
		// commits that change them: bulk work gains a fifth.
		add("wal_autocheckpoint(16384)")
		q.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

func (db *DB) checkSQLite(ctx context.Context) error {
	var version string
	if err := db.writer.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return fmt.Errorf("open sqlite: %w", mapError(err))
	}
	if !versionAtLeast(version, minSQLite) {
		return fmt.Errorf("this build carries SQLite %s, but %s or later is needed: older ones can corrupt the database", version, minSQLite)
	}
	return nil
}

func versionAtLeast(have, want string) bool {
	h, w := strings.Split(have, "."), strings.Split(want, ".")
	for i := range w {
		var a, b int
		if i < len(h) {
			a, _ = strconv.Atoi(h[i])
		}
		b, _ = strconv.Atoi(w[i])
		if a != b {
			return a > b
		}
	}
	return true
}

// Close finishes what runs and closes every connection.
func (db *DB) Close() error {
	var errs []error
	if db.dialect == SQLite {
		errs = append(errs, db.version.close(), db.readers.close(),
			db.group.exclusive(context.Background(), db.group.close))
	}
	if db.reader != db.writer {
		errs = append(errs, db.reader.Close())
	}
	errs = append(errs, db.writer.Close())
	return errors.Join(errs...)
}

// Release gives back the memory that bulk work leaves in use: of SQLite, the
// parts of the file that its connections have mapped. They are opened again as
// they are needed.
func (db *DB) Release(ctx context.Context) error {
	if db.dialect != SQLite {
		return nil
	}
	if err := errors.Join(db.readers.release(), db.group.exclusive(ctx, db.group.release)); err != nil {
		return fmt.Errorf("release the database's memory: %w", err)
	}
	debug.FreeOSMemory()
	return nil
}

// Dialect says which database is underneath.
func (db *DB) Dialect() Dialect { return db.dialect }

// Path is the SQLite file; "" on PostgreSQL.
func (db *DB) Path() string { return db.path }

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error {
	err := db.Read(ctx, func(tx *Tx) error {
		var one int
		return tx.Row(ctx, "SELECT 1", nil, &one)
	})
	if err != nil {
		return fmt.Errorf("ping the database: %w", err)
	}
	return nil
}

// Read runs fn in a transaction that sees one state of the database.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	leave, err := db.places.take(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer leave()
	if db.dialect == SQLite {
		return db.readers.read(ctx, db, fn)
	}
	inner, err := db.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return fmt.Errorf("begin: %w", mapError(err))
	}
	defer giveUp(inner) // where fn panics
	fnErr := fn(&Tx{db: db, runner: inner})
	if err := inner.Rollback(); err != nil && fnErr == nil && ctx.Err() == nil {
		return fmt.Errorf("end reading: %w", mapError(err))
	}
	return fnErr
}

// Write runs fn in a transaction that writes, and returns when what it wrote
// is on disk. On PostgreSQL fn may run more than once.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	if db.dialect == SQLite {
		return db.group.run(ctx, fn)
	}
	// Whoever waits for another's lock does so on a connection.
	leave, err := db.places.take(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer leave()
	for attempt := 1; ; attempt++ {
		err := db.writeOnce(ctx, fn)
		if attempt == 5 || !transient(err) {
			return err
		}
	}
}

func (db *DB) writeOnce(ctx context.Context, fn func(*Tx) error) error {
	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", mapError(err))
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	// The statements heed ctx; the commit does not. Cut off, it would have had
	// its effect or not, and nobody could tell.
	inner, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return fmt.Errorf("begin: %w", mapError(err))
	}
	defer giveUp(inner) // where fn panics
	tx := &Tx{db: db, runner: inner}
	if err := fn(tx); err != nil {
		if rollback := inner.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) && ctx.Err() == nil {
			return errors.Join(err, fmt.Errorf("roll back: %w", rollback))
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := inner.Commit(); err != nil {
		return fmt.Errorf("commit: %w", mapCommit(err))
	}
	tx.committed()
	return nil
}

// giveUp ends a transaction that nobody has ended: its connection, and what it
// has locked, would be held for ever.
func giveUp(inner *sql.Tx) { _ = inner.Rollback() }

// versionProbe tells whether the database changed, on SQLite, at the price of
// one read of shared memory.
type versionProbe struct {
	mu      sync.Mutex
	session *session
}

func (p *versionProbe) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil {
		return nil
	}
	return p.session.close()
}

// DataVersion is a number that changes whenever another connection, of this
// process or any other, commits to the SQLite file. It is always 0 on
// PostgreSQL, where NOTIFY does this work.
func (db *DB) DataVersion(ctx context.Context) (int64, error) {
	if db.dialect != SQLite {
		return 0, nil
	}
	p := &db.version
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session == nil {
		s, err := openSession(context.WithoutCancel(ctx), db.reader)
		if err != nil {
			return 0, fmt.Errorf("watch the database: %w", err)
		}
		p.session = s
	}
	stmt, err := p.session.stmt(ctx, "PRAGMA data_version")
	if err != nil {
		return 0, fmt.Errorf("watch the database: %w", err)
	}
	var version int64
	if err := stmt.QueryRowContext(context.WithoutCancel(ctx)).Scan(&version); err != nil {
		return 0, fmt.Errorf("watch the database: %w", mapError(err))
	}
	return version, nil
}

// maintenanceTimeout bounds what runs at the end of bulk work.
const maintenanceTimeout = 30 * time.Second

// Checkpoint moves the log into the SQLite file, so that the next small write
// does not pay for the bulk work before it.
func (db *DB) Checkpoint(ctx context.Context) error {
	if db.dialect != SQLite {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maintenanceTimeout)
	defer cancel()
	err := db.group.exclusive(ctx, func() error {
		if db.group.session == nil {
			return nil // nothing was written
		}
		return db.group.session.exec("PRAGMA wal_checkpoint(PASSIVE)")
	})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}
