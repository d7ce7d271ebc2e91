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

// readOutline reads the attributes of the outline that was opened. Those that say
// how an outliner shows it are left out.
func readOutline(m *markup) *Entry {
	e := &Entry{Kind: Folder, Line: m.line, Raw: m.rawTag()}
	var label, title, url, page, feed, description, note string
	for name, value := range m.attributes() {
		switch string(name) {
		case "text":
			label = string(value)
		case "title":
			title = string(value)
		case "url":
			url = strings.TrimSpace(string(value))
		case "htmlurl":
			page = strings.TrimSpace(string(value))
		case "xmlurl":
			feed = strings.TrimSpace(string(value))
		case "description":
			description = string(value)
		case "_note":
			note = string(value)
		case "created":
			e.CreatedAt = date(e, value)
		case "category":
			e.Tags = categories(string(value))
		case "type", "version", "iscomment", "isbreakpoint", "isopen", "_status":
		default:
			if extra := strings.ToUpper(string(name)); rules.ValidExtraName(extra) {
				addExtra(e, extra, string(value))
			}
		}
	}
	label, link := readMarkedUp(label)
	e.Title = firstOf(rules.Line(label), rules.Line(title))
	e.Description = rules.Text(description)
	if note = rules.Text(note); note != e.Description {
		e.Description = rules.Text(e.Description + "\n\n" + note)
	}
	e.settleOutline(url, page, feed, link)
	return e
}

// settleOutline decides where an outline leads. Of a feed that is its page, since
// that is what a person opens, and the feed is kept as Firefox kept it.
func (e *Entry) settleOutline(url, page, feed, link string) {
	e.URL = firstOf(url, page, link)
	if feed != "" {
		addExtra(e, feedMark, feed)
		e.URL = firstOf(page, url, feed)
	}
	if e.URL == "" {
		if len(e.Tags) > 0 { // folders have none
			addExtra(e, "LABELS", strings.Join(e.Tags, ","))
		}
		e.Tags, e.Raw = nil, nil
		return
	}
	e.Kind = Bookmark
	for name, other := range map[string]string{"URL": url, "HTMLURL": page} {
		if other != "" && other != e.URL {
			addExtra(e, name, other)
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

// readMarkedUp reads the text of an outline, in which outliners have markup:
// without that, and with where the first link in it leads. A text that is nothing
// but a URL leads there.
func readMarkedUp(value string) (label, link string) {
	if rules.IsWebURL(value) && !strings.ContainsAny(value, " \t\r\n<") {
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
