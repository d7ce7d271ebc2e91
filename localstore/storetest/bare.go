// Package storetest is the ceiling that the replica's bulk work is measured
// against. Benchmarks alone import it.
package storetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "bm/localstore" // for its SQL driver
	"bm/server/api/exchange/exchangetest"
	"bm/server/api/query"
)

// Schema is the replica's, read from the folder of its scripts.
func Schema(dir string) (string, error) {
	scripts, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err == nil && len(scripts) == 0 {
		err = fmt.Errorf("no scripts in %s", dir)
	}
	var all strings.Builder
	for _, script := range scripts { // in the order of their names
		text, failed := os.ReadFile(script)
		all.Write(text)
		err = errors.Join(err, failed)
	}
	return all.String(), err
}

// Bare writes a collection into a new file as a bare program does that knows
// nothing of bm but its schema: one transaction, rows and indexes first, then
// the search index by one INSERT…SELECT. Nobody could edit beside it, nothing
// is normalised, and cut off it leaves nothing.
func Bare(ctx context.Context, path, schema string, all *exchangetest.Collection) (err error) {
	name := (&url.URL{Scheme: "file", Opaque: filepath.ToSlash(path)}).String()
	db, err := sql.Open("sqlite", name+"?_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=cache_size(-16384)&_pragma=mmap_size(1073741824)")
	if err != nil {
		return fmt.Errorf("open the bare database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	for _, text := range []string{
		schema,
		`CREATE VIRTUAL TABLE search USING fts5(title, tags, url, description, content='', contentless_delete=1, ` + query.FTS5Tokenize + `)`,
		`INSERT INTO search (search, rank) VALUES ('hashsize', 16777216)`,
		`INSERT INTO replica VALUES (1, 'workspace', 'w', '', '', '', 0, 1, 'live', '', '', '', 0, '', 0, 0, 0, NULL, 0)`,
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("make the bare tables: %w", err)
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := fill(ctx, tx, all); err != nil {
		return fmt.Errorf("fill the bare tables: %w", err)
	}
	return tx.Commit() //nolint:wrapcheck // a benchmark's own
}

func fill(ctx context.Context, tx *sql.Tx, all *exchangetest.Collection) (err error) {
	insert := func(text string) (exec func(args ...any) error, err error) {
		statement, err := tx.PrepareContext(ctx, text) //nolint:sqlclosecheck // closed with the transaction
		return func(args ...any) error {
			_, err := statement.ExecContext(ctx, args...)
			return err //nolint:wrapcheck // wrapped once, above
		}, err
	}
	folder, errFolder := insert(`INSERT INTO folder VALUES (?, 1, ?, 1, ?, ?, '', ?, ?, ?, '', 0, '')`)
	bookmark, errBookmark := insert(`INSERT INTO bookmark VALUES (?, 1, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 'unknown', 'none', '', '', 0, '')`)
	tag, errTag := insert(`INSERT INTO tag VALUES (1, ?, ?, ?)`)
	if err := errors.Join(errFolder, errBookmark, errTag); err != nil {
		return err
	}
	for i, f := range all.Folders {
		if err := folder(i+1, f.ID, f.ParentID, f.Name, f.SortOrder, f.CreatedAt.UnixMicro(), f.CreatedAt.UnixMicro()); err != nil {
			return err
		}
	}
	for i := range all.Bookmarks {
		m := &all.Bookmarks[i]
		tags, err := json.Marshal(m.Tags)
		if err != nil {
			return err //nolint:wrapcheck // wrapped once, above
		}
		err = bookmark(i+1, m.ID, m.FolderID, m.URL, int64(i)*7919, m.Title, m.Description, string(tags), m.SortOrder,
			m.CreatedAt.UnixMicro(), m.CreatedAt.UnixMicro())
		if err != nil {
			return err
		}
		for _, name := range m.Tags {
			if err := tag(strings.ToLower(name), i+1, ""); err != nil {
				return err
			}
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO search (rowid, title, tags, url, description) SELECT n, title, tags, url, description FROM bookmark`)
	return err //nolint:wrapcheck // wrapped once, above
}
