package exchange

import (
	"errors"
	"io"
	"slices"
)

// unfiled is what Delicious says in place of tags where there are none.
const unfiled = "system:unfiled"

// readPosts reads the XML in which Pinboard and Delicious, and what imitates
// them, give their bookmarks: an element each, all of it in attributes.
func readPosts(src *source) stream {
	return func(out *outlet) error {
		m := newMarkup(PinboardXML, src.text, out.keepRaw)
		for {
			found, err := m.next()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case found == opens && string(m.name) == "post":
				if _, err := out.add(readPost(m)); err != nil {
					return err
				}
			}
		}
	}
}

func readPost(m *markup) *Entry {
	e := &Entry{Kind: Bookmark, Line: m.line, Raw: m.rawTag()}
	var p pinboardPost
	for name, value := range m.attributes() {
		switch string(name) {
		case "href":
			p.Href = string(value)
		case "description":
			p.Description = maybe(value)
		case "extended":
			p.Extended = maybe(value)
		case "time":
			at, ok := parseDate(value)
			p.Time = jsonDate{at, !ok}
		case "shared":
			p.Shared = string(value)
		case "toread":
			p.ToRead = string(value)
		case "tag", "tags":
			p.Tags = string(value)
		}
	}
	p.entry(e)
	e.Tags = slices.DeleteFunc(e.Tags, func(tag string) bool { return tag == unfiled })
	return e
}
