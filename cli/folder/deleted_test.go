package folder

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// A repaired copy has deletions that were not sent, and not the folders that the
// server has yet; and what is dead may lie in a circle.
func TestCountDeletedBelowWhatIsNotThere(t *testing.T) {
	ctx := t.Context()
	store, err := localstore.Open(ctx, localstore.Options{Path: filepath.Join(t.TempDir(), "replica.db"), IDs: api.NewIDs(time.Now, rand.Reader)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }() // the test is over
	replica, err := store.Mirror(ctx, api.Workspace{ID: "w", Name: "Home"}, true)
	if err != nil {
		t.Fatal(err)
	}
	gone := api.At(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	alive := func(kind api.EntityType, id, parent string, rev int64) localstore.Entity {
		return localstore.Entity{Type: kind, ID: id, Rev: rev, Fields: localstore.Fields{Parent: parent, URL: "https://" + id + ".example/", Title: id}}
	}
	rows := []localstore.Entity{
		alive(api.TypeFolder, "top", "", 1), alive(api.TypeFolder, "below", "top", 2),
		alive(api.TypeFolder, "one", "other", 3), alive(api.TypeFolder, "other", "one", 4),
		alive(api.TypeBookmark, "a", "below", 5), alive(api.TypeBookmark, "b", "unheard of", 6), alive(api.TypeBookmark, "c", "one", 7),
	}
	err = store.Sync(ctx, replica.N, func(tx *localstore.SyncTx) error {
		if err := tx.Insert(rows); err != nil {
			return err
		}
		for _, e := range rows {
			row, err := tx.Find(e.Type, e.ID)
			if err != nil {
				return err
			}
			next := row.Entity
			next.DeletedAt, next.Deletion = gone, "d"
			if err := tx.Write(row, next, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tops := []localstore.Node{{Folder: localstore.Folder{Folder: api.Folder{ID: "top", DeletedAt: gone}}}}
	if err := countDeleted(ctx, store, replica.N, tops); err != nil {
		t.Fatal(err)
	}
	if tops[0].Total != 1 || tops[0].Bookmarks != 0 {
		t.Errorf("%d below it, %d in it", tops[0].Total, tops[0].Bookmarks)
	}
}
