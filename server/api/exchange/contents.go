package exchange

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
)

// contents is what was right in a folder before the import, less what was
// matched. Of millions of bookmarks it takes little more than their hashes.
type contents struct {
	last      int64 // the greatest sortOrder; 0 where there is nothing
	folders   map[string][]string
	bookmarks []slot // by hash, those of one in their order
	taken     []uint64
	from      map[uint64]int // where of a hash the first may be that was not taken
}

type slot struct {
	hash   uint64
	number int64
}

func (c *contents) empty() bool { return len(c.folders)+len(c.bookmarks) == 0 }

// untaken are the places of the bookmarks with a hash that were not taken yet, in
// their order.
func (c *contents) untaken(hash uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		start, ok := c.from[hash]
		if !ok {
			start, _ = slices.BinarySearchFunc(c.bookmarks, hash, func(s slot, hash uint64) int { return cmp.Compare(s.hash, hash) })
		}
		at := start
		for c.has(at, hash) && c.isTaken(at) {
			at++
		}
		if at > start { // of a million alike, nobody goes through those again
			c.from[hash] = at
		}
		for ; c.has(at, hash); at++ {
			if !c.isTaken(at) && !yield(at) {
				return
			}
		}
	}
}

func (c *contents) has(at int, hash uint64) bool {
	return at < len(c.bookmarks) && c.bookmarks[at].hash == hash
}

func (c *contents) isTaken(at int) bool { return c.taken[at/64]&(1<<(at%64)) != 0 }

func (c *contents) take(at int) { c.taken[at/64] |= 1 << (at % 64) }

// nextFolder takes the first folder of a name that was not taken yet.
func (c *contents) nextFolder(name string) (id string, ok bool) {
	same := c.folders[name]
	if len(same) == 0 {
		return "", false
	}
	c.folders[name] = same[1:]
	return same[0], true
}

// before is what was in a folder before the import.
func (p *Planner) before(ctx context.Context, at *place) (*contents, error) {
	if at.before != nil {
		return at.before, nil
	}
	before := &contents{folders: map[string][]string{}, from: map[uint64]int{}}
	err := p.existing.Contents(ctx, at.id, func(r Row) {
		before.last = max(before.last, r.Order)
		if r.Kind == Folder {
			before.folders[r.Name] = append(before.folders[r.Name], r.ID)
		} else {
			before.bookmarks = append(before.bookmarks, slot{r.Hash, r.Number})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look into a folder: %w", err)
	}
	slices.SortStableFunc(before.bookmarks, func(a, b slot) int { return cmp.Compare(a.hash, b.hash) })
	before.taken = make([]uint64, (len(before.bookmarks)+63)/64)
	at.before = before
	return before, nil
}
