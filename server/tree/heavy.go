package tree

import (
	"context"

	"bm/server/api"
	"bm/server/op"
)

// Load counts what an answer holds in memory while it is gathered: of a few
// hundred rows there can be a hundred megabytes.
type Load struct {
	ctx   context.Context
	bytes int
}

// NewLoad counts for a request.
func NewLoad(ctx context.Context) *Load { return &Load{ctx: ctx} }

// loadStep is after how much of it the request is told: most answers are
// smaller than that, and cost nothing.
const loadStep = 64 << 10

// Add counts so much more; rate_limited where the tenant's answers hold too
// much.
func (l *Load) Add(bytes int) error {
	if l.bytes += bytes; l.bytes < loadStep {
		return nil
	}
	bytes, l.bytes = l.bytes, 0
	return op.Hold(l.ctx, bytes)
}

// AddChange is Add of a row; nil is none.
func (l *Load) AddChange(c *api.Change) error {
	switch {
	case c == nil:
		return nil
	case c.Bookmark != nil:
		return l.Add(sizeOf(c.Bookmark))
	case c.Folder != nil:
		return l.Add(sizeOfFolder(c.Folder))
	}
	return l.Add(rowBytes)
}

// rowBytes is what a row holds beside its texts.
const rowBytes = 512

// sizeOf is about what a bookmark holds in memory.
func sizeOf(b *api.Bookmark) int {
	size := rowBytes + len(b.URL) + len(b.Title) + len(b.Description) + len(b.ReaderExcerpt) + len(b.VideoEmbedURL) + sizeOfExtra(b.Extra)
	for _, tag := range b.Tags {
		size += len(tag) + 16
	}
	return size
}

// sizeOfFolder is about what a folder holds in memory.
func sizeOfFolder(f *api.Folder) int {
	return rowBytes + len(f.Name) + len(f.Description) + sizeOfExtra(f.Extra)
}

func sizeOfExtra(extra map[string]string) (size int) {
	for name, value := range extra {
		size += len(name) + len(value) + 32
	}
	return size
}
