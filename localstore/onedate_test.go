package localstore_test

import (
	"fmt"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// What was imported without dates has one: its pages still cost what is on them,
// and not each a look at everything.
func TestPagesOfOneDate(t *testing.T) {
	at := api.At(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	walk := func(n int) time.Duration {
		s, r := open(t)
		edit(t, s, r, func(ed *localstore.Editor) error {
			for i := range n {
				in := bookmark(fmt.Sprintf("https://a.example/%d", i), "title")
				in.CreatedAt = api.Some(at)
				if _, err := ed.AddBookmark(in); err != nil {
					return err
				}
			}
			return nil
		})
		best := time.Duration(0)
		for range 3 {
			began, seen, q := time.Now(), 0, localstore.List{Replica: r, Limit: 25}
			for more := true; more; more = q.Cursor != "" {
				page, err := s.Bookmarks(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				seen, q.Cursor = seen+len(page.Bookmarks), page.Next
			}
			if seen != n {
				t.Fatalf("%d of %d are listed", seen, n)
			}
			if took := time.Since(began); best == 0 || took < best {
				best = took
			}
		}
		return best
	}
	few, many := walk(500), walk(4000)
	t.Logf("%v for 500, %v for 4000", few, many)
	if many > 16*few { // eight times as long at best, 64 times where each page reads all
		t.Errorf("500 take %v, 4000 take %v", few, many)
	}
}
