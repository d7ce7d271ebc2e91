package exchange

import (
	"encoding/json"
	"fmt"
	"strings"
)

// karakeepList is a list of Karakeep's export. One that a query fills is no folder.
type karakeepList struct {
	ID          string `json:"id"`
	ParentID    string `json:"parentId"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
}

type karakeepBookmark struct {
	CreatedAt jsonDate `json:"createdAt"`
	Title     string   `json:"title"`
	Tags      []string `json:"tags"`
	Lists     []string `json:"lists"` // ids
	Content   struct {
		Type string `json:"type"` // link, text, or another that has neither
		URL  string `json:"url"`
		Text string `json:"text"`
	} `json:"content"`
	Note     string `json:"note"`
	Archived bool   `json:"archived"`
}

// readKarakeep reads Karakeep's export. Lists become folders; a bookmark goes
// into the first that it is in, and keeps the names of the others.
func readKarakeep(src *source) stream {
	return func(out *outlet) error {
		walker, err := src.walker(KarakeepJSON)
		if err != nil {
			return err
		}
		k := &karakeepReader{out: out, names: map[string]string{}}
		if err := walker.run(0, 1, k.lists); err != nil {
			return err
		}
		return walker.run(0, 1, k.bookmarks)
	}
}

type karakeepReader struct {
	out     *outlet
	numbers map[string]int // of the folders, by the id of their list
	names   map[string]string
}

// lists reads the lists alone.
func (k *karakeepReader) lists(w *treeWalker) error {
	return w.object(func(key string) error {
		if key != "lists" {
			return skipValue(w.dec)
		}
		var lists []*listedFolder
		err := w.array(func() error {
			raw, line, err := w.element()
			if err != nil {
				return err
			}
			var list karakeepList
			_ = unmarshal(raw, &list) // a field of another kind is left out
			if list.Type == "smart" {
				return nil
			}
			f := &listedFolder{entry: &Entry{Kind: Folder, Line: line, Raw: raw}}
			f.ID, f.ParentID, f.Name, f.Description = list.ID, list.ParentID, list.Name, list.Description
			f.SortOrder = int64(len(lists)) // they have no order but that of the file
			k.names[f.ID] = f.Name
			if lists = append(lists, f); len(lists) > maxHeld {
				return errTooMany
			}
			return nil
		})
		if err != nil {
			return err
		}
		placed := placeFolders(lists)
		k.numbers = placed.numbers
		return k.out.addAll(placed.entries)
	})
}

func (k *karakeepReader) bookmarks(w *treeWalker) error {
	return w.object(func(key string) error {
		if key != "bookmarks" {
			return skipValue(w.dec)
		}
		return w.array(func() error {
			raw, line, err := w.element()
			if err != nil {
				return err
			}
			return k.bookmark(raw, line)
		})
	})
}

func (k *karakeepReader) bookmark(raw []byte, line int) error {
	var b karakeepBookmark
	e := &Entry{Kind: Bookmark, Line: line}
	e.ofJSON(raw, unmarshal(raw, &b), k.out.keepRaw)
	e.URL, e.Title, e.Tags = b.Content.URL, b.Title, b.Tags
	e.Description = strings.TrimSpace(b.Content.Text + "\n\n" + b.Note)
	e.setDates(b.CreatedAt, jsonDate{})
	if b.Archived {
		addExtra(e, "ARCHIVED", "1")
	}
	var others []string
	for _, id := range b.Lists {
		switch number, ok := k.numbers[id]; {
		case ok && e.Parent == Root:
			e.Parent = number
		case ok:
			others = append(others, k.names[id])
		}
	}
	if len(others) > 0 {
		names, err := json.Marshal(others)
		if err != nil {
			return fmt.Errorf("encode the names of lists: %w", err)
		}
		addExtra(e, "LISTS", string(names))
	}
	_, err := k.out.add(e)
	return err
}
