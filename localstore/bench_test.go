package localstore_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"bm/localstore"
	"bm/localstore/storetest"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
)

const benchRows = 100_000

// BenchmarkBulk compares bulk work with its ceiling in the same run: a bare
// program over the same driver that inserts the same rows and indexes, and then
// fills FTS5 with one INSERT…SELECT.
func BenchmarkBulk(b *testing.B) {
	all := exchangetest.Make(1, benchRows)
	all.Renumber()
	b.Run("bare", func(b *testing.B) {
		schema, err := storetest.Schema("schema")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := storetest.Bare(b.Context(), filepath.Join(b.TempDir(), "bare.db"), schema, all); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
	b.Run("pulled", func(b *testing.B) {
		changes := changesOf(all)
		for b.Loop() {
			pulled(b, changes)
		}
		rate(b)
	})
	var file bytes.Buffer
	if err := exchange.WriteHTML(&file, all.Source()); err != nil {
		b.Fatal(err)
	}
	b.Run("imported", func(b *testing.B) {
		for b.Loop() {
			s, r := open(b)
			reader, err := exchange.NewReader(bytes.NewReader(file.Bytes()))
			if err != nil {
				b.Fatal(err)
			}
			summary, err := s.Import(b.Context(), reader, localstore.Import{Replica: r, Command: "import"})
			if err != nil || summary.Imported+summary.DuplicatesSkipped != benchRows {
				b.Fatalf("%d imported, %v", summary.Imported, err)
			}
		}
		rate(b)
	})
}

func rate(b *testing.B) {
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func changesOf(all *exchangetest.Collection) []api.Change {
	changes := make([]api.Change, 0, len(all.Folders)+len(all.Bookmarks))
	for i := range all.Folders {
		changes = append(changes, api.Change{Type: api.TypeFolder, ID: all.Folders[i].ID, Rev: int64(len(changes) + 1), Folder: &all.Folders[i]})
	}
	for i := range all.Bookmarks {
		changes = append(changes, api.Change{Type: api.TypeBookmark, ID: all.Bookmarks[i].ID, Rev: int64(len(changes) + 1), Bookmark: &all.Bookmarks[i]})
	}
	return changes
}

// pulled inserts what a bootstrap brings, in transactions as short as its.
func pulled(b *testing.B, changes []api.Change) {
	s, r := open(b)
	var pace localstore.Pace
	for len(changes) > 0 {
		some := changes[:min(pace.Rows(), len(changes))]
		changes = changes[len(some):]
		err := pace.Time(len(some), func() error {
			return s.Sync(b.Context(), r, func(tx *localstore.SyncTx) error {
				rows := make([]localstore.Entity, len(some))
				for i := range some {
					var err error
					if rows[i], err = localstore.EntityOf(&some[i]); err != nil {
						return err
					}
				}
				return tx.Insert(rows)
			})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAt100k is what a user waits for in a replica of 100,000.
func BenchmarkAt100k(b *testing.B) {
	all := exchangetest.Make(1, benchRows)
	path := filepath.Join(b.TempDir(), "replica.db")
	s := openAt(b, path)
	local, err := s.Local(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	r := local.N
	changes := changesOf(all)
	err = s.Sync(b.Context(), r, func(tx *localstore.SyncTx) error {
		rows := make([]localstore.Entity, len(changes))
		for i := range changes {
			if rows[i], err = localstore.EntityOf(&changes[i]); err != nil {
				return err
			}
		}
		return tx.Insert(rows)
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.FinishBulk(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("open and list 20", func(b *testing.B) {
		for b.Loop() {
			again, err := localstore.Open(b.Context(), localstore.Options{Path: path, ReadOnly: true})
			if err != nil {
				b.Fatal(err)
			}
			if page, err := again.Bookmarks(b.Context(), localstore.List{Replica: r, Limit: 20}); err != nil || len(page.Bookmarks) != 20 {
				b.Fatal(err)
			}
			if err := again.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, search := range []string{exchangetest.CommonWord, exchangetest.MiddlingWord, exchangetest.RareWord, exchangetest.ChineseText} {
		b.Run("search "+search, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Bookmarks(b.Context(), localstore.List{Replica: r, Limit: 20, BookmarkFilter: api.BookmarkFilter{Query: search}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("folders", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Folders(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tree", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Tree(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("add", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			in := bookmark(fmt.Sprintf("https://bench.example/%d/%d", i, time.Now().UnixNano()), "added", "one", "two")
			add(b, s, r, in)
		}
	})
}
