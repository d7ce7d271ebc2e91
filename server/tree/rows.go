package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// Purged is the deletion id of a row that was removed for good: only its
// tombstone is left, for the replicas.
const Purged = "purged"

// Bookmark is a bookmark's row.
type Bookmark struct {
	api.Bookmark
	Rev        int64
	DeletionID string
	seq        int64
}

// Live reports whether the bookmark is not in the trash.
func (b *Bookmark) Live() bool { return b.DeletedAt.IsZero() }

// Folder is a folder's row.
type Folder struct {
	api.Folder
	Rev        int64
	DeletionID string
}

// Live reports whether the folder is not in the trash.
func (f *Folder) Live() bool { return f.DeletedAt.IsZero() }

// BookmarkColumns are what [ScanBookmark] reads, of a table called b.
const BookmarkColumns = `b.seq, b.id, b.tenant_id, b.workspace_id, b.folder_id, b.url, b.title, b.description, b.tags, b.sort_order,
	b.link_status, b.last_link_checked_at, b.snapshot_enabled, b.reader_excerpt, b.video_embed_url,
	b.archive_status, b.archive_expires_at, b.archive_metadata_id, b.extra, b.created_at, b.updated_at, b.deleted_at, b.deletion_id, b.rev`

// ScanBookmark reads one row of [BookmarkColumns].
func ScanBookmark(row sqldb.Scanner) (Bookmark, error) {
	var r BookmarkReader
	b, err := r.Read(row)
	return *b, err
}

// BookmarkReader reads many rows of [BookmarkColumns] into the same variables:
// a scan into new ones costs as much as the row itself.
type BookmarkReader struct {
	b                                           Bookmark
	tags, extra                                 string
	checked, expires, created, updated, deleted int64
	into                                        []any
}

// Read reads a row, and further columns into more. What it returns is
// overwritten by the next.
func (r *BookmarkReader) Read(row sqldb.Scanner, more ...any) (*Bookmark, error) {
	b := &r.b
	if r.into == nil {
		r.into = []any{
			&b.seq, &b.ID, &b.TenantID, &b.WorkspaceID, &b.FolderID, &b.URL, &b.Title, &b.Description, &r.tags, &b.SortOrder,
			&b.LinkStatus, &r.checked, &b.SnapshotEnabled, &b.ReaderExcerpt, &b.VideoEmbedURL,
			&b.Archive.Status, &r.expires, &b.Archive.MetadataID, &r.extra, &r.created, &r.updated, &r.deleted, &b.DeletionID, &b.Rev,
		}
	}
	into := r.into
	if len(more) > 0 {
		into = append(into[:len(into):len(into)], more...)
	}
	if err := row.Scan(into...); err != nil {
		return b, err
	}
	var err error
	if b.Tags, err = decodeTags(r.tags); err != nil {
		return b, err
	}
	if b.Extra, err = decodeExtra(r.extra); err != nil {
		return b, err
	}
	b.LastLinkCheckedAt, b.Archive.RetentionExpiresAt = api.FromMicros(r.checked), api.FromMicros(r.expires)
	b.CreatedAt, b.UpdatedAt, b.DeletedAt = api.FromMicros(r.created), api.FromMicros(r.updated), api.FromMicros(r.deleted)
	return b, nil
}

const folderColumns = `id, tenant_id, workspace_id, parent_id, name, description, sort_order, extra, created_at, updated_at, deleted_at, deletion_id, rev`

func scanFolder(row sqldb.Scanner) (Folder, error) {
	var f Folder
	var extra string
	var created, updated, deleted int64
	err := row.Scan(&f.ID, &f.TenantID, &f.WorkspaceID, &f.ParentID, &f.Name, &f.Description, &f.SortOrder, &extra,
		&created, &updated, &deleted, &f.DeletionID, &f.Rev)
	if err != nil {
		return f, err
	}
	if f.Extra, err = decodeExtra(extra); err != nil {
		return f, err
	}
	f.CreatedAt, f.UpdatedAt, f.DeletedAt = api.FromMicros(created), api.FromMicros(updated), api.FromMicros(deleted)
	return f, nil
}

func decodeTags(text string) ([]string, error) {
	if text == "[]" {
		return []string{}, nil
	}
	// The usual case without reflection: a row has few tags, and no escapes.
	if inner := text[1 : len(text)-1]; !strings.ContainsRune(inner, '\\') && !strings.Contains(strings.ReplaceAll(inner, `","`, ""), ",") {
		return strings.Split(inner[1:len(inner)-1], `","`), nil
	}
	var tags []string
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, fmt.Errorf("read a bookmark's tags: %w", err)
	}
	return tags, nil
}

func encodeTags(tags []string) (string, error) {
	if len(tags) == 0 {
		return "[]", nil
	}
	raw, err := json.Marshal(tags)
	if err != nil {
		return "", fmt.Errorf("write a bookmark's tags: %w", err)
	}
	return string(raw), nil
}

func decodeExtra(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var extra map[string]string
	if err := json.Unmarshal([]byte(text), &extra); err != nil {
		return nil, fmt.Errorf("read the kept attributes: %w", err)
	}
	return extra, nil
}

func encodeExtra(extra map[string]string) (string, error) {
	if len(extra) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(extra)
	if err != nil {
		return "", fmt.Errorf("write the kept attributes: %w", err)
	}
	return string(raw), nil
}

