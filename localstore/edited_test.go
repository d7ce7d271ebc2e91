package localstore_test

import (
	"testing"

	"bm/localstore"
	"bm/server/api/exchange/exchangetest"
)

// What is read to send a page of edits does not grow with how many there are:
// the pages of 100,000 would otherwise cost their square.
func TestAPageOfEditsCostsAPage(t *testing.T) {
	cost := func(n int) float64 {
		s, r := open(t)
		all := exchangetest.Make(1, n)
		changes := changesOf(all)
		err := s.Sync(t.Context(), r, func(tx *localstore.SyncTx) error {
			rows := make([]localstore.Entity, len(changes))
			for i := range changes {
				var err error
				if rows[i], err = localstore.EntityOf(&changes[i]); err != nil {
					return err
				}
			}
			return tx.Insert(rows)
		})
		if err != nil {
			t.Fatal(err)
		}
		edit(t, s, r, func(ed *localstore.Editor) error {
			for i := range all.Bookmarks {
				if _, err := ed.DeleteBookmarks(all.Bookmarks[i].ID); err != nil {
					return err
				}
			}
			return nil
		})
		var allocations float64
		err = s.Sync(t.Context(), r, func(tx *localstore.SyncTx) error {
			allocations = testing.AllocsPerRun(3, func() {
				if rows, err := tx.EditedBookmarks(0, 20); err != nil || len(rows) != 20 {
					t.Errorf("%d rows, %v", len(rows), err)
				}
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return allocations
	}
	if few, many := cost(40), cost(1500); many > 1.5*few {
		t.Errorf("a page of 1,500 edits takes %.0f allocations, one of 40 takes %.0f", many, few)
	}
}
