package server_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/exchange/exchangetest"
	"bm/server/ratelimit"
	"bm/server/servertest"
	"bm/server/sqldb/sqldbtest"
)

// BenchmarkSearch asks one after the other for the first 50 of what words of every
// kind find among a million bookmarks of one workspace, and for a page far behind.
func BenchmarkSearch(b *testing.B) {
	limits := ratelimit.Limits{Key: 1 << 30, Tenant: 1 << 30, IP: 1 << 30}
	b.Run("sqlite", func(b *testing.B) {
		benchmarkSearch(b, servertest.Start(b, server.Config{Dir: b.TempDir(), Limits: limits}))
	})
	b.Run("postgres", func(b *testing.B) {
		benchmarkSearch(b, servertest.Start(b, server.Config{DatabaseURL: sqldbtest.Postgres(b), Limits: limits}))
	})
}

func benchmarkSearch(b *testing.B, s *servertest.Server) {
	ctx, ada := b.Context(), servertest.Join(b, s, "ada")
	parts, rows := int64(10), 100_000
	if testing.Short() {
		parts, rows = 2, 3_000
	}
	for seed := range parts {
		var file bytes.Buffer
		if err := exchangetest.Generate(&file, seed, rows); err != nil {
			b.Fatal(err)
		}
		if _, err := ada.Key.Import(ctx, client.InWorkspace(ada.Workspace.ID), "x.html", &file, ""); err != nil {
			b.Fatal(err)
		}
	}
	searches := []struct {
		name, query string
		offset      int
	}{
		{"rare", exchangetest.RareWord, 0},
		{"middling", exchangetest.MiddlingWord, 0},
		{"common", exchangetest.CommonWord, 0},
		{"prefix", exchangetest.CommonWord[:2], 0},
		{"chinese", exchangetest.ChineseText, 0},
		{"far", exchangetest.CommonWord, 5_000},
	}
	for b.Loop() {
		took := make([][]time.Duration, len(searches))
		for range 15 {
			for i, search := range searches {
				began := time.Now()
				if _, err := ada.Key.SearchBookmarks(ctx, ada.Workspace.ID, search.query, api.DefaultPageSize, search.offset); err != nil {
					b.Fatal(err)
				}
				took[i] = append(took[i], time.Since(began))
			}
		}
		for i, search := range searches {
			slices.Sort(took[i])
			b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds())/1000, search.name+"-p50-ms")
		}
	}
	b.ReportMetric(0, "ns/op")
}
