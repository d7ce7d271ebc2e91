package localstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/rules"
)

func mirror(t *testing.T, s *localstore.Store, id string) int64 {
	t.Helper()
	r, err := s.Mirror(t.Context(), api.Workspace{ID: id, Name: id}, true)
	if err != nil {
		t.Fatal(err)
	}
	return r.N
}

func syncing(t *testing.T, s *localstore.Store, replica int64, fn func(tx *localstore.SyncTx) error) {
	t.Helper()
	if err := s.Sync(t.Context(), replica, fn); err != nil {
		t.Fatal(err)
	}
}

// conflictAbout makes a conflict and answers it as it is listed.
func conflictAbout(t *testing.T, s *localstore.Store, replica int64, kind api.EntityType, id, field string, mine, theirs any) localstore.Conflict {
	t.Helper()
	syncing(t, s, replica, func(tx *localstore.SyncTx) error { return tx.AddConflict(kind, id, field, mine, theirs) })
	all, err := s.Conflicts(t.Context(), replica)
	if err != nil || len(all) != 1 {
		t.Fatalf("conflicts %+v, %v", all, err)
	}
	return all[0]
}

func TestADecisionIsUndone(t *testing.T) {
	for _, decision := range []string{"theirs", "mine"} {
		t.Run(decision, func(t *testing.T) {
			ctx := t.Context()
			s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
			r := mirror(t, s, "w")
			b := add(t, s, r, bookmark("https://new.example/", "theirs"))
			c := conflictAbout(t, s, r, api.TypeBookmark, b.ID, "title", "mine", "theirs")
			value := c.Mine
			if decision == "theirs" {
				value = nil
			}
			check := func(what string, listed int, title string) {
				t.Helper()
				all, err := s.Conflicts(ctx, r)
				if err != nil || len(all) != listed || listed == 1 && (all[0].N != c.N || string(all[0].Mine) != `"mine"` || !all[0].At.Equal(c.At.Time)) {
					t.Errorf("%s: conflicts %+v, %v", what, all, err)
				}
				wantTitles(t, what, list(t, s, localstore.List{Replica: r}), title)
			}
			if err := s.Resolve(ctx, c.N, value); err != nil {
				t.Fatal(err)
			}
			check("decided", 0, decision)
			did, err := s.Undo(ctx, nil)
			if err != nil || did.Command != "sync resolve title" || did.Rows == 0 {
				t.Errorf("undo %+v, %v", did, err)
			}
			check("undone", 1, "theirs")
			if _, err := s.Redo(ctx, nil); err != nil {
				t.Fatal(err)
			}
			check("redone", 0, decision)
		})
	}
}

func TestAConflictAboutAFoldersDate(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var f localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		f, err = ed.AddFolder(api.FolderInput{Name: api.Some("F")})
		return err
	})
	mine := api.At(time.Unix(1000, 0))
	c := conflictAbout(t, s, r, api.TypeFolder, f.ID, "createdAt", mine, api.At(time.Unix(2000, 0)))
	if err := s.Resolve(t.Context(), c.N, c.Mine); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Folder(t.Context(), r, f.ID); err != nil || !f.CreatedAt.Equal(mine.Time) {
		t.Errorf("created at %v, %v", f.CreatedAt, err)
	}
}

func TestUndoBesideAFrozenWorkspace(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	a, b := mirror(t, s, "a"), mirror(t, s, "b")
	add(t, s, a, bookmark("https://a.example/", "a"))
	add(t, s, b, bookmark("https://b.example/", "b"))
	if err := s.SetState(ctx, b, localstore.StateFrozen, "it is gone"); err != nil {
		t.Fatal(err)
	}
	if did, err := s.Undo(ctx, nil); err != nil || did.Replica != a {
		t.Errorf("undo %+v, %v", did, err)
	}
	if _, err := s.Undo(ctx, nil); api.CodeOf(err) != api.CodeForbidden {
		t.Errorf("undo where only the frozen one is left: %v", err)
	}
}

// elsewhere does what a pull does to a row that another machine changed.
func elsewhere(t *testing.T, s *localstore.Store, replica int64, kind api.EntityType, id string, change func(e *localstore.Entity)) {
	t.Helper()
	syncing(t, s, replica, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(kind, id)
		if err != nil {
			return err
		}
		next := row.Entity
		next.Rev++
		change(&next)
		return tx.Write(row, next, nil)
	})
}

