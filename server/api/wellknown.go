package api

// The extensions that a server may announce.
const (
	ExtChanges = "changes" // GET and POST …/changes
	ExtEvents  = "events"  // GET /me/events
	ExtIDs     = "ids"     // client-chosen ids on create
	ExtTags    = "tags"    // …/tags with rename and merge
	ExtRestore = "restore" // restore of bookmarks, folders, workspaces
	ExtMove    = "move"    // …/bookmarks/move
	ExtETag    = "etag"    // ETag, If-Match and Idempotency-Key
)

// APIVersion is the version of the interface.
const APIVersion = "0.0.1"

// ServerInfo is the answer of GET /.well-known/bm.
type ServerInfo struct {
	Name          string           `json:"name"`
	Version       string           `json:"version"`
	APIVersion    string           `json:"apiVersion"`
	NoticeVersion string           `json:"noticeVersion"`
	Extensions    []string         `json:"extensions"`
	Limits        map[string]int64 `json:"limits"`
}

// Has reports whether the server announced the extension.
func (i ServerInfo) Has(extension string) bool {
	for _, name := range i.Extensions {
		if name == extension {
			return true
		}
	}
	return false
}
