package exchange

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// linkwardenCollection is a collection of Linkwarden's export, without its links.
type linkwardenCollection struct {
	ID          json.Number `json:"id"`
	ParentID    json.Number `json:"parentId"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	CreatedAt   jsonDate    `json:"createdAt"`
	UpdatedAt   jsonDate    `json:"updatedAt"`
}

// linkwardenHead is what of a collection its links are found by again.
type linkwardenHead struct {
	ID       json.Number `json:"id"`
	ParentID json.Number `json:"parentId"`
	Name     string      `json:"name"`
}

// linkwardenLink is a link of a collection.
type linkwardenLink struct {
	ID          json.Number `json:"id"`
	Name        string      `json:"name"`
	URL         string      `json:"url"`
	Description string      `json:"description"`
	Tags        []struct {
		Name string `json:"name"`
	} `json:"tags"`
	CreatedAt  jsonDate `json:"createdAt"`
	ImportDate jsonDate `json:"importDate"` // when it was made, of what came from elsewhere
	UpdatedAt  jsonDate `json:"updatedAt"`
}

// readLinkwarden reads the export of an account. Its collections become folders.
func readLinkwarden(src *source) stream {
	return func(out *outlet) error {
		walker, err := src.walker(LinkwardenJSON)
		if err != nil {
			return err
		}
		walker.childKey = "links"
		l := &linkwardenReader{out: out, pinned: map[string]bool{}, numbers: map[int64]int{}}
		if l.collections, err = readTreeFolders[linkwardenCollection](walker, l.first); err != nil {
			return err
		}
		if err := l.folders(); err != nil {
			return err
		}
		walker.enter, walker.leave = l.enter, l.leave
		return walker.run(0, 1, l.file)
	}
}

type linkwardenReader struct {
	out         *outlet
	collections treeFolders[linkwardenCollection]
	pinned      map[string]bool // ids of links
	numbers     map[int64]int   // of the folders, by where their collection begins
	within      int
}

// first reads the whole account, and which links are pinned.
func (l *linkwardenReader) first(w *treeWalker) error {
	return w.object(func(key string) error {
		switch key {
		case "collections":
			return w.array(w.node)
		case "pinnedLinks":
			return w.array(func() error {
				var link struct {
					ID json.Number `json:"id"`
				}
				err := w.dec.Decode(&link)
				if l.pinned[link.ID.String()] = true; len(l.pinned) > maxHeld {
					return errTooMany
				}
				if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
					return nil
				}
				return err
			})
		}
		return skipValue(w.dec)
	})
}

// file reads the collections again, with their links.
func (l *linkwardenReader) file(w *treeWalker) error {
	return w.object(func(key string) error {
		if key == "collections" {
			return w.array(w.node)
		}
		return skipValue(w.dec)
	})
}

// folders hands out the collections, each behind the one around it. What the
// file holds of one in several parts is one.
func (l *linkwardenReader) folders() error {
	var all []*listedFolder
	byID := map[json.Number]*listedFolder{}
	places := map[int64]*listedFolder{}
	for _, at := range slices.Sorted(maps.Keys(l.collections)) {
		c := l.collections[at]
		if first := byID[c.fields.ID]; first != nil {
			places[at] = first
			continue
		}
		f := &listedFolder{entry: &Entry{Kind: Folder, Line: c.line}}
		f.ID, f.ParentID, f.Name, f.Description = c.fields.ID.String(), c.fields.ParentID.String(), c.fields.Name, c.fields.Description
		f.SortOrder, f.CreatedAt, f.UpdatedAt = at, c.fields.CreatedAt, c.fields.UpdatedAt
		if l.out.keepRaw {
			f.entry.Raw, _ = json.Marshal(linkwardenHead{c.fields.ID, c.fields.ParentID, c.fields.Name}) // texts always encode
		}
		all = append(all, f)
		if places[at] = f; c.fields.ID != "" {
			byID[c.fields.ID] = f
		}
	}
	err := l.out.addAll(placeFolders(all).entries)
	for at, f := range places {
		l.numbers[at] = f.entry.Number
	}
	return err
}

func (l *linkwardenReader) enter(n treeNode) (bool, error) {
	l.within = l.numbers[n.at]
	return true, nil
}

func (l *linkwardenReader) leave(n treeNode, flat []byte) error {
	if n.folder || n.depth == 0 {
		return nil
	}
	var link linkwardenLink
	e := &Entry{Kind: Bookmark, Parent: l.within, Line: n.line}
	e.ofJSON(flat, unmarshal(flat, &link), l.out.keepRaw)
	e.URL, e.Title, e.Description = link.URL, link.Name, link.Description
	for _, tag := range link.Tags {
		if name := strings.TrimSpace(tag.Name); name != "" {
			e.Tags = append(e.Tags, name)
		}
	}
	created := link.CreatedAt
	if !link.ImportDate.at.IsZero() {
		created = link.ImportDate
	}
	e.setDates(created, link.UpdatedAt)
	if link.ID != "" && l.pinned[link.ID.String()] {
		addExtra(e, "PINNED", "1")
	}
	_, err := l.out.add(e)
	return err
}
