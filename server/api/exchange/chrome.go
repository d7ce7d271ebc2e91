package exchange

import (
	"encoding/json"
	"io"
	"slices"
)

// chromeNode is a node of the file Bookmarks of Chrome and its relatives.
type chromeNode struct {
	Type         string       `json:"type"`
	Name         string       `json:"name"`
	URL          string       `json:"url"`
	DateAdded    jsonDate     `json:"date_added"`
	DateModified jsonDate     `json:"date_modified"`
	Children     []chromeNode `json:"children"`
}

// newChromeReader reads Chrome's own file. As in its HTML export, "other
// bookmarks" are the top, the rest are folders.
func newChromeReader(r io.Reader) (*treeReader, error) {
	var file struct {
		Roots map[string]json.RawMessage `json:"roots"`
	}
	if err := decodeTree(r, ChromeJSON, &file); err != nil {
		return nil, err
	}
	var t treeReader
	names := []string{"bookmark_bar", "other", "synced"}
	for name := range file.Roots {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[3:])
	for _, name := range names {
		var root chromeNode
		if err := json.Unmarshal(file.Roots[name], &root); err != nil || len(root.Children) == 0 {
			continue // what is no folder is no root: versions and the like
		}
		if name == "other" {
			t.chrome(root.Children, Root)
			continue
		}
		e := root.entry(Folder, Root)
		if name == "bookmark_bar" {
			addExtra(e, "PERSONAL_TOOLBAR_FOLDER", "true")
		}
		t.chrome(root.Children, t.add(e))
	}
	return &t, nil
}

func (t *treeReader) chrome(nodes []chromeNode, parent int) {
	for i := range nodes {
		n := &nodes[i]
		if n.Type == "folder" {
			t.chrome(n.Children, t.add(n.entry(Folder, parent)))
			continue
		}
		e := n.entry(Bookmark, parent)
		e.URL = n.URL
		t.add(e)
	}
}

func (n *chromeNode) entry(kind Kind, parent int) *Entry {
	e := &Entry{Kind: kind, Parent: parent, Title: n.Name}
	e.setDates(n.DateAdded, n.DateModified)
	return e
}
