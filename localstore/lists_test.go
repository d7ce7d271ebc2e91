package localstore_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// Whichever way a list finds its rows, it holds what its filters leave, in its
// order and page after page: of a folder or a tag of few or of many, beside the
// rows of other workspaces.
func TestEveryListHoldsWhatItsFiltersLeave(t *testing.T) {
	lists := 150
	if testing.Short() {
		lists = 30
	}
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	rng := rand.New(rand.NewPCG(1, 3))
	mirror(t, s, "before")
	r := mirror(t, s, "w")
	all := shelve(t, s, r, rng, 3300)
	shelve(t, s, r-1, rng, 20)
	shelve(t, s, mirror(t, s, "behind"), rng, 20)

	tags := [][]string{nil, {"many"}, {"rare"}, {"many", "rare"}}
	folders := []string{"", api.RootFolder, "large", "small"}
	statuses := append([]string{"", ""}, api.FilterStatuses...)
	for range lists {
		q := localstore.List{Replica: r, Limit: 1 + rng.IntN(1500), BookmarkFilter: api.BookmarkFilter{
			Tags: tags[rng.IntN(len(tags))], FolderID: folders[rng.IntN(len(folders))],
			FilterStatus: statuses[rng.IntN(len(statuses))], Recursive: rng.IntN(2) == 0,
		}}
		if q.SortBy = api.SortKeys[rng.IntN(len(api.SortKeys)-1)]; rng.IntN(2) == 0 {
			q.SortBy = "-" + q.SortBy
		}
		if rng.IntN(5) == 0 {
			q.Query = "go"
		}
		want := left(all, q)
		if n, err := s.Count(t.Context(), q); err != nil || n != len(want) {
			t.Errorf("%+v: it counts %d, %v, want %d", q, n, err, len(want))
		}
		var got []string
		for pages := 0; pages < 3; pages++ {
			page, err := s.Bookmarks(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Bookmarks {
				got = append(got, page.Bookmarks[i].ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if q.Cursor != "" {
			want = want[:min(3*q.Limit, len(want))]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d are listed, want %d, or in another order", q, len(got), len(want))
		}
	}
}

// shelve fills a workspace with bookmarks, and answers them in the order in which
// they came.
func shelve(t *testing.T, s *localstore.Store, replica int64, rng *rand.Rand, n int) []localstore.Entity {
	t.Helper()
	folders := []localstore.Entity{{ID: "large"}, {ID: "small"}}
	folders[1].Parent = "large"
	for i := range folders {
		folders[i].Type, folders[i].Title, folders[i].Rev = api.TypeFolder, folders[i].ID, int64(i+1)
	}
	date := func() api.Time { return api.At(time.Date(2026, 1, 1+rng.IntN(300), 0, 0, 0, 0, time.UTC)) }
	all := make([]localstore.Entity, n)
	var gone []string
	for i := range all {
		e := localstore.Entity{Type: api.TypeBookmark, ID: fmt.Sprintf("%d-%05d", replica, i), Rev: int64(i + 3)}
		e.Title, e.URL = fmt.Sprint("title ", rng.IntN(n/3)), fmt.Sprintf("https://example.com/%d", rng.IntN(n))
		e.SortOrder, e.CreatedAt, e.UpdatedAt = int64(rng.IntN(n/2)), date(), date()
		e.LinkStatus, e.Archive.Status = api.LinkOK, api.ArchiveNone
		switch rng.IntN(60) {
		case 0:
			e.LinkStatus = api.LinkDead
		case 1:
			e.LinkStatus = api.LinkUnknown
		case 2:
			e.Archive.Status = api.ArchiveCaptured
		case 3:
			e.Title += " go"
		case 4:
			gone = append(gone, e.ID)
			if rng.IntN(2) == 0 {
				e.Title += " go"
			}
		}
		if rng.IntN(50) > 0 {
			e.Tags = append(e.Tags, "many")
		}
		if rng.IntN(50) == 0 {
			e.Tags = append(e.Tags, "rare")
		}
		if rng.IntN(30) > 0 {
			e.Parent = "large"
		} else if rng.IntN(2) == 0 {
			e.Parent = "small"
		}
		all[i] = e
	}
	syncing(t, s, replica, func(tx *localstore.SyncTx) error {
		if err := tx.Insert(folders); err != nil {
			return err
		}
		return tx.Insert(slices.Clone(all))
	})
	edit(t, s, replica, func(ed *localstore.Editor) error {
		_, err := ed.DeleteBookmarks(gone...)
		return err
	})
	for i := range all {
		if slices.Contains(gone, all[i].ID) {
			all[i].DeletedAt = api.At(time.Unix(1, 0))
		}
	}
	return all
}

// left is what the filters of a list leave of some bookmarks, in its order.
func left(all []localstore.Entity, q localstore.List) []string {
	var some []localstore.Entity
	for _, e := range all {
		in := map[string]bool{"": true, api.RootFolder: e.Parent == "" || q.Recursive, "large": e.Parent == "large" || e.Parent == "small" && q.Recursive, "small": e.Parent == "small"}
		is := map[string]bool{
			"": true, "deleted": true, "ok": e.LinkStatus == api.LinkOK, "dead": e.LinkStatus == api.LinkDead, "unknown": e.LinkStatus == api.LinkUnknown,
			"archived": e.Archive.Status == api.ArchiveCaptured, "untagged": len(e.Tags) == 0, "unfiled": e.Parent == "",
		}
		tagged := true
		for _, tag := range q.Tags {
			tagged = tagged && slices.Contains(e.Tags, tag)
		}
		if e.Deleted() == (q.FilterStatus == "deleted") && in[q.FolderID] && is[q.FilterStatus] && tagged &&
			(q.Query == "" || strings.HasSuffix(e.Title, " go")) {
			some = append(some, e)
		}
	}
	key, descending := strings.CutPrefix(q.SortBy, "-")
	slices.SortStableFunc(some, func(a, b localstore.Entity) int {
		var way int
		switch key {
		case "createdAt":
			way = a.CreatedAt.Compare(b.CreatedAt.Time)
		case "updatedAt":
			way = a.UpdatedAt.Compare(b.UpdatedAt.Time)
		case "title":
			way = strings.Compare(a.Title, b.Title)
		case "url":
			way = strings.Compare(a.URL, b.URL)
		case "sortOrder":
			way = cmp.Compare(a.SortOrder, b.SortOrder)
		}
		if way = cmp.Or(way, strings.Compare(a.ID, b.ID)); descending {
			return -way
		}
		return way
	})
	ids := make([]string, len(some))
	for i := range some {
		ids[i] = some[i].ID
	}
	return ids
}
