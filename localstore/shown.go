package localstore

import "bm/server/api"

// shownAll are rows as a caller sees them.
func (t *tx) shownAll(r *Replica, rows []Entity) ([]Bookmark, error) {
	all := make([]Bookmark, len(rows))
	for i := range rows {
		unsent, err := t.unsent(r, &rows[i])
		if err != nil {
			return nil, err
		}
		all[i] = rows[i].bookmark(r, unsent)
	}
	return all, nil
}

// unsent reports whether the server lacks an edit of a row.
func (t *tx) unsent(r *Replica, e *Entity) (bool, error) {
	if r.State == StateLocal {
		return false, nil
	}
	if e.Rev == 0 {
		return true, nil
	}
	base, err := t.base(e)
	return base != nil, err
}

// Folder is a live folder; not_found where there is none.
func (ed *Editor) Folder(id string) (Folder, error) {
	e, err := ed.get(api.TypeFolder, id)
	if err != nil {
		return Folder{}, err
	}
	return ed.shownFolder(e), nil
}
