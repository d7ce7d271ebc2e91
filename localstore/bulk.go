package localstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// insertAll adds many new rows, in the order given: the rows first, then their
// tags, then the index. Each of the latter takes several rows a statement.
func (t *tx) insertAll(replica int64, rows []Entity) error {
	next := map[api.EntityType]int64{}
	for i := range rows {
		e := &rows[i]
		if next[e.Type] == 0 {
			var last int64
			err := t.row(`SELECT COALESCE(MAX(n), ?1) FROM `+table(e.Type)+` WHERE n > ?1 AND n < ?2`,
				replica*partition, (replica+1)*partition).Scan(&last)
			if err != nil {
				return fmt.Errorf("number new rows: %w", err)
			}
			next[e.Type] = last
		}
		next[e.Type]++
		e.n = next[e.Type]
		if err := t.insertNumbered(replica, e); err != nil {
			return err
		}
	}
	if err := t.insertTags(replica, rows); err != nil {
		return err
	}
	return t.indexAll(rows)
}

// tagBatch is how many rows one statement puts into the table of tags.
const tagBatch = 250

// insertTags puts the tags of new rows on, in the order of the table, so that
// neighbours are written together.
func (t *tx) insertTags(replica int64, rows []Entity) error {
	type tag struct {
		key, name string
		n         int64
	}
	var all []tag
	for i := range rows {
		if rows[i].Type != api.TypeBookmark || rows[i].Deleted() {
			continue
		}
		for _, name := range rows[i].Tags {
			all = append(all, tag{rules.TagKey(name), name, rows[i].n})
		}
	}
	slices.SortFunc(all, func(a, b tag) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.n, b.n))
	})
	args := make([]any, 0, 4*tagBatch)
	for len(all) > 0 {
		some := all[:min(tagBatch, len(all))]
		all = all[len(some):]
		args = args[:0]
		for _, tag := range some {
			args = append(args, replica, tag.key, tag.n, spelling(tag.key, tag.name))
		}
		err := t.run(`INSERT OR IGNORE INTO tag (replica, key, n, name) VALUES (?, ?, ?, ?)`+
			strings.Repeat(`, (?, ?, ?, ?)`, len(some)-1), args...)
		if err != nil {
			return fmt.Errorf("put tags on: %w", err)
		}
	}
	return nil
}
