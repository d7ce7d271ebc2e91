package exchange

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"bm/server/api"
	"bm/server/api/rules"
)

// attributes are those of the pending entry whose meaning depends on what
// else there is.
type attributes struct {
	tags, labels, exact, description, timeAdded, milli string
	hasTags, hasLabels, hasDescription                 bool
	hasTimeAdded, private, toRead                      bool
	hasDD                                              bool // even an empty one
}

// read sorts the attributes of a tag: into fields, into extra, and ICON into
// nothing. Of two with one name the first counts, as everywhere in HTML.
func (a *attributes) read(z *html.Tokenizer, e *Entry) {
	*a = attributes{}
	var seen struct{ href, added, modified bool }
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "": // a tag without any
		case "href":
			if !seen.href && e.Kind == Bookmark {
				e.URL, seen.href = strings.TrimSpace(string(value)), true
			}
		case "icon":
		case "add_date":
			if !seen.added {
				e.CreatedAt, seen.added = date(e, value), true
			}
		case "last_modified":
			if !seen.modified {
				e.ModifiedAt, _ = parseDate(value)
				seen.modified = true
			}
		case "add_date_ms":
			a.milli = string(value)
		case "tags":
			if !a.hasTags {
				a.tags, a.hasTags = string(value), true
			}
		case "tags_json":
			a.exact = string(value)
		case "labels":
			a.labels, a.hasLabels = string(value), true
		case "description":
			a.description, a.hasDescription = string(value), true
		case "time_added":
			a.timeAdded, a.hasTimeAdded = string(value), true
		default:
			a.private = a.private || string(key) == "private"
			a.toRead = a.toRead || string(key) == "toread"
			addExtra(e, strings.ToUpper(string(key)), string(value))
		}
	}
}

// apply settles what the whole entry decides.
func (a *attributes) apply(e *Entry, heading string) {
	if a.hasLabels && (a.hasTags || e.Kind == Folder) {
		addExtra(e, "LABELS", a.labels)
	} else if a.hasLabels {
		a.tags, a.hasTags = a.labels, true
	}
	if e.Kind == Folder && a.hasTags {
		addExtra(e, "LABELS", a.tags) // bm's folders have no tags
	} else if e.Kind == Bookmark {
		e.Tags = splitTags(a.tags, a.private)
		if a.exact != "" {
			if exact := readExactTags(a.exact); len(exact) > 0 {
				e.Tags = exact
			}
		}
	}
	switch {
	case a.hasDescription && !a.hasDD:
		e.Description = rules.Text(a.description)
	case a.hasDescription:
		addExtra(e, "DESCRIPTION", a.description)
	}
	if status, ok := pocketLists[heading]; ok && a.hasTimeAdded {
		addExtra(e, "STATUS", status)
	}
	if a.private && a.toRead {
		e.Description = withNotes(e.Description)
	}
	switch {
	case a.hasTimeAdded && e.CreatedAt.IsZero():
		e.CreatedAt = date(e, []byte(a.timeAdded))
	case a.hasTimeAdded:
		addExtra(e, "TIME_ADDED", a.timeAdded)
	}
	// Our own export says the milliseconds that others would not understand.
	if a.milli == "" {
		return
	}
	if ms, err := strconv.ParseInt(a.milli, 10, 64); err == nil && ms/1000 == e.CreatedAt.Unix() {
		e.CreatedAt = time.UnixMilli(ms).UTC()
	}
}

// pocketLists are the headings under which Pocket's export has its lists, by what
// its tables call them.
var pocketLists = map[string]string{"Unread": "unread", "Read Archive": "archive"}

// withNotes makes one text of a description and the notes that linkding, which
// says of each bookmark whether it is private and to be read, puts behind it.
func withNotes(description string) string {
	about, notes, ok := strings.Cut(description, "[linkding-notes]")
	if !ok {
		return description
	}
	notes, _, _ = strings.Cut(notes, "[/linkding-notes]")
	return rules.Text(rules.Text(about) + "\n\n" + rules.Text(notes))
}

func addExtra(e *Entry, name, value string) {
	if e.Extra == nil {
		e.Extra = make(map[string]string, 4)
	}
	if _, dup := e.Extra[name]; !dup {
		e.Extra[name] = value
	}
}

// date reads a date, and notes one that cannot be read.
func date(e *Entry, text []byte) time.Time {
	at, ok := parseDate(text)
	if !ok {
		e.Issues = append(e.Issues, unreadableDate)
		return time.Time{}
	}
	return at
}

var unreadableDate = rules.Issue{
	Field: "createdAt", Code: api.IssueDateUnreadable, Message: "the date could not be read; that of the import stands in",
}
