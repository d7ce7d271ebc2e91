package localstore_test

import (
	"path/filepath"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

func TestAttachingKeepsWhatALocalRowSays(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	local, err := s.Local(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Bare", "Full"} {
		edit(t, s, local.N, func(ed *localstore.Editor) error {
			f, err := ed.AddFolder(api.FolderInput{
				Name: api.Some(name), Description: api.Some("mine"), Extra: api.Some(map[string]string{"A": "mine"}),
			})
			if err != nil {
				return err
			}
			in := bookmark("https://go.dev/", "Go")
			in.FolderID, in.Extra = api.Some(f.ID), api.Some(map[string]string{"A": "mine"})
			_, err = ed.AddBookmark(in)
			return err
		})
	}
	w := api.Workspace{ID: "w", Name: "w"}
	r := mirror(t, s, w.ID)
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		bare := localstore.Entity{Type: api.TypeFolder, ID: "bare", Rev: 5, Fields: localstore.Fields{Title: "Bare"}}
		full := localstore.Entity{Type: api.TypeFolder, ID: "full", Rev: 6, Fields: localstore.Fields{
			Title: "Full", Description: "theirs", Extra: map[string]string{"A": "theirs"},
		}}
		inside := localstore.Entity{Type: api.TypeBookmark, ID: "inside", Rev: 7, Fields: localstore.Fields{
			Parent: "full", URL: "https://go.dev/", Title: "Go", Extra: map[string]string{"A": "theirs"},
		}}
		return tx.Insert([]localstore.Entity{bare, full, inside})
	})
	if _, err := s.Attach(ctx, w); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"bare": "mine", "full": "theirs"} {
		f, err := s.Folder(ctx, r, id)
		if err != nil || f.Description != want || f.Extra["A"] != want {
			t.Errorf("%+v, %v; want %q", f, err, want)
		}
	}
	conflicts, err := s.Conflicts(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for _, c := range conflicts {
		kept[c.ID+"."+c.Field+"="+string(c.Mine)] = true
	}
	for _, want := range []string{`full.description="mine"`, `full.extra.A="mine"`, `inside.extra.A="mine"`} {
		if !kept[want] {
			t.Errorf("no conflict %s in %v", want, kept)
		}
	}
	if n, err := s.Pending(ctx, r); err != nil || n != 2 {
		t.Errorf("%d unsent, %v; want the folder that gained something and the bookmark that is new", n, err)
	}
}

// What somebody has twice on purpose stays so: of several alike the first here is
// the first there, and the others are their own.
func TestAttachingKeepsWhatIsThereTwice(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	local, err := s.Local(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"https://one.example/", "https://two.example/"} {
		add(t, s, local.N, bookmark(url, "first"))
		add(t, s, local.N, bookmark(url, "second"))
	}
	w := api.Workspace{ID: "w", Name: "w"}
	r := mirror(t, s, w.ID)
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		return tx.Insert([]localstore.Entity{{Type: api.TypeBookmark, ID: "one", Rev: 5, Fields: localstore.Fields{URL: "https://one.example/", Title: "first"}}})
	})
	if _, err := s.Attach(ctx, w); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"https://one.example/", "https://two.example/"} {
		same, err := s.SameURL(ctx, r, url)
		if err != nil || len(same) != 2 || same[0].Title != "first" || same[1].Title != "second" {
			t.Errorf("%s: %+v, %v", url, same, err)
		}
	}
}
