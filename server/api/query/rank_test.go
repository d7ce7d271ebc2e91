package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bm/server/api/query"
)

// Whichever way a tier is found, by looking at the newest rows or by an engine,
// a search is one list: of any page size, from any hit on, with many rows of one
// moment, and with none.
func TestRankIsOneList(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for range 60 {
		rows := candidates(rng, rng.IntN(900))
		for _, text := range []string{"often", "oft", "often rare", "rare", "often -rare", "#often", "-often", "often OR #rare", "none"} {
			q := query.Parse(text)
			var all []query.Hit
			tiers := make([]query.Tier, 10)
			for i := range tiers {
				tiers[i].Args = []any{i}
			}
			for _, c := range rows {
				if tier, ok := q.Match(c.Row, nil); ok {
					c.Hit.Tier = tier
					all = append(all, c.Hit)
				}
			}
			slices.SortFunc(all, query.Hit.Compare)
			engine := query.Engine{
				Tier: func(tier query.Tier, behind *query.Hit, want int) (hits []query.Hit, err error) {
					for _, h := range all {
						if h.Tier == tier.Args[0] && (behind == nil || h.Compare(*behind) > 0) && len(hits) != want {
							hits = append(hits, h)
						}
					}
					return hits, nil
				},
				Newest: func(behind *query.Hit, n int) ([]query.Candidate, error) {
					first := 0
					if behind != nil {
						first = slices.IndexFunc(rows, func(c query.Candidate) bool {
							return c.Hit.CreatedAt < behind.CreatedAt || c.Hit.CreatedAt == behind.CreatedAt && c.Hit.Row < behind.Row
						})
					}
					if first < 0 {
						return nil, nil
					}
					return rows[first:min(first+n, len(rows))], nil
				},
			}
			size := 1 + rng.IntN(60)
			var got []query.Hit
			var behind *query.Hit
			for {
				page, err := q.Rank(tiers, engine, behind, size)
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, page...); len(page) < size {
					break
				}
				last := page[size-1]
				last.Row = 1 << 40 // as a cursor has it, that knows none
				behind = &last
			}
			if !slices.EqualFunc(got, all, func(a, b query.Hit) bool { return a.ID == b.ID && a.Tier == b.Tier }) {
				t.Fatalf("%s among %d rows, in pages of %d: %d hits, want %d, or in another order", text, len(rows), size, len(got), len(all))
			}
		}
	}
}

// candidates are rows in the order of an index by date, in which those of one moment
// stand as they came.
func candidates(rng *rand.Rand, n int) []query.Candidate {
	rows := make([]query.Candidate, n)
	moments := 1 + rng.IntN(n+1)
	ids := rng.Perm(n)
	for i := range rows {
		c := &rows[i]
		c.Hit = query.Hit{CreatedAt: int64(1 + rng.IntN(moments)), ID: fmt.Sprintf("%05d", ids[i]), Row: int64(i)}
		d := query.Document{Title: "title"}
		if rng.IntN(3) > 0 {
			d.Title += " often"
		}
		if rng.IntN(40) == 0 {
			d.Description, d.Tags, c.Row.TagKeys = "oftener rare", []string{"rare"}, []string{"rare"}
		}
		if rng.IntN(4) == 0 {
			d.Tags, c.Row.TagKeys = append(d.Tags, "often"), append(c.Row.TagKeys, "often")
		}
		c.Row.Index, c.Row.CreatedAt = query.NewIndex(d), time.UnixMicro(c.Hit.CreatedAt)
	}
	slices.SortFunc(rows, func(a, b query.Candidate) int {
		if a.Hit.CreatedAt != b.Hit.CreatedAt {
			return int(b.Hit.CreatedAt - a.Hit.CreatedAt)
		}
		return int(b.Hit.Row - a.Hit.Row)
	})
	return rows
}