func TestUndoOfWhatWasMadeLeavesWhatOthersDidSince(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var folder, empty string
	var added [2]string
	edit(t, s, r, func(ed *localstore.Editor) error {
		for i, into := range []*string{&folder, &empty} {
			f, err := ed.AddFolder(api.FolderInput{Name: api.Some("made")})
			if err != nil {
				return err
			}
			*into = f.ID
			in := bookmark("https://example.com/"+f.ID, "added")
			in.FolderID = api.Some(f.ID)
			b, err := ed.AddBookmark(in)
			if err != nil {
				return err
			}
			added[i] = b.ID
		}
		return nil
	})
	elsewhere(t, s, r, api.TypeBookmark, added[0], func(e *localstore.Entity) { e.Title = "an hour of somebody's work" })
	// Its place in a folder is nothing that anybody would miss.
	elsewhere(t, s, r, api.TypeBookmark, added[1], func(e *localstore.Entity) { e.SortOrder += 7 })
	did, err := s.Undo(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(did.Skipped)
	want := []string{folder, added[0]}
	slices.Sort(want)
	if !slices.Equal(did.Skipped, want) || did.Rows != 2 {
		t.Errorf("undone %+v, want %q skipped", did, want)
	}
	wantTitles(t, "after the undo", list(t, s, localstore.List{Replica: r}), "an hour of somebody's work")
	if tree, err := s.Tree(ctx, r); err != nil || len(tree) != 1 || tree[0].ID != folder {
		t.Errorf("tree %+v, %v", tree, err)
	}
	if _, err := s.Redo(ctx, nil); err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "after the redo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "added", "an hour of somebody's work")
}

// Others may have put nothing but a folder into one that was made here.
func TestUndoOfAFolderLeavesFoldersPutIn(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	var made localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		made, err = ed.AddFolder(api.FolderInput{Name: api.Some("made")})
		return err
	})
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		return tx.Insert([]localstore.Entity{{Type: api.TypeFolder, ID: "theirs", Rev: 5, Fields: localstore.Fields{Title: "theirs", Parent: made.ID}}})
	})
	did, err := s.Undo(t.Context(), nil)
	if err != nil || did.Rows != 0 || !slices.Equal(did.Skipped, []string{made.ID}) {
		t.Errorf("undone %+v, %v", did, err)
	}
	if tree, err := s.Tree(t.Context(), r); err != nil || len(tree) == 0 || tree[0].ID != made.ID {
		t.Errorf("tree %+v, %v", tree, err)
	}
}

// Of two undos of one command that meet, one does the rest, and the other says so.
func TestTwoUndosOfOneCommand(t *testing.T) {
	s, r := open(t)
	reader, err := exchange.NewReader(manyIn(1500))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), reader, localstore.Import{Replica: r, Command: "import"}); err != nil {
		t.Fatal(err)
	}
	met := false
	_, err = s.Undo(t.Context(), func(int, int) {
		if !met {
			met = true
			if _, err := s.Undo(t.Context(), nil); err != nil {
				t.Error(err)
			}
			add(t, s, r, bookmark("https://after.example/", "after"))
		}
	})
	if !met || api.CodeOf(err) != api.CodeConflict {
		t.Errorf("met: %v; %v", met, err)
	}
	wantTitles(t, "after both", list(t, s, localstore.List{Replica: r}), "after")
	if did, err := s.Undo(t.Context(), nil); err != nil || did.Rows != 1 {
		t.Errorf("undo of what came after: %+v, %v", did, err)
	}
}

// aFolder makes a folder with two bookmarks, in a command of their own each.
func aFolder(t *testing.T, s *localstore.Store, replica int64) string {
	t.Helper()
	var id string
	edit(t, s, replica, func(ed *localstore.Editor) error {
		f, err := ed.FolderBelow("", localstore.SplitPath("Dev/Go")...)
		id = f.ParentID
		if err != nil {
			return err
		}
		in := bookmark("https://deep.example/", "deep")
		in.FolderID = api.Some(f.ID)
		if _, err := ed.AddBookmark(in); err != nil {
			return err
		}
		in = bookmark("https://go.dev/", "Go")
		in.FolderID = api.Some(id)
		_, err = ed.AddBookmark(in)
		return err
	})
	return id
}

