package tree

import (
	"errors"
	"maps"
	"slices"

	"bm/server/api"
)

// SameContent reports whether two states of a bookmark show a reader the same:
// a write between them would be none.
func (b *Bookmark) SameContent(o *Bookmark) bool {
	return b.FolderID == o.FolderID && b.URL == o.URL && b.Title == o.Title && b.Description == o.Description &&
		slices.Equal(b.Tags, o.Tags) && b.SortOrder == o.SortOrder && b.LinkStatus == o.LinkStatus &&
		b.SnapshotEnabled == o.SnapshotEnabled && b.ReaderExcerpt == o.ReaderExcerpt && b.VideoEmbedURL == o.VideoEmbedURL &&
		b.Archive == o.Archive && maps.Equal(b.Extra, o.Extra) && b.CreatedAt == o.CreatedAt
}

// SameContent reports whether two states of a folder show a reader the same.
func (f *Folder) SameContent(o *Folder) bool {
	return f.ParentID == o.ParentID && f.Name == o.Name && f.Description == o.Description && f.SortOrder == o.SortOrder &&
		maps.Equal(f.Extra, o.Extra) && f.CreatedAt == o.CreatedAt
}

// Refusal is what a caller is told of a place that something cannot be put;
// field is where the request names it. Other errors pass as they are.
func Refusal(err error, field string) error {
	switch {
	case errors.Is(err, ErrNoParent), errors.Is(err, ErrDeadParent):
		// The two cannot be told apart, nor from another tenant's folder.
		return api.Invalid(field, "names no folder of this workspace")
	case errors.Is(err, ErrCycle):
		return api.Errorf(api.CodeConflict, "%v", ErrCycle)
	case errors.Is(err, ErrTooDeep):
		return api.Invalid(field, "%v", ErrTooDeep)
	}
	return err
}
