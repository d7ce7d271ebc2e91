package query

import "cmp"

// Hit is a bookmark that a search found, by its place in the answer.
type Hit struct {
	Tier      int    `json:"tier"`
	CreatedAt int64  `json:"at"` // µs
	ID        string `json:"id"`
	// Row is the store's own number of it.
	Row int64 `json:"-"`
}

// Compare is the order of an answer: the best first, of those the newest.
func (h Hit) Compare(other Hit) int {
	return cmp.Or(cmp.Compare(h.Tier, other.Tier), cmp.Compare(other.CreatedAt, h.CreatedAt), cmp.Compare(other.ID, h.ID))
}

// Engine is what a store does for a ranked search.
type Engine struct {
	// Tier finds the first hits of a tier, newest first: so many as are wanted,
	// all where that is below 0; only those behind a hit, unless it is nil.
	Tier func(tier Tier, behind *Hit, want int) ([]Hit, error)
	// Newest reads that many of the newest bookmarks, whatever they hold, or
	// of those behind one: of several of one moment in any order, as long as it
	// goes on in the same. It is nil where something else narrows the search.
	Newest func(behind *Hit, n int) ([]Candidate, error)
}

// Rank finds the first hits of a query, best first: so many as are wanted, all
// where that is below 0; only those behind a hit, unless it is nil. tiers are
// the query's own.
func (q Query) Rank(tiers []Tier, e Engine, behind *Hit, want int) ([]Hit, error) {
	var found []Hit
	first := 0
	if behind != nil {
		first = max(behind.Tier, 0)
	}
	look := q.newest(e, behind)
	for number := first; number < len(tiers) && len(found) != want; number++ {
		missing := want
		if want > 0 {
			missing -= len(found)
		}
		hits, enough, err := look.tier(number, missing)
		if err == nil && !enough {
			hits, err = e.Tier(tiers[number], behind, missing)
		}
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			h.Tier = number
			found = append(found, h)
		}
		if behind != nil {
			behind, look = nil, q.newest(e, nil)
		}
	}
	return found, nil
}