func remove(t *testing.T, s *localstore.Store, replica int64, folder string) {
	t.Helper()
	edit(t, s, replica, func(ed *localstore.Editor) error {
		_, _, err := ed.DeleteFolder(folder)
		return err
	})
}

func TestUndoOfADeletionWhoseFolderIsBack(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	folder := aFolder(t, s, r)
	remove(t, s, r, folder)
	elsewhere(t, s, r, api.TypeFolder, folder, func(e *localstore.Entity) { e.DeletedAt, e.Deletion = api.Time{}, "" })
	did, err := s.Undo(t.Context(), nil)
	if err != nil || did.Rows != 3 {
		t.Errorf("undo %+v, %v; want 3 rows", did, err)
	}
	wantTitles(t, "after the undo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "deep")
	if _, err := s.Redo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "after the redo", list(t, s, localstore.List{Replica: r}))
	if _, err := s.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "after another undo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "deep")
}

func TestRedoOfADeletionLeavesWhatOthersDidSince(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	folder := aFolder(t, s, r)
	remove(t, s, r, folder)
	if _, err := s.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	page, err := s.Bookmarks(t.Context(), localstore.List{Replica: r, SortBy: "title"})
	if err != nil || len(page.Bookmarks) != 2 {
		t.Fatalf("after the undo: %+v, %v", page, err)
	}
	before := page.Bookmarks
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		e := localstore.Entity{Type: api.TypeBookmark, ID: "theirs", Rev: 9}
		e.Title, e.URL, e.Parent = "theirs", "https://theirs.example/", folder
		return tx.Insert([]localstore.Entity{e})
	})
	elsewhere(t, s, r, api.TypeBookmark, before[0].ID, func(e *localstore.Entity) { e.Description = "an hour of somebody's work" })
	did, err := s.Redo(t.Context(), nil)
	slices.Sort(did.Skipped)
	want := []string{before[0].ID, folder}
	slices.Sort(want)
	if err != nil || !slices.Equal(did.Skipped, want) || did.Rows != 2 {
		t.Errorf("redo %+v, %v; want %q left alone", did, err, want)
	}
	wantTitles(t, "after the redo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "theirs")
	// What it did can be taken back, and done again, as often as one likes.
	for range 2 {
		if did, err := s.Undo(t.Context(), nil); err != nil || did.Rows != 2 || len(did.Skipped) > 0 {
			t.Errorf("undo %+v, %v", did, err)
		}
		wantTitles(t, "after another undo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "deep", "theirs")
		if did, err := s.Redo(t.Context(), nil); err != nil || did.Rows != 2 {
			t.Errorf("redo %+v, %v", did, err)
		}
		wantTitles(t, "after another redo", list(t, s, localstore.List{Replica: r, SortBy: "title"}), "Go", "theirs")
	}
}

func TestUndoOfARestoreLeavesWhatOthersPutIn(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	folder := aFolder(t, s, r)
	remove(t, s, r, folder)
	edit(t, s, r, func(ed *localstore.Editor) error { return ed.RestoreFolder(folder) })
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		e := localstore.Entity{Type: api.TypeBookmark, ID: "theirs", Rev: 9}
		e.Title, e.URL, e.Parent = "theirs", "https://theirs.example/", folder
		return tx.Insert([]localstore.Entity{e})
	})
	did, err := s.Undo(t.Context(), nil)
	if err != nil || !slices.Equal(did.Skipped, []string{folder}) || did.Rows != 3 {
		t.Errorf("undo %+v, %v", did, err)
	}
	wantTitles(t, "after the undo", list(t, s, localstore.List{Replica: r}), "theirs")
}

