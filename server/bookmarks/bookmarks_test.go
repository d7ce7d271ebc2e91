package bookmarks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused(t *testing.T, err error, code api.Code, about string) {
	t.Helper()
	if api.CodeOf(err) != code || !strings.Contains(err.Error(), about) {
		t.Errorf("got %v, want %s about %q", err, code, about)
	}
}

func add(t *testing.T, c *client.Client, p client.Place, url, title string, tags ...string) api.Bookmark {
	t.Helper()
	in := api.BookmarkInput{URL: api.Some(url), Title: api.Some(title), Tags: api.Some(tags)}
	return must[api.Bookmark](t)(c.CreateBookmark(t.Context(), p, in))
}

func titles(list []api.Bookmark) string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Title
	}
	return strings.Join(names, " ")
}

func TestABookmarkInBothFlavours(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ada := servertest.Join(t, s, "ada")
		for name, place := range map[string]client.Place{"workspace": client.InWorkspace(ada.Workspace.ID), "key": client.ByKey(ada.Workspace.ID)} {
			t.Run(name, func(t *testing.T) {
				ctx, c := t.Context(), ada.Key
				folder := must[api.Folder](t)(c.CreateFolder(ctx, ada.Workspace.ID, api.FolderInput{Name: api.Some("Go " + name)}))
				created := must[api.Bookmark](t)(c.CreateBookmark(ctx, place, api.BookmarkInput{
					URL: api.Some(" https://go.dev/?a=b "), Title: api.Some("  The   Go language "), Description: api.Some("line\r\nline"),
					Tags: api.Some([]string{"Go", " go", "Language  tools"}), FolderID: api.Some(folder.ID),
					Extra: api.Some(map[string]string{"PRIVATE": "1"}), SnapshotEnabled: api.Some(true), ReaderExcerpt: api.Some("excerpt"),
					VideoEmbedURL: api.Some("https://video.example/embed"), CreatedAt: api.Some(must[api.Time](t)(api.ParseTime("2001-01-01T00:00:00Z"))),
				}))
				got, etag, err := c.GetBookmarkRev(ctx, place, created.ID)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(got) != fmt.Sprint(created) {
					t.Errorf("read back\n%+v\nwant\n%+v", got, created)
				}
				if got.URL != "https://go.dev/?a=b" || got.Title != "The   Go language" || got.Description != "line\nline" ||
					!slices.Equal(got.Tags, []string{"Go", "Language tools"}) || got.FolderID != folder.ID || got.SortOrder != api.SortGap ||
					got.Extra["PRIVATE"] != "1" || !got.SnapshotEnabled || got.ReaderExcerpt != "excerpt" || got.LinkStatus != api.LinkUnknown ||
					got.Archive.Status != api.ArchiveNone || got.VideoEmbedURL != "https://video.example/embed" || got.CreatedAt.Year() < 2025 {
					t.Errorf("stored %+v", got)
				}

				changed := must[api.Bookmark](t)(c.UpdateBookmark(ctx, place, created.ID, api.BookmarkInput{
					Title: api.Some("Go"), Description: api.Clear[string](), Tags: api.Clear[[]string](), FolderID: api.Some(""),
				}, client.IfMatch(etag)))
				if changed.Title != "Go" || changed.Description != "" || len(changed.Tags) != 0 || changed.FolderID != "" || changed.URL != got.URL {
					t.Errorf("changed to %+v", changed)
				}
				_, err = c.UpdateBookmark(ctx, place, created.ID, api.BookmarkInput{Title: api.Some("lost update")}, client.IfMatch(etag))
				refused(t, err, api.CodePreconditionFailed, "changed")
				refused(t, c.DeleteBookmark(ctx, place, created.ID, client.IfMatch(etag)), api.CodePreconditionFailed, "changed")

				_, fresh, _ := c.GetBookmarkRev(ctx, place, created.ID)
				_ = must[api.Bookmark](t)(c.UpdateBookmark(ctx, place, created.ID, api.BookmarkInput{Title: api.Some("Go")}, client.IfMatch(fresh)))
				if _, again, _ := c.GetBookmarkRev(ctx, place, created.ID); again != fresh {
					t.Errorf("an edit that changes nothing moved the ETag from %s to %s", fresh, again)
				}

				if err := c.DeleteBookmark(ctx, place, created.ID, client.IfMatch(fresh)); err != nil {
					t.Fatal(err)
				}
				_, err = c.GetBookmark(ctx, place, created.ID)
				refused(t, err, api.CodeNotFound, "bookmark")
				_, err = c.UpdateBookmark(ctx, place, created.ID, api.BookmarkInput{Title: api.Some("x")})
				refused(t, err, api.CodeNotFound, "bookmark")
				back := must[api.Bookmark](t)(c.RestoreBookmark(ctx, ada.Workspace.ID, created.ID))
				if back.Title != "Go" || !back.DeletedAt.IsZero() {
					t.Errorf("restored %+v", back)
				}
				for range 2 { // into the trash, and out of it for good
					if err := c.DeleteBookmark(ctx, place, created.ID); err != nil {
						t.Fatal(err)
					}
				}
				_, err = c.RestoreBookmark(ctx, ada.Workspace.ID, created.ID)
				refused(t, err, api.CodeNotFound, "bookmark")
				refused(t, c.DeleteBookmark(ctx, place, created.ID), api.CodeNotFound, "bookmark")
			})
		}
	})
}

