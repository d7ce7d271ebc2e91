package localstore

import (
	"encoding/binary"
	"fmt"
)

// rootsOf are the pages at which the tables of [scavenged] begin. Whoever made a
// file of ours made its tables in the same order, and so they begin at the same
// pages in each.
func (t *tx) rootsOf() (map[int]string, error) {
	roots := map[int]string{}
	for _, s := range scavenged {
		var root int
		if err := t.row(`SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?`, s.table).Scan(&root); err != nil {
			return nil, fmt.Errorf("look where tables begin: %w", err)
		}
		roots[root] = s.table
	}
	return roots, nil
}

// unreached are the pages that belong to none of the tables, at least not any
// more. It is nil where a table is not whole: then its pages can't be told from
// those of the past.
func (p *pages) unreached(roots map[int]string) map[int]bool {
	reached := map[int]bool{}
	rows := map[string]int{}
	for root, table := range roots {
		n, ok := p.reach(root, table, reached, 0)
		if !ok {
			return nil
		}
		rows[table] = n
	}
	if rows["replica"] == 0 {
		return nil // there is nothing to know the tables by
	}
	unreached := map[int]bool{}
	for n := 2; n <= p.n; n++ {
		if !reached[n] {
			unreached[n] = true
		}
	}
	return unreached
}

// maxLevels is how deep a table may be; ours are at four where they hold millions.
const maxLevels = 20

// reach goes through a table from a page down. It answers how many rows it found,
// and whether all of it is there and looks like that table.
func (p *pages) reach(n int, table string, reached map[int]bool, level int) (rows int, ok bool) {
	if n < 2 || n > p.n || reached[n] || level > maxLevels {
		return 0, false
	}
	reached[n] = true
	page, err := p.page(n)
	if err != nil {
		return 0, false
	}
	const inner, leaf = 5, 13
	cells := int(binary.BigEndian.Uint16(page[3:]))
	switch page[0] {
	case leaf:
		for i := range cells {
			if 8+2*i+2 > len(page) {
				return 0, false
			}
			_, values, err := p.cell(page, int(binary.BigEndian.Uint16(page[8+2*i:])))
			if err != nil || tableOf(values) != table {
				return 0, false
			}
		}
		return cells, true
	case inner:
		below := []int{int(binary.BigEndian.Uint32(page[8:]))}
		for i := range cells {
			if 12+2*i+2 > len(page) {
				return 0, false
			}
			at := int(binary.BigEndian.Uint16(page[12+2*i:]))
			if at+4 > len(page) {
				return 0, false
			}
			below = append(below, int(binary.BigEndian.Uint32(page[at:])))
		}
		for _, child := range below {
			some, ok := p.reach(child, table, reached, level+1)
			if !ok {
				return 0, false
			}
			rows += some
		}
		return rows, true
	}
	return 0, false
}
