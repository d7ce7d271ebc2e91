// Package placestest makes profiles of Firefox for tests: databases with its
// schema, today's and that of its first years, as they lie on disk while it runs
// and after it has ended.
package placestest

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // the "sqlite" driver
)

// Schemas of Firefox.
var (
	//go:embed modern.sql
	modern string
	//go:embed old.sql
	old string
)

// Node is a bookmark, or a folder where it has no URL, or a separator.
type Node struct {
	Title, URL  string
	Separator   bool
	Children    []Node
	Tags        []string
	Keyword     string
	PostData    string
	Charset     string
	Description string // of an old Firefox
	// Hidden is what Firefox made for itself, and leaves out of backups.
	Hidden bool
}

// Profile is what a database is to hold.
type Profile struct {
	// Old is one of Firefox 3: no ids, roots in a table of their own, keywords that
	// belong to a bookmark.
	Old                            bool
	Menu, Toolbar, Unfiled, Mobile []Node
	// Orphans are in a folder that is not there.
	Orphans []Node
}

// Added is when all that is in a profile was added, in microseconds.
const Added = 1_600_000_000_123_456

// Running is a database as it lies on disk while its browser runs: locked for
// everybody else, and with all that was written in its log.
type Running struct {
	db   *sql.DB
	conn *sql.Conn
}

// Start makes a database and keeps it open as Firefox does.
func Start(ctx context.Context, path string, p Profile) (*Running, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=locking_mode(EXCLUSIVE)&_pragma=synchronous(OFF)&_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		return nil, err
	}
	r := &Running{db: db}
	if r.conn, err = db.Conn(ctx); err == nil {
		err = r.fill(ctx, p)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return r, nil
}

// Make makes a database as it lies on disk when its browser has ended.
func Make(ctx context.Context, path string, p Profile) error {
	r, err := Start(ctx, path, p)
	if err != nil {
		return err
	}
	return r.End()
}

// Exec runs a statement as the browser would.
func (r *Running) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := r.conn.ExecContext(ctx, statement, args...)
	return err
}

// Add adds so many bookmarks to the menu, each with its number in its URL.
func (r *Running) Add(ctx context.Context, bookmarks int, title string) error {
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) `
	return errors.Join(
		r.Exec(ctx, numbers+`INSERT INTO moz_places(id, url) SELECT 1000000 + i, 'https://' || i || '.example/' FROM n`, bookmarks),
		r.Exec(ctx, numbers+`INSERT INTO moz_bookmarks(id, type, fk, parent, position, title, dateAdded) SELECT 1000000 + i, 1, 1000000 + i, 2, i, ?, ? FROM n`,
			bookmarks, title, int64(Added)),
	)
}

// End ends the browser: what is in the log goes into the file.
func (r *Running) End() error { return errors.Join(r.conn.Close(), r.db.Close()) }

func (r *Running) fill(ctx context.Context, p Profile) error {
	schema := modern
	if p.Old {
		schema = old
	}
	if err := r.Exec(ctx, "BEGIN;"+schema); err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	w := &writer{running: r, ctx: ctx, old: p.Old, next: 100, places: map[string]int64{}, tags: map[string]int64{}, notes: map[string]int64{}}
	for _, root := range []struct {
		id    int64
		nodes []Node
	}{{2, p.Menu}, {3, p.Toolbar}, {5, p.Unfiled}, {6, p.Mobile}, {99, p.Orphans}} {
		w.list(root.id, root.nodes)
	}
	w.exec("COMMIT")
	return w.err
}

// writer writes rows with numbers of its own; the first failure stays.
type writer struct {
	running *Running
	ctx     context.Context
	old     bool
	next    int64
	places  map[string]int64
	tags    map[string]int64
	notes   map[string]int64
	err     error
}

func (w *writer) exec(statement string, args ...any) {
	if w.err == nil {
		w.err = w.running.Exec(w.ctx, statement, args...)
	}
}

func (w *writer) id() int64 {
	w.next++
	return w.next
}

func (w *writer) list(parent int64, nodes []Node) {
	for i := range nodes {
		w.node(parent, i, &nodes[i])
	}
}

func (w *writer) node(parent int64, position int, n *Node) {
	id := w.id()
	switch {
	case n.Separator:
		w.row(id, 3, nil, parent, position, nil)
	case n.URL == "":
		w.row(id, 2, nil, parent, position, n.Title)
		w.list(id, n.Children)
	default:
		place := w.place(n.URL)
		w.row(id, 1, place, parent, position, n.Title)
		for _, tag := range n.Tags {
			w.row(w.id(), 1, place, w.tag(tag), 0, nil)
		}
		w.keyword(id, place, n)
		if n.Charset != "" {
			w.exec(`INSERT OR IGNORE INTO moz_annos(place_id, anno_attribute_id, content) VALUES (?, ?, ?)`, place, w.note("URIProperties/characterSet"), n.Charset)
		}
	}
	if n.Description != "" {
		w.annotate(id, "bookmarkProperties/description", n.Description)
	}
	if n.Hidden {
		w.annotate(id, "places/excludeFromBackup", "1")
	}
}

func (w *writer) row(id int64, kind int, place any, parent int64, position int, title any) {
	w.exec(`INSERT INTO moz_bookmarks(id, type, fk, parent, position, title, dateAdded, lastModified) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id, kind, place, parent, position, title, int64(Added), int64(Added))
	if !w.old {
		w.exec(`UPDATE moz_bookmarks SET guid = ? WHERE id = ?`, fmt.Sprintf("guid%08d", id), id)
	}
}

