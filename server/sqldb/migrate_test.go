package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// Tags that were stored by the ids of what carries them are found by numbers.
// A row that is of nothing, or not of what lives, is in nobody's way: it kept the
// server from starting.
func TestTagsGetNumbers(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		tagsGetNumbers(t, sqldb.Config{Dir: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		tagsGetNumbers(t, sqldb.Config{URL: sqldbtest.Postgres(t)})
	})
}

func tagsGetNumbers(t *testing.T, config sqldb.Config) {
	ctx := context.Background()
	with := func(fn func(db *sqldb.DB) error) {
		t.Helper()
		db, err := sqldb.Open(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fn(db), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	with(func(db *sqldb.DB) error { return db.MigrateTo(ctx, 5) })
	with(func(db *sqldb.DB) error {
		return db.Write(ctx, func(tx *sqldb.Tx) error {
			for _, text := range []string{
				`INSERT INTO tenant (id, name, name_key, slug, created_at) VALUES ('t', 't', 't', 't', 1)`,
				`INSERT INTO workspace (id, tenant_id, name, slug, created_at, updated_at) VALUES ('v', 't', 'v', 'v', 1, 1), ('w', 't', 'w', 'w', 1, 1)`,
				`INSERT INTO bookmark (seq, id, tenant_id, workspace_id, url_key_version, title, sort_order, created_at, updated_at, rev)
					VALUES (7, 'a', 't', 'v', 1, 'a', 1, 1, 1, 1), (8, 'b', 't', 'v', 1, 'b', 1, 1, 1, 1), (9, 'c', 't', 'w', 1, 'c', 1, 1, 1, 1)`,
				`INSERT INTO bookmark_tag (workspace_id, tag_key, bookmark_id, tag)
					VALUES ('v', 'go', 'a', 'Go'), ('v', 'go', 'b', 'go'), ('w', 'go', 'c', 'GO'), ('v', 'b', 'a', 'B')`,
				`INSERT INTO bookmark (seq, id, tenant_id, workspace_id, url_key_version, title, sort_order, created_at, updated_at, rev, deleted_at)
					VALUES (10, 'd', 't', 'w', 1, 'd', 1, 1, 1, 1, 1)`,
				`INSERT INTO bookmark_tag (workspace_id, tag_key, bookmark_id, tag)
					VALUES ('gone', 'x', 'nobody', 'X'), ('v', 'x', 'nobody', 'X'), ('v', 'x', 'c', 'X'), ('w', 'x', 'd', 'X'), ('gone', 'x', 'a', 'X')`,
			} {
				if _, err := tx.Exec(ctx, text); err != nil {
					return fmt.Errorf("%s: %w", text, err)
				}
			}
			return nil
		})
	})
	with(func(db *sqldb.DB) error {
		_, err := db.Migrate(ctx)
		return err
	})
	var got string
	with(func(db *sqldb.DB) error {
		return db.Read(ctx, func(tx *sqldb.Tx) error {
			return tx.Rows(ctx, `SELECT t.workspace_id, t.tag_key, bt.bookmark_seq, bt.tag FROM tag t JOIN bookmark_tag bt ON bt.tag_seq = t.seq
				ORDER BY t.workspace_id, t.tag_key, bt.bookmark_seq`, nil, func(row sqldb.Scanner) error {
				var workspace, key, tag string
				var seq int64
				err := row.Scan(&workspace, &key, &seq, &tag)
				got += fmt.Sprintln(workspace, key, seq, tag)
				return err
			})
		})
	})
	if want := "v b 7 B\nv go 7 Go\nv go 8 go\nw go 9 GO\n"; got != want {
		t.Errorf("there is now\n%s\nwant\n%s", got, want)
	}
}
