package localstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"bm/server/api"
)

// Entity is a bookmark or a folder as the replica holds it. One shape for both
// lets merging, sending and undoing each be written once.
type Entity struct {
	Type api.EntityType
	ID   string
	// Rev is the rev of the server's row as last seen; 0 where the server has
	// none.
	Rev int64
	// DeletedAt is zero for what is alive.
	DeletedAt api.Time
	// Deletion is common to what was deleted together here; "" where the
	// server deleted it.
	Deletion string
	Fields
	System

	n int64 // the row's number
}

// Deleted reports whether the entity is deleted.
func (e *Entity) Deleted() bool { return !e.DeletedAt.IsZero() }

// Fields are what a user can edit.
type Fields struct {
	Parent      string            `json:"parent,omitempty"` // the folder it is in; "" at the top
	Title       string            `json:"title,omitempty"`  // a folder's name
	URL         string            `json:"url,omitempty"`
	Description string            `json:"description,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	SortOrder   int64             `json:"sortOrder,omitempty"`
	CreatedAt   api.Time          `json:"createdAt,omitzero"`
	Snapshot    bool              `json:"snapshotEnabled,omitempty"`
	Extra       map[string]string `json:"extra,omitempty"`
}

// Equal reports whether both hold the same, to the letter.
func (f *Fields) Equal(g *Fields) bool {
	return f.Parent == g.Parent && f.Title == g.Title && f.URL == g.URL &&
		f.Description == g.Description && slices.Equal(f.Tags, g.Tags) &&
		f.SortOrder == g.SortOrder && f.CreatedAt.Equal(g.CreatedAt.Time) &&
		f.Snapshot == g.Snapshot && maps.Equal(f.Extra, g.Extra)
}

// System are what the server alone decides.
type System struct {
	UpdatedAt     api.Time
	LinkStatus    api.LinkStatus
	LinkCheckedAt api.Time
	ReaderExcerpt string
	VideoEmbedURL string
	Archive       api.Archive
}

// rest is the rarely filled part of System, kept in one column.
type rest struct {
	LinkCheckedAt      api.Time `json:"checked,omitzero"`
	ReaderExcerpt      string   `json:"excerpt,omitempty"`
	VideoEmbedURL      string   `json:"video,omitempty"`
	RetentionExpiresAt api.Time `json:"expires,omitzero"`
	MetadataID         string   `json:"metadata,omitempty"`
}

// EntityOf is a change of the feed as an entity.
func EntityOf(c *api.Change) (Entity, error) {
	e := Entity{Type: c.Type, ID: c.ID, Rev: c.Rev}
	switch {
	case c.Bookmark != nil && c.Type == api.TypeBookmark:
		b := c.Bookmark
		e.Fields = Fields{
			Parent: b.FolderID, Title: b.Title, URL: b.URL, Description: b.Description, Tags: b.Tags,
			SortOrder: b.SortOrder, CreatedAt: b.CreatedAt, Snapshot: b.SnapshotEnabled, Extra: b.Extra,
		}
		e.System = System{
			UpdatedAt: b.UpdatedAt, LinkStatus: b.LinkStatus, LinkCheckedAt: b.LastLinkCheckedAt,
			ReaderExcerpt: b.ReaderExcerpt, VideoEmbedURL: b.VideoEmbedURL, Archive: b.Archive,
		}
	case c.Folder != nil && c.Type == api.TypeFolder:
		f := c.Folder
		e.Fields = Fields{
			Parent: f.ParentID, Title: f.Name, Description: f.Description,
			SortOrder: f.SortOrder, CreatedAt: f.CreatedAt, Extra: f.Extra,
		}
		e.System = System{UpdatedAt: f.UpdatedAt}
	case !c.Deleted:
		return e, fmt.Errorf("the change of %s %q holds no %s", c.Type, c.ID, c.Type)
	}
	return e, nil
}

// Bookmark is a bookmark as the replica holds it.
type Bookmark struct {
	api.Bookmark
	// Replica is the number of the replica that it is in.
	Replica int64 `json:"-"`
	// Unsent is true while the server lacks an edit of it.
	Unsent bool `json:"unsent,omitempty"`
}

// Folder is a folder as the replica holds it.
type Folder struct {
	api.Folder
	Replica int64 `json:"-"`
	Unsent  bool  `json:"unsent,omitempty"`
	// DeletedElsewhere: only the server knows what its deletion took along.
	DeletedElsewhere bool `json:"-"`
}

func (e *Entity) bookmark(r *Replica, unsent bool) Bookmark {
	tags := e.Tags
	if tags == nil {
		tags = []string{}
	}
	return Bookmark{
		Replica: r.N,
		Unsent:  unsent,
		Bookmark: api.Bookmark{
			ID: e.ID, TenantID: r.TenantID, WorkspaceID: r.RemoteID,
			URL: e.URL, Title: e.Title, Description: e.Description, Tags: tags,
			FolderID: e.Parent, SortOrder: e.SortOrder, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
			LinkStatus: e.LinkStatus, LastLinkCheckedAt: e.LinkCheckedAt, SnapshotEnabled: e.Snapshot,
			ReaderExcerpt: e.ReaderExcerpt, VideoEmbedURL: e.VideoEmbedURL,
			Archive: e.Archive, Extra: e.Extra, DeletedAt: e.DeletedAt,
		},
	}
}

func (e *Entity) folder(r *Replica, unsent bool) Folder {
	return Folder{
		Replica:          r.N,
		Unsent:           unsent,
		DeletedElsewhere: e.Deleted() && e.Deletion == "",
		Folder: api.Folder{
			ID: e.ID, TenantID: r.TenantID, WorkspaceID: r.RemoteID, Name: e.Title, Description: e.Description,
			ParentID: e.Parent, SortOrder: e.SortOrder, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
			Extra: e.Extra, DeletedAt: e.DeletedAt,
		},
	}
}

// encodeTags is a column's form of tags: "" for none.
func encodeTags(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return encode(tags)
}

func encodeExtra(extra map[string]string) string {
	if len(extra) == 0 {
		return ""
	}
	return encode(extra)
}

func (s *System) encodeRest() string {
	r := rest{
		LinkCheckedAt: s.LinkCheckedAt, ReaderExcerpt: s.ReaderExcerpt, VideoEmbedURL: s.VideoEmbedURL,
		RetentionExpiresAt: s.Archive.RetentionExpiresAt, MetadataID: s.Archive.MetadataID,
	}
	if r == (rest{}) {
		return ""
	}
	return encode(r)
}

func (s *System) decodeRest(text string) error {
	if text == "" {
		return nil
	}
	var r rest
	if err := decode(text, &r); err != nil {
		return err
	}
	s.LinkCheckedAt, s.ReaderExcerpt, s.VideoEmbedURL = r.LinkCheckedAt, r.ReaderExcerpt, r.VideoEmbedURL
	s.Archive.RetentionExpiresAt, s.Archive.MetadataID = r.RetentionExpiresAt, r.MetadataID
	return nil
}

// encode is the JSON of what cannot fail to encode: strings, numbers, and
// lists and maps of them.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("localstore: encode: " + err.Error())
	}
	return string(text)
}

// decode reads the JSON of a column; "" leaves v as it is.
func decode(text string, v any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("%w: a column does not hold what it should: %w", ErrDamaged, err)
	}
	return nil
}
