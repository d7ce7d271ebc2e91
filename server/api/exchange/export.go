package exchange

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"bm/server/api"
)

// Source is what an export writes. Folders are in memory, in any order;
// bookmarks are asked for folder by folder, so that they need not be.
type Source struct {
	Folders []api.Folder
	// Bookmarks are those right in the folder, by ascending sortOrder, then
	// createdAt, then id; of "" those in no folder. An error ends the export.
	Bookmarks func(folderID string) iter.Seq2[*api.Bookmark, error]
}

// visitor is told what an export holds, in the order of the tree: a folder, what
// is in it, its end. path are the names of the folders around it, which stand
// until it returns.
type visitor interface {
	openFolder(f *api.Folder, path []string) error
	bookmark(b *api.Bookmark, path []string) error
	closeFolder(f *api.Folder, path []string) error
}

// walk goes through the tree, folders and bookmarks of a folder in one order.
// Where both have the same place, the folder is first.
func (s Source) walk(v visitor) error {
	w := sourceWalk{s, v, childFolders(s.Folders), nil}
	return w.list("")
}

type sourceWalk struct {
	Source
	visitor
	children map[string][]*api.Folder
	path     []string
}

func (w *sourceWalk) list(folderID string) error {
	folders := w.children[folderID]
	for b, err := range w.Bookmarks(folderID) {
		if err != nil {
			return fmt.Errorf("export the bookmarks of a folder: %w", err)
		}
		for len(folders) > 0 && folders[0].SortOrder <= b.SortOrder {
			if err := w.folder(folders[0]); err != nil {
				return err
			}
			folders = folders[1:]
		}
		if err := w.bookmark(b, w.path); err != nil {
			return err
		}
	}
	for _, f := range folders {
		if err := w.folder(f); err != nil {
			return err
		}
	}
	return nil
}

func (w *sourceWalk) folder(f *api.Folder) error {
	if err := w.openFolder(f, w.path); err != nil {
		return err
	}
	w.path = append(w.path, f.Name)
	if err := w.list(f.ID); err != nil {
		return err
	}
	w.path = w.path[:len(w.path)-1]
	return w.closeFolder(f, w.path)
}

// Leading are the folders that an export of a part holds: those that lead to what is
// in it, and before each of them the namesakes beside it, which may be empty. By
// those an import tells where it lay.
func Leading(folders []api.Folder, leads map[string]bool) []api.Folder {
	kept := maps.Clone(leads)
	for _, siblings := range childFolders(folders) {
		names := map[string]bool{}
		for _, f := range slices.Backward(siblings) {
			names[f.Name] = names[f.Name] || leads[f.ID]
			if names[f.Name] {
				kept[f.ID] = true
			}
		}
	}
	part := make([]api.Folder, 0, len(kept))
	for i := range folders {
		if kept[folders[i].ID] {
			part = append(part, folders[i])
		}
	}
	return part
}

// childFolders sorts folders by parent and order. Those whose parent is not
// there, and one of each circle, are at the top.
func childFolders(folders []api.Folder) map[string][]*api.Folder {
	parents := make(map[string]string, len(folders))
	for i := range folders {
		parents[folders[i].ID] = folders[i].ParentID
	}
	// reaches follows the parents of a folder to the top; a folder of a
	// circle that none of those before it cut is cut off from its parent.
	safe := make(map[string]bool, len(folders))
	reaches := func(id string) bool {
		seen := map[string]bool{}
		for at := id; ; {
			if at == "" || safe[at] {
				break
			}
			if seen[at] {
				return false
			}
			seen[at] = true
			parent, ok := parents[at]
			if !ok {
				break
			}
			at = parent
		}
		maps.Copy(safe, seen)
		return true
	}
	children := make(map[string][]*api.Folder, len(folders))
	for i := range folders {
		f := &folders[i]
		if _, ok := parents[f.ParentID]; !ok || !reaches(f.ID) {
			parents[f.ID] = ""
		}
		parent := parents[f.ID]
		children[parent] = append(children[parent], f)
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b *api.Folder) int {
			return cmp.Or(cmp.Compare(a.SortOrder, b.SortOrder), a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
		})
	}
	return children
}
