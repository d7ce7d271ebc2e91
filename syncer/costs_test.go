package syncer_test

import (
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange/exchangetest"
	"bm/syncer"
)

// What a round costs depends on what it sends, not on how much else there is: a
// round after an edit, of a bookmark or of a folder, reads no other folders.
func TestARoundCostsWhatItSends(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts what a round of a large replica allocates")
	}
	few, many := roundsOf(t, 100), roundsOf(t, 20_000)
	for what, cost := range few {
		if many[what] > 2*cost {
			t.Errorf("a round after an edit of a %s allocates %d times among many and %d among few", what, many[what], cost)
		}
	}
}

// roundsOf is how often a round allocates that sends an edit from a replica of so
// many bookmarks.
func roundsOf(t *testing.T, rows int) map[string]uint64 {
	t.Helper()
	all := exchangetest.Make(1, rows)
	shelf := newShelf(changesOf(all))
	s, ids := benchStore(t, filepath.Join(t.TempDir(), "replica.db"))
	r, err := s.Mirror(t.Context(), api.Workspace{ID: "w"}, true)
	if err != nil {
		t.Fatal(err)
	}
	sync := syncer.New(syncer.Config{Store: s, Remote: shelf, IDs: ids})
	round := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if report, err := sync.Round(t.Context(), r.N); err != nil || report.Waiting != 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	round()
	costs := map[string]uint64{}
	for n := range 3 { // the first prepares the statements
		folder := all.Folders[n%len(all.Folders)].ID
		for what, edit := range map[string]func(*localstore.Editor) error{
			"bookmark": func(ed *localstore.Editor) error {
				_, err := ed.AddBookmark(api.BookmarkInput{
					URL: api.Some("https://edit.example/" + strconv.Itoa(n)), FolderID: api.Some(folder),
				})
				return err
			},
			"folder": func(ed *localstore.Editor) error {
				_, err := ed.AddFolder(api.FolderInput{Name: api.Some("New " + strconv.Itoa(n)), ParentID: api.Some(folder)})
				return err
			},
		} {
			if err := s.Edit(t.Context(), r.N, "edit", edit); err != nil {
				t.Fatal(err)
			}
			costs[what] = round()
		}
	}
	return costs
}
