package localstore_test

import (
	"fmt"
	"slices"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

func TestPagesAreStable(t *testing.T) {
	s, r := open(t)
	for i := range 7 {
		add(t, s, r, bookmark(fmt.Sprintf("https://example.com/%d", i), fmt.Sprintf("t%d", i)))
	}
	for sort, want := range map[string][]string{
		"":           {"t6", "t5", "t4", "t3", "t2", "t1", "t0"},
		"createdAt":  {"t0", "t1", "t2", "t3", "t4", "t5", "t6"},
		"-title":     {"t6", "t5", "t4", "t3", "t2", "t1", "t0"},
		"url":        {"t0", "t1", "t2", "t3", "t4", "t5", "t6"},
		"sortOrder":  {"t0", "t1", "t2", "t3", "t4", "t5", "t6"},
		"-updatedAt": {"t6", "t5", "t4", "t3", "t2", "t1", "t0"},
	} {
		q := localstore.List{Replica: r, SortBy: sort, Limit: 3}
		var got []string
		for pages := 1; ; pages++ {
			page, err := s.Bookmarks(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, titles(page.Bookmarks)...)
			if page.Next == "" {
				if pages != 3 {
					t.Errorf("%q: %d pages, want 3", sort, pages)
				}
				break
			}
			q.Cursor = page.Next
		}
		wantTitles(t, "sorted by "+sort, got, want...)
		var streamed []string
		for b, err := range s.All(t.Context(), localstore.List{Replica: r, SortBy: sort}) {
			if err != nil {
				t.Fatal(err)
			}
			streamed = append(streamed, b.Title)
		}
		wantTitles(t, "streamed by "+sort, streamed, want...)
	}
	for _, q := range []localstore.List{
		{Replica: r, SortBy: "colour"},
		{Replica: r, Cursor: "%%%"},
		{Replica: r, BookmarkFilter: api.BookmarkFilter{FilterStatus: "sad"}},
	} {
		if _, err := s.Bookmarks(t.Context(), q); api.CodeOf(err) != api.CodeValidation {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestFiltersOfAList(t *testing.T) {
	s, r := open(t)
	var dev localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		if dev, err = ed.FolderBelow("", localstore.SplitPath("Dev")...); err != nil {
			return err
		}
		golang, err := ed.FolderBelow("", localstore.SplitPath("Dev/Go")...)
		if err != nil {
			return err
		}
		for _, in := range []api.BookmarkInput{
			bookmark("https://a.example/", "top", "x"),
			{URL: api.Some("https://b.example/"), Title: api.Some("dev"), FolderID: api.Some(dev.ID), Tags: api.Some([]string{"x", "y"})},
			{URL: api.Some("https://c.example/"), Title: api.Some("go"), FolderID: api.Some(golang.ID)},
			bookmark("https://d.example/", "gone"),
		} {
			b, err := ed.AddBookmark(in)
			if err != nil {
				return err
			}
			if b.Title == "gone" {
				if _, err := ed.DeleteBookmarks(b.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for name, c := range map[string]struct {
		filter api.BookmarkFilter
		want   []string
	}{
		"all":              {api.BookmarkFilter{}, []string{"top", "dev", "go"}},
		"folder":           {api.BookmarkFilter{FolderID: dev.ID}, []string{"dev"}},
		"folder, subtree":  {api.BookmarkFilter{FolderID: dev.ID, Recursive: true}, []string{"dev", "go"}},
		"root":             {api.BookmarkFilter{FolderID: api.RootFolder}, []string{"top"}},
		"root, subtree":    {api.BookmarkFilter{FolderID: api.RootFolder, Recursive: true}, []string{"top", "dev", "go"}},
		"tags, all of":     {api.BookmarkFilter{Tags: []string{"X", "y"}}, []string{"dev"}},
		"untagged":         {api.BookmarkFilter{FilterStatus: "untagged"}, []string{"go"}},
		"unfiled":          {api.BookmarkFilter{FilterStatus: "unfiled"}, []string{"top"}},
		"deleted":          {api.BookmarkFilter{FilterStatus: "deleted"}, []string{"gone"}},
		"unknown":          {api.BookmarkFilter{FilterStatus: "unknown"}, []string{"top", "dev", "go"}},
		"dead":             {api.BookmarkFilter{FilterStatus: "dead"}, []string{}},
		"query, its order": {api.BookmarkFilter{Query: "folder:Dev -#x"}, []string{"go"}},
	} {
		q := localstore.List{Replica: r, BookmarkFilter: c.filter, SortBy: "createdAt"}
		wantTitles(t, name, list(t, s, q), c.want...)
		if n, err := s.Count(t.Context(), q); err != nil || n != len(c.want) {
			t.Errorf("%s: count %d, %v, want %d", name, n, err, len(c.want))
		}
	}
}

func TestSearchRanksAndPages(t *testing.T) {
	s, r := open(t)
	for _, in := range []api.BookmarkInput{
		{URL: api.Some("https://a.example/go"), Title: api.Some("in the url")},
		{URL: api.Some("https://b.example/"), Title: api.Some("Go by example")},
		{URL: api.Some("https://c.example/"), Title: api.Some("Goland")},
		{URL: api.Some("https://d.example/"), Title: api.Some("tagged"), Tags: api.Some([]string{"go"})},
		{URL: api.Some("https://e.example/"), Title: api.Some("described"), Description: api.Some("about go")},
		{URL: api.Some("https://f.example/"), Title: api.Some("Tallinn, København, Łódź")},
	} {
		add(t, s, r, in)
	}
	want := []string{"Go by example", "Goland", "tagged", "in the url", "described"}
	q := localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: "go"}}
	wantTitles(t, "ranked", list(t, s, q), want...)
	var paged []string
	q.Limit = 2
	for {
		page, err := s.Bookmarks(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, titles(page.Bookmarks)...)
		if q.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	wantTitles(t, "in pages", paged, want...)
	for query, want := range map[string][]string{
		"lodz kobenhavn":      {"Tallinn, København, Łódź"},
		"site:d.example":      {"tagged"},
		`"by example"`:        {"Go by example"},
		"go -example -tag:go": {},
		"zzz":                 {},
		"((":                  nil,
	} {
		got := list(t, s, localstore.List{Replica: r, BookmarkFilter: api.BookmarkFilter{Query: query}})
		if want != nil {
			slices.Sort(got)
			wantTitles(t, query, got, want...)
		}
	}
}

func TestFoldersAndBookmarksAreFoundByWhatPeopleType(t *testing.T) {
	s, r := open(t)
	var acdc localstore.Folder
	edit(t, s, r, func(ed *localstore.Editor) (err error) {
		acdc, err = ed.FolderBelow("", localstore.SplitPath(`Music/AC\/DC`)...)
		return err
	})
	for _, ref := range []string{`Music/AC\/DC`, `/music/ac\/dc/`, acdc.ID, acdc.ID[:35]} {
		if f, err := s.FindFolder(t.Context(), r, ref); err != nil || f.ID != acdc.ID {
			t.Errorf("%s: %q, %v", ref, f.Name, err)
		}
	}
	if path, err := s.FolderPath(t.Context(), r, acdc.ID); err != nil || path != `Music/AC\/DC` {
		t.Errorf("path %q, %v", path, err)
	}
	if _, err := s.FindFolder(t.Context(), r, "Music/Nowhere"); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("a folder that is not there: %v", err)
	}
	b := add(t, s, r, bookmark("https://go.dev/", "Go"))
	for _, ref := range []string{b.ID, b.ID[:35], "https://GO.dev"} {
		if found, err := s.FindBookmarks(t.Context(), r, ref, 5); err != nil || len(found) != 1 || found[0].ID != b.ID {
			t.Errorf("%s: %v, %v", ref, found, err)
		}
	}
	if _, err := s.FindBookmarks(t.Context(), r, "https://nowhere.example/", 5); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("a bookmark that is not there: %v", err)
	}
}

func TestRandomGivesDifferentOnes(t *testing.T) {
	s, r := open(t)
	for i := range 5 {
		add(t, s, r, bookmark(fmt.Sprintf("https://example.com/%d", i), fmt.Sprintf("t%d", i)))
	}
	chosen, err := s.Random(t.Context(), r, 9, func(int) int { return 2 })
	if err != nil {
		t.Fatal(err)
	}
	got := titles(chosen)
	slices.Sort(got)
	wantTitles(t, "random", got, "t0", "t1", "t2", "t3", "t4")
}

func TestSavedSearches(t *testing.T) {
	s, _ := open(t)
	ctx := t.Context()
	if err := s.SaveSearch(ctx, "unread", "#later"); err != nil {
		t.Fatal(err)
	}
	if saved, err := s.SavedSearches(ctx); err != nil || len(saved) != 1 || saved[0].Query != "#later" {
		t.Errorf("saved %v, %v", saved, err)
	}
	if err := s.DeleteSearch(ctx, "unread"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSearch(ctx, "unread"); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("deleting what is not there: %v", err)
	}
}
