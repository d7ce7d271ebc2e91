package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bm/server/admin"
	"bm/server/api"
	"bm/server/auth"
	"bm/server/sqldb"
)

// Finding is something that a check found wrong.
type Finding = admin.Finding

// AccountSummary is an account as the server's administrator sees it.
type AccountSummary = auth.AccountSummary

// Admin works on a server's database, beside a running server or without one.
type Admin struct{ server *Server }

// What can be in the way of an administrator, beside [ErrHeld].
var (
	// ErrNoDatabase says that there is nothing to administer.
	ErrNoDatabase = errors.New("there is no database")
	// ErrDamaged says that the database's file is none, or damaged.
	ErrDamaged = sqldb.ErrDamaged
	// ErrServing says that servers use the rows in PostgreSQL.
	ErrServing = sqldb.ErrServing
	// ErrNoBackup says that a file cannot be restored.
	ErrNoBackup = admin.ErrNoBackup
	// ErrNotEmpty says that a restore would overwrite rows in PostgreSQL.
	ErrNotEmpty = admin.ErrNotEmpty
	// ErrNewer says that the schema is that of a newer build.
	ErrNewer = sqldb.ErrNewer
	// ErrOutdated says that the schema is that of an older build.
	ErrOutdated = errors.New("the database's schema is older than this bm")
)

// OpenAdmin opens an existing database. It changes no schema: a server of
// another version may be running.
func OpenAdmin(ctx context.Context, config Config) (_ *Admin, err error) {
	if err := exists(config); err != nil {
		return nil, err
	}
	db, err := sqldb.Open(ctx, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL, Readers: 2})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	pending, err := db.Pending(ctx)
	if err != nil {
		return nil, err
	}
	if pending > 0 {
		return nil, fmt.Errorf("%w by %d migrations", ErrOutdated, pending)
	}
	s, err := open(ctx, config, db)
	if err != nil {
		return nil, err
	}
	return &Admin{s}, nil
}

func exists(config Config) error {
	if config.DatabaseURL != "" {
		return nil
	}
	_, err := os.Stat(filepath.Join(config.Dir, sqldb.FileName))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w in %s", ErrNoDatabase, config.Dir)
	}
	if err != nil {
		return fmt.Errorf("look for the database: %w", err)
	}
	return nil
}

// Close closes the database.
func (a *Admin) Close(ctx context.Context) error { return a.server.Close(ctx) }

// Backup writes all that was committed by now into a new file.
func (a *Admin) Backup(ctx context.Context, path string) error {
	return admin.Backup(ctx, a.server.db, path)
}

// Check looks for what is wrong, and changes nothing.
func (a *Admin) Check(ctx context.Context) ([]Finding, error) {
	return admin.Check(ctx, a.server.db, a.server.config.Now())
}

// Purge removes now what the server would remove within the hour.
func (a *Admin) Purge(ctx context.Context) (Purged, error) { return a.server.Purge(ctx) }

// Accounts lists every account.
func (a *Admin) Accounts(ctx context.Context) ([]AccountSummary, error) {
	return a.server.signing.Accounts(ctx)
}

// AddAccount makes an account, whatever the server says of registrations. Its
// address counts as verified.
func (a *Admin) AddAccount(ctx context.Context, in api.Register) error {
	if _, err := a.server.signing.CreateAccount(ctx, in, "local"); err != nil {
		return err
	}
	return a.server.signing.Verify(ctx, in.Email)
}

// Verify takes an account's address for proven.
func (a *Admin) Verify(ctx context.Context, email string) error {
	return a.server.signing.Verify(ctx, email)
}

// SetPassword gives an account another password and ends its sessions.
func (a *Admin) SetPassword(ctx context.Context, email string, password api.Secret) error {
	return a.server.signing.SetPassword(ctx, email, password)
}

// SetLocked keeps an account out, or lets it in again.
func (a *Admin) SetLocked(ctx context.Context, email string, locked bool) error {
	return a.server.signing.SetLocked(ctx, email, locked)
}

