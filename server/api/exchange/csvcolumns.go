package exchange

import (
	"encoding/json"
	"strings"

	"bm/server/api/rules"
)

// column is what of a bookmark a column of a table holds.
type column uint8

const (
	columnURL column = iota
	columnTitle
	columnDescription
	columnExcerpt
	columnTags
	columnFolder
	columnCreated
	columnModified
	columnKind
	columnExtra
)

// csvFolder is what stands in the column type of bm's own tables for a folder.
const (
	csvFolder   = "folder"
	csvBookmark = "bookmark"
)

// columnNames are what services call their columns, and people theirs.
var columnNames = map[string]column{
	"url": columnURL, "href": columnURL, "link": columnURL, "uri": columnURL, "address": columnURL,
	"title": columnTitle, "name": columnTitle,
	"description": columnDescription, "note": columnDescription, "notes": columnDescription,
	"selection": columnDescription, "comment": columnDescription, "extended": columnDescription,
	"excerpt": columnExcerpt,
	"tags":    columnTags, "labels": columnTags, "keywords": columnTags, "tag": columnTags,
	"folder": columnFolder, "collection": columnFolder, "path": columnFolder,
	"created": columnCreated, "created_at": columnCreated, "createdat": columnCreated, "time_added": columnCreated,
	"added": columnCreated, "date_added": columnCreated, "dateadded": columnCreated, "add_date": columnCreated,
	"saved_at": columnCreated, "timestamp": columnCreated, "time": columnCreated, "date": columnCreated,
	"updated": columnModified, "updated_at": columnModified, "last_modified": columnModified, "modified": columnModified,
	"type": columnKind, "extra": columnExtra,
}

// keptColumns go to the attributes that bm has no field for, under the name
// that the same service's HTML export has for them.
var keptColumns = map[string]string{
	"status": "STATUS", "favorite": "DATA-IMPORTANT", "cover": "DATA-COVER", "highlights": "HIGHLIGHTS",
}

// columns is where in a row what stands.
type columns struct {
	at   map[column]int
	kept map[int]string // names of attributes, by column
}

// columnsOf reads a header. Of two columns for one thing the first counts.
func columnsOf(header []string) columns {
	c := columns{at: map[column]int{}, kept: map[int]string{}}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		if what, ok := columnNames[name]; ok {
			if _, taken := c.at[what]; !taken {
				c.at[what] = i
			}
		} else if attribute, ok := keptColumns[name]; ok {
			c.kept[i] = attribute
		}
	}
	return c
}

// get is a field of a row, "" where there is none.
func (c *columns) get(fields []string, what column) string {
	if i, ok := c.at[what]; ok && i < len(fields) {
		return fields[i]
	}
	return ""
}

// fill sets what the fields of a row say.
func (c *columns) fill(e *Entry, fields []string, format Format) {
	plain := func(text string) string { return text }
	if format == OwnCSV {
		plain = unguarded
	}
	e.URL = plain(strings.TrimSpace(c.get(fields, columnURL)))
	e.Title = rules.Line(plain(c.get(fields, columnTitle)))
	e.Description = rules.Text(plain(c.get(fields, columnDescription)))
	if excerpt := rules.Text(c.get(fields, columnExcerpt)); excerpt != "" && e.Description != "" {
		e.Description += "\n\n" + excerpt
	} else if excerpt != "" {
		e.Description = excerpt
	}
	e.Tags = csvTags(plain(c.get(fields, columnTags)))
	e.CreatedAt = date(e, []byte(c.get(fields, columnCreated)))
	e.ModifiedAt, _ = parseDate(c.get(fields, columnModified))
	for i, name := range c.kept {
		if i < len(fields) && fields[i] != "" && fields[i] != "false" {
			addExtra(e, name, fields[i])
		}
	}
	if format != OwnCSV {
		return
	}
	var extra map[string]string
	if err := json.Unmarshal([]byte(c.get(fields, columnExtra)), &extra); err != nil {
		return // nothing, or something of another's
	}
	if url, ok := extra[exactURL]; ok {
		e.URL = url
		delete(extra, exactURL)
	}
	e.Extra = extra
}

// exactURL is where among the attributes, none of which may have this name, a
// URL stands that a table would not give back: one with a line break.
const exactURL = "HREF"

// csvTags reads a list of tags: as JSON, else by [splitTags].
func csvTags(value string) []string {
	if strings.HasPrefix(value, "[") {
		var tags []string
		if err := json.Unmarshal([]byte(value), &tags); err == nil {
			return tags
		}
	}
	return splitTags(value, false)
}

// pathOf are the names that the column of a folder holds. Most services have one
// name there; Raindrop sets blanks around its slashes, so that a name may hold
// one. What a service calls by a name but is no folder is the top.
func pathOf(text string, format Format) []string {
	switch format {
	case RaindropCSV:
		if text == "Unsorted" {
			return nil
		}
		return namesOf(strings.Split(text, " / "))
	case InstapaperCSV:
		if text == "Unread" {
			return nil
		}
		return namesOf([]string{text})
	case OwnCSV:
		return splitPath(unguarded(text))
	}
	return splitPath(text)
}

func namesOf(parts []string) []string {
	var names []string
	for _, part := range parts {
		if name := rules.Line(part); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// splitPath splits a path at its slashes; a backslash before one, or before
// another backslash, has it stand for itself.
func splitPath(path string) []string {
	var parts []string
	var name strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '\\'):
			i++
			name.WriteByte(path[i])
		case path[i] == '/':
			parts = append(parts, name.String())
			name.Reset()
		default:
			name.WriteByte(path[i])
		}
	}
	return namesOf(append(parts, name.String()))
}
