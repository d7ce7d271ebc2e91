package places

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that callers tell apart.
var (
	// ErrDamaged says that SQLite can't read the database, or not all of it.
	ErrDamaged = errors.New("the browser's database is damaged")
	// ErrForeign says that it is a database, but none of Firefox's bookmarks.
	ErrForeign = errors.New("the database holds no bookmarks of Firefox")
)

// The types of rows in moz_bookmarks, and what a backup calls them.
const (
	bookmarkType  = 1
	folderType    = 2
	separatorType = 3
)

func typeName(code int) string {
	switch code {
	case folderType:
		return "text/x-moz-place-container"
	case separatorType:
		return "text/x-moz-place-separator"
	}
	return "text/x-moz-place"
}

// Backup writes what a copy of the database holds as JSON, in the order and with
// the keys of Firefox's own backup. The copy is written to: SQLite brings the
// log into it. What Firefox leaves out, as a bookmark without a URL, is left out.
// progress is told now and then how many bookmarks are written; it may be nil.
func Backup(ctx context.Context, database string, w io.Writer, progress func(bookmarks int)) (err error) {
	db, err := sql.Open("sqlite", address(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return named(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s, err := readSchema(ctx, conn)
	if err == nil {
		err = s.check(ctx, conn)
	}
	if err == nil {
		err = s.gatherTags(ctx, conn)
	}
	if err == nil {
		err = s.write(ctx, conn, w, progress)
	}
	return named(err)
}

// address opens a copy that nobody else uses: the log then needs no index on
// disk, nor does the copy have to outlive a crash. What the schema says is another
// program's, and trusted with nothing: what it would have checked for each row can
// take for ever.
func address(path string) string {
	q := url.Values{}
	for _, pragma := range []string{"locking_mode(EXCLUSIVE)", "synchronous(OFF)", "trusted_schema(0)", "ignore_check_constraints(1)", "cell_size_check(1)"} {
		q.Add("_pragma", pragma)
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// named gives the driver's codes the names of this package.
func named(err error) error {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		switch failure.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}

// check has SQLite go through the tables that are read, so that nothing is
// imported of a profile that can't all be.
func (s *schema) check(ctx context.Context, conn *sql.Conn) error {
	for _, column := range []string{"moz_bookmarks.id", "moz_places.id", "moz_keywords.id", "moz_items_annos.id"} {
		if !s.has(column) {
			continue
		}
		table, _, _ := strings.Cut(column, ".")
		var says string
		if err := conn.QueryRowContext(ctx, `PRAGMA quick_check(`+table+`)`).Scan(&says); err != nil {
			return err
		}
		if says != "ok" {
			return fmt.Errorf("%w: %s", ErrDamaged, says)
		}
	}
	return conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM moz_bookmarks NOT INDEXED`).Scan(&s.rows)
}

// gatherTags makes a table of the tags of each page. A tag is a folder of links
// to the pages that carry it.
func (s *schema) gatherTags(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, `CREATE TEMP TABLE tagged (place INTEGER PRIMARY KEY, tags TEXT)`); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, gatherTags, s.roots["tagsFolder"])
	return err
}

const gatherTags = `INSERT INTO temp.tagged
	SELECT l.fk, group_concat(t.title, ',' ORDER BY t.title)
	FROM moz_bookmarks t CROSS JOIN moz_bookmarks l ON l.parent = t.id
	WHERE t.parent = ? AND l.fk IS NOT NULL GROUP BY l.fk`

// node is a folder, bookmark or separator of a backup, but for its children.
type node struct {
	GUID         string          `json:"guid,omitempty"`
	Title        string          `json:"title"`
	Index        int64           `json:"index"`
	DateAdded    int64           `json:"dateAdded"`
	LastModified int64           `json:"lastModified"`
	ID           int64           `json:"id"`
	TypeCode     int             `json:"typeCode"`
	Charset      string          `json:"charset,omitempty"`
	Tags         string          `json:"tags,omitempty"`
	Annos        json.RawMessage `json:"annos,omitempty"`
	Type         string          `json:"type"`
	Root         string          `json:"root,omitempty"`
	URI          string          `json:"uri,omitempty"`
	Keyword      string          `json:"keyword,omitempty"`
	PostData     string          `json:"postData,omitempty"`
}

// write writes the tree. A folder stays open until a row comes that is no deeper
// than it.
func (s *schema) write(ctx context.Context, conn *sql.Conn, w io.Writer, progress func(bookmarks int)) error {
	names := map[int64]string{}
	for name, id := range s.roots {
		names[id] = name
	}
	out := bufio.NewWriterSize(w, 64<<10)
	depth, bookmarks, nodes := -1, 0, 0
	err := each(ctx, conn, func(row *sql.Rows) error {
		if nodes++; nodes > s.rows {
			// A folder lies in itself, which would go on for ever: by two rows of one
			// number, or by an index that says otherwise than its table.
			return fmt.Errorf("%w: a folder lies in itself", ErrDamaged)
		}
		var n node
		var level int
		var annos sql.NullString
		err := row.Scan(&level, &n.ID, &n.TypeCode, &n.GUID, &n.Title, &n.Index, &n.DateAdded, &n.LastModified,
			&n.URI, &n.Tags, &n.Keyword, &n.PostData, &n.Charset, &annos)
		if err != nil {
			return err
		}
		n.Type, n.Root = typeName(n.TypeCode), names[n.ID]
		if annos.Valid {
			n.Annos = json.RawMessage(annos.String)
		}
		object, err := encode(&n)
		if err != nil {
			return fmt.Errorf("write bookmark %d: %w", n.ID, err)
		}
		switch {
		case level > depth && depth >= 0:
			_, err = out.WriteString(`,"children":[`)
		case level <= depth:
			_, err = out.WriteString("}" + strings.Repeat("]}", depth-level) + ",")
		}
		depth = level
		if n.TypeCode == bookmarkType {
			if bookmarks++; bookmarks%1000 == 0 && progress != nil {
				progress(bookmarks)
			}
		}
		if err == nil {
			_, err = out.Write(bytes.TrimSuffix(object, []byte("}")))
		}
		return err
	}, s.tree())
	if err != nil {
		return err
	}
	if _, err := out.WriteString("}" + strings.Repeat("]}", max(depth, 0))); err != nil {
		return err
	}
	return out.Flush()
}

// encode is a node as Firefox writes it: & stays &.
func encode(n *node) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(n)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// each calls take for every row of a query.
func each(ctx context.Context, conn *sql.Conn, take func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