func TestACreateThatIsSentAgain(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		bob := servertest.Join(t, s, "bob")
		place := client.InWorkspace(ada.Workspace.ID)
		in := api.BookmarkInput{ID: api.Some("01920000-0000-7000-8000-00000000000a"), URL: api.Some("https://go.dev"), Title: api.Some("Go")}
		first := must[api.Bookmark](t)(ada.Key.CreateBookmark(ctx, place, in))
		if again := must[api.Bookmark](t)(ada.Key.CreateBookmark(ctx, place, in)); fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("the same again made %+v of %+v", again, first)
		}
		if n := must[int](t)(ada.Key.CountBookmarks(ctx, ada.Workspace.ID, api.BookmarkFilter{})); n != 1 {
			t.Errorf("there are %d", n)
		}
		in.Title = api.Some("other")
		_, err := ada.Key.CreateBookmark(ctx, place, in)
		refused(t, err, api.CodeConflict, "taken")
		_, err = bob.Key.CreateBookmark(ctx, client.InWorkspace(bob.Workspace.ID), in)
		refused(t, err, api.CodeConflict, "taken")
		_, err = ada.Key.CreateFolder(ctx, ada.Workspace.ID, api.FolderInput{ID: api.Some("not an id"), Name: api.Some("x")})
		refused(t, err, api.CodeValidation, "body.id")
		// What was deleted since is not made again by a request that came late.
		if err := ada.Key.DeleteBookmark(ctx, place, first.ID); err != nil {
			t.Fatal(err)
		}
		in.Title = api.Some("Go")
		_, err = ada.Key.CreateBookmark(ctx, place, in)
		refused(t, err, api.CodeConflict, "taken")
	})
}

