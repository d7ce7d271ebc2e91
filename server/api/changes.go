package api

import "encoding/json"

// EntityType is what a change is about.
type EntityType string

// The types of a change.
const (
	TypeFolder   EntityType = "folder"
	TypeBookmark EntityType = "bookmark"
)

// Change is one entity as it is now; of a deleted one only the fact.
type Change struct {
	Type     EntityType `json:"type" enum:"folder,bookmark"`
	ID       string     `json:"id"`
	Rev      int64      `json:"rev"`
	Deleted  bool       `json:"deleted,omitempty"`
	Folder   *Folder    `json:"folder,omitempty"`
	Bookmark *Bookmark  `json:"bookmark,omitempty"`
}

// Head is the state of a workspace as a whole.
type Head struct {
	Epoch string `json:"epoch"`
	Rev   int64  `json:"rev"`
	// Digest is Σ hash64(id, rev) over the live rows, see [Digest].
	Digest string `json:"digest" doc:"16 hexadecimal digits"`
	Count  int64  `json:"count" doc:"Live folders and bookmarks"`
	// SharedRev is the last rev that this epoch has in common with the one
	// before it: what is newer in a replica of the former epoch was lost.
	SharedRev int64 `json:"sharedRev" doc:"Up to which rev this epoch continues the one before"`
	// PurgedRev is the horizon: tombstones up to it are gone.
	PurgedRev int64 `json:"purgedRev" doc:"Tombstones up to this rev were purged"`
}

// ChangesPage is the answer of GET …/changes.
type ChangesPage struct {
	Data       []Change   `json:"data"`
	Pagination Pagination `json:"pagination"`
	Head       Head       `json:"head"`
}

// OpAction is what an op does.
type OpAction string

// The actions of an op.
const (
	OpCreate  OpAction = "create"
	OpUpdate  OpAction = "update"
	OpDelete  OpAction = "delete"
	OpRestore OpAction = "restore"
)

// Op is one edit of a replica, to be applied by compare and set.
type Op struct {
	OpID    string     `json:"opId" doc:"A UUID: the same op again has no second effect"`
	Action  OpAction   `json:"action" enum:"create,update,delete,restore"`
	Type    EntityType `json:"type" enum:"folder,bookmark"`
	ID      string     `json:"id"`
	BaseRev int64      `json:"baseRev,omitempty" doc:"The rev that the edit was made on"`
	// Set holds a [BookmarkInput] or [FolderInput]: the fields to write.
	Set json.RawMessage `json:"set,omitempty"`
}

// PushRequest is the body of POST …/changes.
type PushRequest struct {
	// Epoch and Cursor say what the ops were decided on: the epoch and the
	// next_cursor of the last complete pull. Without them the ops are taken to
	// be decided on the present state.
	Epoch  string `json:"epoch,omitempty" doc:"That of the last complete pull"`
	Cursor string `json:"cursor,omitempty" doc:"The next_cursor of the last complete pull"`
	Ops    []Op   `json:"ops" minItems:"1" maxItems:"500"`
}

// OpStatus is the verdict on an op.
type OpStatus string

// The verdicts.
const (
	OpApplied  OpStatus = "applied"
	OpStale    OpStatus = "stale"
	OpRejected OpStatus = "rejected"
)

// OpResult is the verdict on one op, with the entity as it is now: after the
// effect where it was applied, as it stood where it was stale. A create that is
// stale may have none.
type OpResult struct {
	OpID   string   `json:"opId"`
	Status OpStatus `json:"status" enum:"applied,stale,rejected"`
	Rev    int64    `json:"rev,omitempty"`
	// Entity is left out of an applied op whose row is what the op set, where
	// the request preferred that. UpdatedAt stands in its place then: it is
	// what the caller cannot know.
	Entity    *Change        `json:"entity,omitempty"`
	UpdatedAt Time           `json:"updatedAt,omitzero" doc:"In place of an entity that was left out"`
	Error     *EnvelopeError `json:"error,omitempty"`
}

// PushResponse is the answer of POST …/changes.
type PushResponse struct {
	Results []OpResult `json:"results"`
	Head    Head       `json:"head"`
	// NextCursor is there where the request's cursor was at the head and every
	// op was applied, each changing one row: then the next pull can go on
	// behind them.
	NextCursor string `json:"next_cursor,omitempty" doc:"Where a pull goes on, if nothing but these ops changed since the request's cursor"`
}

// Event is a poke of GET /me/events: something changed, go and pull.
type Event struct {
	WorkspaceID string `json:"workspaceId,omitempty"`
	GrantID     string `json:"grantId,omitempty"`
	Rev         int64  `json:"rev"`
}
