package localstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// Whatever was done, taking back one command after the other goes through every
// state before, and doing them again through every state after.
func TestWhateverWasDoneIsUndoneAndRedone(t *testing.T) {
	seeds := 24
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
			u := &user{t: t, s: s, replica: mirror(t, s, "w"), rng: rand.New(rand.NewPCG(uint64(seed), 7))}
			states, said := []string{u.state()}, []string{"nothing"}
			for range 25 {
				did := u.act()
				if log, err := s.Log(t.Context(), 1000); err != nil || len(log) < len(states) {
					if err != nil {
						t.Fatal(err)
					}
					continue // it changed nothing
				}
				states, said = append(states, u.state()), append(said, did)
				if seed%2 == 1 && u.rng.IntN(3) == 0 {
					u.sent()
				}
			}
			at := len(states) - 1
			for range 3 {
				for ; at > 0; at-- {
					u.turn("undo of "+said[at], s.Undo, states[at-1])
				}
				for ; at < len(states)-1; at++ {
					u.turn("redo of "+said[at+1], s.Redo, states[at+1])
				}
			}
		})
	}
}

// user does one thing after the other.
type user struct {
	t       *testing.T
	s       *localstore.Store
	replica int64
	rng     *rand.Rand
	made    int
}

func (u *user) all() (folders []localstore.Node, bookmarks []localstore.Bookmark) {
	u.t.Helper()
	folders, err := u.s.Folders(u.t.Context(), u.replica)
	if err != nil {
		u.t.Fatal(err)
	}
	page, err := u.s.Bookmarks(u.t.Context(), localstore.List{Replica: u.replica, SortBy: "url"})
	if err != nil {
		u.t.Fatal(err)
	}
	return folders, page.Bookmarks
}

// state is what a user sees, but for when it was changed.
func (u *user) state() string {
	u.t.Helper()
	var text string
	say := func(v any) {
		line, err := json.Marshal(v)
		if err != nil {
			u.t.Fatal(err)
		}
		text += string(line) + "\n"
	}
	folders, bookmarks := u.all()
	for i := range folders {
		folders[i].UpdatedAt, folders[i].Unsent = api.Time{}, false
		say(folders[i])
	}
	for i := range bookmarks {
		bookmarks[i].UpdatedAt, bookmarks[i].Unsent = api.Time{}, false
		slices.Sort(bookmarks[i].Tags)
		say(bookmarks[i])
	}
	return text
}

func (u *user) turn(what string, turn func(context.Context, func(int, int)) (localstore.Undone, error), want string) {
	u.t.Helper()
	did, err := turn(u.t.Context(), nil)
	if err != nil || len(did.Skipped) > 0 {
		u.t.Fatalf("%s: %+v, %v", what, did, err)
	}
	if got := u.state(); got != want {
		u.t.Fatalf("after the %s there is\n%s\nwant\n%s", what, got, want)
	}
}

