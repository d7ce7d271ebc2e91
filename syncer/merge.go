package syncer

import (
	"maps"
	"slices"

	"bm/localstore"
	"bm/server/api/rules"
)

// Version is one side's version of an entity.
type Version struct {
	localstore.Fields
	Deleted bool
	// Bare is set on a deleted version of which only that is known.
	Bare bool
}

// Clash is a local value that lost against the server's.
type Clash struct {
	Field        string
	Mine, Theirs any
}

// The kinds of notes.
const (
	NoteRestored = "restored" // deleted there, edited here: it came back
	NoteReturned = "returned" // deleted here, edited there: it came back; no restoration of what was deleted on both sides
	NoteRehomed  = "rehomed"  // its folder was deleted: it went to one above
	NoteUnmoved  = "unmoved"  // its move would have closed a circle
	NoteUnited   = "united"   // the same thing was made on both sides
	NoteRevived  = "revived"  // its deletion was taken back for what is in it
	NoteDefect   = "defect"   // of no row: see [Comparison.Defect]
)

// Merged is what becomes of an entity. What the server has is its version; what
// is left to send is the difference between that and Row.
type Merged struct {
	Row     Version
	Clashes []Clash
	// Note is one of the kinds of notes, or "".
	Note string
}

// Merge merges one entity. base is what the server had when the local edit was
// made, nil where that was nothing or is not known; local is what is here, remote
// what the server has now. It is deterministic, and merging its result again
// with remote as the base changes nothing.
func Merge(base *Version, local, remote Version) Merged {
	switch {
	case local.Deleted && remote.Deleted:
		return Merged{Row: Version{Fields: local.Fields, Deleted: true}}
	case remote.Deleted:
		return mergeDeletedThere(base, local, remote)
	case local.Deleted:
		return mergeDeletedHere(base, local, remote)
	}
	return mergeFields(base, local, remote)
}

// mergeDeletedThere: an edit beats a delete; an order within the folder is no
// edit, nor is one that the deleted version had too.
func mergeDeletedThere(base *Version, local, remote Version) Merged {
	stands := base != nil && !base.Deleted && !edited(&base.Fields, &local.Fields) ||
		!remote.Bare && (base == nil || !base.Deleted) && !edited(&remote.Fields, &local.Fields)
	if stands {
		return Merged{Row: Version{Fields: local.Fields, Deleted: true}}
	}
	m := Merged{Row: Version{Fields: local.Fields}}
	if base != nil && !base.Deleted {
		m.Note = NoteRestored
	}
	return m
}

// mergeDeletedHere: the delete stands unless the other side edited the entity
// since, or it is a delete of something that was never seen alive there.
func mergeDeletedHere(base *Version, local, remote Version) Merged {
	known := local.Fields
	if base != nil {
		known = base.Fields
	}
	switch {
	case edited(&known, &remote.Fields):
		return Merged{Row: Version{Fields: remote.Fields}, Note: NoteReturned}
	case base != nil && base.Deleted: // restored there, as it was
		return Merged{Row: Version{Fields: remote.Fields}}
	}
	return Merged{Row: Version{Fields: remote.Fields, Deleted: true}}
}

// edited reports whether b differs from a in something that a user would call
// an edit.
func edited(a, b *localstore.Fields) bool {
	return a.Parent != b.Parent || a.Title != b.Title || a.URL != b.URL || a.Description != b.Description ||
		!slices.Equal(folded(a.Tags), folded(b.Tags)) || !a.CreatedAt.Equal(b.CreatedAt.Time) ||
		a.Snapshot != b.Snapshot || !maps.Equal(a.Extra, b.Extra)
}

func folded(tags []string) []string {
	keys := make([]string, len(tags))
	for i, tag := range tags {
		keys[i] = rules.TagKey(tag)
	}
	slices.Sort(keys)
	return keys
}

// mergeFields merges two live versions field by field.
func mergeFields(base *Version, local, remote Version) Merged {
	m := Merged{Row: remote}
	m.Row.Bare = false
	var from *localstore.Fields
	if base != nil {
		from = &base.Fields
	}
	row := &m.Row.Fields
	m.text(&row.Parent, pick(from, func(f *localstore.Fields) *string { return &f.Parent }), local.Parent, "folder")
	m.text(&row.Title, pick(from, func(f *localstore.Fields) *string { return &f.Title }), local.Title, "title")
	m.text(&row.URL, pick(from, func(f *localstore.Fields) *string { return &f.URL }), local.URL, "url")
	m.description(row, from, &local.Fields)
	row.Tags = mergeTags(from, local.Tags, remote.Tags)
	if from != nil && local.SortOrder != from.SortOrder && (remote.SortOrder == from.SortOrder || remote.SortOrder == local.SortOrder) {
		row.SortOrder = local.SortOrder
	}
	m.createdAt(row, from, &local.Fields)
	if local.Snapshot != remote.Snapshot {
		if from != nil && remote.Snapshot == from.Snapshot {
			row.Snapshot = local.Snapshot
		} else if from == nil {
			m.clash("snapshotEnabled", local.Snapshot, remote.Snapshot)
		}
	}
	m.extra(row, from, &local.Fields, &remote.Fields)
	return m
}

