package tree

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"bm/server/api/query"
	"bm/server/sqldb"
)

// How many rows one statement of a bulk insert holds: what a statement costs
// beside its rows is paid once for all of them.
const (
	bulkRows = 16
	bulkTags = 64
)

// bulk is a statement that inserts a fixed number of rows.
type bulk struct {
	rows, columns int
	text          string
}

// newBulk writes the statement. lastCast goes behind the last value of a row,
// tail behind them all. SQLite's placeholders are nameless here: it looks for a
// name among all of them, which hundreds feel.
func newBulk(dialect sqldb.Dialect, rows int, table string, columns []string, lastCast, tail string) bulk {
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES ")
	for row := range rows {
		if row > 0 {
			b.WriteByte(',')
		}
		for column := range columns {
			b.WriteByte("(,"[min(column, 1)])
			if dialect == sqldb.SQLite {
				b.WriteByte('?')
			} else {
				fmt.Fprintf(&b, "$%d", row*len(columns)+column+1)
			}
		}
		b.WriteString(lastCast + ")")
	}
	b.WriteString(tail)
	return bulk{rows, len(columns), b.String()}
}

// bulkStatements are the texts for one dialect, for many rows and for one.
type bulkStatements struct{ bookmarks, tags [2]bulk }

// indexSQL puts a row into SQLite's index. It is not run for many rows at once:
// FTS5 writes what it has gathered to disk at every savepoint, and SQLite makes
// one for each statement of several rows.
const indexSQL = `INSERT INTO bookmark_fts (rowid, title, tags, url, description, scope) VALUES ($1, $2, $3, $4, $5, $6)`

func newBulkStatements(dialect sqldb.Dialect) *bulkStatements {
	fields, cast := bookmarkFields, ""
	if dialect == sqldb.Postgres {
		fields, cast = searchedFields, "::text::tsvector"
	}
	s := &bulkStatements{}
	for i, size := range [2]int{bulkRows, 1} {
		s.bookmarks[i] = newBulk(dialect, size, "bookmark", fields, cast, " RETURNING id, seq")
	}
	for i, size := range [2]int{bulkTags, 1} {
		s.tags[i] = newBulk(dialect, size, "bookmark_tag", []string{"tag_seq", "bookmark_seq", "tag"}, "", " ON CONFLICT DO NOTHING")
	}
	return s
}

// The texts are made when they are first used: they are long, and most of what
// links this package never is a server.
var (
	sqliteBulk   = sync.OnceValue(func() *bulkStatements { return newBulkStatements(sqldb.SQLite) })
	postgresBulk = sync.OnceValue(func() *bulkStatements { return newBulkStatements(sqldb.Postgres) })
)

func (e *Edit) bulkStatements() *bulkStatements {
	if e.tx.Dialect() == sqldb.Postgres {
		return postgresBulk()
	}
	return sqliteBulk()
}

// InsertBookmarks adds many bookmarks with ids of the server's making. Without
// a position one goes last in its folder.
func (e *Edit) InsertBookmarks(ctx context.Context, rows []Bookmark) error {
	statements := e.bulkStatements()
	documents := make([]query.Index, len(rows))
	byID := make(map[string]*Bookmark, len(rows))
	for i := range rows {
		b := &rows[i]
		if b.SortOrder == unplaced {
			order, err := e.NextOrder(ctx, b.FolderID)
			if err != nil {
				return err
			}
			b.SortOrder = order
		}
		b.Rev = e.nextRev()
		e.born(b.ID, b.Rev)
		byID[b.ID] = b
	}
	batches, stop := e.prepare(rows, documents)
	defer stop()
	for batch := range batches {
		if batch.err != nil {
			return batch.err
		}
		err := e.bulk(ctx, statements.bookmarks, batch.args, func(row sqldb.Scanner) error {
			var id string
			var seq int64
			err := row.Scan(&id, &seq)
			byID[id].seq = seq
			return err
		})
		if err != nil {
			return fmt.Errorf("add the bookmarks: %w", err)
		}
	}
	if err := e.tagBookmarks(ctx, rows, statements); err != nil {
		return err
	}
	// The index comes last, so that no other statement's savepoint flushes it.
	for i := range rows {
		if err := e.index(ctx, &rows[i], documents[i]); err != nil {
			return err
		}
	}
	return nil
}

