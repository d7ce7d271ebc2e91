package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// contents is what was right in a folder before the import, less what was
// matched. Of millions of bookmarks it takes little more than their hashes.
type contents struct {
	last      int64 // the greatest sortOrder; 0 where there is nothing
	folders   map[string][]string
	bookmarks []slot // by hash, those of one in their order
	taken     []uint64
}

type slot struct {
	hash   uint64
	number int64
}

// next takes the first bookmark with a hash that was not taken yet.
func (c *contents) next(hash uint64) (number int64, ok bool) {
	at, _ := slices.BinarySearchFunc(c.bookmarks, hash, func(s slot, hash uint64) int { return cmp.Compare(s.hash, hash) })
	for ; at < len(c.bookmarks) && c.bookmarks[at].hash == hash; at++ {
		word, bit := at/64, uint64(1)<<(at%64)
		if c.taken[word]&bit == 0 {
			c.taken[word] |= bit
			return c.bookmarks[at].number, true
		}
	}
	return 0, false
}

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
	before := &contents{folders: map[string][]string{}}
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
