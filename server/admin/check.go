package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
	"bm/server/tree"
)

// Finding is something that a check found wrong.
type Finding struct {
	// Where is a table, or the id of an organization or a workspace.
	Where string `json:"where"`
	What  string `json:"what"`
}

// maxFindings bounds a report: a broken database can have millions.
const maxFindings = 1000

// checker gathers what is wrong.
type checker struct {
	findings []Finding
	// purgedBefore is when a workspace was deleted that may be half emptied.
	purgedBefore time.Time
}

func (c *checker) add(where, format string, args ...any) {
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, Finding{where, fmt.Sprintf(format, args...)})
	}
}

// Check looks through the whole database: the file, the references, every
// workspace's digest, tree, keys and search index. It changes nothing, and can
// be run beside a server: what that may be removing for good now, or was when it
// was stopped, is passed over.
func Check(ctx context.Context, db *sqldb.DB, now time.Time) ([]Finding, error) {
	c := &checker{purgedBefore: now.Add(-api.TrashDays * 24 * time.Hour)}
	if db.Dialect() == sqldb.SQLite {
		if err := c.file(ctx, db); err != nil {
			return nil, err
		}
	}
	err := c.all(ctx, func(fn func(*sqldb.Tx) error) error { return db.Read(ctx, fn) })
	return c.findings, err
}