// Migrate brings the schema to this build's version, and says how many
// migrations it ran. No server may be running.
func Migrate(ctx context.Context, config Config) (n int, err error) {
	if err := exists(config); err != nil {
		return 0, err
	}
	err = alone(ctx, config, func(db *sqldb.DB) error {
		n, err = db.Migrate(ctx)
		return err
	})
	return n, err
}

// alone runs fn on the database while no server can.
func alone(ctx context.Context, config Config, fn func(*sqldb.DB) error) (err error) {
	lock, err := LockDir(config.Dir, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	db, err := sqldb.Open(ctx, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL, Readers: 2})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	claim, err := db.Claim(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Release(context.WithoutCancel(ctx))) }()
	return fn(db)
}

// Restorable refuses, before anybody is asked, what is no backup, and a data
// folder that a server has. It reports whether a restore sets a database aside.
// A folder that no server ever had is left as it is: it may be a typo.
func Restorable(config Config, backup string) (replaces bool, err error) {
	if err := admin.IsDatabase(backup); err != nil {
		return false, err
	}
	if config.DatabaseURL != "" {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(config.Dir, lockName)); err == nil {
		lock, err := LockDir(config.Dir, "")
		if err != nil {
			return false, err
		}
		if err := lock.Release(); err != nil {
			return false, err
		}
	}
	err = exists(config)
	if errors.Is(err, ErrNoDatabase) {
		return false, nil
	}
	return err == nil, err
}

// Restore puts a backup in the place of what there is, and begins a new epoch
// in every workspace. The embedded database that was there is set aside under
// the name that it returns; a PostgreSQL database must be empty. No server may
// be running.
func Restore(ctx context.Context, config Config, backup string) (aside string, err error) {
	newID := api.NewIDs(config.Now, rand.Reader).New
	if config.DatabaseURL != "" {
		return "", alone(ctx, config, func(db *sqldb.DB) error {
			if _, err := db.Migrate(ctx); err != nil {
				return err
			}
			return admin.RestoreInto(ctx, db, backup, newID)
		})
	}
	lock, err := LockDir(config.Dir, "")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	// Everything is made ready beside the database, so that one rename is all
	// that can be done by half.
	ready, err := os.MkdirTemp(config.Dir, "restore-*")
	if err != nil {
		return "", fmt.Errorf("make room for the restore: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(ready)) }()
	if err := admin.Place(ctx, ready, backup); err != nil {
		return "", err
	}
	if err := admin.Renew(ctx, ready, newID); err != nil {
		return "", err
	}
	if err := handOver(config.Dir, filepath.Join(ready, sqldb.FileName)); err != nil {
		return "", err
	}
	return swap(ctx, config.Dir, ready, config.Now())
}

// freeName is a name that no file has: two restores can fall into one second.
func freeName(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// swap sets a folder's database aside and puts another in its place. Whenever
// it ends, there is a database under the name, so that no server that starts
// takes the folder for a new one.
func swap(ctx context.Context, dir, ready string, now time.Time) (aside string, err error) {
	path := filepath.Join(dir, sqldb.FileName)
	if _, err := os.Stat(path); err == nil {
		// Where it does not open, it is damaged, and goes aside with its log.
		if db, err := sqldb.Open(ctx, sqldb.Config{Dir: dir, Readers: 1}); err == nil {
			if err := errors.Join(db.Fold(ctx), db.Close()); errors.Is(err, sqldb.ErrUnavailable) {
				return "", fmt.Errorf("set the old database aside: %w", err)
			}
		}
		aside = freeName(path + ".before-restore-" + now.UTC().Format("20060102-150405"))
		if err := setAside(path, aside); err != nil {
			return "", fmt.Errorf("set the old database aside: %w", err)
		}
	}
	if err := os.Rename(filepath.Join(ready, sqldb.FileName), path); err != nil {
		return aside, fmt.Errorf("put the restored database in place: %w", err)
	}
	return aside, nil
}

// setAside gives a database a second name. Its log, where it has one, must not
// stay: it would be taken for that of the database to come.
func setAside(path, aside string) error {
	if err := os.Link(path, aside); errors.Is(err, os.ErrExist) {
		return err
	} else if err != nil {
		// A file system without links: there is a moment without a database.
		if err := os.Rename(path, aside); err != nil {
			return err
		}
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
