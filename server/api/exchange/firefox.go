package exchange

import (
	"cmp"
	"io"
	"slices"
)

// firefoxNode is a node of Firefox's backup.
type firefoxNode struct {
	Type         string        `json:"type"`
	Root         string        `json:"root"`
	Title        string        `json:"title"`
	URI          string        `json:"uri"`
	Index        int64         `json:"index"`
	DateAdded    jsonDate      `json:"dateAdded"`
	LastModified jsonDate      `json:"lastModified"`
	Tags         string        `json:"tags"`
	Keyword      string        `json:"keyword"`
	PostData     string        `json:"postData"`
	Charset      string        `json:"charset"`
	IconURI      string        `json:"iconUri"`
	Annos        []firefoxAnno `json:"annos"`
	Children     []firefoxNode `json:"children"`
}

type firefoxAnno struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// newFirefoxReader reads a backup of Firefox. Its roots become what its HTML
// export makes of them, so that one of both after the other adds nothing: the
// menu is the top, the others are folders.
func newFirefoxReader(r io.Reader) (*treeReader, error) {
	var root firefoxNode
	if err := decodeTree(r, FirefoxJSON, &root); err != nil {
		return nil, err
	}
	f := firefoxReader{tags: map[string][]string{}}
	if root.Root != "" && root.Root != "placesRoot" {
		root = firefoxNode{Children: []firefoxNode{root}}
	}
	f.collectTags(root.Children)
	for _, place := range sortedByIndex(root.Children) {
		f.root(place)
	}
	return &f.treeReader, nil
}

type firefoxReader struct {
	treeReader
	tags map[string][]string // by URL: old backups keep tags as folders of links
}

func (f *firefoxReader) collectTags(roots []firefoxNode) {
	for _, root := range roots {
		if root.Root != "tagsFolder" {
			continue
		}
		for _, tag := range root.Children {
			for _, link := range tag.Children {
				f.tags[link.URI] = append(f.tags[link.URI], tag.Title)
			}
		}
	}
}

func (f *firefoxReader) root(n firefoxNode) {
	if n.Root == "tagsFolder" || len(n.Children) == 0 && n.Root != "" {
		return
	}
	var name, mark string
	switch n.Root {
	case "bookmarksMenuFolder":
		f.list(n.Children, Root)
		return
	case "toolbarFolder":
		name, mark = "Bookmarks Toolbar", "PERSONAL_TOOLBAR_FOLDER"
	case "unfiledBookmarksFolder":
		name, mark = "Other Bookmarks", "UNFILED_BOOKMARKS_FOLDER"
	case "mobileFolder":
		name, mark = "Mobile Bookmarks", "MOBILE_BOOKMARKS_FOLDER"
	default:
		f.list([]firefoxNode{n}, Root)
		return
	}
	e := n.entry(Folder, Root)
	e.Title = name
	addExtra(e, mark, "true")
	f.list(n.Children, f.add(e))
}

// sortedByIndex is the order that nodes say they have, whatever the file's.
func sortedByIndex(nodes []firefoxNode) []firefoxNode {
	slices.SortStableFunc(nodes, func(a, b firefoxNode) int { return cmp.Compare(a.Index, b.Index) })
	return nodes
}

func (f *firefoxReader) list(nodes []firefoxNode, parent int) {
	for _, n := range sortedByIndex(nodes) {
		switch n.Type {
		case "text/x-moz-place-container":
			f.list(n.Children, f.add(n.entry(Folder, parent)))
		case "text/x-moz-place-separator":
			f.add(&Entry{Kind: Separator, Parent: parent})
		default:
			e := n.entry(Bookmark, parent)
			e.URL = n.URI
			e.Tags = append(splitTags(n.Tags, false), f.tags[n.URI]...)
			f.add(e)
		}
	}
}

// entry is what of a node is common to all kinds. What Firefox's HTML export
// writes as attributes is called here as there.
func (n *firefoxNode) entry(kind Kind, parent int) *Entry {
	e := &Entry{Kind: kind, Parent: parent, Title: n.Title}
	e.setDates(n.DateAdded, n.LastModified)
	for _, anno := range n.Annos {
		if text, ok := anno.Value.(string); ok && anno.Name == "bookmarkProperties/description" {
			e.Description = text
		}
	}
	for _, extra := range [...][2]string{
		{"SHORTCUTURL", n.Keyword}, {"POST_DATA", n.PostData}, {"LAST_CHARSET", n.Charset}, {"ICON_URI", n.IconURI},
	} {
		if extra[1] != "" {
			addExtra(e, extra[0], extra[1])
		}
	}
	return e
}
