package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// lossy loses requests and answers.
type lossy struct{ *device }

func (l lossy) Push(ctx context.Context, workspace string, push api.PushRequest) func() (api.PushResponse, error) {
	lost := l.line.IntN(8)
	if lost == 0 {
		return answer(api.PushResponse{}, errLine)
	}
	response, err := l.device.Push(ctx, workspace, push)()
	if lost == 1 {
		return answer(api.PushResponse{}, errLine)
	}
	return answer(response, err)
}

// day is what users did since all were in step.
type day struct {
	deleted, edited map[string]bool // bookmarks; of what was edited or made, the URL too
	// folders is set where one was deleted. An edit of it beside that brings back what
	// was in it.
	folders bool
}

// edits lets a user do something, and notes what that was.
func (y *day) edits(d *device) {
	before := map[string]localstore.Bookmark{}
	for _, b := range d.bookmarks() {
		before[b.ID] = b
	}
	folders := len(d.tree())
	d.edit()
	y.folders = y.folders || len(d.tree()) < folders
	for _, b := range d.bookmarks() {
		was, there := before[b.ID]
		if delete(before, b.ID); !there || !was.UpdatedAt.Equal(b.UpdatedAt.Time) {
			y.edited[b.ID], y.edited[b.URL] = true, true
		}
	}
	for id := range before {
		y.deleted[id] = true
	}
}

// No deletion is undone but by an edit of the same thing beside it.
func TestWhatSomebodyDeletedAndNobodyEditedStaysDeleted(t *testing.T) {
	var buried atomic.Int64
	t.Cleanup(func() {
		if n := buried.Load(); n == 0 {
			t.Errorf("%d deletions were looked at", n)
		}
	})
	every := uint64(5)
	if testing.Short() { // and of fewer
		every = 2
	}
	for _, seed := range seeds(t, every) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 50_000+seed, 3)
			urls := map[string]string{}
			for range 4 {
				y := day{deleted: map[string]bool{}, edited: map[string]bool{}}
				for range 25 {
					d := w.replicas[w.rng.IntN(len(w.replicas))]
					if w.rng.IntN(3) > 0 {
						y.edits(d)
						continue
					}
					if _, err := d.against(lossy{d}, 3).Round(t.Context(), d.n); err != nil && !errors.Is(err, errLine) {
						t.Fatal(err)
					}
				}
				for id, row := range w.server.rows {
					if row.Bookmark != nil {
						urls[id] = row.Bookmark.URL
					}
				}
				w.quiet()
				for id := range y.deleted {
					if y.folders || y.edited[id] || y.edited[urls[id]] {
						continue
					}
					buried.Add(1)
					if row := w.server.rows[id]; row != nil && !row.Deleted {
						t.Errorf("%s was deleted, edited by nobody, and is back", id)
					}
				}
			}
		})
	}
}
