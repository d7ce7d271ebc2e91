package localstore_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

func TestAFailedCommandLeavesNothing(t *testing.T) {
	s, r := open(t)
	err := s.Edit(t.Context(), r, "test", func(ed *localstore.Editor) error {
		if _, err := ed.AddBookmark(bookmark("https://go.dev/", "Go")); err != nil {
			return err
		}
		_, err := ed.AddBookmark(bookmark("not a url", "x"))
		return err
	})
	if api.CodeOf(err) != api.CodeValidation {
		t.Fatalf("a URL that is none: %v", err)
	}
	wantTitles(t, "after the failure", list(t, s, localstore.List{Replica: r}))
	if log, err := s.Log(t.Context(), 10); err != nil || len(log) != 0 {
		t.Errorf("journal %v, %v", log, err)
	}
}

func TestSameURLIgnoresWhatDoesNotCount(t *testing.T) {
	s, r := open(t)
	add(t, s, r, bookmark("https://Example.com:443", "one"))
	add(t, s, r, bookmark("https://example.com/other", "two"))
	same, err := s.SameURL(t.Context(), r, "https://example.com/#")
	if err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "same URL", titles(same), "one")
}

func TestUndoAndRedo(t *testing.T) {
	s, r := open(t)
	ctx := t.Context()
	b := add(t, s, r, bookmark("https://go.dev/", "Go", "lang"))
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(b.ID, api.BookmarkInput{Title: api.Some("Golang")})
		return err
	})
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.DeleteBookmarks(b.ID)
		return err
	})
	all := localstore.List{Replica: r}
	wantTitles(t, "after delete", list(t, s, all))
	states := [][]string{{"Golang"}, {"Go"}, {}}
	for i, want := range states {
		if _, err := s.Undo(ctx, nil); err != nil {
			t.Fatal(err)
		}
		wantTitles(t, "after undo", list(t, s, all), want...)
		if i < 2 {
			wantTitles(t, "found again by tag", list(t, s, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Tags: []string{"LANG"}}}), want...)
		}
	}
	if _, err := s.Undo(ctx, nil); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("undo of nothing: %v", err)
	}
	for _, want := range [][]string{{"Go"}, {"Golang"}, {}} {
		if _, err := s.Redo(ctx, nil); err != nil {
			t.Fatal(err)
		}
		wantTitles(t, "after redo", list(t, s, all), want...)
	}
	if _, err := s.Redo(ctx, nil); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("redo of nothing: %v", err)
	}
}

func TestAnEditEndsRedo(t *testing.T) {
	s, r := open(t)
	add(t, s, r, bookmark("https://a.example/", "a"))
	if _, err := s.Undo(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	add(t, s, r, bookmark("https://b.example/", "b"))
	if _, err := s.Redo(t.Context(), nil); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("redo after another edit: %v", err)
	}
}

func TestUndoLeavesAloneWhatChangedSince(t *testing.T) {
	s, r := open(t)
	b := add(t, s, r, bookmark("https://go.dev/", "Go", "old"))
	var here, there localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if here, err = ed.AddFolder(api.FolderInput{Name: api.Some("Here")}); err == nil {
			there, err = ed.AddFolder(api.FolderInput{Name: api.Some("There")})
		}
		return err
	})
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark(b.ID, api.BookmarkInput{
			Title: api.Some("Golang"), Description: api.Some("a language"), URL: api.Some("https://golang.org/"),
			Tags: api.Some([]string{"old", "new"}), FolderID: api.Some(here.ID), Extra: api.Some(map[string]string{"PRIVATE": "1"}),
		})
		return err
	})
	elsewhere(t, s, r, api.TypeBookmark, b.ID, func(e *localstore.Entity) {
		e.Title, e.URL, e.Tags = "The Go language", "https://go.dev/next/", []string{"old", "new", "theirs"}
		e.Parent, e.Extra = there.ID, map[string]string{"PRIVATE": "0"}
	})
	did, err := s.Undo(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{b.ID + ".folder", b.ID + ".title", b.ID + ".url", b.ID + ".tags", b.ID + ".extra"}
	if !slices.Equal(did.Skipped, want) {
		t.Errorf("skipped %q, want %q", did.Skipped, want)
	}
	after, err := s.Bookmark(t.Context(), r, b.ID)
	if err != nil || after.Title != "The Go language" || after.Description != "" || after.URL != "https://go.dev/next/" ||
		!slices.Equal(after.Tags, []string{"old", "new", "theirs"}) || after.FolderID != there.ID || after.Extra["PRIVATE"] != "0" {
		t.Errorf("after undo %+v, %v", after, err)
	}
}

