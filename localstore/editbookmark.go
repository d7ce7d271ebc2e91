package localstore

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// AddBookmark adds a bookmark, by the rules of POST …/bookmarks, at the end of
// its folder. It does not look for duplicates: see [Editor.SameURL].
func (ed *Editor) AddBookmark(in api.BookmarkInput) (Bookmark, error) {
	if err := api.InvalidFields(rules.CheckBookmark(&in)); err != nil {
		return Bookmark{}, err
	}
	rules.NormalizeBookmark(&in)
	e := Entity{Type: api.TypeBookmark, ID: in.ID.Value}
	e.Fields = withBookmark(Fields{}, &in)
	e.Title = rules.DefaultTitle(e.Title, e.URL)
	e.CreatedAt = in.CreatedAt.Value
	if e.ID != "" {
		if there, err := ed.tx.find(ed.replica.N, e.Type, e.ID); err != nil || there != nil {
			return Bookmark{}, cmp.Or(err, error(api.Errorf(api.CodeConflict, "there is a bookmark %s already", e.ID)))
		}
	}
	if err := ed.parent("folderId", e.Parent); err != nil {
		return Bookmark{}, err
	}
	if !in.SortOrder.Set {
		var err error
		if e.SortOrder, err = ed.last(e.Parent); err != nil {
			return Bookmark{}, err
		}
	}
	if err := ed.add(&e); err != nil {
		return Bookmark{}, err
	}
	return ed.shown(&e), nil
}

// withBookmark is f with the fields that in sets.
func withBookmark(f Fields, in *api.BookmarkInput) Fields {
	f.URL = in.URL.Or(f.URL)
	f.Title = in.Title.Or(f.Title)
	f.Description = in.Description.Or(f.Description)
	f.Tags = in.Tags.Or(f.Tags)
	f.Parent = in.FolderID.Or(f.Parent)
	f.SortOrder = in.SortOrder.Or(f.SortOrder)
	f.Snapshot = in.SnapshotEnabled.Or(f.Snapshot)
	f.Extra = in.Extra.Or(f.Extra)
	if len(f.Tags) == 0 {
		f.Tags = nil
	}
	return f
}

// SameURL are the live bookmarks of the replica with the same normalised URL,
// oldest first.
func (ed *Editor) SameURL(url string) ([]Bookmark, error) {
	same, err := ed.tx.sameURL(ed.replica.N, url)
	if err != nil {
		return nil, err
	}
	return ed.tx.shownAll(ed.replica, same)
}

func (t *tx) sameURL(replica int64, url string) ([]Entity, error) {
	hash := urlHash(url)
	if hash == 0 {
		return nil, nil
	}
	all, err := t.bookmarks(`WHERE b.replica = ? AND b.url_hash = ? AND b.deleted_at = 0 ORDER BY b.n`, replica, hash)
	if err != nil {
		return nil, err
	}
	key := rules.URLKey(url)
	return slices.DeleteFunc(all, func(e Entity) bool { return rules.URLKey(e.URL) != key }), nil
}

// UpdateBookmark writes the fields that in sets, by the rules of PATCH
// …/bookmarks/{id}, and answers the bookmark as it is then. A bookmark that
// changes its folder goes to the end of the new one unless in says where.
func (ed *Editor) UpdateBookmark(id string, in api.BookmarkInput) (Bookmark, error) {
	e, err := ed.get(api.TypeBookmark, id)
	if err != nil {
		return Bookmark{}, err
	}
	if err := api.InvalidFields(rules.CheckBookmark(&in)); err != nil {
		return Bookmark{}, err
	}
	rules.NormalizeBookmark(&in)
	fields := withBookmark(e.Fields, &in)
	fields.Title = rules.DefaultTitle(fields.Title, fields.URL)
	if fields.Parent != e.Parent {
		if err := ed.parent("folderId", fields.Parent); err != nil {
			return Bookmark{}, err
		}
		if !in.SortOrder.Set {
			if fields.SortOrder, err = ed.last(fields.Parent); err != nil {
				return Bookmark{}, err
			}
		}
	}
	after, err := ed.put(e, fields)
	if err != nil {
		return Bookmark{}, err
	}
	return ed.shown(after), nil
}

// MoveBookmarks moves bookmarks to the end of a folder, "" for the top, in the
// order given, and answers how many were elsewhere.
func (ed *Editor) MoveBookmarks(ids []string, folderID string) (int, error) {
	if err := ed.parent("folderId", folderID); err != nil {
		return 0, err
	}
	order, err := ed.last(folderID)
	if err != nil {
		return 0, err
	}
	moved := 0
	ed.expect(len(ids))
	for _, id := range ids {
		e, err := ed.get(api.TypeBookmark, id)
		if err != nil {
			return 0, err
		}
		if e.Parent == folderID {
			if err := ed.step(); err != nil {
				return 0, err
			}
			continue
		}
		fields := e.Fields
		fields.Parent, fields.SortOrder = folderID, order
		if _, err := ed.put(e, fields); err != nil {
			return 0, err
		}
		order = min(order+api.SortGap, rules.MaxInteger)
		moved++
	}
	return moved, nil
}

