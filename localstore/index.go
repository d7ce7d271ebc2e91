package localstore

import (
	"fmt"
	"maps"
	"slices"

	"bm/server/api"
	"bm/server/api/query"
)

// createIndex makes the search index. It holds no text, only where tokens are;
// it is fed by [query.NewIndex] alone and has no triggers: a trigger for each
// row would make bulk work three times slower. The large hash holds a whole
// transaction of bulk work before anything is written.
func (t *tx) createIndex() error {
	err := t.script(`CREATE VIRTUAL TABLE search USING fts5(title, tags, url, description,
		content='', contentless_delete=1, ` + query.FTS5Tokenize + `);
		INSERT INTO search (search, rank) VALUES ('hashsize', 16777216);
		INSERT INTO search (search, rank) VALUES ('automerge', 16);
		INSERT INTO search (search, rank) VALUES ('crisismerge', 64)`)
	if err != nil {
		return fmt.Errorf("make the search index: %w", err)
	}
	return nil
}

// toIndex is what a transaction has changed and the index does not know yet, by
// the number of the row. FTS5 gathers what is written to it only while the numbers
// go up: every step back has it write what it has, and merge. So that is written
// in their order, whatever the order of the edits was.
type toIndex struct {
	rows map[int64]*query.Index // nil for what is to be taken out
	text int
}

// What is kept to be indexed later.
const (
	maxToIndex     = 4000
	maxTextToIndex = 4 << 20
)

// index puts a live bookmark into the search index, in place of what the index
// had of it.
func (t *tx) index(e *Entity) error {
	x := indexOf(e)
	return t.indexLater(e.n, &x)
}

// unindex takes a bookmark out of the search index.
func (t *tx) unindex(n int64) error { return t.indexLater(n, nil) }

func (t *tx) indexLater(n int64, x *query.Index) error {
	if t.toIndex.rows == nil {
		t.toIndex.rows = map[int64]*query.Index{}
	}
	t.toIndex.rows[n] = x
	if x != nil {
		t.toIndex.text += len(x.Title) + len(x.Tags) + len(x.URL) + len(x.Description)
	}
	if len(t.toIndex.rows) < maxToIndex && t.toIndex.text < maxTextToIndex {
		return nil
	}
	return t.indexNow()
}

// indexNow writes what was left for later. It comes before the commit, and before
// whatever else writes to the index.
func (t *tx) indexNow() error {
	rows := t.toIndex.rows
	t.toIndex = toIndex{}
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		var err error
		if x := rows[n]; x == nil {
			err = t.run(`DELETE FROM search WHERE rowid = ?`, n)
		} else {
			err = t.run(`INSERT OR REPLACE INTO search (rowid, title, tags, url, description) VALUES (?, ?, ?, ?, ?)`,
				n, x.Title, x.Tags, x.URL, x.Description)
		}
		if err != nil {
			return fmt.Errorf("index a bookmark: %w", err)
		}
	}
	return nil
}

// indexed tells whether the search index has a row.
func indexed(e *Entity) bool { return e.Type == api.TypeBookmark && !e.Deleted() }

func indexOf(e *Entity) query.Index {
	return query.NewIndex(query.Document{Title: e.Title, Tags: e.Tags, URL: e.URL, Description: e.Description})
}

// indexAll puts many live bookmarks that it does not have into the index, one a
// statement: FTS5 writes what it has gathered at every savepoint, and SQLite
// makes one for each statement of several rows.
func (t *tx) indexAll(rows []Entity, documents []query.Index) error {
	if err := t.indexNow(); err != nil {
		return err
	}
	for i := range rows {
		e := &rows[i]
		if !indexed(e) {
			continue
		}
		x := &documents[i]
		err := t.run(`INSERT INTO search (rowid, title, tags, url, description) VALUES (?, ?, ?, ?, ?)`,
			e.n, x.Title, x.Tags, x.URL, x.Description)
		if err != nil {
			return fmt.Errorf("index bookmarks: %w", err)
		}
	}
	return nil
}

// unindexReplica takes all of a replica out of the search index.
func (t *tx) unindexReplica(replica int64) error {
	if err := t.indexNow(); err != nil {
		return err
	}
	err := t.run(`DELETE FROM search WHERE rowid IN (SELECT n FROM bookmark WHERE replica = ? AND deleted_at = 0)`, replica)
	if err != nil {
		return fmt.Errorf("take a workspace out of the index: %w", err)
	}
	return nil
}