func TestDeletingAFolderTakesAndGivesBackItsContents(t *testing.T) {
	s, r := open(t)
	var dev, golang localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if golang, err = ed.FolderBelow("", localstore.SplitPath("Dev/Go")...); err != nil {
			return err
		}
		dev, err = ed.FolderBelow("", localstore.SplitPath("Dev")...)
		return err
	})
	inside := bookmark("https://go.dev/", "Go")
	inside.FolderID = api.Some(golang.ID)
	add(t, s, r, inside)
	alone := bookmark("https://pkg.go.dev/", "Packages")
	alone.FolderID = api.Some(golang.ID)
	gone := add(t, s, r, alone)
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.DeleteBookmarks(gone.ID)
		return err
	})
	edit(t, s, r, func(ed *localstore.Editor) error {
		folders, bookmarks, err := ed.DeleteFolder(dev.ID)
		if folders != 2 || bookmarks != 1 {
			t.Errorf("deleted %d folders and %d bookmarks, want 2 and 1", folders, bookmarks)
		}
		return err
	})
	if log, err := s.Log(t.Context(), 2); err != nil || len(log) != 2 || log[0].Deleted != 3 || log[1].Deleted != 1 {
		t.Errorf("logged %+v, %v; want 3 rows of the folder, and 1", log, err)
	}
	search := localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: "go"}}
	wantTitles(t, "search after delete", list(t, s, search))
	if tree, err := s.Tree(t.Context(), r); err != nil || len(tree) != 0 {
		t.Errorf("tree %v, %v", tree, err)
	}
	edit(t, s, r, func(ed *localstore.Editor) error { return ed.RestoreFolder(dev.ID) })
	wantTitles(t, "search after restore", list(t, s, search), "Go")
	tree, err := s.Tree(t.Context(), r)
	if err != nil || len(tree) != 2 || tree[1].Path != "Dev/Go" || tree[0].Total != 1 || tree[0].Bookmarks != 0 {
		t.Errorf("tree %+v, %v", tree, err)
	}
	// What was deleted on its own stays deleted, and comes back on its own.
	edit(t, s, r, func(ed *localstore.Editor) error { return ed.RestoreBookmarks(gone.ID) })
	wantTitles(t, "after restoring the other", list(t, s, search), "Go", "Packages")
}

func TestRestoringFromADeadFolderGoesToTheNearestLivingOne(t *testing.T) {
	s, r := open(t)
	var deep localstore.Folder
	var b localstore.Bookmark
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if deep, err = ed.FolderBelow("", localstore.SplitPath("Dev/Go/Old")...); err != nil {
			return err
		}
		in := bookmark("https://go.dev/", "Go")
		in.FolderID = api.Some(deep.ID)
		b, err = ed.AddBookmark(in)
		return err
	})
	golang, err := s.FindFolder(t.Context(), r, "Dev/Go")
	if err != nil {
		t.Fatal(err)
	}
	dev, err := s.FindFolder(t.Context(), r, "Dev")
	if err != nil {
		t.Fatal(err)
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, _, err := ed.DeleteFolder(golang.ID)
		return err
	})
	edit(t, s, r, func(ed *localstore.Editor) error { return ed.RestoreBookmarks(b.ID) })
	after, err := s.Bookmark(t.Context(), r, b.ID)
	if err != nil || after.FolderID != dev.ID {
		t.Errorf("restored into %q, want %q; %v", after.FolderID, dev.ID, err)
	}
}

func TestAFolderCannotGoIntoItself(t *testing.T) {
	s, r := open(t)
	var a, b localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if b, err = ed.FolderBelow("", localstore.SplitPath("a/b")...); err != nil {
			return err
		}
		a, err = ed.FolderBelow("", localstore.SplitPath("a")...)
		return err
	})
	err := s.Edit(t.Context(), r, "test", func(ed *localstore.Editor) error {
		_, err := ed.UpdateFolder(a.ID, api.FolderInput{ParentID: api.Some(b.ID)})
		return err
	})
	if api.CodeOf(err) != api.CodeConflict {
		t.Errorf("a folder into its own child: %v", err)
	}
}

