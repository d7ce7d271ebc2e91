package localstore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/query/querytest"
	"bm/server/api/rules"
)

// A search by relevance is one list, however many a word finds and however it
// is asked for: in pages of any size, as a whole, and of few or of many hits, each
// bookmark stands in it once, in its place.
func TestASearchIsOneListToItsEnd(t *testing.T) {
	const rows = 6000
	rng := rand.New(rand.NewPCG(4, 1))
	for name, date := range map[string]func() int{
		"of many days":                   func() int { return rng.IntN(rows / 4) },
		"most of which came in one file": func() int { return max(rng.IntN(rows)-rows*7/8, 0)*(rng.IntN(3)-1) + rows },
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
			mirror(t, s, "before")
			r := mirror(t, s, "w")
			all := worded(t, s, r, rng, date, rows)
			worded(t, s, r-1, rng, date, 60)
			oneList(t, s, r, all)
		})
	}
}

func oneList(t *testing.T, s *localstore.Store, r int64, all []localstore.Entity) {
	t.Helper()
	for _, text := range []string{
		"common", "com", "middling", "rare", "rar", "common middling", "common -middling", "middling OR rare", "#common", "common #rare",
		"-common", "is:dead", "common OR is:dead", "東京", "none",
	} {
		want := ranked(all, text)
		filter := api.BookmarkFilter{Query: text}
		for _, limit := range []int{0, 7, 50, 900, 2300} {
			q := localstore.List{Replica: r, BookmarkFilter: filter, SortBy: "relevance", Limit: limit}
			var got []string
			for {
				page, err := s.Bookmarks(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for i := range page.Bookmarks {
					got = append(got, page.Bookmarks[i].ID)
				}
				if q.Cursor = page.Next; q.Cursor == "" || limit > 0 && limit < 100 && len(got) > 300 {
					break // the first pages will do
				}
			}
			want := want
			if q.Cursor != "" {
				want = want[:min(len(want), len(got))]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, in pages of %d: %d are found, want %d, or in another order", text, limit, len(got), len(want))
			}
		}
		if n, err := s.Count(t.Context(), localstore.List{Replica: r, BookmarkFilter: filter}); err != nil || n != len(want) {
			t.Errorf("%s: it counts %d, %v, want %d", text, n, err, len(want))
		}
		var streamed []string
		for b, err := range s.All(t.Context(), localstore.List{Replica: r, BookmarkFilter: filter}) {
			if err != nil {
				t.Fatal(err)
			}
			streamed = append(streamed, b.ID)
		}
		if !slices.Equal(streamed, want) {
			t.Errorf("%s, as a stream: %d are found, want %d, or in another order", text, len(streamed), len(want))
		}
	}
}

// worded fills a workspace with bookmarks whose words are known, made on days that
// say nothing of the order in which they came, many of them on the same.
func worded(t *testing.T, s *localstore.Store, replica int64, rng *rand.Rand, date func() int, n int) []localstore.Entity {
	t.Helper()
	all := make([]localstore.Entity, n)
	for i, place := range rng.Perm(n) {
		e := localstore.Entity{Type: api.TypeBookmark, ID: fmt.Sprintf("%d-%05d", replica, place), Rev: int64(i + 1)}
		e.Title, e.URL = fmt.Sprint("title ", i), fmt.Sprintf("https://%d.example/", i)
		e.CreatedAt = api.At(time.Date(2020, 1, 1+date(), 0, 0, 0, 0, time.UTC))
		e.LinkStatus, e.Archive.Status = api.LinkOK, api.ArchiveNone
		if rng.IntN(20) == 0 {
			e.LinkStatus = api.LinkDead
		}
		for word, one := range map[string]int{"common": 2, "commoner": 9, "middling": 30, "rare": 900, "東京都": 300} {
			if place%one == 1 {
				e.Title += " " + word
			}
			if place%(one*3) == 2 {
				e.Tags = append(e.Tags, word)
			}
			if place%(one*2) == 3 {
				e.Description += " " + word
			}
		}
		slices.Sort(e.Tags)
		all[i] = e
	}
	syncing(t, s, replica, func(tx *localstore.SyncTx) error { return tx.Insert(slices.Clone(all)) })
	return all
}

// ranked are the ids of what a query finds among some bookmarks, best first.
func ranked(all []localstore.Entity, text string) []string {
	q := query.Parse(text)
	var hits []query.Hit
	for i := range all {
		e := &all[i]
		row := query.Row{
			Index:     query.NewIndex(query.Document{Title: e.Title, Tags: e.Tags, URL: e.URL, Description: e.Description}),
			CreatedAt: e.CreatedAt.Time, LinkStatus: string(e.LinkStatus), FolderID: e.Parent,
		}
		for _, tag := range e.Tags {
			row.TagKeys = append(row.TagKeys, rules.TagKey(tag))
		}
		if tier, ok := q.Match(row, nil); ok {
			hits = append(hits, query.Hit{Tier: tier, CreatedAt: e.CreatedAt.Micros(), ID: e.ID})
		}
	}
	slices.SortFunc(hits, query.Hit.Compare)
	ids := make([]string, len(hits))
	for i := range hits {
		ids[i] = hits[i].ID
	}
	return ids
}

// The replica finds of the corpus what every engine finds, in the same order.
func TestTheCorpusIsFound(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "replica.db"))
	elsewhere, r := mirror(t, s, "elsewhere"), mirror(t, s, "w")
	for _, b := range querytest.Corpus() {
		e := localstore.Entity{Type: api.TypeBookmark, ID: b.ID, Rev: 1}
		e.Parent, e.URL, e.Title, e.Description, e.Tags = b.FolderID, b.URL, b.Title, b.Description, b.Tags
		e.CreatedAt, e.LinkStatus, e.Archive.Status = api.At(b.CreatedAt), api.LinkStatus(b.LinkStatus), api.ArchiveStatus(b.ArchiveStatus)
		into := r
		if b.Elsewhere {
			into = elsewhere
		}
		syncing(t, s, into, func(tx *localstore.SyncTx) error { return tx.Insert([]localstore.Entity{e}) })
		if b.Deleted {
			edit(t, s, r, func(ed *localstore.Editor) error {
				_, err := ed.DeleteBookmarks(b.ID)
				return err
			})
		}
	}
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		var folders []localstore.Entity
		for _, f := range querytest.Folders() {
			e := localstore.Entity{Type: api.TypeFolder, ID: f.ID, Rev: 1}
			e.Parent, e.Title = f.ParentID, f.Name
			folders = append(folders, e)
		}
		return tx.Insert(folders)
	})
	for i, test := range querytest.Cases() {
		filter := api.BookmarkFilter{Query: test.Query}
		for _, limit := range []int{0, 200, 1 + i%3} {
			if got := found(t, s, localstore.List{Replica: r, BookmarkFilter: filter, SortBy: "relevance", Limit: limit}); !slices.Equal(got, test.Names) {
				t.Errorf("%s, in pages of %d: %v, want %v", test.Query, limit, got, test.Names)
			}
		}
		sorted := slices.Sorted(slices.Values(test.Names))
		got := found(t, s, localstore.List{Replica: r, BookmarkFilter: filter, SortBy: "-url", Limit: 2})
		if slices.Sort(got); !slices.Equal(got, sorted) {
			t.Errorf("%s, by URL: %v, want %v", test.Query, got, sorted)
		}
		if n, err := s.Count(t.Context(), localstore.List{Replica: r, BookmarkFilter: filter}); err != nil || n != len(test.Names) {
			t.Errorf("%s: it counts %d, %v, want %d", test.Query, n, err, len(test.Names))
		}
	}
}

// found are the names of what a list holds, page after page.
func found(t *testing.T, s *localstore.Store, q localstore.List) []string {
	t.Helper()
	var ids []string
	for {
		page, err := s.Bookmarks(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Bookmarks {
			ids = append(ids, page.Bookmarks[i].ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return querytest.Names(ids)
		}
	}
}