func TestWhatABookmarkMayNotBe(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		bob := servertest.Join(t, s, "bob")
		theirs := must[api.Folder](t)(bob.Key.CreateFolder(ctx, bob.Workspace.ID, api.FolderInput{Name: api.Some("theirs")}))
		for field, in := range map[string]api.BookmarkInput{
			"body.url":           {URL: api.Some("go.dev")},
			"body.title":         {Title: api.Some(strings.Repeat("x", api.MaxTitle+1))},
			"body.tags":          {Tags: api.Some(make([]string, api.MaxTags+1))},
			"body.folderId":      {FolderID: api.Some(theirs.ID)},
			"body.videoEmbedUrl": {VideoEmbedURL: api.Some("javascript:alert(1)")},
			"body.extra":         {Extra: api.Some(map[string]string{"ONCLICK": "x"})},
		} {
			_, err := ada.Key.CreateBookmark(ctx, client.InWorkspace(ada.Workspace.ID), in)
			refused(t, err, api.CodeValidation, field)
		}
		// What an export may hold is fine: any scheme, and an address as long as
		// the limit, which the search index and the key must take too.
		for _, url := range []string{"javascript:alert(1)", "place:sort=8", "data:text/plain;base64," + strings.Repeat("QUJD", 15_000), ""} {
			b := must[api.Bookmark](t)(ada.Key.CreateBookmark(ctx, client.InWorkspace(ada.Workspace.ID), api.BookmarkInput{URL: api.Some(url)}))
			if b.URL != url || (url == "") != (b.Title == api.Untitled) {
				t.Errorf("%.30q is stored as %.30q, %q", url, b.URL, b.Title)
			}
		}
	})
}

func TestListsAndTheirOrder(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, place := ada.Key, client.InWorkspace(ada.Workspace.ID)
		dev := must[api.Folder](t)(c.CreateFolder(ctx, ada.Workspace.ID, api.FolderInput{Name: api.Some("Dev")}))
		lang := must[api.Folder](t)(c.CreateFolder(ctx, ada.Workspace.ID, api.FolderInput{Name: api.Some("Lang"), ParentID: api.Some(dev.ID)}))
		for i, title := range []string{"c", "a", "B", "d", "e"} {
			in := api.BookmarkInput{Title: api.Some(title), URL: api.Some("https://example.test/" + title)}
			if i < 2 {
				in.FolderID, in.Tags = api.Some([]string{dev.ID, lang.ID}[i]), api.Some([]string{"x", "Łódź"}[:i+1])
			}
			must[api.Bookmark](t)(c.CreateBookmark(ctx, place, in))
		}
		gone := add(t, c, place, "https://gone.test", "gone")
		if err := c.DeleteBookmark(ctx, place, gone.ID); err != nil {
			t.Fatal(err)
		}
		for want, q := range map[string]client.ListQuery{
			"e d B a c": {},
			"a B c d e": {SortBy: "title"},
			"e d c B a": {SortBy: "-title"},
			"B a c d e": {SortBy: "url"},
			"c a":       {BookmarkFilter: api.BookmarkFilter{Tags: []string{"X"}}, SortBy: "createdAt"},
			"a":         {BookmarkFilter: api.BookmarkFilter{Tags: []string{"x", "łódź"}}},
			"c":         {BookmarkFilter: api.BookmarkFilter{FolderID: dev.ID}},
			"a c":       {BookmarkFilter: api.BookmarkFilter{FolderID: dev.ID, Recursive: true}},
			"e d B":     {BookmarkFilter: api.BookmarkFilter{FolderID: api.RootFolder}},
			"B d e":     {BookmarkFilter: api.BookmarkFilter{FilterStatus: "unfiled"}, SortBy: "createdAt"},
			"gone":      {BookmarkFilter: api.BookmarkFilter{FilterStatus: "deleted"}},
			"d e":       {BookmarkFilter: api.BookmarkFilter{FilterStatus: "untagged", Query: "d OR site:example.test -B"}, SortBy: "sortOrder"},
			"d B":       {Limit: 2, Offset: 1},
		} {
			if got := titles(must[[]api.Bookmark](t)(c.ListBookmarks(ctx, place, q))); got != want {
				t.Errorf("%+v lists %q, want %q", q, got, want)
			}
			if q.Limit == 0 {
				if n := must[int](t)(c.CountBookmarks(ctx, ada.Workspace.ID, q.BookmarkFilter)); n != len(strings.Fields(want)) {
					t.Errorf("%+v counts %d, want %d", q, n, len(strings.Fields(want)))
				}
			}
		}
		for about, q := range map[string]client.ListQuery{
			"query.sortBy":   {SortBy: "random"},
			"relevance":      {SortBy: "relevance"},
			"query.folderId": {BookmarkFilter: api.BookmarkFilter{FolderID: "01920000-0000-7000-8000-00000000000a"}},
		} {
			_, err := c.ListBookmarks(ctx, place, q)
			refused(t, err, api.CodeValidation, about)
		}
	})
}

