package exchange

import (
	"fmt"
	"time"

	"bm/server/api"
	"bm/server/api/rules"
)

// Kind is what an [Entry] is.
type Kind uint8

// The kinds of an entry.
const (
	// Folder opens a folder: later entries may name it as their parent.
	Folder Kind = iota + 1
	// Bookmark is what the counts of an import count.
	Bookmark
	// Separator is a line between two entries; bm has none, and skips it.
	Separator
)

// Root is the number of the folder that nothing opens: the top of the file.
const Root = 0

// Entry is one thing in a file, as it stands there.
type Entry struct {
	Kind Kind
	// Index is a bookmark's position among the file's bookmarks, from 0; for
	// the others the index of the next bookmark.
	Index int
	// Line is where the entry begins, from 1; 0 in a format without lines.
	Line int
	// Number is what a folder's entries name as their Parent, from 1.
	Number int
	// Parent is the number of the folder that holds the entry, or [Root].
	Parent int
	// Order is the position within the parent, folders and bookmarks in one
	// order; only the comparison of two means anything.
	Order int64

	Title       string // a folder's name
	URL         string
	Description string
	Tags        []string
	CreatedAt   time.Time // zero where the file does not say
	ModifiedAt  time.Time // zero where the file does not say
	// Extra holds attributes that bm has no field for, for the next export.
	Extra map[string]string

	SnapshotEnabled bool
	ReaderExcerpt   string
	VideoEmbedURL   string

	// Raw is the text of a bookmark in the file, see [KeepRaw]; of a folder it is
	// what the text of a bookmark in it refers to, where it does.
	Raw []byte

	// Issues is what of the entry could not be read and was left out.
	Issues []rules.Issue
	// Broken says why the entry could not be read at all, else it is nil.
	Broken *rules.Issue
}

// bookmarkInput is the entry as a writer takes it.
func (e *Entry) bookmarkInput() api.BookmarkInput {
	in := api.BookmarkInput{
		URL:             api.Some(e.URL),
		Title:           api.Some(e.Title),
		Description:     api.Some(e.Description),
		Tags:            api.Some(e.Tags),
		SnapshotEnabled: api.Some(e.SnapshotEnabled),
		SortOrder:       api.Some(e.Order),
	}
	if e.ReaderExcerpt != "" {
		in.ReaderExcerpt = api.Some(e.ReaderExcerpt)
	}
	if e.VideoEmbedURL != "" {
		in.VideoEmbedURL = api.Some(e.VideoEmbedURL)
	}
	if len(e.Extra) > 0 {
		in.Extra = api.Some(e.Extra)
	}
	return in
}

// folderInput is the entry as a writer takes it.
func (e *Entry) folderInput() api.FolderInput {
	in := api.FolderInput{
		Name:        api.Some(e.Title),
		Description: api.Some(e.Description),
		SortOrder:   api.Some(e.Order),
	}
	if len(e.Extra) > 0 {
		in.Extra = api.Some(e.Extra)
	}
	return in
}

// SyntaxError says that a file cannot be read any further.
type SyntaxError struct {
	Format Format
	Line   int // from 1; 0 in a format without lines
	Err    error
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("read %s: %v", e.Format, e.Err)
	}
	return fmt.Sprintf("read %s: line %d: %v", e.Format, e.Line, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }
