package syncer_test

import (
	"slices"

	"bm/server/api"
)

// quiet lets everybody sync in peace, and checks what must then hold.
func (w *world) quiet() {
	for _, d := range w.replicas {
		d.refused, d.barred = nil, nil
	}
	for range 4 {
		for _, d := range w.replicas {
			report, err := d.sync.Round(w.t.Context(), d.n)
			if err != nil {
				w.t.Fatalf("round in peace: %v", err)
			}
			if report.Compared != nil && report.Compared.Defect {
				w.t.Fatalf("the digests differed: %+v", *report.Compared)
			}
		}
	}
	if w.real != nil {
		w.server.rows = w.real.look()
	}
	for i, d := range w.replicas {
		w.same(i, d)
		if n, err := d.store.Pending(w.t.Context(), d.n); err != nil || n > 0 {
			w.t.Errorf("replica %d: %d edits unsent in peace, %v", i, n, err)
		}
	}
	alive := map[string]bool{}
	for id, row := range w.server.rows {
		if row.Deleted {
			continue
		}
		if !w.server.living(row.parent()) || row.Type == api.TypeFolder && w.server.within(row.parent(), id) {
			w.t.Errorf("%s %s hangs in the air", row.Type, id)
		}
		if row.Bookmark != nil {
			alive[row.Bookmark.URL] = true
			alive[id] = true
		}
	}
	mourned := map[string]bool{} // URLs of which someone deleted a bookmark
	for id, url := range w.made {
		if w.deleted[id] {
			mourned[url] = true
		}
	}
	for id, url := range w.made {
		if w.deleted[id] || alive[id] || alive[url] {
			continue
		}
		// One that the server never had was united with a twin, and it is the
		// twin that was deleted.
		if _, sent := w.server.rows[id]; sent || !mourned[url] {
			w.t.Errorf("bookmark %s (%s) was deleted by nobody and is gone", id, url)
		}
	}
}

// same compares a replica's live rows with the server's, field by field.
func (w *world) same(i int, d *device) {
	live := 0
	for _, row := range w.server.rows {
		if !row.Deleted {
			live++
		}
	}
	bookmarks, nodes := d.bookmarks(), d.tree()
	if len(bookmarks)+len(nodes) != live {
		w.t.Errorf("replica %d shows %d bookmarks and %d folders, the server has %d rows", i, len(bookmarks), len(nodes), live)
	}
	for _, b := range bookmarks {
		row := w.server.rows[b.ID]
		if row == nil || row.Deleted {
			w.t.Errorf("replica %d shows bookmark %s, which the server has not", i, b.ID)
			continue
		}
		s := row.Bookmark
		if b.Title != s.Title || b.URL != s.URL || b.Description != s.Description || b.FolderID != s.FolderID ||
			b.SortOrder != s.SortOrder || !slices.Equal(b.Tags, s.Tags) || b.Unsent {
			w.t.Errorf("replica %d shows %+v\nthe server has %+v", i, b, *s)
		}
	}
	for _, f := range nodes {
		row := w.server.rows[f.ID]
		if row == nil || row.Deleted || row.Folder.Name != f.Name || row.Folder.ParentID != f.ParentID {
			w.t.Errorf("replica %d shows folder %q %s otherwise than the server", i, f.Name, f.ID)
		}
	}
}
