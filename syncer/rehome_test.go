package syncer_test

import (
	"fmt"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// What was put into a folder that another machine deletes goes to the top, in a
// time in proportion to how much it is.
func TestWhatWasInADeletedFolderGoesHomeInProportion(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time")
	}
	took := func(n int) time.Duration {
		w := newWorld(t, 21, 2)
		a, b := w.replicas[0], w.replicas[1]
		f := a.mkdir("Shared")
		w.peace()
		b.must(func(ed *localstore.Editor) error {
			for i := range n {
				_, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some(fmt.Sprintf("https://example.com/%d", i)), FolderID: api.Some(f)})
				if err != nil {
					return err
				}
			}
			return nil
		})
		a.rmdir(f)
		if _, err := a.sync.Round(t.Context(), a.n); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		// The server takes nothing: what is measured is this side's work.
		if _, err := b.against(readOnly{b}, 100).Round(t.Context(), b.n); api.CodeOf(err) != api.CodeForbidden {
			t.Fatal(err)
		}
		took := time.Since(began)
		home := 0
		for _, bookmark := range b.bookmarks() {
			if bookmark.FolderID == "" {
				home++
			}
		}
		if home != n {
			t.Fatalf("%d of %d are at the top", home, n)
		}
		return took
	}
	// Whatever else the machine does slows one of them more than the other: the
	// best of three counts. What is quadratic takes a hundred times as long.
	for try := 1; ; try++ {
		few, many := took(2000), took(20_000)
		if many <= 20*few {
			return
		}
		if try == 3 {
			t.Fatalf("20,000 took %v, 2,000 %v", many, few)
		}
	}
}
