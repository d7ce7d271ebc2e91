package localstore

import (
	"cmp"
	"maps"
	"slices"

	"bm/server/api"
	"bm/server/api/rules"
)

// Difference is a value of a row that another one, which it becomes one with,
// has otherwise: it goes to the conflicts.
type Difference struct {
	Field        string
	Mine, Theirs any
}

// Unite is what theirs becomes when mine, which is the same thing, is united with
// it: tags and attributes of both, the oldest date, and what only one of them
// says. What both say otherwise stands as theirs has it, and is answered beside.
func Unite(theirs, mine *Entity) (Fields, []Difference) {
	united := theirs.Fields
	var differ []Difference
	united.Title = cmp.Or(theirs.Title, mine.Title)
	if mine.Type == api.TypeBookmark && mine.Title != "" && mine.Title != united.Title {
		differ = append(differ, Difference{"title", mine.Title, theirs.Title})
	}
	united.Description = cmp.Or(theirs.Description, mine.Description)
	if mine.Description != "" && mine.Description != united.Description {
		differ = append(differ, Difference{"description", mine.Description, theirs.Description})
	}
	if tags := rules.UniteTags(theirs.Tags, mine.Tags); len(tags) > len(theirs.Tags) {
		united.Tags = tags
	}
	if mine.CreatedAt.Before(theirs.CreatedAt.Time) {
		united.CreatedAt = mine.CreatedAt
	}
	united.Snapshot = theirs.Snapshot || mine.Snapshot
	extra, others := uniteExtra(theirs.Extra, mine.Extra)
	united.Extra = extra
	return united, append(differ, others...)
}

func uniteExtra(theirs, mine map[string]string) (map[string]string, []Difference) {
	united := maps.Clone(theirs)
	var differ []Difference
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		value, there := theirs[name]
		switch {
		case !there && united == nil:
			united = map[string]string{name: mine[name]}
		case !there:
			united[name] = mine[name]
		case value != mine[name]:
			differ = append(differ, Difference{extraField + name, mine[name], value})
		}
	}
	return united, differ
}
