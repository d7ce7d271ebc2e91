package exchange

import (
	"encoding/json"
	"maps"
	"slices"

	"bm/server/api"
)

// firefoxNode is a node of Firefox's backup, without its children.
type firefoxNode struct {
	Type         string        `json:"type"`
	Root         string        `json:"root"`
	Title        string        `json:"title"`
	URI          string        `json:"uri"`
	DateAdded    jsonDate      `json:"dateAdded"`
	LastModified jsonDate      `json:"lastModified"`
	Tags         string        `json:"tags"`
	Keyword      string        `json:"keyword"`
	PostData     string        `json:"postData"`
	Charset      string        `json:"charset"`
	IconURI      string        `json:"iconUri"`
	Annos        []firefoxAnno `json:"annos"`
}

type firefoxAnno struct {
	Name string `json:"name"`
	// Value is a text, or nothing of interest.
	Value json.RawMessage `json:"value"`
}

// The types of nodes that are no bookmarks, and the marks that tell the places
// which every profile has, as the attributes of Firefox's HTML export do.
const (
	firefoxFolder    = "text/x-moz-place-container"
	firefoxSeparator = "text/x-moz-place-separator"
	firefoxRoot      = "placesRoot"
	firefoxMenu      = "bookmarksMenuFolder"
	firefoxTags      = "tagsFolder"

	toolbarMark = "PERSONAL_TOOLBAR_FOLDER"
	unfiledMark = "UNFILED_BOOKMARKS_FOLDER"
	mobileMark  = "MOBILE_BOOKMARKS_FOLDER"
)

// firefoxPlaces are the roots that become folders; the menu is the top.
var firefoxPlaces = map[string]struct{ name, mark string }{
	"toolbarFolder":          {"Bookmarks Toolbar", toolbarMark},
	"unfiledBookmarksFolder": {"Other Bookmarks", unfiledMark},
	"mobileFolder":           {"Mobile Bookmarks", mobileMark},
}

// readFirefox reads a backup of Firefox. Its roots become what its HTML export
// makes of them, so that one of both after the other adds nothing: the menu is
// the top, the others are folders.
func readFirefox(src *source) stream {
	return func(out *outlet) error {
		walker, err := src.walker(FirefoxJSON)
		if err != nil {
			return err
		}
		f := &firefoxReader{out: out, walker: walker, tags: map[string][]string{}}
		if f.folders, err = readTreeFolders[firefoxNode](walker, (*treeWalker).node); err != nil {
			return err
		}
		if err := f.collectTags(); err != nil {
			return err
		}
		f.walker.enter, f.walker.leave = f.enter, f.leave
		return f.walker.run(0, 1, (*treeWalker).node)
	}
}

type firefoxReader struct {
	out     *outlet
	walker  treeWalker
	folders treeFolders[firefoxNode]
	tags    map[string][]string // by URL: old backups keep tags as folders of links
	within  []int               // the numbers of the folders that are open
}

// collectTags reads what old backups have below the root of the tags: a folder
// for each, with a link for each bookmark that has it.
func (f *firefoxReader) collectTags() error {
	end := int64(0) // of the last root: what lies within it was read with it
	for _, at := range slices.Sorted(maps.Keys(f.folders)) {
		root := f.folders[at]
		if root.fields.Root != firefoxTags || at < end {
			continue
		}
		end = at + root.size
		tag := ""
		w := f.walker
		w.enter = func(n treeNode) (bool, error) {
			if n.at != at {
				tag = f.folders[n.at].fields.Title
			}
			return true, nil
		}
		w.leave = func(n treeNode, flat []byte) error {
			if n.folder {
				tag = ""
			}
			if tag == "" || flat == nil {
				return nil
			}
			var link firefoxNode
			_ = unmarshal(flat, &link) // a field of another kind is left out
			return f.tag(link.URI, tag)
		}
		if err := w.run(at, root.line, (*treeWalker).node); err != nil {
			return err
		}
	}
	return nil
}

// tag keeps a tag of a URL: one more than a bookmark may have, so that the cut is
// noticed.
func (f *firefoxReader) tag(url, tag string) error {
	tags := f.tags[url]
	if url == "" || len(tags) > api.MaxTags || slices.Contains(tags, tag) {
		return nil
	}
	if f.tags[url] = append(tags, tag); len(f.tags) > maxHeld {
		return errTooMany
	}
	return nil
}

// enter opens a folder, for what is read next.
func (f *firefoxReader) enter(n treeNode) (bool, error) {
	folder := f.folders[n.at]
	number, wanted, err := f.open(folder, n.line)
	if err != nil {
		return false, err
	}
	f.within = append(f.within, number)
	if !wanted || folder.order == nil {
		return wanted, nil
	}
	return false, f.walker.walkSorted(folder.order)
}

// open hands out a folder, unless it is one of the roots that are none; it
// gives the number that its children name.
func (f *firefoxReader) open(folder *treeFolder[firefoxNode], line int) (number int, wanted bool, err error) {
	node := &folder.fields
	if len(f.within) == 0 && (node.Root == "" || node.Root == firefoxRoot) {
		return Root, true, nil
	}
	e := node.entry(Folder, line)
	if len(f.within) > 0 {
		e.Parent = f.parent()
	}
	if node.Root != "" && len(f.within) < 2 {
		if node.Root == firefoxTags || folder.children == 0 {
			return Root, false, nil
		}
		if node.Root == firefoxMenu {
			return Root, true, nil
		}
		if place, ok := firefoxPlaces[node.Root]; ok {
			e.Title = place.name
			addExtra(e, place.mark, "true")
		}
	}
	number, err = f.out.add(e)
	return number, true, err
}

// leave closes a folder, or hands out what is none.
func (f *firefoxReader) leave(n treeNode, flat []byte) error {
	if n.folder {
		f.within = f.within[:len(f.within)-1]
		return nil
	}
	if len(f.within) == 0 {
		return nil // a backup of nothing
	}
	var node firefoxNode
	unread := unmarshal(flat, &node)
	kind := Bookmark
	switch node.Type {
	case firefoxFolder:
		kind = Folder
	case firefoxSeparator:
		kind = Separator
	}
	if kind == Folder && node.Root != "" {
		return nil // of the places that every profile has, an empty one
	}
	e := node.entry(kind, n.line)
	if kind == Bookmark {
		e.URL = node.URI
		e.Tags = append(splitTags(node.Tags, false), f.tags[node.URI]...)
		e.ofJSON(flat, unread, f.out.keepRaw)
	}
	e.Parent = f.parent()
	_, err := f.out.add(e)
	return err
}

func (f *firefoxReader) parent() int { return f.within[len(f.within)-1] }

// entry is what of a node is common to all kinds. What Firefox's HTML export
// writes as attributes is called here as there.
func (n *firefoxNode) entry(kind Kind, line int) *Entry {
	e := &Entry{Kind: kind, Line: line, Title: n.Title}
	e.setDates(n.DateAdded, n.LastModified)
	for _, anno := range n.Annos {
		if anno.Name == "bookmarkProperties/description" {
			_ = json.Unmarshal(anno.Value, &e.Description)
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
