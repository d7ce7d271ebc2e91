package tree

import (
	"context"
	"fmt"
	"sort"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
)

// streamPage is how many rows one short transaction of a stream reads: a slow
// client must not hold a snapshot open.
const streamPage = 1000

// Each calls fn for every bookmark that passes a filter, in the order of its
// folder: those of one folder, by position, then the next's. It reads in short
// transactions, each going on where the last ended.
func (t *Tree) Each(ctx context.Context, scope access.Scope, filter api.BookmarkFilter, fn func(*Bookmark) error) error {
	var last *Bookmark
	for {
		page := make([]Bookmark, 0, streamPage)
		err := t.db.Read(ctx, func(tx *sqldb.Tx) error {
			c, err := where(ctx, tx, scope, filter)
			if err != nil {
				return err
			}
			if last != nil {
				c.and(fmt.Sprintf("(b.folder_id, b.sort_order, b.id) > (%s, %s, %s)", c.bind(last.FolderID), c.bind(last.SortOrder), c.bind(last.ID)))
			}
			return tx.Rows(ctx, `SELECT `+BookmarkColumns+` FROM bookmark b WHERE `+c.String()+
				` ORDER BY b.folder_id, b.sort_order, b.id LIMIT `+c.bind(streamPage), c.args, func(row sqldb.Scanner) error {
				b, err := ScanBookmark(row)
				page = append(page, b)
				return err
			})
		})
		if err != nil {
			return fmt.Errorf("read the bookmarks: %w", err)
		}
		for i := range page {
			if err := fn(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < streamPage {
			return nil
		}
		last = &page[len(page)-1]
	}
}

// FolderTree is the living tree, children by position.
type FolderTree struct {
	ByID     map[string]*Folder
	Children map[string][]*Folder
}

// NewFolderTree arranges folders. One whose parent is not among them is put at
// the top.
func NewFolderTree(folders []Folder) *FolderTree {
	t := &FolderTree{ByID: make(map[string]*Folder, len(folders)), Children: map[string][]*Folder{}}
	for i := range folders {
		t.ByID[folders[i].ID] = &folders[i]
	}
	for i := range folders {
		parent := folders[i].ParentID
		if t.ByID[parent] == nil {
			parent = ""
		}
		t.Children[parent] = append(t.Children[parent], &folders[i])
	}
	for _, children := range t.Children {
		sort.Slice(children, func(i, j int) bool {
			if children[i].SortOrder != children[j].SortOrder {
				return children[i].SortOrder < children[j].SortOrder
			}
			return children[i].ID < children[j].ID
		})
	}
	return t
}

// Tags are the tags of the live bookmarks with their numbers, by name.
func (t *Tree) Tags(ctx context.Context, scope access.Scope) (tags []api.Tag, err error) {
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Rows(ctx, `SELECT MIN(tag), count(*) FROM bookmark_tag WHERE workspace_id = $1 GROUP BY tag_key ORDER BY tag_key`,
			[]any{scope.WorkspaceID}, func(row sqldb.Scanner) error {
				var tag api.Tag
				err := row.Scan(&tag.Name, &tag.Count)
				tags = append(tags, tag)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list the tags: %w", err)
	}
	return tags, nil
}

// WithTag calls fn, in order of id, for every live bookmark that carries a tag.
func (e *Edit) WithTag(ctx context.Context, tagKey string, fn func(*Bookmark) error) error {
	var ids []string
	err := e.tx.Rows(ctx, `SELECT bookmark_id FROM bookmark_tag WHERE workspace_id = $1 AND tag_key = $2 ORDER BY bookmark_id`,
		[]any{e.scope.WorkspaceID, tagKey}, func(row sqldb.Scanner) error {
			var id string
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil {
		return fmt.Errorf("find the tag: %w", err)
	}
	for _, id := range ids {
		b, err := e.Bookmark(ctx, id)
		if err != nil {
			return err
		}
		if err := fn(&b); err != nil {
			return err
		}
	}
	return nil
}
