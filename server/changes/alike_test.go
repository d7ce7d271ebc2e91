package changes_test

import (
	"testing"

	"bm/server/api"
	"bm/server/api/client"
)

// Who makes what another has made since they last pulled hears of that first, and
// can unite the two. What they knew of is a duplicate on purpose.
func TestACreateIsStaleWhereTheLikeCameMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		there := y.folder("there", "")
		known := y.url("https://known.test/", there.ID)
		_, at := y.pull("", 0)
		y.url("HTTPS://Go.dev:443/doc", there.ID)
		y.url("https://go.dev/unfiled", "")
		gone := y.url("https://gone.test/", there.ID)
		if err := y.Key.DeleteBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), gone.ID); err != nil {
			t.Fatal(err)
		}
		y.folder("Dev", there.ID)
		if err := y.Key.DeleteFolder(t.Context(), y.Workspace.ID, y.folder("gone", "").ID); err != nil {
			t.Fatal(err)
		}
		_, now := y.pull("", 0)

		bookmark := func(url, folder string) api.Op {
			return api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"url": url, "folderId": folder})}
		}
		folder := func(name, parent string) api.Op {
			return api.Op{Action: api.OpCreate, Type: api.TypeFolder, ID: y.ids.New(), Set: set(map[string]any{"name": name, "parentId": parent})}
		}
		for _, c := range []struct {
			op   api.Op
			from api.ChangesPage
			want api.OpStatus
		}{
			{bookmark("https://go.dev/doc", there.ID), at, api.OpStale},
			{bookmark("https://go.dev/%75nfiled", ""), at, api.OpStale},
			{folder("Dev", there.ID), at, api.OpStale},
			{bookmark("https://go.dev/doc", ""), at, api.OpApplied},       // elsewhere
			{bookmark("https://gone.test/", there.ID), at, api.OpApplied}, // and gone again
			{bookmark(known.URL, there.ID), at, api.OpApplied},            // on purpose
			{bookmark("", there.ID), at, api.OpApplied},                   // which is like nothing
			{bookmark("", there.ID), at, api.OpApplied},
			{folder("dev", there.ID), at, api.OpApplied},
			{folder("Dev", ""), at, api.OpApplied},
			{folder("gone", ""), at, api.OpApplied},
			{bookmark("https://go.dev/unfiled", ""), now, api.OpApplied},
			{folder("Dev", there.ID), now, api.OpApplied},
			{bookmark("https://go.dev/unfiled", ""), api.ChangesPage{}, api.OpApplied}, // who pulls nothing can unite nothing
		} {
			result := y.one(c.from, c.op)
			if y.verdict(result, c.want, ""); c.want == api.OpStale && result.Entity != nil {
				t.Errorf("%s: the row that it is about is %+v", c.op.Set, result.Entity)
			}
		}
		y.checkDigest()
	})
}

// url makes a bookmark of a URL.
func (y *yard) url(url, folderID string) api.Bookmark {
	y.t.Helper()
	in := api.BookmarkInput{URL: api.Some(url), FolderID: api.Some(folderID)}
	return must[api.Bookmark](y.t)(y.Key.CreateBookmark(y.t.Context(), client.InWorkspace(y.Workspace.ID), in))
}

// The rest of a request is judged as ever, and the same op gets the same answer.
func TestAStaleCreateTakesNothingAlong(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		_, at := y.pull("", 0)
		y.url("https://go.dev/", "")
		var ops []api.Op
		for _, url := range []string{"https://one.test/", "https://go.dev/", "https://two.test/"} {
			ops = append(ops, api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"url": url})})
		}
		for range 2 {
			results, _ := y.push(at, ops...)
			for i, want := range []api.OpStatus{api.OpApplied, api.OpStale, api.OpApplied} {
				y.verdict(results[i], want, "")
			}
			if last := y.checkDigest(); last.Head.Count != 3 {
				t.Errorf("there are %d rows", last.Head.Count)
			}
		}
	})
}