// sent is what a push leaves: the server has everything as it is here.
func (u *user) sent() {
	u.t.Helper()
	folders, bookmarks := u.all()
	deadFolders, deadBookmarks, err := u.s.Trash(u.t.Context(), u.replica, 100)
	if err != nil {
		u.t.Fatal(err)
	}
	ids := map[api.EntityType][]string{}
	for _, f := range folders {
		ids[api.TypeFolder] = append(ids[api.TypeFolder], f.ID)
	}
	for _, f := range deadFolders {
		ids[api.TypeFolder] = append(ids[api.TypeFolder], f.ID)
	}
	for _, b := range append(bookmarks, deadBookmarks...) {
		ids[api.TypeBookmark] = append(ids[api.TypeBookmark], b.ID)
	}
	syncing(u.t, u.s, u.replica, func(tx *localstore.SyncTx) error {
		for kind, all := range ids {
			for _, id := range all {
				row, err := tx.Find(kind, id)
				if err == nil {
					err = tx.Touch(row, row.Rev+1, row.UpdatedAt)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// act is one command, of which there may be nothing to do.
func (u *user) act() string {
	folders, bookmarks := u.all()
	deadFolders, deadBookmarks, err := u.s.Trash(u.t.Context(), u.replica, 100)
	if err != nil {
		u.t.Fatal(err)
	}
	folder := func() string {
		if len(folders) == 0 || u.rng.IntN(4) == 0 {
			return ""
		}
		return folders[u.rng.IntN(len(folders))].ID
	}
	tag := func() string { return fmt.Sprint("t", u.rng.IntN(4)) }
	some := func() (ids []string) {
		for _, b := range bookmarks {
			if u.rng.IntN(3) == 0 {
				ids = append(ids, b.ID)
			}
		}
		return ids
	}
	u.made++
	name := fmt.Sprint("n", u.made)
	var did string
	do := func(what string, fn func(ed *localstore.Editor) error) {
		did = what
		if err := u.s.Edit(u.t.Context(), u.replica, what, fn); err != nil && api.CodeOf(err) == api.CodeInternal {
			u.t.Fatal(err) // else there is no such tag, or a folder would lie below itself
		}
	}
	switch n := u.rng.IntN(16); {
	case n < 3 || len(bookmarks) == 0:
		do("add", func(ed *localstore.Editor) error {
			in := bookmark("https://"+name+".example/", name, tag(), tag())
			in.FolderID = api.Some(folder())
			_, err := ed.AddBookmark(in)
			return err
		})
	case n == 3 || len(folders) == 0:
		do("folder add", func(ed *localstore.Editor) error {
			_, err := ed.FolderBelow(folder(), name, "below")
			return err
		})
	case n == 4:
		do("edit", func(ed *localstore.Editor) error {
			in := []api.BookmarkInput{
				{Title: api.Some(name), Tags: api.Some([]string{tag()})},
				{Tags: api.Clear[[]string]()},
				{URL: api.Some("https://" + name + ".test/")},
				{Description: api.Some(name), SnapshotEnabled: api.Some(true)},
				{FolderID: api.Some(folder())},
				{SortOrder: api.Some(int64(n))},
				{Extra: api.Some(map[string]string{"A": name})},
				{Extra: api.Clear[map[string]string](), Description: api.Clear[string]()},
			}[u.rng.IntN(8)]
			_, err := ed.UpdateBookmark(bookmarks[u.rng.IntN(len(bookmarks))].ID, in)
			return err
		})
	case n == 5:
		do("mv", func(ed *localstore.Editor) error {
			_, err := ed.MoveBookmarks(some(), folder())
			return err
		})
	case n == 6:
		do("rm", func(ed *localstore.Editor) error {
			_, err := ed.DeleteBookmarks(some()...)
			return err
		})
	case n == 7:
		do("folder rm", func(ed *localstore.Editor) error {
			_, _, err := ed.DeleteFolder(folders[u.rng.IntN(len(folders))].ID)
			return err
		})
	case n == 8 && len(deadFolders) > 0:
		do("restore of a folder", func(ed *localstore.Editor) error {
			return ed.RestoreFolder(deadFolders[u.rng.IntN(len(deadFolders))].ID)
		})
	case n < 10 && len(deadBookmarks) > 0:
		do("restore", func(ed *localstore.Editor) error {
			return ed.RestoreBookmarks(deadBookmarks[u.rng.IntN(len(deadBookmarks))].ID)
		})
	case n == 10:
		do("folder mv", func(ed *localstore.Editor) error {
			_, err := ed.UpdateFolder(folders[u.rng.IntN(len(folders))].ID, api.FolderInput{Name: api.Some(name), ParentID: api.Some(folder())})
			return err
		})
	case n == 11:
		do("tag rename", func(ed *localstore.Editor) error {
			_, err := ed.RenameTag(tag(), tag())
			return err
		})
	case n == 12:
		do("tag rm", func(ed *localstore.Editor) error {
			_, err := ed.RemoveTag(tag())
			return err
		})
	case n == 13:
		importText(u.t, u.s, `<DL><p><DT><H3>`+tag()+`</H3><DL><p><DT><A HREF="https://`+name+`.example/" TAGS="t1,new">`+name+`</A>
			<DT><A HREF="https://same.example/">same</A></DL><p></DL>`, localstore.Import{Replica: u.replica, Command: "import", Into: folder()})
		did = "import"
	default:
		do("dupes --merge", func(ed *localstore.Editor) error {
			_, err := ed.MergeBookmarks(bookmarks[u.rng.IntN(len(bookmarks))].ID, some()...)
			return err
		})
	}
	return did
}
