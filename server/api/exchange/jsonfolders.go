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
			j.emitFolders(all)
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

// listedFolder is a folder of the file, and what the file says of it.
type listedFolder struct {
	jsonFolder
	entry    *Entry
	children []*listedFolder
	placed   bool
}

// emitFolders hands out the folders, each behind its parent. A folder whose
// parent is not in the file, or is below itself, is at the top.
func (j *jsonReader) emitFolders(all []*listedFolder) {
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
	j.place(top, Root)
	for _, f := range all {
		if !f.placed { // in a circle: cut here
			j.place([]*listedFolder{f}, Root)
		}
	}
}

// place numbers folders and all below them, breadth first.
func (j *jsonReader) place(folders []*listedFolder, parent int) {
	type level struct {
		folders []*listedFolder
		parent  int
	}
	todo := []level{{folders, parent}}
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
			j.count++
			e := f.entry
			e.Number, e.Parent, e.Order = j.count, now.parent, f.SortOrder
			e.Title, e.Description, e.Extra = f.Name, f.Description, f.Extra
			e.setDates(f.CreatedAt, f.UpdatedAt)
			if _, dup := j.numbers[f.ID]; !dup && f.ID != "" {
				j.numbers[f.ID] = e.Number
			}
			j.queue = append(j.queue, e)
			todo = append(todo, level{f.children, e.Number})
		}
	}
}
