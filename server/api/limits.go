package api

import "time"

// The limits of the contract, in one table: the server enforces them, shows
// them at /.well-known/bm and in the OpenAPI document; the replica applies
// them to offline edits, so that nothing is accepted here and refused there.
const (
	MaxJSONBody     = 1 << 20  // bytes, any JSON body not named below
	MaxBookmarkBody = 4 << 20  // bytes, a single bookmark
	MaxChangesBody  = 16 << 20 // bytes, POST …/changes
	MaxImportBody   = 64 << 20 // bytes, the upload
	MaxImportRows   = 500_000

	MaxURL           = 64 << 10 // bytes
	MaxTitle         = 8192     // characters
	MaxDescription   = 64 << 10 // characters, of a bookmark
	MaxNote          = 4096     // characters, of a folder and anything else
	MaxReaderExcerpt = 64 << 10 // characters
	MaxLink          = 2048     // characters, avatarUrl and videoEmbedUrl
	MaxTags          = 256
	MaxTagFilters    = 16  // distinct tags that a list is filtered by
	MaxTag           = 128 // characters
	MaxFolderName    = 512 // characters
	MaxTreeDepth     = 64
	MaxName          = 256      // characters, labels and names
	MaxExtra         = 16 << 10 // bytes, names and values together
	MaxNoticeVersion = 64       // characters

	MinPassword = 12  // characters
	MaxPassword = 256 // characters

	DefaultPageSize = 50
	MaxPageSize     = 200

	DefaultChangesPage = 1000
	MaxChangesPage     = 5000
	MaxChangesOps      = 500
	MaxBulkIDs         = 1000

	// SortGap is the distance between neighbours in a folder's order, so that
	// something can be put between two without moving a third.
	SortGap = 1024

	// TrashDays is how long what was deleted can be restored.
	TrashDays = 30
)

// MaxWait bounds how long GET …/changes holds a request for news.
const MaxWait = 25 * time.Second

// NoticeVersion is the version of the notice that this build's server shows.
const NoticeVersion = "1"

// Untitled is the title of a bookmark made with neither URL nor title.
const Untitled = "Untitled"

// Limits is the table by name, as /.well-known/bm shows it.
func Limits() map[string]int64 {
	return map[string]int64{
		"jsonBody": MaxJSONBody, "bookmarkBody": MaxBookmarkBody, "changesBody": MaxChangesBody,
		"importBody": MaxImportBody, "importRows": MaxImportRows,
		"url": MaxURL, "title": MaxTitle, "description": MaxDescription, "note": MaxNote, "readerExcerpt": MaxReaderExcerpt,
		"link": MaxLink, "tags": MaxTags, "tag": MaxTag, "folderName": MaxFolderName, "treeDepth": MaxTreeDepth,
		"name": MaxName, "extra": MaxExtra, "noticeVersion": MaxNoticeVersion,
		"pageSize": MaxPageSize, "changesPage": MaxChangesPage, "changesOps": MaxChangesOps, "bulkIds": MaxBulkIDs,
	}
}
