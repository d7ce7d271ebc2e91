package query

import (
	"slices"
	"strings"
	"time"

	"bm/server/api/rules"
)

// field makes the filter of key:value; nil where it is none.
func (p *parser) field(key, value string) Node {
	switch key {
	case "tag":
		if key := rules.TagKey(value); key != "" {
			return p.filter(Tag{Key: key})
		}
	case "folder":
		if folder, ok := parsePath(value); ok {
			return p.filter(folder)
		}
	case "site":
		return p.site(value)
	case "is":
		if state := State(strings.ToLower(value)); slices.Contains(states[:], state) {
			return p.filter(Is{state})
		}
	case "before", "after":
		for _, layout := range [...]string{time.DateOnly, "2006-01", "2006"} {
			if day, err := time.Parse(layout, value); err == nil && day.Year() > 0 {
				return p.filter(Created{From: day, Before: key == "before"})
			}
		}
	}
	return nil
}

// site makes a filter of a host; a path behind it is searched as words.
func (p *parser) site(value string) Node {
	value = strings.TrimPrefix(trimWebScheme(value), "*.")
	host, path, _ := strings.Cut(value, "/")
	key := HostKey("http://" + host)
	if key == "" {
		return nil
	}
	site := p.filter(Site{HostKey: key})
	if term := p.term(unescape(path)); site != nil && term != nil {
		return And{site, term}
	}
	return site
}

func (p *parser) filter(n Node) Node {
	size := 1
	if _, ok := n.(Folder); ok {
		size = folderParts
	}
	if !p.room(size) {
		return nil
	}
	return n
}