// all looks at the rows; read hands each look a transaction of its own, so that
// none holds a state of a large database for long.
func (c *checker) all(ctx context.Context, read func(func(*sqldb.Tx) error) error) error {
	var scopes []access.Scope
	err := read(func(tx *sqldb.Tx) error {
		err := tx.Rows(ctx, `SELECT w.tenant_id, w.id FROM workspace w WHERE w.deleted_at = 0 OR w.deleted_at >= $1 ORDER BY w.id`, []any{c.purgedBefore.UnixMicro()}, func(row sqldb.Scanner) error {
			var s access.Scope
			err := row.Scan(&s.TenantID, &s.WorkspaceID)
			scopes = append(scopes, s)
			return err
		})
		if err != nil {
			return err
		}
		if err := c.strays(ctx, tx); err != nil {
			return err
		}
		return c.tenants(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	for _, scope := range scopes {
		if err := read(func(tx *sqldb.Tx) error { return c.workspace(ctx, tx, scope) }); err != nil {
			return fmt.Errorf("check workspace %s: %w", scope.WorkspaceID, err)
		}
	}
	return nil
}

// file has SQLite look at its own structures.
func (c *checker) file(ctx context.Context, db *sqldb.DB) error {
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		err := tx.Rows(ctx, `PRAGMA integrity_check`, nil, func(row sqldb.Scanner) error {
			var text string
			if err := row.Scan(&text); err != nil {
				return err
			}
			if text != "ok" {
				c.add("file", "%s", text)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Rows(ctx, `SELECT "table", COUNT(*) FROM pragma_foreign_key_check GROUP BY "table"`, nil, func(row sqldb.Scanner) error {
			var table string
			var n int
			err := row.Scan(&table, &n)
			c.add(table, "%d rows refer to what does not exist", n)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("check the file: %w", err)
	}
	return nil
}

// strays are rows that belong to no workspace, or to one of another tenant.
func (c *checker) strays(ctx context.Context, tx *sqldb.Tx) error {
	for _, table := range []string{"bookmark", "folder", "workspace_head"} {
		var n int
		err := tx.Row(ctx, `SELECT count(*) FROM `+table+` t WHERE NOT EXISTS (
			SELECT 1 FROM workspace w WHERE w.id = t.workspace_id AND w.tenant_id = t.tenant_id)`, nil, &n)
		if err != nil {
			return err
		}
		if n > 0 {
			c.add(table, "%d rows are in no workspace of their organization", n)
		}
	}
	looks := []struct{ table, text, what string }{{
		"bookmark_tag", `SELECT count(*) FROM bookmark_tag bt WHERE NOT EXISTS (SELECT 1 FROM tag t WHERE t.seq = bt.tag_seq)`, "%d bookmarks carry a tag that is none",
	}}
	if tx.Dialect() == sqldb.SQLite {
		looks = append(looks, struct{ table, text, what string }{
			"bookmark_fts", `SELECT count(*) FROM bookmark_fts_docsize d WHERE NOT EXISTS (SELECT 1 FROM bookmark b WHERE b.seq = d.id)`,
			"%d entries of the search index are of no bookmark",
		})
	}
	for _, look := range looks {
		var n int
		if err := tx.Row(ctx, look.text, nil, &n); err != nil {
			return err
		}
		if n > 0 {
			c.add(look.table, look.what, n)
		}
	}
	return nil
}

// tenants checks that every organization has whoever owns it, and where its
// bookmarks go by default.
func (c *checker) tenants(ctx context.Context, tx *sqldb.Tx) error {
	for _, look := range []struct{ text, what string }{
		{
			`SELECT t.id FROM tenant t WHERE NOT EXISTS (SELECT 1 FROM membership m WHERE m.tenant_id = t.id AND m.is_owner)`,
			"the organization has no owner",
		},
		{
			`SELECT t.id FROM tenant t WHERE NOT EXISTS (SELECT 1 FROM workspace w WHERE w.tenant_id = t.id AND w.is_default AND w.deleted_at = 0)`,
			"the organization has no default workspace",
		},
	} {
		err := tx.Rows(ctx, look.text, nil, func(row sqldb.Scanner) error {
			var id string
			err := row.Scan(&id)
			c.add(id, "%s", look.what)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sum is what a workspace's head should say.
type sum struct {
	digest api.Digest
	count  int64
	newest int64
}

func (s *sum) row(id string, rev int64, live bool) {
	if s.newest = max(s.newest, rev); live {
		s.digest = s.digest.Add(id, rev)
		s.count++
	}
}

func (c *checker) workspace(ctx context.Context, tx *sqldb.Tx, scope access.Scope) error {
	var head api.Head
	err := tx.Row(ctx, `SELECT rev, digest, live_count FROM workspace_head WHERE workspace_id = $1 AND tenant_id = $2`,
		[]any{scope.WorkspaceID, scope.TenantID}, &head.Rev, &head.Digest, &head.Count)
	if err != nil {
		c.add(scope.WorkspaceID, "the workspace has no head")
		return nil //nolint:nilerr // that is the finding
	}
	var s sum
	parents, err := c.folders(ctx, tx, scope, &s)
	if err != nil {
		return err
	}
	if err := c.bookmarks(ctx, tx, scope, parents, &s); err != nil {
		return err
	}
	if err := c.index(ctx, tx, scope); err != nil {
		return err
	}
	if head.Digest != s.digest.String() || head.Count != s.count {
		c.add(scope.WorkspaceID, "the head says %d rows with digest %s, but there are %d with %s", head.Count, head.Digest, s.count, s.digest)
	}
	if s.newest > head.Rev {
		c.add(scope.WorkspaceID, "a row has rev %d, beyond the head's %d", s.newest, head.Rev)
	}
	return nil
}

// folders checks the tree, and returns the living folders' parents.
func (c *checker) folders(ctx context.Context, tx *sqldb.Tx, scope access.Scope, s *sum) (map[string]string, error) {
	parents := map[string]string{}
	err := tx.Rows(ctx, `SELECT id, parent_id, rev, deleted_at FROM folder WHERE tenant_id = $1 AND workspace_id = $2`,
		[]any{scope.TenantID, scope.WorkspaceID}, func(row sqldb.Scanner) error {
			var id, parent string
			var rev, deleted int64
			if err := row.Scan(&id, &parent, &rev, &deleted); err != nil {
				return err
			}
			if s.row(id, rev, deleted == 0); deleted == 0 {
				parents[id] = parent
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for id := range parents {
		depth := 0
		for at := id; at != ""; depth++ {
			parent, ok := parents[at]
			if !ok {
				c.add(scope.WorkspaceID, "folder %s lies in one that does not live", id)
				break
			}
			if depth > len(parents) {
				c.add(scope.WorkspaceID, "folder %s lies below itself", id)
				break
			}
			at = parent
		}
		if depth > api.MaxTreeDepth && depth <= len(parents) {
			c.add(scope.WorkspaceID, "folder %s lies %d deep", id, depth)
		}
	}
	return parents, nil
}

func (c *checker) bookmarks(ctx context.Context, tx *sqldb.Tx, scope access.Scope, folders map[string]string, s *sum) error {
	tagged := map[int64][]string{}
	err := tx.Rows(ctx, `SELECT bt.bookmark_seq, bt.tag, t.tag_key FROM tag t JOIN bookmark_tag bt ON bt.tag_seq = t.seq
		WHERE t.workspace_id = $1`, []any{scope.WorkspaceID}, func(row sqldb.Scanner) error {
		var seq int64
		var tag, key string
		err := row.Scan(&seq, &tag, &key)
		if rules.TagKey(tag) == key {
			tagged[seq] = append(tagged[seq], tag)
		} else {
			tagged[seq] = append(tagged[seq], key+" for "+tag) // which no bookmark has
		}
		return err
	})
	if err != nil {
		return err
	}
	var reader tree.BookmarkReader
	err = tx.Rows(ctx, `SELECT `+tree.BookmarkColumns+`, b.url_key, b.seq FROM bookmark b WHERE b.tenant_id = $1 AND b.workspace_id = $2`,
		[]any{scope.TenantID, scope.WorkspaceID}, func(row sqldb.Scanner) error {
			var key string
			var seq int64
			b, err := reader.Read(row, &key, &seq)
			if err != nil {
				return err
			}
			s.row(b.ID, b.Rev, b.Live())
			tags := tagged[seq]
			delete(tagged, seq)
			if !b.Live() {
				if len(tags) > 0 {
					c.add(scope.WorkspaceID, "bookmark %s is deleted, and still found by its tags", b.ID)
				}
				return nil
			}
			if _, ok := folders[b.FolderID]; b.FolderID != "" && !ok {
				c.add(scope.WorkspaceID, "bookmark %s lies in a folder that does not live", b.ID)
			}
			if slices.Sort(tags); !slices.Equal(tags, slices.Sorted(slices.Values(b.Tags))) {
				c.add(scope.WorkspaceID, "bookmark %s is not found by its tags", b.ID)
			}
			if key != tree.URLKey(b.URL) {
				c.add(scope.WorkspaceID, "bookmark %s is not found by its URL", b.ID)
			}
			return nil
		})
	if err == nil && len(tagged) > 0 {
		c.add(scope.WorkspaceID, "%d bookmarks that it does not have carry its tags", len(tagged))
	}
	return err
}

// index compares the search index with the rows.
func (c *checker) index(ctx context.Context, tx *sqldb.Tx, scope access.Scope) error {
	missing := `SELECT count(*) FROM bookmark b WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.deleted_at = 0 AND NOT EXISTS (
		SELECT 1 FROM bookmark_fts_docsize d WHERE d.id = b.seq)`
	stray := `SELECT count(*) FROM bookmark b JOIN bookmark_fts_docsize d ON d.id = b.seq
		WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.deleted_at > 0`
	if tx.Dialect() == sqldb.Postgres {
		missing = `SELECT count(*) FROM bookmark b WHERE b.tenant_id = $1 AND b.workspace_id = $2 AND b.deleted_at = 0 AND COALESCE(length(b.search), 0) = 0`
		stray = `SELECT 0 FROM workspace w WHERE w.tenant_id = $1 AND w.id = $2`
	}
	for _, look := range []struct{ text, what string }{
		{missing, "%d bookmarks are not in the search index"}, {stray, "%d deleted bookmarks are in the search index"},
	} {
		var n int
		if err := tx.Row(ctx, look.text, []any{scope.TenantID, scope.WorkspaceID}, &n); err != nil {
			return err
		}
		if n > 0 {
			c.add(scope.WorkspaceID, look.what, n)
		}
	}
	return nil
}