func (w *writer) place(url string) int64 {
	if w.places[url] == 0 {
		w.places[url] = w.id()
		w.exec(`INSERT INTO moz_places(id, url) VALUES (?, ?)`, w.places[url], url)
	}
	return w.places[url]
}

func (w *writer) tag(name string) int64 {
	if w.tags[name] == 0 {
		w.tags[name] = w.id()
		w.row(w.tags[name], 2, nil, 4, len(w.tags), name)
	}
	return w.tags[name]
}

func (w *writer) keyword(id, place int64, n *Node) {
	switch {
	case n.Keyword == "":
	case w.old:
		keyword := w.id()
		w.exec(`INSERT INTO moz_keywords(id, keyword) VALUES (?, ?)`, keyword, n.Keyword)
		w.exec(`UPDATE moz_bookmarks SET keyword_id = ? WHERE id = ?`, keyword, id)
		if n.PostData != "" {
			w.annotate(id, "bookmarkProperties/POSTData", n.PostData)
		}
	default:
		w.exec(`INSERT INTO moz_keywords(keyword, place_id, post_data) VALUES (?, ?, ?)`, n.Keyword, place, n.PostData)
	}
}

func (w *writer) note(name string) int64 {
	if w.notes[name] == 0 {
		w.notes[name] = w.id()
		w.exec(`INSERT INTO moz_anno_attributes(id, name) VALUES (?, ?)`, w.notes[name], name)
	}
	return w.notes[name]
}

func (w *writer) annotate(item int64, name, content string) {
	w.exec(`INSERT INTO moz_items_annos(item_id, anno_attribute_id, content, expiration) VALUES (?, ?, ?, 4)`, item, w.note(name), content)
}

// Parse reads a profile from lines, for scripts: a root, or a bookmark with its
// path of folders, title, URL and tags, separated by bars.
//
//	toolbar | Dev/Go | The Go language | https://go.dev/ | go,lang
func Parse(text string) (Profile, error) {
	var p Profile
	rootNodes := map[string]*[]Node{"menu": &p.Menu, "toolbar": &p.Toolbar, "unfiled": &p.Unfiled, "mobile": &p.Mobile}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var fields [5]string
		for i, field := range strings.SplitN(line, "|", len(fields)) {
			fields[i] = strings.TrimSpace(field)
		}
		list := rootNodes[fields[0]]
		if list == nil {
			return p, fmt.Errorf("there is no root %q", fields[0])
		}
		for name := range strings.SplitSeq(fields[1], "/") {
			if name != "" {
				list = folder(list, name)
			}
		}
		n := Node{Title: fields[2], URL: fields[3]}
		if fields[4] != "" {
			n.Tags = strings.Split(fields[4], ",")
		}
		*list = append(*list, n)
	}
	return p, nil
}

// folder is what is in the folder of that name, which is made where it is missing.
func folder(list *[]Node, name string) *[]Node {
	for i := range *list {
		if n := &(*list)[i]; n.URL == "" && n.Title == name {
			return &n.Children
		}
	}
	*list = append(*list, Node{Title: name})
	return &(*list)[len(*list)-1].Children
}
