package sqldb

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// dialectFS shows the migrations of one dialect: those for both, and of the
// twins the right one.
type dialectFS struct {
	fs.FS
	hide string
}

func (d dialectFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(d.FS, name)
	kept := entries[:0]
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), d.hide) {
			kept = append(kept, entry)
		}
	}
	return kept, err
}

func (db *DB) migrator() (*goose.Provider, error) {
	folder, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	dialect, hide := goose.DialectSQLite3, ".postgres.sql"
	if db.dialect == Postgres {
		dialect, hide = goose.DialectPostgres, ".sqlite.sql"
	}
	provider, err := goose.NewProvider(dialect, db.writer, dialectFS{folder, hide}, goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return provider, nil
}

// Migrate brings the schema to this build's version, and says how many
// migrations it ran. It must not run beside writing transactions; of several
// processes at once, one does it.
func (db *DB) Migrate(ctx context.Context) (ran int, err error) {
	err = db.exclusively(ctx, migrating, func() (err error) {
		ran, err = db.migrate(ctx)
		return err
	})
	return ran, err
}

func (db *DB) migrate(ctx context.Context) (int, error) {
	provider, err := db.migrator()
	if err != nil {
		return 0, err
	}
	if err := db.known(ctx, provider); err != nil {
		return 0, err
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return len(results), fmt.Errorf("migrate the database: %w", mapError(err))
	}
	return len(results), nil
}

// ErrNewer says that the schema is that of a newer build.
var ErrNewer = errors.New("the database's schema is newer than this bm")

// known refuses a schema that this build knows nothing of.
func (db *DB) known(ctx context.Context, provider *goose.Provider) error {
	newest, err := db.schemaVersion(ctx, provider)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	if known := sources[len(sources)-1].Version; newest > known {
		return fmt.Errorf("%w: it is %d, and this one knows %d", ErrNewer, newest, known)
	}
	return nil
}

// Pending says how many migrations [DB.Migrate] would run. It is [ErrNewer] where
// a newer build has run others.
func (db *DB) Pending(ctx context.Context) (int, error) {
	provider, err := db.migrator()
	if err != nil {
		return 0, err
	}
	status, err := provider.Status(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", mapError(err))
	}
	pending := 0
	for _, migration := range status {
		if migration.State == goose.StatePending {
			pending++
		}
	}
	return pending, db.known(ctx, provider)
}

func (db *DB) schemaVersion(ctx context.Context, provider *goose.Provider) (int64, error) {
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", mapError(err))
	}
	return version, nil
}
