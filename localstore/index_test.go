package localstore_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// Whatever the order in which a command edits many bookmarks, the search index
// takes them in the order of their numbers: it is written in one piece then, and
// not in one for each of them.
func TestTheIndexIsWrittenInOnePiece(t *testing.T) {
	s, r := open(t)
	const rows = 300
	var ids []string
	edit(t, s, r, func(ed *localstore.Editor) error {
		for i := range rows {
			b, err := ed.AddBookmark(bookmark(fmt.Sprintf("https://%d.example/", i), "before"))
			if err != nil {
				return err
			}
			ids = append(ids, b.ID)
		}
		return nil
	})
	db, err := sql.Open("sqlite", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // the test is over
	pieces := func() (n int) {
		t.Helper()
		if err := db.QueryRow(`SELECT COUNT(DISTINCT segid) FROM search_idx`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pieces()
	slices.Reverse(ids)
	edit(t, s, r, func(ed *localstore.Editor) error {
		for _, id := range ids {
			if _, err := ed.UpdateBookmark(id, api.BookmarkInput{Title: api.Some("after")}); err != nil {
				return err
			}
		}
		return nil
	})
	if after := pieces(); after > before+1 {
		t.Errorf("%d pieces were added", after-before)
	}
	for word, want := range map[string]int{"before": 0, "after": rows} {
		if found := len(list(t, s, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: word}})); found != want {
			t.Errorf("%d are found by %q, want %d", found, word, want)
		}
	}
}

// A row that a command edits again and again is found as it was last.
func TestTheIndexHasARowAsItWasLast(t *testing.T) {
	s, r := open(t)
	found := func(word string) int {
		return len(list(t, s, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: word}}))
	}
	var id string
	edit(t, s, r, func(ed *localstore.Editor) error {
		b, err := ed.AddBookmark(bookmark("https://a.example/", "first"))
		id = b.ID
		for _, title := range []string{"second", "third"} {
			if err == nil {
				_, err = ed.UpdateBookmark(id, api.BookmarkInput{Title: api.Some(title)})
			}
		}
		return err
	})
	if found("first")+found("second") != 0 || found("third") != 1 {
		t.Errorf("found by first %d, second %d, third %d", found("first"), found("second"), found("third"))
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		if _, err := ed.DeleteBookmarks(id); err != nil {
			return err
		}
		return ed.RestoreBookmarks(id)
	})
	if found("third") != 1 {
		t.Error("what was deleted and restored at once is not found")
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(id, api.BookmarkInput{Title: api.Some("fourth")})
		if err == nil {
			_, err = ed.DeleteBookmarks(id)
		}
		return err
	})
	if found("third")+found("fourth") != 0 {
		t.Error("what was edited and deleted at once is found")
	}
}

// The number of a row that is gone may be the next one's at once.
func TestTheIndexHasARowThatTakesTheNumberOfAnother(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	gone := add(t, s, r, bookmark("https://gone.example/", "gone"))
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(api.TypeBookmark, gone.ID)
		if err != nil {
			return err
		}
		if err := tx.Remove(row); err != nil {
			return err
		}
		next := localstore.Entity{Type: api.TypeBookmark, ID: "0190-0001", Rev: 1}
		next.URL, next.Title = "https://next.example/", "next"
		return tx.Insert([]localstore.Entity{next})
	})
	for word, want := range map[string]int{"gone": 0, "next": 1} {
		if found := len(list(t, s, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: word}})); found != want {
			t.Errorf("%d are found by %q, want %d", found, word, want)
		}
	}
}
