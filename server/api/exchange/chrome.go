package exchange

// chromeNode is a node of the file Bookmarks of Chrome and its relatives,
// without its children.
type chromeNode struct {
	Type         string   `json:"type"`
	Name         string   `json:"name"`
	URL          string   `json:"url"`
	DateAdded    jsonDate `json:"date_added"`
	DateModified jsonDate `json:"date_modified"`
}

// The roots of Chrome's file that are not folders like any other.
const (
	chromeBar   = "bookmark_bar"
	chromeOther = "other"
	chromePhone = "synced"
	// Opera keeps further roots below this one, and what was deleted too.
	operaRoots = "custom_root"
	operaTrash = "trash"
)

// readChrome reads Chrome's own file. As in its HTML export, "other bookmarks" and
// those of a phone are the top, and the rest are folders: one of both after the
// other adds nothing.
func readChrome(src *source) stream {
	return func(out *outlet) error {
		walker, err := src.walker(ChromeJSON)
		if err != nil {
			return err
		}
		c := &chromeReader{out: out}
		if c.folders, err = readTreeFolders[chromeNode](walker, c.file); err != nil {
			return err
		}
		walker.enter, walker.leave = c.enter, c.leave
		return walker.run(0, 1, c.file)
	}
}

type chromeReader struct {
	out     *outlet
	folders treeFolders[chromeNode]
	root    string // the name of the root that is read
	within  []int  // the numbers of the folders that are open
}

// file reads the file's one object, of which the roots alone matter.
func (c *chromeReader) file(w *treeWalker) error {
	return w.object(func(key string) error {
		if key != "roots" {
			return skipValue(w.dec)
		}
		return c.roots(w)
	})
}

// roots reads an object of roots. What is no folder is none: versions and the like.
func (c *chromeReader) roots(w *treeWalker) error {
	return w.object(func(key string) error {
		switch c.root = key; key {
		case operaRoots:
			return c.roots(w)
		case operaTrash:
			return skipValue(w.dec)
		}
		return w.node()
	})
}

func (c *chromeReader) enter(n treeNode) (bool, error) {
	folder := c.folders[n.at]
	number, err := Root, error(nil)
	switch top := len(c.within) == 0; {
	case top && (c.root == chromeOther || c.root == chromePhone || folder.children == 0):
	default:
		e := folder.fields.entry(Folder, n.line)
		if top && c.root == chromeBar {
			addExtra(e, toolbarMark, "true")
		}
		number, err = c.add(e)
	}
	c.within = append(c.within, number)
	return true, err
}

func (c *chromeReader) leave(n treeNode, flat []byte) error {
	if n.folder {
		c.within = c.within[:len(c.within)-1]
		return nil
	}
	if len(c.within) == 0 {
		return nil
	}
	var node chromeNode
	unread := unmarshal(flat, &node)
	kind := Bookmark
	if node.Type == "folder" {
		kind = Folder
	}
	e := node.entry(kind, n.line)
	if kind == Bookmark {
		e.URL = node.URL
		e.ofJSON(flat, unread, c.out.keepRaw)
	}
	_, err := c.add(e)
	return err
}

// add hands out an entry of the folder that is open.
func (c *chromeReader) add(e *Entry) (int, error) {
	if len(c.within) > 0 {
		e.Parent = c.within[len(c.within)-1]
	}
	return c.out.add(e)
}

func (n *chromeNode) entry(kind Kind, line int) *Entry {
	e := &Entry{Kind: kind, Line: line, Title: n.Name}
	e.setDates(n.DateAdded, n.DateModified)
	return e
}
