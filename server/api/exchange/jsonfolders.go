package exchange

import (
	"cmp"
	"slices"

	"bm/server/api"
	"bm/server/api/rules"
)

// readFolders reads the array of folders and hands them out.
func (j *jsonReader) readFolders() error {
	var all []*listedFolder
	for {
		raw, line, ok, err := j.element()
		if err != nil {
			return err
		}
		if !ok {
			list := placeFolders(all)
			j.queue, j.numbers = append(j.queue, list.entries...), list.numbers
			return nil
		}
		f := &listedFolder{entry: &Entry{Kind: Folder, Index: j.entries, Line: line}}
		if err := unmarshal(raw, &f.jsonFolder); err != nil {
			f.entry.Issues = append(f.entry.Issues, rules.Issue{
				Code: api.IssueTextRepaired, Message: "fields of the folder that could not be read were left out",
			})
		}
		if f.entry.noteUTF8(raw); j.keepRaw {
			f.entry.Raw = raw
		}
		if all = append(all, f); len(all) > maxHeld {
			return errTooMany
		}
	}
}

// listedFolder is a folder of a list, and what the file says of it.
type listedFolder struct {
	jsonFolder
	entry    *Entry
	children []*listedFolder
	placed   bool
}

// folderList puts the folders of a list in an order in which each stands behind
// its parent.
type folderList struct {
	entries []*Entry
	numbers map[string]int // by id
}

// placeFolders takes folders that name their parents. One whose parent is not
// among them, or is below itself, is at the top.
func placeFolders(all []*listedFolder) folderList {
	byID := make(map[string]*listedFolder, len(all))
	for _, f := range all {
		if _, dup := byID[f.ID]; !dup && f.ID != "" {
			byID[f.ID] = f
		}
	}
	var top []*listedFolder
	for _, f := range all {
		if parent := byID[f.ParentID]; parent != nil && parent != f {
			parent.children = append(parent.children, f)
		} else {
			top = append(top, f)
		}
	}
	l := folderList{numbers: make(map[string]int, len(all))}
	l.place(top)
	for _, f := range all {
		if !f.placed { // in a circle: cut here
			l.place([]*listedFolder{f})
		}
	}
	return l
}

// place numbers folders at the top and all below them, breadth first.
func (l *folderList) place(top []*listedFolder) {
	type level struct {
		folders []*listedFolder
		parent  int
	}
	todo := []level{{top, Root}}
	for len(todo) > 0 {
		now := todo[0]
		todo = todo[1:]
		slices.SortStableFunc(now.folders, func(a, b *listedFolder) int {
			return cmp.Or(cmp.Compare(a.SortOrder, b.SortOrder), a.CreatedAt.at.Compare(b.CreatedAt.at), cmp.Compare(a.ID, b.ID))
		})
		for _, f := range now.folders {
			if f.placed {
				continue
			}
			f.placed = true
			e := f.entry
			l.entries = append(l.entries, e)
			e.Number, e.Parent, e.Order = len(l.entries), now.parent, f.SortOrder
			e.Title, e.Description, e.Extra = f.Name, f.Description, f.Extra
			e.setDates(f.CreatedAt, f.UpdatedAt)
			if _, dup := l.numbers[f.ID]; !dup && f.ID != "" {
				l.numbers[f.ID] = e.Number
			}
			todo = append(todo, level{f.children, e.Number})
		}
	}
}
