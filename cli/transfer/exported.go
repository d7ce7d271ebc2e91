package transfer

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

// exported is what an export holds at one moment: what was found, and the folders
// around it.
type exported struct {
	store   *localstore.Store
	found   *localstore.Selection
	folders []api.Folder
	// strays are folders that are none of those above, as those of the trash; what
	// is in them is shown at the top.
	strays []string
	top    string // the folder that is the top, "" for that of the workspace
}

// gather finds what a list's filters mean. Of a filtered export the folders are
// those that lead to something, see [exchange.Leading].
func gather(ctx context.Context, store *localstore.Store, q localstore.List) (*exported, error) {
	found, err := store.Select(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	tree, err := store.Tree(ctx, q.Replica)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	x := &exported{store: store, found: found}
	parents := make(map[string]string, len(tree))
	for i := range tree {
		parents[tree[i].ID] = tree[i].ParentID
	}
	leads := map[string]bool{}
	for id := range found.Folders() {
		if _, known := parents[id]; !known && id != "" {
			x.strays = append(x.strays, id)
			continue
		}
		for ; id != "" && !leads[id]; id = parents[id] {
			leads[id] = true
		}
	}
	slices.Sort(x.strays)
	filtered := q.Query != "" || len(q.Tags) > 0 || q.FilterStatus != "" || q.FolderID != ""
	for i := range tree {
		x.folders = append(x.folders, tree[i].Folder.Folder)
	}
	if filtered {
		x.folders = exchange.Leading(x.folders, leads)
	}
	return x, nil
}

// below is what is in a folder alone, which is the top of it.
func (x *exported) below(folder string) *exported {
	if folder == "" {
		return x
	}
	parents := map[string]string{}
	for i := range x.folders {
		parents[x.folders[i].ID] = x.folders[i].ParentID
	}
	inside := func(id string) bool {
		for ; id != ""; id = parents[id] {
			if parents[id] == folder {
				return true
			}
		}
		return false
	}
	part := &exported{store: x.store, found: x.found, top: folder}
	for _, f := range x.folders {
		if inside(f.ID) {
			if f.ParentID == folder {
				f.ParentID = ""
			}
			part.folders = append(part.folders, f)
		}
	}
	return part
}

// source is the export, folder by folder.
func (x *exported) source(ctx context.Context) exchange.Source {
	return exchange.Source{Folders: x.folders, Bookmarks: func(folder string) iter.Seq2[*api.Bookmark, error] {
		if folder != "" {
			return x.found.In(ctx, folder)
		}
		return joined(ctx, x.found, append([]string{x.top}, x.strays...))
	}}
}

// joined is what is in several folders, one after the other.
func joined(ctx context.Context, found *localstore.Selection, folders []string) iter.Seq2[*api.Bookmark, error] {
	return func(yield func(*api.Bookmark, error) bool) {
		for _, folder := range folders {
			for b, err := range found.In(ctx, folder) {
				if !yield(b, err) {
					return
				}
			}
		}
	}
}

// all is all that was found, in the order of the tree as it comes.
func (x *exported) all(ctx context.Context) iter.Seq2[*api.Bookmark, error] {
	folders := []string{x.top}
	for i := range x.folders {
		folders = append(folders, x.folders[i].ID)
	}
	return joined(ctx, x.found, append(folders, x.strays...))
}
