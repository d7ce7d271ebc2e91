package syncer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bm/localstore"
	"bm/server"
	"bm/server/api"
)

// overtaken is a device that another one is faster than, right before it sends.
type overtaken struct {
	*device
	by func()
}

func (o *overtaken) Push(ctx context.Context, workspace string, push api.PushRequest) func() (api.PushResponse, error) {
	if by := o.by; by != nil {
		o.by = nil
		by()
	}
	return o.device.Push(ctx, workspace, push)
}

// What two machines made alike is one thing afterwards, also where both looked
// before either had sent it: as when a server comes back that both waited for.
func TestWhatIsMadeOnBothSidesAtTheSameMomentIsUnited(t *testing.T) {
	const rows = 20 // several batches
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(1, 1)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		deleted: map[string]bool{}, made: map[string]string{},
	}
	w.server = newFakeServer(w.now)
	w.real = newRealServer(t, server.Config{Dir: t.TempDir()})
	w.equip(1, 2, w.real.workspace)
	a, b := w.replicas[0], w.replicas[1]
	w.quiet()
	for i, of := range []string{"a", "b"} {
		d := w.replicas[i]
		folder := d.mkdir("Dev/Go")
		for i := range rows {
			d.add(fmt.Sprintf("https://go.dev/%d", i), fmt.Sprint(i), folder, of)
			d.add(fmt.Sprintf("https://unfiled.example/%d", i), fmt.Sprint(i), "")
		}
	}
	// One that is there twice on purpose stays so.
	b.must(func(ed *localstore.Editor) error {
		for range 2 {
			if _, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some("https://twice.example"), Title: api.Some("twice")}); err != nil {
				return err
			}
		}
		return nil
	})
	late := b.against(&overtaken{device: b, by: func() { a.round1() }}, 3)
	if _, err := late.Round(t.Context(), b.n); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	for i, d := range w.replicas {
		if bookmarks, folders := len(d.bookmarks()), len(d.tree()); bookmarks != 2*rows+2 || folders != 2 {
			t.Errorf("%d has %d bookmarks and %d folders", i, bookmarks, folders)
		}
	}
	for _, bookmark := range a.bookmarks() {
		if bookmark.FolderID != "" && len(bookmark.Tags) != 2 {
			t.Errorf("%s has the tags %q", bookmark.URL, bookmark.Tags)
		}
	}
}
