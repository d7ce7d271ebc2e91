package syncer_test

import (
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// Of two that are one now a title or a description that only one of them has is that
// of both, and there is nothing to decide.
func TestWhatOnlyOneOfTwinsSaysIsNoConflict(t *testing.T) {
	w := newWorld(t, 85, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.peace()
	add := func(d *device, url, title, description string) {
		d.must(func(ed *localstore.Editor) error {
			_, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some(url), Title: api.Some(title), Description: api.Some(description)})
			return err
		})
	}
	add(a, "https://first.example/", "", "a description")
	add(b, "https://first.example/", "a title", "")
	add(a, "https://second.example/", "another title", "")
	add(b, "https://second.example/", "", "another description")
	w.peace()
	for i, d := range w.replicas {
		list := d.bookmarks()
		if len(list) != 2 || len(d.conflicts()) > 0 {
			t.Errorf("%d: %d bookmarks, conflicts %+v", i, len(list), d.conflicts())
		}
		for _, b := range list {
			if b.Title == "" || b.Description == "" {
				t.Errorf("%d: %q, %q", i, b.Title, b.Description)
			}
		}
	}
}
