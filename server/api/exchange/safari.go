package exchange

import (
	"strconv"
	"time"

	"bm/server/api/rules"
)

// safariMark is how the keys begin by which a property list is known as Safari's.
const safariMark = "WebBookmark"

// The types of Safari's nodes, and its names of the places that every profile has.
const (
	safariList  = "WebBookmarkTypeList"
	safariProxy = "WebBookmarkTypeProxy" // the history, and other things to be shown

	safariBar         = "BookmarksBar"
	safariMenu        = "BookmarksMenu"
	safariReadingList = "com.apple.ReadingList"
)

// safariNode is a node of Safari's tree, without its children.
type safariNode struct {
	kind  string
	title string
	url   string
	// named is what a bookmark's own dictionary says: its title, and its URL.
	named, address  string
	preview         string
	added, lastSeen time.Time
	unread          bool // whether a date could not be
}

// set takes over a value of the node, by the key of the dictionary that it is in,
// "" for the node itself, and its own.
func (n *safariNode) set(within, key, value string) {
	switch within + "/" + key {
	case "/WebBookmarkType":
		n.kind = value
	case "/Title":
		n.title = value
	case "/URLString":
		n.url = value
	case "URIDictionary/title":
		n.named = value
	case "URIDictionary/":
		n.address = value
	case "/PreviewText", "/previewText", "ReadingList/PreviewText", "ReadingListNonSync/PreviewText":
		n.preview = firstOf(n.preview, value)
	case "ReadingListNonSync/Title":
		n.named = firstOf(n.named, value)
	case "/DateAdded", "ReadingList/DateAdded":
		at, ok := parseDate(value)
		n.added, n.unread = at, n.unread || !ok
	case "ReadingList/DateLastViewed":
		n.lastSeen, _ = parseDate(value)
	}
}

// isSafariDictionary reports whether a node's dictionary holds anything of
// interest.
func isSafariDictionary(key string) bool {
	switch key {
	case "URIDictionary", "ReadingList", "ReadingListNonSync":
		return true
	}
	return false
}

// safariTree hands out the nodes of Safari's tree. What every profile has is
// called as in Safari's HTML export, so that one of both after the other adds
// nothing.
type safariTree struct{ out *outlet }

// folder hands out a folder that lies so deep; the outermost is the top.
func (s safariTree) folder(n *safariNode, parent, depth, line int) (number int, err error) {
	if depth == 0 {
		return Root, nil
	}
	e := &Entry{Kind: Folder, Line: line, Parent: parent, Title: rules.Line(n.title)}
	if depth == 1 {
		switch n.title {
		case safariBar:
			e.Title = "Favorites"
			addExtra(e, toolbarMark, "true")
		case safariMenu:
			e.Title = "Bookmarks Menu"
		case safariReadingList:
			e.Title = "Reading List"
			addExtra(e, "ID", safariReadingList)
		}
	}
	return s.out.add(e)
}

// leaf hands out what has no children.
func (s safariTree) leaf(n *safariNode, parent, depth, line int, raw []byte) error {
	switch n.kind {
	case safariProxy:
		return nil
	case safariList:
		_, err := s.folder(n, parent, depth, line)
		return err
	}
	e := &Entry{
		Kind: Bookmark, Line: line, Parent: parent, Raw: raw,
		Title: rules.Line(firstOf(n.named, n.title)), URL: firstOf(n.url, n.address),
		Description: rules.Text(n.preview), CreatedAt: n.added,
	}
	if n.unread {
		e.Issues = append(e.Issues, unreadableDate)
	}
	if !n.lastSeen.IsZero() {
		addExtra(e, "LAST_VISIT", strconv.FormatInt(n.lastSeen.Unix(), 10))
	}
	_, err := s.out.add(e)
	return err
}

// readSafari reads Safari's bookmarks in either form.
func readSafari(src *source) stream {
	if isBinaryPlist(src.head) {
		return readSafariBinary(src)
	}
	return readSafariXML(src)
}