func pick(from *localstore.Fields, field func(*localstore.Fields) *string) *string {
	if from == nil {
		return nil
	}
	return field(from)
}

func (m *Merged) clash(field string, mine, theirs any) {
	m.Clashes = append(m.Clashes, Clash{Field: field, Mine: mine, Theirs: theirs})
}

// text merges a field of which one value wins: into holds the server's.
func (m *Merged) text(into *string, base *string, local, field string) {
	switch {
	case local == *into, base != nil && local == *base:
	case base != nil && *into == *base:
		*into = local
	default:
		m.clash(field, local, *into)
	}
}

// description merges by lines before it gives up.
func (m *Merged) description(row, from, local *localstore.Fields) {
	base := pick(from, func(f *localstore.Fields) *string { return &f.Description })
	if base != nil && local.Description != *base && row.Description != *base && local.Description != row.Description {
		if merged, ok := mergeLines(*base, local.Description, row.Description); ok {
			row.Description = merged
			return
		}
	}
	m.text(&row.Description, base, local.Description, "description")
}

// createdAt merges dates. Uniting dates a row back to the oldest of what became
// one: where both sides did so, the oldest stands, which
// all reckon alike.
func (m *Merged) createdAt(row, from, local *localstore.Fields) {
	switch {
	case local.CreatedAt.Equal(row.CreatedAt.Time), from != nil && local.CreatedAt.Equal(from.CreatedAt.Time):
	case from != nil && row.CreatedAt.Equal(from.CreatedAt.Time):
		row.CreatedAt = local.CreatedAt
	case from != nil && local.CreatedAt.Before(from.CreatedAt.Time) && row.CreatedAt.Before(from.CreatedAt.Time):
		if local.CreatedAt.Before(row.CreatedAt.Time) {
			row.CreatedAt = local.CreatedAt
		}
	default:
		m.clash("createdAt", local.CreatedAt, row.CreatedAt)
	}
}

// mergeTags is remote with what was added here and without what was taken off
// here. A tag that was only spelled anew here, and not there, keeps the new
// spelling.
func mergeTags(from *localstore.Fields, local, remote []string) []string {
	var base []string
	if from != nil {
		base = from.Tags
		if slices.Equal(base, remote) { // their order is local too, and an undo looks for it
			return local
		}
	}
	was, is := byKey(base), byKey(local)
	var tags []string
	for _, tag := range remote {
		key := rules.TagKey(tag)
		mine, here := is[key]
		before, had := was[key]
		switch {
		case had && !here: // taken off here
		case had && here && mine != before && tag == before:
			tags = append(tags, mine)
		default:
			tags = append(tags, tag)
		}
	}
	there := byKey(remote)
	for _, tag := range local {
		key := rules.TagKey(tag)
		_, had := was[key]
		if _, has := there[key]; !had && !has {
			tags = append(tags, tag)
		}
	}
	return tags
}

func byKey(tags []string) map[string]string {
	all := make(map[string]string, len(tags))
	for _, tag := range tags {
		all[rules.TagKey(tag)] = tag
	}
	return all
}

// extra merges attribute by attribute. An attribute that is not there is nil.
func (m *Merged) extra(row, from, local, remote *localstore.Fields) {
	if maps.Equal(local.Extra, remote.Extra) {
		return
	}
	var base map[string]string
	if from != nil {
		base = from.Extra
	}
	merged := maps.Clone(remote.Extra)
	if merged == nil {
		merged = map[string]string{}
	}
	names := map[string]bool{}
	for _, some := range []map[string]string{base, local.Extra, remote.Extra} {
		for name := range some {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := base[name]
		mine, here := local.Extra[name]
		theirs, there := remote.Extra[name]
		switch {
		case mine == theirs && here == there, mine == was && here == had:
		case theirs == was && there == had:
			if here {
				merged[name] = mine
			} else {
				delete(merged, name)
			}
		default:
			m.clash("extra."+name, optional(mine, here), optional(theirs, there))
		}
	}
	if row.Extra = merged; len(merged) == 0 {
		row.Extra = nil
	}
}

func optional(value string, there bool) any {
	if !there {
		return nil
	}
	return value
}