// DeleteBookmarks puts bookmarks into the trash and answers how many were not
// there already. An unknown id is not_found, and nothing is deleted.
func (ed *Editor) DeleteBookmarks(ids ...string) (int, error) {
	deleted := 0
	ed.expect(len(ids))
	for _, id := range ids {
		e, err := ed.tx.find(ed.replica.N, api.TypeBookmark, id)
		if err != nil {
			return 0, err
		}
		if e == nil {
			return 0, notFound(api.TypeBookmark, id)
		}
		if e.Deleted() {
			if err := ed.step(); err != nil {
				return 0, err
			}
			continue
		}
		if err := ed.hide(e, trashed{ed.tx.store.ids.New(), e.Parent}); err != nil {
			return 0, err
		}
		ed.note(actionDelete, e)
		deleted++
	}
	return deleted, nil
}

// hide marks one row as deleted, and puts it where it belongs in the trash.
func (ed *Editor) hide(e *Entity, into trashed) error {
	after := *e
	after.DeletedAt, after.Deletion, after.Parent = ed.at, into.Deletion, into.Parent
	return ed.overwrite(e, &after)
}

// show marks one row as alive again, below the nearest living ancestor, and makes
// e that.
func (ed *Editor) show(e *Entity) error {
	after := *e
	after.DeletedAt, after.Deletion, after.UpdatedAt = api.Time{}, "", ed.at
	alive, err := ed.tx.nearestAlive(ed.replica.N, e.Parent)
	if err != nil {
		return err
	}
	after.Parent = alive
	if err := ed.overwrite(e, &after); err != nil {
		return err
	}
	*e = after
	return nil
}

// RestoreBookmarks takes bookmarks out of the trash. One whose folder is gone
// comes back in the nearest folder above it that is not.
func (ed *Editor) RestoreBookmarks(ids ...string) error {
	ed.expect(len(ids))
	for _, id := range ids {
		e, err := ed.tx.find(ed.replica.N, api.TypeBookmark, id)
		if err != nil {
			return err
		}
		if e == nil {
			return notFound(api.TypeBookmark, id)
		}
		if e.Deleted() {
			err = ed.restore(e)
		} else {
			err = ed.step()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ErrTooMuch says that bookmarks hold more together than one may.
var ErrTooMuch = errors.New("together they hold more than one bookmark may")

// MergeBookmarks unites bookmarks that are the same in keep and puts the others
// into the trash: tags united, the oldest date, descriptions joined, titles
// that differ kept in the description, attributes united. Nothing is lost: where
// one has no room for all of it, that is [ErrTooMuch] and nothing is changed.
func (ed *Editor) MergeBookmarks(keep string, others ...string) (Bookmark, error) {
	e, err := ed.get(api.TypeBookmark, keep)
	if err != nil {
		return Bookmark{}, err
	}
	others = slices.DeleteFunc(slices.Clone(others), func(id string) bool { return id == keep })
	fields := e.Fields
	for _, id := range others {
		other, err := ed.get(api.TypeBookmark, id)
		if err != nil {
			return Bookmark{}, err
		}
		extra := bothExtra(fields.Extra, other.Extra)
		fields = unite(fields, &other.Fields)
		fields.Extra = extra
	}
	if !fits(&fields) {
		return Bookmark{}, ErrTooMuch
	}
	if _, err := ed.DeleteBookmarks(others...); err != nil {
		return Bookmark{}, err
	}
	after, err := ed.put(e, fields)
	if err != nil {
		return Bookmark{}, err
	}
	return ed.shown(after), nil
}

// fits reports whether what was united is within the limits of one bookmark.
func fits(f *Fields) bool {
	size := 0
	for name, value := range f.Extra {
		size += len(name) + len(value)
	}
	return len(f.Tags) <= api.MaxTags && size <= api.MaxExtra && rules.CheckText("description", f.Description, api.MaxDescription) == nil
}

// unite is keep with whatever other has beyond it, but for its attributes.
func unite(keep Fields, other *Fields) Fields {
	keep.Tags = rules.UniteTags(keep.Tags, other.Tags)
	if other.CreatedAt.Before(keep.CreatedAt.Time) {
		keep.CreatedAt = other.CreatedAt
	}
	keep.Snapshot = keep.Snapshot || other.Snapshot
	if keep.Title == "" {
		keep.Title = other.Title
	}
	var lines []string
	for _, text := range []string{keep.Description, otherTitle(keep.Title, other), other.Description} {
		if text != "" && !slices.ContainsFunc(lines, func(had string) bool { return strings.Contains(had, text) }) {
			lines = append(lines, text)
		}
	}
	keep.Description = strings.Join(lines, "\n\n")
	return keep
}

// maxExtraName is how long the name of an attribute may be.
const maxExtraName = 32

// bothExtra are the attributes of both. A value that the other has otherwise
// stands beside, under the name with a number behind it.
func bothExtra(keep, other map[string]string) map[string]string {
	if len(keep)+len(other) == 0 {
		return nil
	}
	united := maps.Clone(keep)
	if united == nil {
		united = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		free := name
		for n := 2; ; n++ {
			if had, taken := united[free]; !taken || had == other[name] {
				break
			}
			number := "_" + strconv.Itoa(n)
			free = name[:min(len(name), maxExtraName-len(number))] + number
		}
		united[free] = other[name]
	}
	return united
}

func otherTitle(kept string, other *Fields) string {
	if other.Title == kept || other.Title == other.URL || other.Title == api.Untitled {
		return ""
	}
	return other.Title
}

// inFolder is the first of some rows that is in a folder; nil for none.
func inFolder(rows []Entity, folder string) *Entity {
	for i := range rows {
		if rows[i].Parent == folder {
			return &rows[i]
		}
	}
	return nil
}
