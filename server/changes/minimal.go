package changes

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"bm/server/api"
	"bm/server/tree"
)

// prefersMinimal reports whether a Prefer header (RFC 7240) asks for an answer
// without what the caller knows.
func prefersMinimal(header []string) bool {
	for _, line := range header {
		for preference := range strings.SplitSeq(line, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "return") && strings.Trim(value, " \t\"") == "minimal" {
				return true
			}
		}
	}
	return false
}

// asSet reports whether a new bookmark is what an op set, so that whoever sent
// that knows the row but for its rev and updatedAt. What the server would
// choose by itself has to be set. raw is the set as it came: in holds only what
// is kept of a date.
func asSet(b *tree.Bookmark, in *api.BookmarkInput, raw []byte) bool {
	return in.SortOrder.Set && in.CreatedAt.Set &&
		b.URL == in.URL.Value && b.Title == in.Title.Value && b.Description == in.Description.Value &&
		slices.Equal(b.Tags, in.Tags.Value) && b.FolderID == in.FolderID.Value && b.SortOrder == in.SortOrder.Value &&
		bytes.Contains(raw, b.CreatedAt.AppendJSON([]byte(`"createdAt":`))) && b.SnapshotEnabled == in.SnapshotEnabled.Value &&
		b.ReaderExcerpt == in.ReaderExcerpt.Value && b.VideoEmbedURL == in.VideoEmbedURL.Value && maps.Equal(b.Extra, in.Extra.Value)
}