// A deletion finds its rows by what they have in common, and where they were. A
// restoration that is taken back puts both as they were.
func TestUndoOfADeletionOfWhichSomethingWasRestored(t *testing.T) {
	for name, restore := range map[string]func(ed *localstore.Editor, folder, deep string) error{
		"a folder":   func(ed *localstore.Editor, folder, _ string) error { return ed.RestoreFolder(folder) },
		"a bookmark": func(ed *localstore.Editor, _, deep string) error { return ed.RestoreBookmarks(deep) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
			r := mirror(t, s, "w")
			folder := aFolder(t, s, r)
			look := func() (found []localstore.Bookmark) {
				t.Helper()
				page, err := s.Bookmarks(t.Context(), localstore.List{Replica: r, SortBy: "title"})
				if err != nil {
					t.Fatal(err)
				}
				return page.Bookmarks
			}
			places := func(all []localstore.Bookmark) (text string) {
				for _, b := range all {
					text += b.Title + " in " + b.FolderID + "\n"
				}
				return text
			}
			before := look()
			if len(before) != 2 || before[1].Title != "deep" || before[1].FolderID == folder || before[1].FolderID == "" {
				t.Fatalf("there is %s", places(before))
			}
			remove(t, s, r, folder)
			edit(t, s, r, func(ed *localstore.Editor) error { return restore(ed, folder, before[1].ID) })
			restored := places(look())
			for range 2 {
				for range 2 {
					if did, err := s.Undo(t.Context(), nil); err != nil || did.Rows == 0 || len(did.Skipped) > 0 {
						t.Fatalf("undo %+v, %v", did, err)
					}
				}
				if got := places(look()); got != places(before) {
					t.Errorf("after both were taken back there is\n%swant\n%s", got, places(before))
				}
				for range 2 {
					if did, err := s.Redo(t.Context(), nil); err != nil || did.Rows == 0 || len(did.Skipped) > 0 {
						t.Fatalf("redo %+v, %v", did, err)
					}
				}
				if got := places(look()); got != restored {
					t.Errorf("after both were done again there is\n%swant\n%s", got, restored)
				}
			}
		})
	}
}

// manyIn is a file with so many bookmarks in a folder.
func manyIn(n int) *strings.Reader {
	var html strings.Builder
	html.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><H3>Folder</H3><DL><p>")
	for i := range n {
		html.WriteString("<DT><A HREF=\"https://example.com/" + time.Duration(i).String() + "\">x</A>\n")
	}
	html.WriteString("</DL></DL>")
	return strings.NewReader(html.String())
}

