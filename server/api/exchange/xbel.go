package exchange

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// xbelOwner owns the metadata in which our own export says what XBEL has no
// place for: <tag>, <extra name="…">, and <url>, <title> or <desc> where XML
// cannot hold a character of theirs. With json="yes" the text is one of JSON.
const xbelOwner = "bm"

// xbelElement is what an element is counted as beside its text.
const xbelElement = 64

// xbelReader reads XBEL, as KDE, GNOME, elinks, Midori, Falkon and others write
// it.
type xbelReader struct {
	m   *markup
	out *outlet
	// targets are what aliases refer to, by id.
	targets map[string]xbelTarget
	// repeats is how many bytes aliases may still have read once more.
	repeats int64
	file    io.ReaderAt // what they read
	size    int64
}

// readXBEL reads XBEL. Where there may be an alias in it, it is read three times:
// for what the aliases refer to, for where that is, and for all.
func readXBEL(src *source) stream {
	return func(out *outlet) error {
		x := &xbelReader{out: out}
		text, err := x.findAliased(src)
		if err != nil {
			return err
		}
		x.m = newXBELMarkup(text, out.keepRaw)
		for err == nil {
			err = x.nodes(Root, nil)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

func newXBELMarkup(text io.Reader, keepRaw bool) *markup {
	m := newMarkup(XBEL, text, keepRaw)
	m.breaks = isXBELNode
	return m
}

// nodes reads what is in an element up to its end. pending is the folder that the
// element is, which is handed out as soon as its own texts have been read; nil
// where everything goes into the folder of a number.
func (x *xbelReader) nodes(number int, pending *xbelNode) error {
	place := func() (err error) {
		if pending != nil {
			number, err = x.out.add(pending.settled())
			pending = nil
		}
		return err
	}
	for {
		found, err := x.m.next()
		switch {
		case err != nil:
			return err
		case found == closes:
			return place()
		case found != opens:
			continue
		}
		own := isXBELDetail(x.m.name)
		switch {
		case own && pending != nil:
			err = pending.detail(x.m)
		case own:
			err = x.m.skip()
		default:
			if err = place(); err == nil {
				err = x.node(number)
			}
		}
		if err != nil {
			return err
		}
	}
}

// isXBELDetail reports whether an element says something of the one that it is in.
func isXBELDetail(name []byte) bool {
	switch string(name) {
	case "title", "desc", "info":
		return true
	}
	return false
}

// isXBELNode reports whether an element is something that folders hold.
func isXBELNode(name []byte) bool {
	switch string(name) {
	case "folder", "bookmark", "separator", "alias":
		return true
	}
	return false
}

// node reads the element that was opened into a folder.
func (x *xbelReader) node(parent int) error {
	switch string(x.m.name) {
	case "folder":
		n := newXBELNode(x.m, Folder, parent)
		return x.nodes(parent, n)
	case "bookmark":
		return x.bookmark(parent)
	case "separator":
		if _, err := x.out.add(&Entry{Kind: Separator, Line: x.m.line, Parent: parent}); err != nil {
			return err
		}
		return x.m.skip()
	case "alias":
		return x.alias(parent)
	}
	return x.nodes(parent, nil) // the top, or what somebody put around nodes
}

func (x *xbelReader) bookmark(parent int) error {
	n := newXBELNode(x.m, Bookmark, parent)
	if err := n.whole(x.m); err != nil {
		return err
	}
	_, err := x.out.add(n.settled())
	return err
}

// xbelNode is a folder or bookmark that is read.
type xbelNode struct {
	*Entry
	folded, visited, icon string
	// exact is what our own export says once more, by the element's name.
	exact map[string]string
	held  int // bytes of what our own export says
}

// newXBELNode begins a node with the attributes of its element.
func newXBELNode(m *markup, kind Kind, parent int) *xbelNode {
	n := &xbelNode{Entry: &Entry{Kind: kind, Line: m.line, Parent: parent}}
	for name, value := range m.attributes() {
		switch string(name) {
		case "href":
			if kind == Bookmark {
				n.URL = strings.TrimSpace(string(value))
			}
		case "added":
			n.CreatedAt = date(n.Entry, value)
		case "modified":
			n.ModifiedAt, _ = parseDate(value)
		case "visited":
			n.visited = string(value)
		case "folded":
			n.folded = string(value)
		case "toolbar":
			if string(value) == "yes" {
				addExtra(n.Entry, toolbarMark, "true")
			}
		}
	}
	return n
}

// whole reads what is in a bookmark, with its text. What nothing closed ends where
// the next one begins.
func (n *xbelNode) whole(m *markup) error {
	m.startRaw()
	ended, err := n.elements(m, n.detail)
	if ended {
		n.Raw = m.endRaw()
	} else {
		n.Raw = m.cutRaw()
	}
	return err
}

// detail reads an element of the node.
func (n *xbelNode) detail(m *markup) (err error) {
	switch string(m.name) {
	case "title":
		n.Title, err = m.content()
	case "desc":
		n.Description, err = m.content()
	case "info":
		_, err = n.elements(m, n.metadata)
	default:
		err = m.skip()
	}
	return err
}

func (n *xbelNode) metadata(m *markup) error {
	read := n.others
	if attribute(m, "owner") == xbelOwner {
		read = n.ours
	}
	_, err := n.elements(m, read)
	return err
}

// elements reads the elements of the one that was opened, each by read; ended is
// false where instead of its end comes what cannot lie in it.
func (n *xbelNode) elements(m *markup, read func(*markup) error) (ended bool, err error) {
	for {
		found, err := m.next()
		switch {
		case err != nil:
			return true, err
		case found == closes:
			return true, nil
		case found != opens:
			continue
		case m.interrupted(1):
			return false, nil
		}
		if err := read(m); err != nil {
			return true, err
		}
	}
}

// ours reads an element of our own metadata.
func (n *xbelNode) ours(m *markup) error {
	element, extra, quoted := string(m.name), "", false
	for name, value := range m.attributes() {
		switch string(name) {
		case "name":
			extra = string(value)
		case "json":
			quoted = string(value) == "yes"
		}
	}
	text, err := m.content()
	if err != nil {
		return err
	}
	if quoted && json.Unmarshal([]byte(text), &text) != nil {
		return nil // somebody mended it: what stands beside it is good enough
	}
	if n.held += xbelElement + len(extra) + len(text); n.held > maxElement {
		n.Broken = &rules.Issue{Code: api.IssueUnreadable, Message: errTooMuch.Error()}
		return nil
	}
	switch element {
	case "tag":
		n.Tags = append(n.Tags, text)
	case "extra":
		addExtra(n.Entry, extra, text)
	case "url", "title", "desc":
		if n.exact == nil {
			n.exact = map[string]string{}
		}
		n.exact[element] = text
	}
	return nil
}

// others reads an element of the metadata of KDE and of freedesktop.org.
func (n *xbelNode) others(m *markup) error {
	switch string(m.name) {
	case "icon":
		for name, value := range m.attributes() {
			if string(name) == "href" && rules.IsWebURL(string(value)) {
				n.icon = string(value)
			}
		}
	case "time_added":
		text, err := m.content()
		if at, ok := parseDate(text); ok && n.CreatedAt.IsZero() {
			n.CreatedAt = at
		}
		return err
	case "time_visited":
		text, err := m.content()
		if n.visited == "" {
			n.visited = text
		}
		return err
	}
	return m.skip()
}

// settled is the entry once all has been read. What a browser's HTML has an
// attribute for is called as there, behind what our own export says of it.
func (n *xbelNode) settled() *Entry {
	if exact, ok := n.exact["url"]; ok && n.Kind == Bookmark {
		n.URL = exact
	}
	if exact, ok := n.exact["title"]; ok {
		n.Title = exact
	}
	if exact, ok := n.exact["desc"]; ok {
		n.Description = exact
	}
	n.Title, n.Description = rules.Line(n.Title), rules.Text(n.Description)
	if n.folded == "yes" {
		addExtra(n.Entry, "FOLDED", "")
	}
	if at, ok := parseDate(n.visited); ok && !at.IsZero() {
		addExtra(n.Entry, "LAST_VISIT", strconv.FormatInt(at.Unix(), 10))
	}
	if n.icon != "" {
		addExtra(n.Entry, "ICON_URI", n.icon)
	}
	return n.Entry
}
