package api

// LinkStatus is what is known of a bookmark's link.
type LinkStatus string

// The values of [Bookmark.LinkStatus].
const (
	LinkOK      LinkStatus = "ok"
	LinkDead    LinkStatus = "dead"
	LinkUnknown LinkStatus = "unknown"
)

// ArchiveStatus is the state of a bookmark's snapshot.
type ArchiveStatus string

// The values of [Archive.Status].
const (
	ArchiveNone     ArchiveStatus = "none"
	ArchivePending  ArchiveStatus = "pending"
	ArchiveCaptured ArchiveStatus = "captured"
	ArchiveFailed   ArchiveStatus = "failed"
	ArchiveExpired  ArchiveStatus = "expired"
)

// Bookmark is one saved link.
type Bookmark struct {
	ID                string            `json:"id"`
	TenantID          string            `json:"tenantId"`
	WorkspaceID       string            `json:"workspaceId"`
	URL               string            `json:"url,omitempty"`
	Title             string            `json:"title"`
	Description       string            `json:"description"`
	Tags              []string          `json:"tags"`
	FolderID          string            `json:"folderId,omitempty" doc:"Absent where the bookmark is in no folder"`
	SortOrder         int64             `json:"sortOrder" doc:"Position within the folder, ascending; one order with its folders"`
	CreatedAt         Time              `json:"createdAt"`
	UpdatedAt         Time              `json:"updatedAt"`
	LinkStatus        LinkStatus        `json:"linkStatus" enum:"ok,dead,unknown"`
	LastLinkCheckedAt Time              `json:"lastLinkCheckedAt,omitzero"`
	SnapshotEnabled   bool              `json:"snapshotEnabled"`
	ReaderExcerpt     string            `json:"readerExcerpt,omitempty"`
	VideoEmbedURL     string            `json:"videoEmbedUrl,omitempty"`
	Archive           Archive           `json:"archive"`
	Extra             map[string]string `json:"extra,omitempty" doc:"Attributes that an import did not know, kept for the next export"`
	DeletedAt         Time              `json:"deletedAt,omitzero" doc:"Only in a list of what was deleted"`
}

// Archive is the state of a bookmark's snapshot.
type Archive struct {
	Status             ArchiveStatus `json:"status" enum:"none,pending,captured,failed,expired"`
	RetentionExpiresAt Time          `json:"retentionExpiresAt,omitzero"`
	MetadataID         string        `json:"metadataId,omitempty"`
}

// BookmarkInput is the body of a bookmark's create and update: on create an
// absent field has its default, on update it stays as it is.
type BookmarkInput struct {
	// ID is for creates alone: a UUIDv7 that the client chose.
	ID              Optional[string]            `json:"id,omitzero" doc:"A UUIDv7 of the client's choice; for creates alone"`
	URL             Optional[string]            `json:"url,omitzero" doc:"An absolute URL of any scheme, at most 64 KiB"`
	Title           Optional[string]            `json:"title,omitzero" doc:"At most 8192 characters"`
	Description     Optional[string]            `json:"description,omitzero" doc:"At most 65536 characters"`
	Tags            Optional[[]string]          `json:"tags,omitzero" doc:"At most 256 tags of 128 characters"`
	FolderID        Optional[string]            `json:"folderId,omitzero"`
	SortOrder       Optional[int64]             `json:"sortOrder,omitzero"`
	ArchiveCapture  Optional[bool]              `json:"archiveCapture,omitzero" doc:"Ask for a snapshot now, of a server that takes them"`
	NoticeVersion   Optional[string]            `json:"noticeVersion,omitzero"`
	SnapshotEnabled Optional[bool]              `json:"snapshotEnabled,omitzero"`
	ReaderExcerpt   Optional[string]            `json:"readerExcerpt,omitzero" doc:"At most 65536 characters"`
	VideoEmbedURL   Optional[string]            `json:"videoEmbedUrl,omitzero" doc:"http or https, at most 2048 characters"`
	Extra           Optional[map[string]string] `json:"extra,omitzero"`
	// CreatedAt is heeded by import and by the change feed alone.
	CreatedAt Optional[Time] `json:"createdAt,omitzero" doc:"Heeded in the change feed alone"`
}

// BookmarkFilter is the query of every bookmark list, count and export.
type BookmarkFilter struct {
	Query        string
	Tags         []string
	FolderID     string // "" any, [RootFolder] the unfiled
	Recursive    bool
	FilterStatus string // one of [FilterStatuses], "" for any
}

// RootFolder is the folderId that means "in no folder".
const RootFolder = "root"

// FilterStatuses are the accepted values of filterStatus.
var FilterStatuses = []string{"ok", "dead", "unknown", "archived", "untagged", "unfiled", "deleted"}

// SortKeys are the accepted values of sortBy; each but relevance may have "-"
// in front for descending.
var SortKeys = []string{"createdAt", "updatedAt", "title", "url", "sortOrder", "relevance"}

// BulkDelete asks to delete up to [MaxBulkIDs] bookmarks.
type BulkDelete struct {
	IDs []string `json:"ids" minItems:"1" maxItems:"1000"`
}

// BulkDeleted says what a bulk delete did.
type BulkDeleted struct {
	DeletedCount int      `json:"deletedCount"`
	NotFound     []string `json:"notFound"`
}

// DeleteScope is what delete-by-scope empties.
type DeleteScope string

// The scopes of delete-by-scope.
const (
	DeleteFolder DeleteScope = "folder"
	DeleteTag    DeleteScope = "tag"
	DeleteDead   DeleteScope = "dead"
	DeleteAll    DeleteScope = "all"
)

// DeleteByScope asks to delete every bookmark of a scope.
type DeleteByScope struct {
	Scope    DeleteScope      `json:"scope" enum:"folder,tag,dead,all"`
	FolderID Optional[string] `json:"folderId,omitzero" doc:"Required with scope folder"`
	Tag      Optional[string] `json:"tag,omitzero" doc:"Required with scope tag"`
	Confirm  bool             `json:"confirm" doc:"Must be true"`
}

// DeletedCount says how many were deleted.
type DeletedCount struct {
	DeletedCount int `json:"deletedCount"`
}

// Count is the answer of a count.
type Count struct {
	Count int `json:"count"`
}

// Move asks to move bookmarks into another folder or workspace.
type Move struct {
	IDs         []string         `json:"ids" minItems:"1" maxItems:"1000"`
	FolderID    Optional[string] `json:"folderId,omitzero" doc:"Absent or null: in no folder"`
	WorkspaceID Optional[string] `json:"workspaceId,omitzero" doc:"Absent: within the workspace"`
}

// Moved says what a move did.
type Moved struct {
	MovedCount int      `json:"movedCount"`
	NotFound   []string `json:"notFound"`
}

// Tag is a tag of a workspace with how many live bookmarks carry it.
type Tag struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// TagRename asks to rename a tag on every bookmark that carries it.
type TagRename struct {
	From string `json:"from" minLength:"1"`
	To   string `json:"to" minLength:"1"`
}

// TagMerge asks to replace several tags by one.
type TagMerge struct {
	From []string `json:"from" minItems:"1" maxItems:"256"`
	Into string   `json:"into" minLength:"1"`
}

// Updated says how many bookmarks a rename or merge of tags changed.
type Updated struct {
	UpdatedCount int `json:"updatedCount"`
}
