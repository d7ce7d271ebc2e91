package rules

import (
	"strings"

	"bm/server/api"
)

// NormalizeBookmark puts the fields that are there into normal form: the URL
// trimmed, the title a [Line], the description a [Text], the tags [Tags].
// Every writer calls it, after the check or the cut.
func NormalizeBookmark(in *api.BookmarkInput) {
	in.URL.Value = strings.TrimSpace(in.URL.Value)
	in.Title.Value = Line(in.Title.Value)
	in.Description.Value = Text(in.Description.Value)
	in.ReaderExcerpt.Value = Text(in.ReaderExcerpt.Value)
	in.VideoEmbedURL.Value = strings.TrimSpace(in.VideoEmbedURL.Value)
	if in.Tags.Set {
		in.Tags.Value = Tags(in.Tags.Value)
	}
	if len(in.Extra.Value) == 0 {
		in.Extra.Value = nil
	}
}

// NormalizeFolder puts the fields that are there into normal form.
func NormalizeFolder(in *api.FolderInput) {
	in.Name.Value = Line(in.Name.Value)
	in.Description.Value = Text(in.Description.Value)
	if len(in.Extra.Value) == 0 {
		in.Extra.Value = nil
	}
}

// DefaultTitle is the title of a bookmark made without one: none where the
// URL can stand for it, else [api.Untitled].
func DefaultTitle(title, url string) string {
	if title == "" && url == "" {
		return api.Untitled
	}
	return title
}
