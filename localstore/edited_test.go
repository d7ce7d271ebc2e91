package localstore_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"bm/localstore"
	"bm/server/api"
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

// The sum over all rows takes a second where there are a hundred thousand: no edit
// waits for it, and none changes it.
func TestTheSumIsTakenBesideAnEdit(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		rows := make([]localstore.Entity, 3)
		for i := range rows {
			rows[i] = localstore.Entity{Type: api.TypeBookmark, ID: fmt.Sprintf("0190-%04d", i), Rev: int64(i + 1)}
			rows[i].URL = fmt.Sprintf("https://example.com/%d", i)
		}
		return tx.Insert(rows)
	})
	at, err := s.Replica(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	same := func(when string) {
		t.Helper()
		if digest, live, err := s.Sum(t.Context(), r); err != nil || digest != at.Digest || live != 3 {
			t.Errorf("%s: %v of %d rows, %v; want %v of 3", when, digest, live, err, at.Digest)
		}
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		same("beside an edit")
		if _, err := ed.UpdateBookmark("0190-0000", api.BookmarkInput{Title: api.Some("edited")}); err != nil {
			return err
		}
		if _, err := ed.DeleteBookmarks("0190-0001"); err != nil {
			return err
		}
		_, err := ed.AddBookmark(bookmark("https://new.example/", "new"))
		return err
	})
	same("after it")
	edit(t, s, r, func(ed *localstore.Editor) error { return ed.RestoreBookmarks("0190-0001") })
	same("after another")
}

// What is known of a defect is a replica's own, and kept until it is told.
func TestWhatIsKnownOfADefectIsKept(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r, other := mirror(t, s, "w"), mirror(t, s, "v")
	known := func(replica int64) (known string) {
		t.Helper()
		syncing(t, s, replica, func(tx *localstore.SyncTx) (err error) {
			known, err = tx.Defect()
			return err
		})
		return known
	}
	for _, text := range []string{"", "little", "more", ""} {
		syncing(t, s, r, func(tx *localstore.SyncTx) error { return tx.KeepDefect(text) })
		if got, beside := known(r), known(other); got != text || beside != "" {
			t.Errorf("%q and %q are known, want %q", got, beside, text)
		}
	}
}
