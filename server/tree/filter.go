package tree

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// condition gathers a WHERE clause over bookmark b with its values.
type condition struct {
	parts []string
	args  []any
}

// bind adds a value and returns its placeholder.
func (c *condition) bind(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

func (c *condition) and(part string) { c.parts = append(c.parts, part) }

func (c *condition) String() string { return strings.Join(c.parts, " AND ") }

// inScope begins a condition: every query names its tenant.
func inScope(scope access.Scope) *condition {
	c := &condition{}
	c.and("b.tenant_id = " + c.bind(scope.TenantID))
	c.and("b.workspace_id = " + c.bind(scope.WorkspaceID))
	return c
}

const subtree = `WITH RECURSIVE below (id) AS (
		SELECT CAST(%s AS TEXT)
		UNION ALL
		SELECT f.id FROM folder f JOIN below ON f.parent_id = below.id WHERE f.workspace_id = $2%s)
	SELECT id FROM below`

// filtered is the condition of a list's filters, without its query.
func filtered(ctx context.Context, look *tagLook, filter api.BookmarkFilter, how tagging) (*condition, error) {
	c := inScope(look.scope)
	alive := " AND f.deleted_at = 0"
	if filter.FilterStatus == "deleted" {
		alive = "" // what is in the trash mostly lies in folders of it
		c.and("b.deleted_at > 0 AND b.deletion_id <> '" + Purged + "'")
	} else {
		c.and("b.deleted_at = 0")
		for _, key := range tagKeys(filter.Tags) {
			has, err := look.onBookmark(ctx, key, c.bind, how)
			if err != nil {
				return nil, err
			}
			c.and(has)
		}
	}
	switch {
	case filter.FolderID == "":
	case filter.FolderID == api.RootFolder && filter.Recursive:
	case filter.FolderID == api.RootFolder:
		c.and("b.folder_id = ''")
	case filter.Recursive:
		c.and("b.folder_id IN (" + fmt.Sprintf(subtree, c.bind(filter.FolderID), alive) + ")")
	default:
		c.and("b.folder_id = " + c.bind(filter.FolderID))
	}
	switch filter.FilterStatus {
	case "ok", "dead", "unknown":
		c.and("b.link_status = " + c.bind(filter.FilterStatus))
	case "archived":
		c.and("b.archive_status = 'captured'")
	case "untagged":
		c.and("b.tags = '[]'")
	case "unfiled":
		c.and("b.folder_id = ''")
	}
	return c, nil
}

// tagKeys are the distinct tags that a filter asks for.
func tagKeys(tags []string) []string {
	keys := make([]string, len(tags))
	for i, tag := range tags {
		keys[i] = rules.TagKey(tag)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// schema tells the query compiler how the tables are called.
func schema(ctx context.Context, look *tagLook, how tagging) query.Schema {
	s := query.Schema{
		Dialect: query.SQLite, Index: "bookmark_fts", Row: "b.seq", ScopeColumn: "scope",
		Scope:     query.ScopeToken(look.scope.WorkspaceID),
		CreatedAt: "b.created_at", LinkStatus: "b.link_status", ArchiveStatus: "b.archive_status",
		FolderID: "b.folder_id", NoFolder: "b.folder_id = ''", NoTags: "b.tags = '[]'",
		HasTag: func(key string, bind func(any) string) (string, error) {
			return look.onBookmark(ctx, key, bind, how)
		},
		Folders: func(f query.Folder) ([]string, error) {
			folders, err := look.folderTree(ctx)
			if err != nil {
				return nil, err
			}
			ids := folders.Resolve(f)
			return ids, look.load.Add(listedFolder * len(ids))
		},
	}
	if look.tx.Dialect() == sqldb.Postgres {
		s.Dialect, s.Index = query.PostgreSQL, "b.search"
	}
	return s
}

// check refuses a filter that asks for too much, or for a folder that is not
// one of the workspace's.
func check(ctx context.Context, tx *sqldb.Tx, scope access.Scope, filter api.BookmarkFilter) error {
	if len(tagKeys(filter.Tags)) > api.MaxTagFilters {
		return api.Invalid("query.tag", "names more than %d tags", api.MaxTagFilters)
	}
	if filter.FolderID == "" || filter.FolderID == api.RootFolder {
		return nil
	}
	folder, err := findFolder(ctx, tx, scope.TenantID, scope.WorkspaceID, filter.FolderID)
	if api.CodeOf(err) == api.CodeNotFound || err == nil && !folder.Live() && filter.FilterStatus != "deleted" {
		return api.Invalid("query.folderId", "names no folder of this workspace")
	}
	return err
}

// where is the condition of all of a filter.
func where(ctx context.Context, tx *sqldb.Tx, scope access.Scope, filter api.BookmarkFilter) (*condition, error) {
	look := newTagLook(ctx, tx, scope)
	how, err := look.shortest(ctx, filter)
	if err != nil {
		return nil, err
	}
	return whereBy(ctx, look, filter, how)
}

// whereBy is [where] that looks for tags in one way.
func whereBy(ctx context.Context, look *tagLook, filter api.BookmarkFilter, how tagging) (*condition, error) {
	tx, scope := look.tx, look.scope
	if err := check(ctx, tx, scope, filter); err != nil {
		return nil, err
	}
	c, err := filtered(ctx, look, filter, how)
	switch {
	case err != nil:
		return nil, err
	case filter.FilterStatus == "deleted" && (filter.Query != "" || len(filter.Tags) > 0):
		return c, c.inTrash(ctx, tx, scope, filter)
	case filter.Query == "":
		return c, nil
	}
	part, args, err := query.Parse(filter.Query).Filter(schema(ctx, look, how), len(c.args)+1)
	if err != nil {
		return nil, fmt.Errorf("read the query: %w", err)
	}
	c.and(part)
	c.args = append(c.args, args...)
	return c, nil
}

// inTrash adds what a filter's query and tags find in the trash.
func (c *condition) inTrash(ctx context.Context, tx *sqldb.Tx, scope access.Scope, filter api.BookmarkFilter) error {
	hits, err := trashHits(ctx, tx, scope, filter)
	if err != nil {
		return err
	}
	ids := make([]string, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	list, part, err := In(tx.Dialect(), "b.id", len(c.args)+1, ids)
	if err != nil {
		return err
	}
	c.bind(list)
	c.and(part)
	return nil
}

// trashHits looks through the trash row by row for what a query and tags find:
// neither the index nor the table of tags has it. It holds what 30 days threw
// away.
func trashHits(ctx context.Context, tx *sqldb.Tx, scope access.Scope, filter api.BookmarkFilter) (hits []query.Hit, err error) {
	look := newTagLook(ctx, tx, scope)
	c, err := filtered(ctx, look, filter, byTag)
	if err != nil {
		return nil, err
	}
	parsed, keys := query.Parse(filter.Query), tagKeys(filter.Tags)
	folders, err := look.folderTree(ctx)
	if err != nil {
		return nil, err
	}
	var reader BookmarkReader
	err = tx.Rows(ctx, `SELECT `+BookmarkColumns+` FROM bookmark b WHERE `+c.String(), c.args, func(row sqldb.Scanner) error {
		b, err := reader.Read(row)
		if err != nil {
			return err
		}
		had := queryRow(b)
		if slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(had.TagKeys, key) }) {
			return nil
		}
		if tier, ok := parsed.Match(had, folders); ok {
			hits = append(hits, query.Hit{Tier: tier, CreatedAt: b.CreatedAt.Micros(), ID: b.ID})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search the trash: %w", err)
	}
	slices.SortFunc(hits, query.Hit.Compare)
	return hits, nil
}

// In is the condition that a column is among values, which are bound as one
// value to the placeholder of that number: the text is the same for any number
// of them.
func In(dialect sqldb.Dialect, column string, placeholder int, values []string) (value, condition string, err error) {
	list, err := json.Marshal(values)
	if err != nil {
		return "", "", fmt.Errorf("list the values: %w", err)
	}
	if dialect == sqldb.Postgres {
		return string(list), fmt.Sprintf("%s IN (SELECT jsonb_array_elements_text($%d::text::jsonb))", column, placeholder), nil
	}
	return string(list), fmt.Sprintf("%s IN (SELECT value FROM json_each($%d))", column, placeholder), nil
}
