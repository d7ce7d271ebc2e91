package syncer_test

import (
	"testing"

	"bm/server/api"
)

// What is made anew on the server is new to its checks: what they said of the row that
// it was is of that one. What it says itself goes along.
func TestWhatIsMadeAnewWasNeverChecked(t *testing.T) {
	for what, forget := range map[string]func(w *world, a *device, id string){
		"the server knows nothing of it": func(w *world, a *device, id string) { a.title(id, "edited"); delete(w.server.rows, id) },
		"lost by a restore": func(w *world, _ *device, id string) {
			backup := w.server.clone()
			delete(backup.rows, id)
			backup.rev = 0
			w.restore(backup, "e2")
		},
		"purged": func(w *world, a *device, id string) {
			b := w.replicas[1]
			b.rm(id)
			b.round1()
			a.title(id, "edited")
			w.server.purge()
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 90, 2)
			a := w.replicas[0]
			id := a.add("https://go.dev/", "Go", "")
			w.peace()
			row := w.server.rows[id]
			row.Bookmark.LinkStatus, row.Bookmark.ReaderExcerpt = api.LinkDead, "it says"
			w.server.touch(row)
			w.peace()
			forget(w, a, id)
			a.round1()
			there := w.server.rows[id].Bookmark
			if got := a.get(id); got.Unsent || got.LinkStatus != there.LinkStatus || got.ReaderExcerpt != "it says" || there.ReaderExcerpt != "it says" {
				t.Errorf("the copy has %q, %q, the server %q, %q", got.LinkStatus, got.ReaderExcerpt, there.LinkStatus, there.ReaderExcerpt)
			}
		})
	}
}