// Pages by cursor hold each bookmark once, whatever is added meanwhile.
func TestPagesStayStable(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, place := ada.Key, client.InWorkspace(ada.Workspace.ID)
		var want []string
		for i := range 23 {
			// Some URLs are alike as far as they are sorted by.
			address := fmt.Sprintf("https://example.test/%s%d", strings.Repeat("ü", 200*(i%5)), i)
			want = append(want, add(t, c, place, address, "word "+string(rune('a'+i%3))).ID)
		}
		slices.Sort(want)
		for _, q := range []client.ListQuery{
			{},
			{SortBy: "title"},
			{SortBy: "-title"},
			{SortBy: "url"},
			{SortBy: "-url"},
			{SortBy: "-updatedAt"},
			{SortBy: "sortOrder"},
			{SortBy: "relevance", BookmarkFilter: api.BookmarkFilter{Query: "word"}},
		} {
			q.Limit = 5
			var got []string
			cursor := ""
			for {
				page := must[api.Page[api.Bookmark]](t)(c.PageBookmarks(ctx, place, q, cursor))
				for i := range page.Data {
					got = append(got, page.Data[i].ID)
				}
				if !page.Pagination.HasMore {
					break
				}
				cursor = *page.Pagination.NextCursor
				if len(got) == 5 && q.SortBy == "" {
					add(t, c, place, "https://example.test/late", "late")
				}
			}
			if q.SortBy != "" {
				q.Limit = 0
				for i, b := range must[[]api.Bookmark](t)(c.ListBookmarks(ctx, place, q)) {
					if i >= len(got) || got[i] != b.ID {
						t.Fatalf("%s: the pages have another order than the list", q.SortBy)
					}
				}
			}
			slices.Sort(got)
			if q.SortBy == "" {
				// The late one is newer than what was read: it is on no later page.
				if !slices.Equal(got, want) {
					t.Errorf("by default %d rows of %d", len(got), len(want))
				}
				list := must[[]api.Bookmark](t)(c.SearchBookmarks(ctx, ada.Workspace.ID, "late", 10, 0))
				if err := c.DeleteBookmark(ctx, place, list[0].ID); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v pages through %d rows, want %d, each once", q, len(got), len(want))
			}
		}
		page := must[api.Page[api.Bookmark]](t)(c.PageBookmarks(ctx, place, client.ListQuery{Limit: 5}, ""))
		_, err := c.PageBookmarks(ctx, place, client.ListQuery{Limit: 5, SortBy: "url"}, *page.Pagination.NextCursor)
		refused(t, err, api.CodeValidation, "query.cursor")
	})
}

func TestSearchRanksTitlesFirst(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, place := ada.Key, client.InWorkspace(ada.Workspace.ID)
		bob := servertest.Join(t, s, "bob")
		add(t, bob.Key, client.InWorkspace(bob.Workspace.ID), "https://secret.test", "lodz of another")
		must[api.Bookmark](t)(c.CreateBookmark(ctx, place, api.BookmarkInput{Title: api.Some("in-description"), Description: api.Some("about Łódź")}))
		add(t, c, place, "https://lodz.example/", "in-url")
		add(t, c, place, "https://a.test", "in-tags", "lodz")
		add(t, c, place, "https://b.test", "Łódź")
		add(t, c, place, "https://c.test", "Lodzkie")
		for q, want := range map[string]string{
			"lodz": "Łódź Lodzkie in-tags in-url in-description", "lodz -tag:lodz -site:lodz.example": "Łódź Lodzkie in-description", "": "Lodzkie Łódź in-tags in-url in-description",
			"(((": "", "nothing": "",
		} {
			if got := titles(must[[]api.Bookmark](t)(c.SearchBookmarks(ctx, ada.Workspace.ID, q, 50, 0))); got != want && q != "(((" {
				t.Errorf("%q finds %q, want %q", q, got, want)
			}
		}
	})
}

