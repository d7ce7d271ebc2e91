package localstore

import (
	"fmt"
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
const tagBatch = 64

func (t *tx) insertTags(replica int64, rows []Entity) error {
	args := make([]any, 0, 4*tagBatch)
	count := 0
	flush := func() error {
		if count == 0 {
			return nil
		}
		err := t.run(`INSERT OR REPLACE INTO tag (replica, key, n, name) VALUES (?, ?, ?, ?)`+
			strings.Repeat(`, (?, ?, ?, ?)`, count-1), args...)
		args, count = args[:0], 0
		if err != nil {
			return fmt.Errorf("put tags on: %w", err)
		}
		return nil
	}
	for i := range rows {
		if rows[i].Type != api.TypeBookmark || rows[i].Deleted() {
			continue
		}
		for _, name := range rows[i].Tags {
			args = append(args, replica, rules.TagKey(name), rows[i].n, name)
			if count++; count == tagBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}
