package query

import "slices"

// Candidate is a bookmark that may be a hit.
type Candidate struct {
	Hit Hit
	Row Row
}

// How many of the newest bookmarks are looked at to see whether a page is full
// among them, and how many at most until it is: more where words that begin alike
// are looked for, since for those an index puts all that it has of each together.
const (
	glance           = 32
	farthest         = 400
	farthestOfPrefix = 1000
)

// newest looks for hits among the newest bookmarks, one by one. What an index
// knows of a word that every third bookmark has, or of two letters that all of
// them have words with, is hundreds of thousands of rows, to be sorted for a page
// that is full after a hundred of the newest; of a rare word it has a few, and the
// newest rows have none. A glance tells the one from the other.
type newest struct {
	match *matcher
	read  func(behind *Hit, n int) ([]Candidate, error)
	// prefixed says that every other tier is of words that begin alike.
	prefixed bool
	// behind is where looking begins, and last the row that was read last.
	behind, last *Hit

	seen int   // rows
	hits []Hit // in their order
	// moment are the hits among the rows of the last moment, of which there may
	// be more.
	moment []Hit
	ended  bool
}

// newest begins to look behind a hit. Without an engine that can, or with a
// query whose folders would have to be read, it finds nothing.
func (q Query) newest(e Engine, behind *Hit) *newest {
	n := &newest{read: e.Newest, behind: behind, last: behind}
	if n.read == nil || namesFolder(q.Root) {
		n.ended = true
		return n
	}
	n.match, n.prefixed = &matcher{tiers: q.tiers()}, prefixed(q.words())
	return n
}

// tier is the first hits of a tier, where so many as are wanted are soon met.
func (n *newest) tier(number, want int) (hits []Hit, enough bool, err error) {
	most := farthest
	if n.prefixed && number%2 == 1 {
		most = farthestOfPrefix
	}
	if want < 0 || want > most {
		return nil, false, nil
	}
	for {
		hits = hits[:0]
		for _, h := range n.hits {
			if h.Tier == number && len(hits) < want {
				hits = append(hits, h)
			}
		}
		switch {
		case len(hits) == want:
			return hits, true, nil
		case n.ended, n.seen >= glance && len(hits)*most < want*n.seen:
			return nil, false, nil
		}
		more := glance
		if len(hits) > 0 {
			more = max(more, want*n.seen/len(hits)-n.seen)
		}
		if err := n.further(min(more, max(most-n.seen, 1))); err != nil {
			return nil, false, err
		}
	}
}

// further looks at more rows.
func (n *newest) further(more int) error {
	rows, err := n.read(n.last, more)
	if err != nil {
		return err
	}
	n.ended = len(rows) < more
	for i := range rows {
		h := rows[i].Hit
		if n.last != nil && h.CreatedAt != n.last.CreatedAt {
			n.settle()
		}
		n.last = &h
		var matches bool
		h.Tier, matches = n.match.match(rows[i].Row)
		if matches && (n.behind == nil || h.Compare(*n.behind) > 0) {
			n.moment = append(n.moment, h)
		}
	}
	n.seen += len(rows)
	if n.ended {
		n.settle()
	}
	return nil
}

// settle puts the hits of a moment that is over into their order.
func (n *newest) settle() {
	slices.SortFunc(n.moment, func(a, b Hit) int {
		a.Tier = b.Tier // of each tier the order is the same
		return a.Compare(b)
	})
	n.hits = append(n.hits, n.moment...)
	n.moment = n.moment[:0]
}

func namesFolder(n Node) bool {
	switch n := n.(type) {
	case Folder:
		return true
	case Not:
		return namesFolder(n.Node)
	case And:
		return slices.ContainsFunc(n, namesFolder)
	case Or:
		return slices.ContainsFunc(n, namesFolder)
	}
	return false
}
