package exchange

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"

	"bm/server/api/rules"
)

// opmlReader reads OPML, in which feed readers give their subscriptions and
// outliners their outlines. An outline that leads somewhere is a bookmark, any
// other one a folder, an empty one too: a category without feeds, or a line of an
// outline, whose text would else be lost; a blank line is a separator. One that leads somewhere and has others
// in it becomes a folder, and the first bookmark in that.
type opmlReader struct {
	m   *markup
	out *outlet
}

// feedMark is the attribute of a live bookmark in Firefox's HTML export.
const feedMark = "FEEDURL"

func readOPML(src *source) stream {
	return func(out *outlet) error {
		o := &opmlReader{newMarkup(OPML, src.text, out.keepRaw), out}
		for {
			found, err := o.m.next()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err == nil && found == opens && string(o.m.name) == "outline":
				err = o.outline(Root)
			}
			if err != nil {
				return err
			}
		}
	}
}

// outline reads the outline that was opened, and what is in it.
func (o *opmlReader) outline(parent int) error {
	e := readOutline(o.m)
	e.Parent = parent
	for held := false; ; {
		found, err := o.m.next()
		switch {
		case err != nil:
			return err
		case found == closes && !held:
			if e.Kind == Folder && e.Title == "" && e.Description == "" {
				e.Kind = Separator
			}
			_, err := o.out.add(e)
			return err
		case found == closes:
			return nil
		case found != opens:
			continue
		case string(o.m.name) != "outline":
			err = o.m.skip()
		default:
			if !held {
				parent, err = o.folder(e)
			}
			if held = true; err == nil {
				err = o.outline(parent)
			}
		}
		if err != nil {
			return err
		}
	}
}

// folder hands out an outline that holds others.
func (o *opmlReader) folder(e *Entry) (number int, err error) {
	if e.Kind == Folder {
		return o.out.add(e)
	}
	number, err = o.out.add(&Entry{Kind: Folder, Line: e.Line, Parent: e.Parent, Title: e.Title, CreatedAt: e.CreatedAt})
	if err != nil {
		return 0, err
	}
	e.Parent = number
	_, err = o.out.add(e)
	return number, err
}

// opmlOutline is an outline that is read.
type opmlOutline struct {
	*Entry
	label, title      string // the text that is shown, and another one
	url, page, feed   string // where it leads
	description, note string
}

// readOutline reads the attributes of the outline that was opened.
func readOutline(m *markup) *Entry {
	n := opmlOutline{Entry: &Entry{Kind: Folder, Line: m.line, Raw: m.rawTag()}}
	for name, value := range m.attributes() {
		n.set(string(name), string(value))
	}
	link := n.texts()
	n.settle(link)
	return n.Entry
}

// set takes over an attribute. Those that say how an outliner shows an outline are
// left out, and those of no value, since many an export has them all.
func (n *opmlOutline) set(name, value string) {
	switch name {
	case "text":
		n.label = value
	case "title":
		n.title = value
	case "url":
		n.url = strings.TrimSpace(value)
	case "htmlurl":
		n.page = strings.TrimSpace(value)
	case "xmlurl":
		n.feed = strings.TrimSpace(value)
	case "description":
		n.description = value
	case "_note":
		n.note = value
	case "created":
		n.CreatedAt = date(n.Entry, []byte(value))
	case "category":
		n.Tags = categories(value)
	case "type", "version", "iscomment", "isbreakpoint", "isopen":
	default:
		if name == "keyword" { // Firefox's, which its HTML export calls so
			name = "SHORTCUTURL"
		}
		if name = strings.ToUpper(name); value != "" && rules.ValidExtraName(name) {
			addExtra(n.Entry, name, value)
		}
	}
}

// texts settles title and description, and gives where these lead.
func (n *opmlOutline) texts() (link string) {
	label, link := readMarkedUp(n.label)
	if n.url+n.page+n.feed+link == "" && isBareURL(n.note) { // a page that was clipped
		link, n.note = n.note, ""
	}
	n.Title = firstOf(rules.Line(label), rules.Line(n.title))
	n.Description = rules.Text(n.description)
	if note := rules.Text(n.note); note != n.Description {
		n.Description = rules.Text(n.Description + "\n\n" + note)
	}
	return link
}

// settle decides where an outline leads. Of a feed that is its page, since that is
// what a person opens, and the feed is kept as Firefox kept it.
func (n *opmlOutline) settle(link string) {
	n.URL = firstOf(n.url, n.page, link)
	if n.feed != "" {
		addExtra(n.Entry, feedMark, n.feed)
		n.URL = firstOf(n.page, n.url, n.feed)
	}
	if n.URL == "" {
		if len(n.Tags) > 0 { // folders have none
			addExtra(n.Entry, "LABELS", strings.Join(n.Tags, ","))
		}
		n.Tags, n.Raw = nil, nil
		return
	}
	n.Kind = Bookmark
	for name, other := range map[string]string{"URL": n.url, "HTMLURL": n.page} {
		if other != "" && other != n.URL {
			addExtra(n.Entry, name, other)
		}
	}
}

// firstOf is the first of some texts that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// categories are tags: commas separate, and slashes stand within a path and
// before it.
func categories(value string) []string {
	tags := splitTags(value, false)
	out := tags[:0]
	for _, tag := range tags {
		if tag = strings.Trim(tag, "/ "); tag != "" {
			out = append(out, tag)
		}
	}
	return out
}

// isBareURL reports whether a text is nothing but a URL.
func isBareURL(text string) bool {
	return rules.IsWebURL(text) && !strings.ContainsAny(text, " \t\r\n<")
}

// readMarkedUp reads the text of an outline, in which outliners have markup:
// without that, and with where the first link in it leads. A text that is nothing
// but a URL leads there.
func readMarkedUp(value string) (label, link string) {
	if isBareURL(value) {
		return value, value
	}
	if !strings.Contains(value, "</") {
		return value, ""
	}
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(value)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return b.String(), link
		case html.TextToken:
			b.Write(z.Text())
		case html.StartTagToken:
			z.NextIsNotRawText()
			if name, more := z.TagName(); string(name) == "a" && link == "" {
				for more && link == "" {
					var key, target []byte
					if key, target, more = z.TagAttr(); string(key) == "href" {
						link = strings.TrimSpace(string(target))
					}
				}
			}
		}
	}
}