// Where a filter narrows a common word, the old bookmark that passes is found
// however many newer ones do not.
func TestSearchWithinAFilterLooksBehindTheNewest(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of rows")
	}
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, place := ada.Key, client.InWorkspace(ada.Workspace.ID)
		add(t, c, place, "https://old.test", "common word", "rare")
		var file strings.Builder
		file.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
		for i := range 2500 {
			fmt.Fprintf(&file, "<DT><A HREF=\"https://example.test/%d\">common %d</A>\n", i, i)
		}
		if sum := must[api.ImportSummary](t)(c.Import(ctx, place, "x.html", strings.NewReader(file.String()+"</DL>"), "")); sum.Imported != 2500 {
			t.Fatalf("%+v", sum)
		}
		for _, q := range []string{"common tag:rare", "common -example"} {
			if got := titles(must[[]api.Bookmark](t)(c.SearchBookmarks(ctx, ada.Workspace.ID, q, 5, 0))); got != "common word" {
				t.Errorf("%q finds %q", q, got)
			}
		}
		filter := client.ListQuery{BookmarkFilter: api.BookmarkFilter{Query: "common", Tags: []string{"rare"}}, SortBy: "relevance"}
		if got := titles(must[[]api.Bookmark](t)(c.ListBookmarks(ctx, place, filter))); got != "common word" {
			t.Errorf("a filtered list finds %q", got)
		}
	})
}

func TestTagsRenamedAndMerged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		c, id, place := ada.Key, ada.Workspace.ID, client.InWorkspace(ada.Workspace.ID)
		first := add(t, c, place, "https://a.test", "a", "golang", "x", "Go")
		second := add(t, c, place, "https://b.test", "b", "GOLANG")
		third := add(t, c, place, "https://c.test", "c", "x")
		if n := must[int](t)(c.RenameTag(ctx, id, api.TagRename{From: "Golang", To: " GO "})); n != 2 {
			t.Errorf("renamed %d", n)
		}
		if got := must[api.Bookmark](t)(c.GetBookmark(ctx, place, first.ID)).Tags; !slices.Equal(got, []string{"GO", "x"}) {
			t.Errorf("the first has %q", got)
		}
		if n := must[int](t)(c.MergeTags(ctx, id, api.TagMerge{From: []string{"go", "x", "none"}, Into: "all"})); n != 3 {
			t.Errorf("merged %d", n)
		}
		for _, b := range []api.Bookmark{first, second, third} {
			if got := must[api.Bookmark](t)(c.GetBookmark(ctx, place, b.ID)).Tags; !slices.Equal(got, []string{"all"}) {
				t.Errorf("%s has %q", b.Title, got)
			}
		}
		if tags := must[[]api.Tag](t)(c.ListTags(ctx, id)); fmt.Sprint(tags) != "[{all 3}]" {
			t.Errorf("the tags are %v", tags)
		}
		// More than one transaction takes.
		var file strings.Builder
		for i := range 700 {
			fmt.Fprintf(&file, "<DT><A HREF=https://%d.example/ TAGS=many,twin%d>x</A>\n", i, i%2)
		}
		must[api.ImportSummary](t)(c.Import(ctx, client.InWorkspace(id), "x.html", strings.NewReader("<!DOCTYPE NETSCAPE-Bookmark-file-1>"+file.String()), ""))
		if n := must[int](t)(c.RenameTag(ctx, id, api.TagRename{From: "many", To: "MANY"})); n != 700 {
			t.Errorf("another spelling of 700 changed %d", n)
		}
		if n := must[int](t)(c.MergeTags(ctx, id, api.TagMerge{From: []string{"twin0", "many"}, Into: "twin1"})); n != 700 {
			t.Errorf("a merge of 700 changed %d", n)
		}
		tags := must[[]api.Tag](t)(c.ListTags(ctx, id))
		if i := slices.IndexFunc(tags, func(tag api.Tag) bool { return tag.Name == "twin1" }); i < 0 || tags[i].Count != 700 {
			t.Errorf("tags %+v", tags)
		}
		_, err := c.RenameTag(ctx, id, api.TagRename{From: "all", To: " "})
		refused(t, err, api.CodeValidation, "body.to")
		_, err = c.MergeTags(ctx, id, api.TagMerge{From: []string{"all"}, Into: strings.Repeat("x", api.MaxTag+1)})
		refused(t, err, api.CodeValidation, "body.into")
	})
}

func TestManyAtOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada := t.Context(), servertest.Join(t, s, "ada")
		bob := servertest.Join(t, s, "bob")
		c, id, place := ada.Key, ada.Workspace.ID, client.InWorkspace(ada.Workspace.ID)
		theirs := add(t, bob.Key, client.InWorkspace(bob.Workspace.ID), "https://theirs.test", "theirs")
		other := must[api.Workspace](t)(ada.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "Other"}))
		folder := must[api.Folder](t)(c.CreateFolder(ctx, id, api.FolderInput{Name: api.Some("F")}))
		below := must[api.Folder](t)(c.CreateFolder(ctx, id, api.FolderInput{Name: api.Some("G"), ParentID: api.Some(folder.ID)}))
		a, b, d := add(t, c, place, "https://a.test", "a", "t"), add(t, c, place, "https://b.test", "b", "t"), add(t, c, place, "https://d.test", "d")

		moved := must[api.Moved](t)(c.MoveBookmarks(ctx, id, api.Move{IDs: []string{a.ID, b.ID, a.ID, theirs.ID}, FolderID: api.Some(below.ID)}))
		if moved.MovedCount != 2 || !slices.Equal(moved.NotFound, []string{theirs.ID}) {
			t.Errorf("moved %+v", moved)
		}
		list := must[[]api.Bookmark](t)(c.ListBookmarks(ctx, place, client.ListQuery{BookmarkFilter: api.BookmarkFilter{FolderID: below.ID}, SortBy: "sortOrder"}))
		if titles(list) != "a b" || list[0].SortOrder == list[1].SortOrder {
			t.Errorf("moved to %+v", list)
		}

		moved = must[api.Moved](t)(c.MoveBookmarks(ctx, id, api.Move{IDs: []string{d.ID}, WorkspaceID: api.Some(other.ID)}))
		there := must[[]api.Bookmark](t)(c.ListBookmarks(ctx, client.InWorkspace(other.ID), client.ListQuery{}))
		if moved.MovedCount != 1 || len(there) != 1 || there[0].URL != d.URL || there[0].CreatedAt != d.CreatedAt || there[0].WorkspaceID != other.ID {
			t.Errorf("moved to the other workspace: %+v", there)
		}
		if trash := must[[]api.Bookmark](t)(c.ListBookmarks(ctx, place, client.ListQuery{BookmarkFilter: api.BookmarkFilter{FilterStatus: "deleted"}})); titles(trash) != "d" {
			t.Errorf("the trash holds %q", titles(trash))
		}
		_, err := c.MoveBookmarks(ctx, id, api.Move{IDs: []string{a.ID}, WorkspaceID: api.Some(bob.Workspace.ID)})
		refused(t, err, api.CodeValidation, "body.workspaceId")
		// A folder is one of the workspace that they go to.
		_, err = c.MoveBookmarks(ctx, id, api.Move{IDs: []string{a.ID}, WorkspaceID: api.Some(other.ID), FolderID: api.Some(below.ID)})
		refused(t, err, api.CodeValidation, "body.folderId")

		gone := must[api.BulkDeleted](t)(c.BulkDelete(ctx, id, []string{a.ID, a.ID, theirs.ID, d.ID}))
		if gone.DeletedCount != 1 || !slices.Equal(gone.NotFound, []string{theirs.ID, d.ID}) {
			t.Errorf("bulk delete: %+v", gone)
		}
		for about, in := range map[string]api.DeleteByScope{
			"body.confirm":  {Scope: api.DeleteAll},
			"body.folderId": {Scope: api.DeleteFolder, Confirm: true},
			"body.tag":      {Scope: api.DeleteTag, Confirm: true},
			"names no":      {Scope: api.DeleteFolder, FolderID: api.Some(theirs.ID), Confirm: true},
			"body.scope":    {Scope: "everything", Confirm: true},
			"no folder of":  {Scope: api.DeleteFolder, FolderID: api.Some(api.RootFolder), Confirm: true},
		} {
			_, err := c.DeleteByScope(ctx, id, in)
			refused(t, err, api.CodeValidation, about)
		}
		e := add(t, c, place, "https://e.test", "e", "T")
		for _, step := range []struct {
			in   api.DeleteByScope
			want int
		}{
			{api.DeleteByScope{Scope: api.DeleteFolder, FolderID: api.Some(folder.ID)}, 1},
			{api.DeleteByScope{Scope: api.DeleteTag, Tag: api.Some("t")}, 1},
			{api.DeleteByScope{Scope: api.DeleteDead}, 0},
			{api.DeleteByScope{Scope: api.DeleteAll}, 0},
		} {
			step.in.Confirm = true
			if n := must[int](t)(c.DeleteByScope(ctx, id, step.in)); n != step.want {
				t.Errorf("%s deleted %d, want %d", step.in.Scope, n, step.want)
			}
		}
		if back := must[api.Bookmark](t)(c.RestoreBookmark(ctx, id, e.ID)); !slices.Equal(back.Tags, []string{"T"}) {
			t.Errorf("restored %+v", back)
		}
		if found := must[[]api.Bookmark](t)(c.SearchBookmarks(ctx, id, "tag:t", 5, 0)); titles(found) != "e" {
			t.Errorf("what was restored is not found: %q", titles(found))
		}
		if theirs := must[[]api.Bookmark](t)(bob.Key.ListBookmarks(ctx, client.InWorkspace(bob.Workspace.ID), client.ListQuery{})); len(theirs) != 1 {
			t.Errorf("another tenant has %d", len(theirs))
		}
	})
}

