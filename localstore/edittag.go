package localstore

import (
	"slices"

	"bm/server/api"
	"bm/server/api/rules"
)

// TagBookmarks puts tags on bookmarks and takes others off, and answers how
// many of them changed.
func (ed *Editor) TagBookmarks(ids, add, remove []string) (int, error) {
	off := tagKeys(remove)
	changed := 0
	ed.expect(len(ids))
	for _, id := range ids {
		e, err := ed.get(api.TypeBookmark, id)
		if err != nil {
			return 0, err
		}
		kept := slices.DeleteFunc(slices.Clone(e.Tags), func(tag string) bool { return off[rules.TagKey(tag)] })
		did, err := ed.setTags(e, rules.UniteTags(kept, add))
		if err != nil {
			return 0, err
		}
		if did {
			changed++
		}
	}
	return changed, nil
}

// RenameTag gives a tag another name on every bookmark, and answers how many
// that were. A name that differs in case alone is a new spelling. It is
// not_found where no bookmark has the tag.
func (ed *Editor) RenameTag(from, to string) (int, error) {
	return ed.MergeTags([]string{from}, to)
}

// MergeTags replaces several tags by one on every bookmark, and answers how
// many changed. It is not_found where no bookmark has any of them.
func (ed *Editor) MergeTags(from []string, into string) (int, error) {
	if err := checkTag("into", into); err != nil {
		return 0, err
	}
	old := tagKeys(from)
	carriers := map[int64]bool{}
	for key := range old {
		err := ed.tx.each(`SELECT n FROM tag WHERE replica = ? AND key = ?`, []any{ed.replica.N, key}, func(row scanner) error {
			var n int64
			err := row.Scan(&n)
			carriers[n] = true
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	if len(carriers) == 0 {
		return 0, api.Errorf(api.CodeNotFound, "no bookmark has the tag %q", from[0])
	}
	changed := 0
	ed.expect(len(carriers))
	for n := range carriers {
		rows, err := ed.tx.bookmarks(`WHERE b.n = ?`, n)
		if err != nil {
			return 0, err
		}
		for i := range rows {
			tags := slices.Clone(rows[i].Tags)
			for j, tag := range tags {
				if old[rules.TagKey(tag)] {
					tags[j] = into
				}
			}
			did, err := ed.setTags(&rows[i], rules.Tags(tags))
			if err != nil {
				return 0, err
			}
			if did {
				changed++
			}
		}
	}
	return changed, nil
}

// RemoveTag takes a tag off every bookmark, and answers how many had it.
func (ed *Editor) RemoveTag(name string) (int, error) {
	var ids []string
	err := ed.tx.each(`SELECT b.id FROM tag t JOIN bookmark b ON b.n = t.n WHERE t.replica = ? AND t.key = ?`,
		[]any{ed.replica.N, rules.TagKey(name)}, func(row scanner) error {
			var id string
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		return 0, api.Errorf(api.CodeNotFound, "no bookmark has the tag %q", name)
	}
	return ed.TagBookmarks(ids, nil, []string{name})
}

func (ed *Editor) setTags(e *Entity, tags []string) (bool, error) {
	if err := api.InvalidFields(rules.CheckBookmark(&api.BookmarkInput{Tags: api.Some(tags)})); err != nil {
		return false, err
	}
	fields := e.Fields
	if fields.Tags = tags; len(tags) == 0 {
		fields.Tags = nil
	}
	after, err := ed.put(e, fields)
	return after != e, err
}

func checkTag(field, name string) error {
	if rules.Tag(name) == "" {
		return api.Invalid(field, "a tag must not be empty")
	}
	return nil
}

func tagKeys(names []string) map[string]bool {
	keys := make(map[string]bool, len(names))
	for _, name := range names {
		keys[rules.TagKey(name)] = true
	}
	return keys
}
