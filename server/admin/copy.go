package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bm/server/api/query"
	"bm/server/sqldb"
)

// table is one that a copy takes along.
type table struct {
	name    string
	columns []string
	kinds   []string // as SQLite declares them
}

// tablesOf lists the tables of a SQLite database, those that are referred to
// before those that refer, with the columns that both databases have.
func tablesOf(ctx context.Context, tx *sqldb.Tx) (tables []table, err error) {
	err = tx.Rows(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'bookmark_fts%'
		AND name NOT LIKE 'goose_%' ORDER BY rowid`, nil, func(row sqldb.Scanner) error {
		var t table
		err := row.Scan(&t.name)
		tables = append(tables, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	for i := range tables {
		t := &tables[i]
		err := tx.Rows(ctx, `SELECT name, type FROM pragma_table_info($1) ORDER BY cid`, []any{t.name}, func(row sqldb.Scanner) error {
			var name, kind string
			err := row.Scan(&name, &kind)
			t.columns, t.kinds = append(t.columns, name), append(t.kinds, kind)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list the columns of %s: %w", t.name, err)
		}
	}
	return tables, nil
}

const copyRows = 200

// copyTable copies a table's rows from one transaction into another. What the
// migrations put there is replaced.
func copyTable(ctx context.Context, from, to *sqldb.Tx, t table) error {
	if _, err := to.Exec(ctx, `DELETE FROM `+t.name); err != nil {
		return fmt.Errorf("empty %s: %w", t.name, err)
	}
	var rows [][]any
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		defer func() { rows = rows[:0] }()
		if t.name == "bookmark" {
			return insertBookmarks(ctx, to, t, rows)
		}
		return insertRows(ctx, to, t.name, t.columns, rows, "")
	}
	err := from.Rows(ctx, `SELECT `+strings.Join(t.columns, ", ")+` FROM `+t.name, nil, func(row sqldb.Scanner) error {
		values := make([]any, len(t.columns))
		into := make([]any, len(t.columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := row.Scan(into...); err != nil {
			return err
		}
		for i, kind := range t.kinds {
			values[i] = asKind(values[i], kind)
		}
		if rows = append(rows, values); len(rows) == copyRows {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", t.name, err)
	}
	return nil
}

// asKind is a value in the Go type that the other database takes for the kind.
func asKind(value any, kind string) any {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case int64:
		if kind == "BOOLEAN" {
			return v != 0
		}
	}
	return value
}

// insertRows writes rows in one statement. SQLite's placeholders are nameless here:
// it looks for a name among all of them, which takes the square of thousands.
func insertRows(ctx context.Context, to *sqldb.Tx, name string, columns []string, rows [][]any, lastCast string) error {
	var b strings.Builder
	args := make([]any, 0, len(rows)*len(columns))
	b.WriteString(`INSERT INTO ` + name + ` (` + strings.Join(columns, ", ") + `) VALUES `)
	for i, row := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, value := range row {
			args = append(args, value)
			b.WriteByte("(,"[min(j, 1)])
			if to.Dialect() == sqldb.SQLite {
				b.WriteByte('?')
			} else {
				fmt.Fprintf(&b, "$%d", len(args))
			}
		}
		b.WriteString(lastCast + ")")
	}
	_, err := to.Exec(ctx, b.String(), args...)
	return err
}

// insertBookmarks writes bookmarks with their search index, which each database
// keeps in its own way.
func insertBookmarks(ctx context.Context, to *sqldb.Tx, t table, rows [][]any) error {
	at := map[string]int{}
	for i, name := range t.columns {
		at[name] = i
	}
	indexes := make([]query.Index, len(rows))
	for i, row := range rows {
		text := func(name string) string {
			s, _ := row[at[name]].(string)
			return s
		}
		tags, err := tagsOf(text("tags"))
		if err != nil {
			return err
		}
		indexes[i] = query.NewIndex(query.Document{Title: text("title"), Tags: tags, URL: text("url"), Description: text("description")})
	}
	scope := func(row []any) string { return query.ScopeToken(fmt.Sprint(row[at["workspace_id"]])) }
	if to.Dialect() == sqldb.Postgres {
		columns := append(t.columns[:len(t.columns):len(t.columns)], "search")
		with := make([][]any, len(rows))
		for i, row := range rows {
			with[i] = append(row[:len(row):len(row)], indexes[i].TSVector(scope(row)))
		}
		return insertRows(ctx, to, t.name, columns, with, "::text::tsvector")
	}
	if err := insertRows(ctx, to, t.name, t.columns, rows, ""); err != nil {
		return err
	}
	for i, row := range rows {
		if row[at["deleted_at"]] != int64(0) {
			continue
		}
		x := indexes[i]
		_, err := to.Exec(ctx, `INSERT INTO bookmark_fts (rowid, title, tags, url, description, scope) VALUES ($1, $2, $3, $4, $5, $6)`,
			row[at["seq"]], x.Title, x.Tags, x.URL, x.Description, scope(row))
		if err != nil {
			return err
		}
	}
	return nil
}

// afterCopy sets what counts on by itself behind what was copied.
func afterCopy(ctx context.Context, to *sqldb.Tx) error {
	if to.Dialect() != sqldb.Postgres {
		return nil
	}
	for _, table := range []string{"bookmark", "tag"} {
		_, err := to.Exec(ctx, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', 'seq'), (SELECT COALESCE(MAX(seq), 0) + 1 FROM %[1]s), false)`, table))
		if err != nil {
			return fmt.Errorf("move the sequence on: %w", err)
		}
	}
	return nil
}

// Empty reports whether a database holds nobody's data yet.
func Empty(ctx context.Context, db *sqldb.DB) (bool, error) {
	var n int
	err := db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Row(ctx, `SELECT (SELECT count(*) FROM account) + (SELECT count(*) FROM tenant)`, nil, &n)
	})
	if err != nil {
		return false, fmt.Errorf("look whether the database is empty: %w", err)
	}
	return n == 0, nil
}

// ErrNotEmpty says that a restore would overwrite what is there.
var ErrNotEmpty = errors.New("the database is not empty")