// batch is what one statement of a bulk insert takes.
type batch struct {
	args []any
	err  error
}

// prepare makes what the statements take, a batch while the one before it is
// stored: the words of a bookmark take about as long as its row. stop has to be
// called before rows are used for something else.
func (e *Edit) prepare(rows []Bookmark, documents []query.Index) (batches <-chan batch, stop func()) {
	indexed := e.tx.Dialect() == sqldb.Postgres // in the row itself
	made, ended := make(chan batch, 2), make(chan struct{})
	go func() {
		defer close(made)
		for at := 0; at < len(rows); at += bulkRows {
			end := min(at+bulkRows, len(rows))
			b := prepared(rows[at:end], documents[at:end], indexed)
			select {
			case made <- b:
			case <-ended:
				return
			}
		}
	}()
	return made, func() {
		close(ended)
		for range made { // until nobody looks at the rows any more
		}
	}
}

// prepared is a batch. What breaks in making it is an error: nobody else would
// catch it there.
func prepared(rows []Bookmark, documents []query.Index, indexed bool) (b batch) {
	defer func() {
		if p := recover(); p != nil {
			b = batch{err: fmt.Errorf("panic while preparing bookmarks: %v\n%s", p, debug.Stack())}
		}
	}()
	for i := range rows {
		documents[i] = query.NewIndex(document(&rows[i]))
		args, err := bookmarkArgs(&rows[i])
		if err != nil {
			return batch{err: err}
		}
		b.args = append(b.args, args...)
		if indexed {
			b.args = append(b.args, documents[i].TSVector(query.ScopeToken(rows[i].WorkspaceID)))
		}
	}
	return b
}

// bulk runs the larger statement as long as there are rows for it, and then
// the smaller.
func (e *Edit) bulk(ctx context.Context, sizes [2]bulk, args []any, each func(sqldb.Scanner) error) error {
	for _, size := range sizes {
		for n := size.rows * size.columns; len(args) >= n && n > 0; args = args[n:] {
			var err error
			if each != nil {
				err = e.tx.Rows(ctx, size.text, args[:n], each)
			} else {
				_, err = e.tx.Exec(ctx, size.text, args[:n]...)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// The merging of SQLite's index at the end of bulk work, in transactions of a
// few milliseconds each.
const (
	mergePages = 300
	maxMerges  = 64
)

// FinishBulk merges the parts of the search index that bulk work left, and on
// SQLite moves the log into the file. It may be cut off at any point.
func (t *Tree) FinishBulk(ctx context.Context) error {
	if t.db.Dialect() != sqldb.SQLite {
		return t.settleIndex(ctx)
	}
	for range maxMerges {
		var before, after int64
		err := t.db.Write(ctx, func(tx *sqldb.Tx) error {
			if err := tx.Row(ctx, `SELECT total_changes()`, nil, &before); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO bookmark_fts (bookmark_fts, rank) VALUES ('merge', $1)`, mergePages); err != nil {
				return err
			}
			return tx.Row(ctx, `SELECT total_changes()`, nil, &after)
		})
		if err != nil {
			return fmt.Errorf("merge the search index: %w", err)
		}
		if after-before < 2 { // FTS5's own sign that nothing was left
			break
		}
	}
	if err := t.db.Checkpoint(ctx); err != nil {
		return fmt.Errorf("move the log into the database: %w", err)
	}
	return nil
}

// settleIndex has PostgreSQL put into its index of words what it keeps in a list
// beside it meanwhile: each search goes through all of that, a dozen times. Only
// the index's owner may; for anybody else it is done by PostgreSQL's own vacuum.
func (t *Tree) settleIndex(ctx context.Context) error {
	err := t.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `SELECT gin_clean_pending_list(oid::regclass) FROM pg_class
			WHERE oid = 'bookmark_search'::regclass AND pg_has_role(relowner, 'USAGE')`)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle the search index: %w", err)
	}
	return nil
}