func TestAnImportStopsWhereItsGroundIsGone(t *testing.T) {
	for what, pull := range map[string]func(s *localstore.Store, local int64) error{
		"undone": func(s *localstore.Store, _ int64) error {
			_, err := s.Undo(t.Context(), nil)
			return err
		},
		"its folder deleted": func(s *localstore.Store, local int64) error {
			tree, err := s.Tree(t.Context(), local)
			if err != nil {
				return err
			}
			return s.Edit(t.Context(), local, "folder rm", func(ed *localstore.Editor) error {
				_, _, err := ed.DeleteFolder(tree[0].ID)
				return err
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, local := open(t)
			reader, err := exchange.NewReader(manyIn(6000))
			if err != nil {
				t.Fatal(err)
			}
			first := true
			_, err = s.Import(t.Context(), reader, localstore.Import{Replica: local, Command: "import", Progress: func(int) {
				if first {
					first = false
					if err := pull(s, local); err != nil {
						t.Error(err)
					}
				}
			}})
			if api.CodeOf(err) != api.CodeConflict {
				t.Errorf("the import: %v", err)
			}
			counts, err := s.Counts(t.Context(), local)
			if err != nil || counts.Bookmarks != 0 || counts.Folders != 0 {
				t.Errorf("alive: %+v, %v", counts, err)
			}
		})
	}
}

func TestUndoOfManyRowsIsDoneInParts(t *testing.T) {
	var chunks int
	var cut context.CancelFunc
	path := filepath.Join(t.TempDir(), "replica.db")
	opts := options(path)
	opts.Now = func() time.Time { // asked once for each transaction
		if chunks++; chunks == 2 && cut != nil {
			cut()
		}
		return time.Unix(1_000_000, 0)
	}
	s, err := localstore.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := 4000
	if testing.Short() {
		rows = 1500
	}
	reader, err := exchange.NewReader(manyIn(rows))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), reader, localstore.Import{Replica: r.N, Command: "import"}); err != nil {
		t.Fatal(err)
	}
	alive := func() int {
		counts, err := s.Counts(t.Context(), r.N)
		if err != nil {
			t.Fatal(err)
		}
		return counts.Bookmarks
	}
	ctx, cancel := context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Undo(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("an undo that is cut off: %v", err)
	}
	some := alive()
	if some == 0 || some == rows {
		t.Fatalf("%d of %d are left", some, rows)
	}
	// How far it is, is told as it goes, of what is left of it.
	told := func(want int) func(done, total int) {
		before := 0
		return func(done, total int) {
			if total != want || done <= before || done >= total {
				t.Errorf("told of %d of %d after %d, want %d in all", done, total, before, want)
			}
			before = done
		}
	}
	did, err := s.Undo(t.Context(), told(some+1))
	if err != nil || did.Rows != some+1 || len(did.Skipped) > 0 || alive() != 0 {
		t.Errorf("going on: %d rows, %d skipped, %v; %d left of %d", did.Rows, len(did.Skipped), err, alive(), some)
	}
	heard := false
	redo := told(rows + 1)
	if did, err := s.Redo(t.Context(), func(done, total int) { heard = true; redo(done, total) }); err != nil || alive() != rows || !heard {
		t.Errorf("redo: %d rows, %v; %d alive; told: %v", did.Rows, err, alive(), heard)
	}
	// What was cut off can be turned round as well, either way.
	if _, err := s.Undo(t.Context(), nil); err != nil || alive() != 0 {
		t.Errorf("undo: %v; %d alive", err, alive())
	}
	ctx, cancel = context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Redo(ctx, nil); !errors.Is(err, context.Canceled) || alive() == 0 || alive() == rows {
		t.Fatalf("a redo that is cut off: %v; %d alive", err, alive())
	}
	if _, err := s.Undo(t.Context(), nil); err != nil || alive() != 0 {
		t.Errorf("undo of a redo that was cut off: %v; %d alive", err, alive())
	}
	if _, err := s.Redo(t.Context(), nil); err != nil || alive() != rows {
		t.Errorf("redo: %v; %d alive", err, alive())
	}
	ctx, cancel = context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Undo(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("an undo that is cut off: %v", err)
	}
	if _, err := s.Redo(t.Context(), nil); err != nil || alive() != rows {
		t.Errorf("redo of what was cut off: %v; %d alive", err, alive())
	}
	// Unless another command came after.
	ctx, cancel = context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Undo(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("an undo that is cut off: %v", err)
	}
	cut = nil
	add(t, s, r.N, bookmark("https://after.example/", "after"))
	if _, err := s.Redo(t.Context(), nil); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("redo after another command: %v", err)
	}
	for range 2 {
		if _, err := s.Undo(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if alive() != 0 {
		t.Errorf("%d alive", alive())
	}
}

func TestAnOrderStaysWithinItsBound(t *testing.T) {
	s, local := open(t)
	in := bookmark("https://a.example/", "a")
	in.SortOrder = api.Some[int64](rules.MaxInteger)
	add(t, s, local, in)
	if b := add(t, s, local, bookmark("https://b.example/", "b")); b.SortOrder != rules.MaxInteger {
		t.Errorf("sort order %d", b.SortOrder)
	}
}

// A merge orders tags anew: what was tagged is untagged all the same.
func TestUndoOfTagsInAnotherOrder(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	r := mirror(t, s, "w")
	b := add(t, s, r, bookmark("https://go.dev/", "Go", "a", "b"))
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(b.ID, api.BookmarkInput{Tags: api.Some([]string{"b", "c"})})
		return err
	})
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(api.TypeBookmark, b.ID)
		if err != nil {
			return err
		}
		next := row.Entity
		next.Tags = []string{"c", "B"}
		return tx.Write(row, next, row.Base)
	})
	did, err := s.Undo(t.Context(), nil)
	if err != nil || len(did.Skipped) > 0 {
		t.Fatalf("%+v, %v", did, err)
	}
	if got, err := s.Bookmark(t.Context(), r, b.ID); err != nil || !slices.Equal(got.Tags, []string{"a", "b"}) {
		t.Errorf("%q, %v", got.Tags, err)
	}
}