func TestTagsRenameAndMerge(t *testing.T) {
	s, r := open(t)
	one := add(t, s, r, bookmark("https://one.example/", "one", "go", "lang"))
	add(t, s, r, bookmark("https://two.example/", "two", "golang"))
	edit(t, s, r, func(ed *localstore.Editor) error {
		n, err := ed.MergeTags([]string{"go", "golang"}, "Go")
		if n != 2 {
			t.Errorf("merge changed %d, want 2", n)
		}
		return err
	})
	tags, err := s.Tags(t.Context(), r, "", 0)
	if err != nil || !slices.Equal(tags, []api.Tag{{Name: "Go", Count: 2}, {Name: "lang", Count: 1}}) {
		t.Errorf("tags %v, %v", tags, err)
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.TagBookmarks([]string{one.ID}, []string{"GO", "new"}, []string{"LANG"})
		return err
	})
	after, err := s.Bookmark(t.Context(), r, one.ID)
	if err != nil || !slices.Equal(after.Tags, []string{"Go", "new"}) {
		t.Errorf("tags %q, %v", after.Tags, err)
	}
	if got, err := s.Tags(t.Context(), r, "L", 0); err != nil || len(got) != 0 {
		t.Errorf("a tag that nothing carries is listed: %v, %v", got, err)
	}
	err = s.Edit(t.Context(), r, "test", func(ed *localstore.Editor) error {
		_, err := ed.RenameTag("nowhere", "x")
		return err
	})
	if api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("renaming a tag that is not there: %v", err)
	}
}

func TestMergingDuplicatesLosesNothing(t *testing.T) {
	s, r := open(t)
	first := bookmark("https://go.dev/", "Go", "a")
	first.Description = api.Some("kept")
	one := add(t, s, r, first)
	second := bookmark("https://go.dev", "The Go language", "b", "A")
	second.Description = api.Some("other")
	two := add(t, s, r, second)
	groups, err := s.Duplicates(t.Context(), r, false)
	if err != nil || len(groups) != 1 || len(groups[0]) != 2 {
		t.Fatalf("duplicates %v, %v", groups, err)
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.MergeBookmarks(two.ID, one.ID)
		return err
	})
	after, err := s.Bookmark(t.Context(), r, two.ID)
	if err != nil {
		t.Fatal(err)
	}
	if after.Description != "other\n\nGo\n\nkept" {
		t.Errorf("description %q", after.Description)
	}
	if !slices.Equal(after.Tags, []string{"b", "A"}) || !after.CreatedAt.Equal(one.CreatedAt.Time) {
		t.Errorf("tags %q, created %v, want the older %v", after.Tags, after.CreatedAt, one.CreatedAt)
	}
	wantTitles(t, "left", list(t, s, localstore.List{Replica: r}), "The Go language")
}

// Where one bookmark has no room for what several hold, they stay as they are.
func TestMergingTooMuchChangesNothing(t *testing.T) {
	s, r := open(t)
	var ids []string
	for _, text := range []string{"x", "y"} {
		b := bookmark("https://go.dev/", "Go "+text)
		b.Description = api.Some(strings.Repeat(text, api.MaxDescription-10))
		ids = append(ids, add(t, s, r, b).ID)
	}
	err := s.Edit(t.Context(), r, "test", func(ed *localstore.Editor) error {
		_, err := ed.MergeBookmarks(ids[0], ids[1])
		return err
	})
	if !errors.Is(err, localstore.ErrTooMuch) {
		t.Fatalf("%v", err)
	}
	for _, id := range ids {
		if b, err := s.Bookmark(t.Context(), r, id); err != nil || len(b.Description) != api.MaxDescription-10 {
			t.Errorf("%v: %d bytes of description", err, len(b.Description))
		}
	}
}

// What both say otherwise, both keep.
func TestMergingKeepsEveryAttribute(t *testing.T) {
	s, r := open(t)
	long := strings.Repeat("X", 32)
	var ids []string
	for _, extra := range []map[string]string{{"A": "1", "B": "b", long: "1"}, {"A": "2", "C": "c", long: "2"}, {"A": "1", "A_2": "3"}} {
		b := bookmark("https://go.dev/", "Go")
		b.Extra = api.Some(extra)
		ids = append(ids, add(t, s, r, b).ID)
	}
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.MergeBookmarks(ids[0], ids[1:]...)
		return err
	})
	after, err := s.Bookmark(t.Context(), r, ids[0])
	want := map[string]string{"A": "1", "A_2": "2", "A_2_2": "3", "B": "b", "C": "c", long: "1", long[:30] + "_2": "2"}
	if err != nil || !maps.Equal(after.Extra, want) {
		t.Errorf("attributes %v, %v", after.Extra, err)
	}
}

// A tracking parameter makes two of one where it is asked for alone.
func TestDuplicatesWithoutTracking(t *testing.T) {
	s, r := open(t)
	for _, url := range []string{"https://a.example/?id=1", "https://b.example/", "https://A.example/?utm_source=x&id=1", "https://a.example/?id=2"} {
		add(t, s, r, bookmark(url, url))
	}
	for stripped, want := range map[bool]int{false: 0, true: 1} {
		groups, err := s.Duplicates(t.Context(), r, stripped)
		if err != nil || len(groups) != want || want == 1 && (len(groups[0]) != 2 || groups[0][0].URL != "https://a.example/?id=1") {
			t.Errorf("stripped %v: %v, %v", stripped, groups, err)
		}
	}
}
