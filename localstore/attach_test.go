package localstore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

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

// What was local keeps its tree in the workspace: united with what is there already
// under the same name, and with nothing else, and each command can be undone there.
func TestAttachingKeepsTheTree(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	local, err := s.Local(ctx)
	if err != nil {
		t.Fatal(err)
	}
	folder := func(name, parent string) (id string) {
		edit(t, s, local.N, func(ed *localstore.Editor) error {
			f, err := ed.AddFolder(api.FolderInput{Name: api.Some(name), ParentID: api.Some(parent)})
			id = f.ID
			return err
		})
		return id
	}
	in := func(folder, url string) string {
		input := bookmark(url, url)
		input.FolderID = api.Some(folder)
		return add(t, s, local.N, input).ID
	}
	child, below := folder("Child", ""), folder("Below", "")
	parent, same := folder("Parent", ""), folder("Same", "") // which come after what is in them
	edit(t, s, local.N, func(ed *localstore.Editor) error {
		_, err := ed.UpdateFolder(child, api.FolderInput{ParentID: api.Some(parent)})
		if err == nil {
			_, err = ed.UpdateFolder(below, api.FolderInput{ParentID: api.Some(same)})
		}
		return err
	})
	other := folder("CASE", "")
	twice := []string{folder("Twice", ""), folder("Twice", "")}
	inChild, inBelow := in(child, "https://child.example/"), in(below, "https://below.example/")
	gone, goneBookmark := folder("Gone", ""), in("", "https://gone.example/")
	edit(t, s, local.N, func(ed *localstore.Editor) error {
		if _, _, err := ed.DeleteFolder(gone); err != nil {
			return err
		}
		_, err := ed.DeleteBookmarks(goneBookmark)
		return err
	})
	mover, leaver := in("", "https://mover.example/"), in(same, "https://leaver.example/")
	move := func(id, folder string) {
		edit(t, s, local.N, func(ed *localstore.Editor) error {
			_, err := ed.MoveBookmarks([]string{id}, folder)
			return err
		})
	}
	move(mover, same)
	move(leaver, "")
	last := in(same, "https://last.example/")

	w := api.Workspace{ID: "w", Name: "w"}
	r := mirror(t, s, w.ID)
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		var there []localstore.Entity
		for i, name := range []string{"Child", "Same", "Gone", "Case"} {
			there = append(there, localstore.Entity{Type: api.TypeFolder, ID: "their " + name, Rev: int64(5 + i), Fields: localstore.Fields{
				Title: name, CreatedAt: api.At(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)), // ours is older, and stands
			}})
		}
		return tx.Insert(append(there, localstore.Entity{
			Type: api.TypeBookmark, ID: "their gone", Rev: 10, Fields: localstore.Fields{URL: "https://gone.example/", Title: "theirs"},
		}))
	})
	if _, err := s.Attach(ctx, w); err != nil {
		t.Fatal(err)
	}
	get := func(id string) localstore.Bookmark {
		t.Helper()
		b, err := s.Bookmark(ctx, r, id)
		if err != nil {
			t.Error(err)
		}
		return b
	}
	lies := map[string]string{}
	for _, id := range []string{child, parent, below, other, twice[0], twice[1]} {
		f, err := s.Folder(ctx, r, id)
		if err != nil {
			t.Errorf("a folder is missing: %v", err)
		}
		lies[id] = f.ParentID
	}
	for _, id := range []string{inChild, inBelow, last} {
		lies[id] = get(id).FolderID
	}
	for id, want := range map[string]string{child: parent, below: "their Same", inChild: child, inBelow: below, last: "their Same"} {
		if lies[id] != want {
			t.Errorf("%s lies in %q, not in %q", id, lies[id], want)
		}
	}
	if _, err := s.Folder(ctx, r, same); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("what was united is there still: %v", err)
	}
	if b := get("their gone"); b.Title != "theirs" || b.Unsent {
		t.Errorf("what was in the trash became %+v", b)
	}
	if f, err := s.Folder(ctx, r, "their Gone"); err != nil || f.Unsent {
		t.Errorf("a folder that was in the trash became %+v, %v", f, err)
	}
	undone := func(what string, rows int) {
		t.Helper()
		did, err := s.Undo(ctx, nil)
		if err != nil || did.Replica != r || did.Rows != rows || len(did.Skipped) > 0 {
			t.Errorf("undo of %s: %+v, %v", what, did, err)
		}
	}
	undone("an add", 1)
	undone("a move out", 1)
	undone("a move in", 1)
	if out, in := get(mover).FolderID, get(leaver).FolderID; out != "" || in != "their Same" {
		t.Errorf("they are back in %q and %q", out, in)
	}
	undone("an add", 1)
	undone("an add", 1)
	undone("a deletion", 2)
	db, err := sql.Open("sqlite", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	var indexed, live int
	err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM search_docsize), (SELECT COUNT(*) FROM bookmark WHERE deleted_at = 0)`).Scan(&indexed, &live)
	if err := errors.Join(err, db.Close()); err != nil || indexed != live {
		t.Errorf("%d bookmarks are indexed, %d alive; %v", indexed, live, err)
	}
	// What the workspace had before is not undone with what became one with it.
	for err = nil; err == nil; {
		_, err = s.Undo(ctx, nil)
	}
	if api.CodeOf(err) != api.CodeNotFound {
		t.Error(err)
	}
	tree, err := s.Tree(ctx, r)
	if err != nil || len(tree) != 4 {
		t.Errorf("of what the workspace had is left %+v, %v", tree, err)
	}
}
