package syncer_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange/exchangetest"
	"bm/syncer"
)

// BenchmarkRepair is what the repair of a replica of 100,000 takes, and the round
// after it.
func BenchmarkRepair(b *testing.B) {
	changes := changesOf(exchangetest.Make(1, benchRows))
	whole := filepath.Join(b.TempDir(), "replica.db")
	ids := api.NewIDs(time.Now, rand.Reader)
	s, err := localstore.Open(b.Context(), localstore.Options{Path: whole, IDs: ids})
	if err != nil {
		b.Fatal(err)
	}
	r, err := s.Mirror(b.Context(), api.Workspace{ID: "w"}, true)
	if err != nil {
		b.Fatal(err)
	}
	shelf := newShelf(slices.Clone(changes))
	_, err = syncer.New(syncer.Config{Store: s, Remote: shelf, IDs: ids}).Round(b.Context(), r.N)
	if err := errors.Join(err, s.Close()); err != nil {
		b.Fatal(err)
	}
	sound, err := os.ReadFile(whole)
	if err != nil {
		b.Fatal(err)
	}
	const page = 4096
	// A leaf of an index, and one of a table, by what is in them.
	leaf := func(kind byte, holds string) int {
		for at := len(sound) / 2 / page * page; at+page <= len(sound); at += page {
			if sound[at] == kind && bytes.Contains(sound[at:at+page], []byte(holds)) {
				return at
			}
		}
		b.Fatal("no such page")
		return 0
	}
	for _, c := range []struct {
		what string
		at   int
	}{{"an index", leaf(10, changes[0].ID[:6])}, {"rows", leaf(13, "https://")}, {"the first page", 0}} {
		b.Run(c.what, func(b *testing.B) {
			var mending, syncing time.Duration
			for b.Loop() {
				b.StopTimer()
				damaged := slices.Clone(sound)
				copy(damaged[c.at:], bytes.Repeat([]byte{0xee}, page))
				path := filepath.Join(b.TempDir(), "replica.db")
				if err := os.WriteFile(path, damaged, 0o600); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				began := time.Now()
				mended, did, err := localstore.Recover(b.Context(), localstore.Options{Path: path, IDs: ids})
				if err != nil || did.Aside == "" {
					b.Fatalf("%+v, %v", did, err)
				}
				mending += time.Since(began)
				began = time.Now()
				report, err := syncer.New(syncer.Config{Store: mended, Remote: shelf, IDs: ids}).Round(b.Context(), r.N)
				if err != nil || report.Waiting != 0 {
					b.Fatalf("%+v, %v", report, err)
				}
				syncing += time.Since(began)
				if err := mended.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(mending.Milliseconds())/float64(b.N), "repair-ms")
			b.ReportMetric(float64(syncing.Milliseconds())/float64(b.N), "round-ms")
		})
	}
}
