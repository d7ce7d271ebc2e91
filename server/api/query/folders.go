package query

import (
	"slices"
	"strconv"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// FolderNode is what [FolderTree] needs to know of a folder.
type FolderNode struct{ ID, ParentID, Name string }

// FolderTree is the folders that the filters of a query are looked up in. Each
// filter is looked up once, however often a search asks what it means.
type FolderTree struct {
	nodes []FolderNode
	at    map[string]int    // id → node
	keys  []string          // of the names
	meant map[string][]bool // filter → which nodes
}

// NewFolderTree makes a tree of all of its folders.
func NewFolderTree(all []FolderNode) *FolderTree {
	t := &FolderTree{nodes: all, at: make(map[string]int, len(all)), keys: make([]string, len(all)), meant: map[string][]bool{}}
	for i, folder := range all {
		t.at[folder.ID] = i
		t.keys[i] = rules.NameKey(folder.Name)
	}
	return t
}

// Resolve is the ids of the folders that a filter means, those below them
// included, in the order of the tree.
func (t *FolderTree) Resolve(f Folder) (ids []string) {
	for i, means := range t.means(f) {
		if means {
			ids = append(ids, t.nodes[i].ID)
		}
	}
	return ids
}

// Holds reports whether a folder is among those that a filter means.
func (t *FolderTree) Holds(f Folder, folderID string) bool {
	i, ok := t.at[folderID]
	return ok && t.means(f)[i]
}

func (t *FolderTree) means(f Folder) []bool {
	key := f.key()
	if meant, ok := t.meant[key]; ok {
		return meant
	}
	path := make([]string, len(f.Path))
	for i, name := range f.Path {
		path[i] = rules.NameKey(name)
	}
	known, meant := make([]bool, len(t.nodes)), make([]bool, len(t.nodes))
	var within func(i, depth int) bool
	within = func(i, depth int) bool {
		if !known[i] {
			known[i] = true // also ends a cycle, which damaged data could hold
			parent, ok := t.at[t.nodes[i].ParentID]
			meant[i] = t.named(path, f.Rooted, i) || ok && depth < api.MaxTreeDepth*2 && within(parent, depth+1)
		}
		return meant[i]
	}
	for i := range t.nodes {
		within(i, 0)
	}
	t.meant[key] = meant
	return meant
}

// named reports whether the path leads to a node.
func (t *FolderTree) named(path []string, rooted bool, i int) bool {
	for n, name := range slices.Backward(path) {
		if t.keys[i] != name {
			return false
		}
		parent, ok := t.at[t.nodes[i].ParentID]
		switch {
		case n == 0:
			return !rooted || !ok
		case !ok:
			return false
		}
		i = parent
	}
	return false
}

// Resolve is [FolderTree.Resolve] among all, for whoever asks once.
func (f Folder) Resolve(all []FolderNode) []string { return NewFolderTree(all).Resolve(f) }

// key tells filters apart.
func (f Folder) key() string {
	var b strings.Builder
	b.WriteString(strconv.FormatBool(f.Rooted))
	for _, name := range f.Path {
		b.WriteString(strconv.Quote(name))
	}
	return b.String()
}