// bookmarkArgs are the values of insert and update, in the order of
// bookmarkFields.
func bookmarkArgs(b *Bookmark) ([]any, error) {
	tags, err := encodeTags(b.Tags)
	if err != nil {
		return nil, err
	}
	extra, err := encodeExtra(b.Extra)
	if err != nil {
		return nil, err
	}
	return []any{
		b.ID, b.TenantID, b.WorkspaceID, b.FolderID, b.URL, URLKey(b.URL), rules.URLKeyVersion,
		b.Title, titleKey(b.Title), b.Description, tags, b.SortOrder, string(b.LinkStatus), b.LastLinkCheckedAt.Micros(), b.SnapshotEnabled,
		b.ReaderExcerpt, b.VideoEmbedURL, string(b.Archive.Status), b.Archive.RetentionExpiresAt.Micros(), b.Archive.MetadataID,
		extra, b.CreatedAt.Micros(), b.UpdatedAt.Micros(), b.DeletedAt.Micros(), b.DeletionID, b.Rev,
	}, nil
}

// maxKey bounds an index's entry: PostgreSQL refuses to index the 64 KiB that a
// data: URL may have.
const maxKey = 512

// URLKey is what the column by which duplicates are found holds for a URL.
func URLKey(url string) string { return urlKey(rules.URLKey(url)) }

// urlKey is a normalised URL as the column holds it: a long one is told apart
// by its hash.
func urlKey(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// titleKey is the form in which titles are sorted.
func titleKey(title string) string {
	key, _ := rules.Cut(rules.NameKey(title), 128)
	return key
}

var bookmarkFields = []string{
	"id", "tenant_id", "workspace_id", "folder_id", "url", "url_key", "url_key_version",
	"title", "title_key", "description", "tags", "sort_order", "link_status", "last_link_checked_at", "snapshot_enabled",
	"reader_excerpt", "video_embed_url", "archive_status", "archive_expires_at", "archive_metadata_id",
	"extra", "created_at", "updated_at", "deleted_at", "deletion_id", "rev",
}

func folderArgs(f *Folder) ([]any, error) {
	extra, err := encodeExtra(f.Extra)
	if err != nil {
		return nil, err
	}
	return []any{
		f.ID, f.TenantID, f.WorkspaceID, f.ParentID, f.Name, f.Description, f.SortOrder, extra,
		f.CreatedAt.Micros(), f.UpdatedAt.Micros(), f.DeletedAt.Micros(), f.DeletionID, f.Rev,
	}, nil
}

var folderFields = strings.Split(strings.ReplaceAll(folderColumns, " ", ""), ",")

// insertSQL and updateSQL write the statements for a list of columns, the
// first of which is the id; extra are columns with a cast.
func insertSQL(table string, fields []string, last string) string {
	holders := make([]string, len(fields))
	for i := range fields {
		holders[i] = fmt.Sprintf("$%d", i+1)
	}
	if last != "" {
		holders[len(holders)-1] += last
	}
	return "INSERT INTO " + table + " (" + strings.Join(fields, ", ") + ") VALUES (" + strings.Join(holders, ", ") + ")"
}

// reviving makes an insert write over the blank tombstone that is left of a row
// which was removed for good: a replica that still had it brings it back. Any
// other row with the id stays as it is.
func reviving(table string, fields []string) string {
	sets := make([]string, 0, len(fields))
	for _, field := range fields[1:] {
		sets = append(sets, field+" = excluded."+field)
	}
	return " ON CONFLICT (id) DO UPDATE SET " + strings.Join(sets, ", ") + " WHERE " + table + ".deletion_id = '" + Purged +
		"' AND " + table + ".tenant_id = excluded.tenant_id AND " + table + ".workspace_id = excluded.workspace_id"
}

func updateSQL(table string, fields []string, last string) string {
	sets := make([]string, 0, len(fields))
	for i, field := range fields[1:] {
		sets = append(sets, fmt.Sprintf("%s = $%d", field, i+2))
	}
	sets[len(sets)-1] += last
	return "UPDATE " + table + " SET " + strings.Join(sets, ", ") + " WHERE id = $1 AND tenant_id = $2 AND workspace_id = $3"
}

// statements are the texts of the writes, which differ where PostgreSQL has
// the search index in the row.
type statements struct {
	insertBookmark, updateBookmark string
	insertFolder, updateFolder     string
}

// searchedFields are PostgreSQL's, which has the search index in the row.
var searchedFields = append(bookmarkFields[:len(bookmarkFields):len(bookmarkFields)], "search")

// They are made when they are first used: most of what links this
// package never is a server.
var (
	sqliteStatements   = sync.OnceValue(func() *statements { return newStatements(bookmarkFields, "") })
	postgresStatements = sync.OnceValue(func() *statements { return newStatements(searchedFields, "::text::tsvector") })
)

func newStatements(fields []string, cast string) *statements {
	return &statements{
		insertBookmark: insertSQL("bookmark", fields, cast) + reviving("bookmark", fields) + " RETURNING seq",
		updateBookmark: updateSQL("bookmark", fields, cast),
		insertFolder:   insertSQL("folder", folderFields, "") + reviving("folder", folderFields),
		updateFolder:   updateSQL("folder", folderFields, ""),
	}
}

// statements are those of the edit's database.
func (e *Edit) statements() *statements {
	if e.tx.Dialect() == sqldb.Postgres {
		return postgresStatements()
	}
	return sqliteStatements()
}
