package localstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
)

// insertAll adds many new rows, in the order given: the rows first, then their
// tags, then the index, whose tokens are made meanwhile.
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
	}
	return t.insertAllNumbered(replica, rows)
}

// insertAllNumbered is insertAll of rows that have their numbers.
func (t *tx) insertAllNumbered(replica int64, rows []Entity) error {
	documents := tokenize(rows)
	defer documents() // does not outlive the rows
	for i := range rows {
		if err := t.insertNumbered(replica, &rows[i]); err != nil {
			return err
		}
	}
	if err := t.insertTags(replica, rows); err != nil {
		return err
	}
	return t.indexAll(rows, documents())
}

// tokenize begins to make what the search index takes of rows, and returns what
// waits for it.
func tokenize(rows []Entity) func() []query.Index {
	documents := make([]query.Index, len(rows))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range rows {
			if indexed(&rows[i]) {
				documents[i] = indexOf(&rows[i])
			}
		}
	}()
	return func() []query.Index {
		<-done
		return documents
	}
}

// tagBatches are how many rows one statement puts into the table of tags: a few
// sizes, since each is a statement that is kept.
var tagBatches = [...]int{200, 20, 1}

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
	args := make([]any, 0, 4*tagBatches[0])
	for _, batch := range tagBatches {
		text := `INSERT OR IGNORE INTO tag (replica, key, n, name) VALUES (?, ?, ?, ?)` + strings.Repeat(`, (?, ?, ?, ?)`, batch-1)
		for len(all) >= batch {
			args = args[:0]
			for _, tag := range all[:batch] {
				args = append(args, replica, tag.key, tag.n, spelling(tag.key, tag.name))
			}
			if err := t.run(text, args...); err != nil {
				return fmt.Errorf("put tags on: %w", err)
			}
			all = all[batch:]
		}
	}
	return nil
}
