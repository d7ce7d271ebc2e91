package localstore

import (
	"fmt"

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

// index puts a live bookmark into the search index, in place of what the index
// had of it.
func (t *tx) index(e *Entity) error {
	x := indexOf(e)
	err := t.run(`INSERT OR REPLACE INTO search (rowid, title, tags, url, description) VALUES (?, ?, ?, ?, ?)`,
		e.n, x.Title, x.Tags, x.URL, x.Description)
	if err != nil {
		return fmt.Errorf("index bookmark %s: %w", e.ID, err)
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

// unindex takes a bookmark out of the search index.
func (t *tx) unindex(n int64) error {
	if err := t.run(`DELETE FROM search WHERE rowid = ?`, n); err != nil {
		return fmt.Errorf("take a bookmark out of the index: %w", err)
	}
	return nil
}

// unindexReplica takes all of a replica out of the search index.
func (t *tx) unindexReplica(replica int64) error {
	err := t.run(`DELETE FROM search WHERE rowid IN (SELECT n FROM bookmark WHERE replica = ? AND deleted_at = 0)`, replica)
	if err != nil {
		return fmt.Errorf("take a workspace out of the index: %w", err)
	}
	return nil
}