// Another tenant's bookmark answers like one that does not exist.
func TestAnotherTenantsBookmark(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, ada, bob := t.Context(), servertest.Join(t, s, "ada"), servertest.Join(t, s, "bob")
		theirs := add(t, bob.Key, client.InWorkspace(bob.Workspace.ID), "https://theirs.test", "theirs")
		place := client.InWorkspace(ada.Workspace.ID)
		const unknown = "01920000-0000-7000-8000-00000000000a"
		for _, ask := range []func(id string) error{
			func(id string) error { _, err := ada.Key.GetBookmark(ctx, place, id); return err },
			func(id string) error {
				_, err := ada.Key.UpdateBookmark(ctx, place, id, api.BookmarkInput{Title: api.Some("x")})
				return err
			},
			func(id string) error { return ada.Key.DeleteBookmark(ctx, place, id) },
			func(id string) error { _, err := ada.Key.RestoreBookmark(ctx, ada.Workspace.ID, id); return err },
		} {
			one, other := ask(theirs.ID), ask(unknown)
			if api.CodeOf(one) != api.CodeNotFound || one.Error() != other.Error() || ask("x").Error() != one.Error() {
				t.Errorf("theirs: %v; unknown: %v", one, other)
			}
		}
		_, err := ada.Key.ListBookmarks(ctx, client.InWorkspace(bob.Workspace.ID), client.ListQuery{})
		refused(t, err, api.CodeNotFound, "no such workspace")
		_, err = ada.Key.ListBookmarks(ctx, client.ByKey(bob.Workspace.ID), client.ListQuery{})
		refused(t, err, api.CodeValidation, "header.X-Workspace-ID")
	})
}
