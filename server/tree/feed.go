package tree

import (
	"context"
	"errors"
	"fmt"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
)

// Feed is what a page of a workspace's changes is asked for.
type Feed struct {
	// After and Upto bound the revs.
	After, Upto int64
	// Live leaves the tombstones out: a bootstrap needs none.
	Live bool
	// Limit is how many changes, Size how many bytes a page holds at most;
	// one change it always holds.
	Limit, Size int
}

// FeedPage is a page as it is sent: encoded changes, separated by commas.
type FeedPage struct {
	JSON []byte
	// Count is how many changes it holds, and Last the rev of the last.
	Count int
	Last  int64
	// More: there are further changes within the bounds.
	More bool
}

// errPageFull ends the reading of rows.
var errPageFull = errors.New("the page is full")

// Changes reads a page of a workspace's rows as they are now, in the order of
// their revs. They are encoded as they are read: a bootstrap is little else.
func (t *Tree) Changes(ctx context.Context, tx *sqldb.Tx, scope access.Scope, feed Feed) (page FeedPage, err error) {
	folders, err := t.changedFolders(ctx, tx, scope, feed)
	if err != nil {
		return page, err
	}
	w := feedWriter{feed: feed, page: &page}
	var reader BookmarkReader
	text := `SELECT ` + BookmarkColumns + ` FROM bookmark b WHERE b.workspace_id = $1 AND b.tenant_id = $2 AND b.rev > $3 AND b.rev <= $4` + feed.live("b") +
		` ORDER BY b.rev` + limited("$5")
	err = tx.Rows(ctx, text, []any{scope.WorkspaceID, scope.TenantID, feed.After, feed.Upto, feed.Limit + 1}, func(row sqldb.Scanner) error {
		b, err := reader.Read(row)
		if err != nil {
			return err
		}
		for len(folders) > 0 && folders[0].Rev < b.Rev {
			if err := w.write(folders[0].Change()); err != nil {
				return err
			}
			folders = folders[1:]
		}
		return w.write(b.Change())
	})
	for i := 0; err == nil && i < len(folders); i++ {
		err = w.write(folders[i].Change())
	}
	if err != nil && !errors.Is(err, errPageFull) {
		return page, fmt.Errorf("read the changes: %w", err)
	}
	return page, nil
}

func (t *Tree) changedFolders(ctx context.Context, tx *sqldb.Tx, scope access.Scope, feed Feed) (folders []Folder, err error) {
	text := `SELECT ` + folderColumns + ` FROM folder f WHERE workspace_id = $1 AND tenant_id = $2 AND rev > $3 AND rev <= $4` + feed.live("f") +
		` ORDER BY rev` + limited("$5")
	load, texts := NewLoad(ctx), 0
	err = tx.Rows(ctx, text, []any{scope.WorkspaceID, scope.TenantID, feed.After, feed.Upto, feed.Limit + 1}, func(row sqldb.Scanner) error {
		f, err := scanFolder(row)
		if err != nil {
			return err
		}
		folders = append(folders, f)
		if f.Live() {
			texts += len(f.Name) + len(f.Description)
		}
		// Their texts alone fill the page before the last of them has its place:
		// what follows goes to a later one.
		if texts > feed.Size && len(folders) > 1 {
			return errPageFull
		}
		return load.Add(sizeOfFolder(&f.Folder))
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, fmt.Errorf("read the changed folders: %w", err)
	}
	return folders, nil
}

func (f Feed) live(table string) string {
	if f.Live {
		return ` AND ` + table + `.deleted_at = 0`
	}
	return ""
}

// feedWriter encodes changes until the page is full.
type feedWriter struct {
	feed Feed
	page *FeedPage
}

func (w *feedWriter) write(change *api.Change) error {
	p := w.page
	if p.Count == w.feed.Limit {
		p.More = true
		return errPageFull
	}
	before := len(p.JSON)
	if p.JSON == nil {
		p.JSON = make([]byte, 0, min(w.feed.Size, 1024*w.feed.Limit))
	} else {
		p.JSON = append(p.JSON, ',')
	}
	p.JSON = change.AppendJSON(p.JSON)
	if len(p.JSON) > w.feed.Size && p.Count > 0 {
		p.JSON = p.JSON[:before]
		p.More = true
		return errPageFull
	}
	p.Count++
	p.Last = change.Rev
	return nil
}

// Change is a row as the feed shows it.
func (f *Folder) Change() *api.Change {
	if !f.Live() {
		return &api.Change{Type: api.TypeFolder, ID: f.ID, Rev: f.Rev, Deleted: true}
	}
	return &api.Change{Type: api.TypeFolder, ID: f.ID, Rev: f.Rev, Folder: &f.Folder}
}

// Change is a row as the feed shows it.
func (b *Bookmark) Change() *api.Change {
	if !b.Live() {
		return &api.Change{Type: api.TypeBookmark, ID: b.ID, Rev: b.Rev, Deleted: true}
	}
	return &api.Change{Type: api.TypeBookmark, ID: b.ID, Rev: b.Rev, Bookmark: &b.Bookmark}
}
