package tree

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// Order is how a list is sorted. Every order ends with the id, so that it is
// total and a position in it is exact.
type Order struct {
	key        string
	column     string
	descending bool
}

var sortColumns = map[string]string{
	"createdAt": "b.created_at", "updatedAt": "b.updated_at", "title": "b.title_key", "url": fmt.Sprintf("substr(b.url, 1, %d)", maxURLKey), "sortOrder": "b.sort_order",
}

// maxURLKey is how many characters of a URL it is sorted by: what a sort holds in
// memory is not to be the caller's to choose.
const maxURLKey = 512

// NewestFirst is the order of a list that does not ask for one.
var NewestFirst = Order{"createdAt", "b.created_at", true}

// ParseOrder reads a sortBy; relevance is true where it asks for that.
func ParseOrder(sortBy string) (order Order, relevance bool, err error) {
	if sortBy == "" {
		return NewestFirst, false, nil
	}
	if sortBy == "relevance" {
		return Order{}, true, nil
	}
	key, descending := strings.CutPrefix(sortBy, "-")
	column, ok := sortColumns[key]
	if !ok {
		return Order{}, false, api.Invalid("query.sortBy", "must be one of %s, with - in front for descending", strings.Join(api.SortKeys, ", "))
	}
	return Order{key, column, descending}, false, nil
}

// position is where a page ends.
type position struct {
	Number int64  `json:"n,omitempty"`
	Text   string `json:"t,omitempty"`
	ID     string `json:"id"`
}

// Position is where a page that ends with b goes on.
func (o Order) Position(b Bookmark) any {
	p := position{ID: b.ID}
	switch o.key {
	case "createdAt":
		p.Number = b.CreatedAt.Micros()
	case "updatedAt":
		p.Number = b.UpdatedAt.Micros()
	case "title":
		p.Text = titleKey(b.Title)
	case "url":
		p.Text, _ = rules.Cut(b.URL, maxURLKey)
	case "sortOrder":
		p.Number = b.SortOrder
	}
	return p
}

// after adds what continues behind a position.
func (o Order) after(c *condition, raw json.RawMessage) error {
	var p position
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("read a cursor: %w", err)
	}
	var value any = p.Number
	if o.key == "title" || o.key == "url" {
		value = p.Text
	}
	sign := ">"
	if o.descending {
		sign = "<"
	}
	c.and(fmt.Sprintf("(%s, b.id) %s (%s, %s)", o.column, sign, c.bind(value), c.bind(p.ID)))
	return nil
}

func (o Order) orderBy() string {
	if o.descending {
		return " ORDER BY " + o.column + " DESC, b.id DESC"
	}
	return " ORDER BY " + o.column + ", b.id"
}

// limited is a LIMIT whose value is bound. SQLite plans a statement anew each
// time that a bare LIMIT ? has another value; an expression it leaves alone.
func limited(placeholder string) string { return ` LIMIT (0 + ` + placeholder + `)` }

// Page is the part of a list that is asked for.
type Page struct {
	Limit  int
	Offset int
	After  json.RawMessage
}

// List reads a page of the bookmarks that pass a filter, and one more where
// there is one.
func (t *Tree) List(ctx context.Context, scope access.Scope, filter api.BookmarkFilter, order Order, page Page) (list []Bookmark, err error) {
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		c, by, err := listed(ctx, tx, scope, filter, &order)
		if err != nil {
			return err
		}
		if page.After != nil {
			if err := order.after(c, page.After); err != nil {
				return err
			}
		}
		text := ` FROM bookmark b` + by + ` WHERE ` + c.String() + order.orderBy() +
			limited(c.bind(page.Limit+1)) + ` OFFSET ` + c.bind(page.Offset)
		if tx.Dialect() == sqldb.SQLite && (order.column != NewestFirst.column || filter.FilterStatus == "deleted") {
			// It has no index in this order, and holds in memory what it sorts, up to
			// the offset: no whole rows, then. A cross join keeps the order of the left.
			text = ` FROM (SELECT b.seq AS place` + text + `) AS page CROSS JOIN bookmark b ON b.seq = page.place`
		}
		text = `SELECT ` + BookmarkColumns + text
		list = make([]Bookmark, 0, page.Limit+1)
		var reader BookmarkReader
		load := NewLoad(ctx)
		return tx.Rows(ctx, text, c.args, func(row sqldb.Scanner) error {
			b, err := reader.Read(row)
			if err != nil {
				return err
			}
			list = append(list, *b)
			return load.Add(sizeOf(&b.Bookmark))
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list the bookmarks: %w", err)
	}
	return list, nil
}

// listed is the condition of a list, and by which index it goes where SQLite has
// to be told.
func listed(ctx context.Context, tx *sqldb.Tx, scope access.Scope, filter api.BookmarkFilter, order *Order) (c *condition, by string, err error) {
	if !narrowed(filter) || order.column != NewestFirst.column || tx.Dialect() != sqldb.SQLite {
		c, err = where(ctx, tx, scope, filter)
		return c, "", err
	}
	look := newTagLook(ctx, tx, scope)
	// Of a common tag alone no more are looked at than are counted.
	if c, err = whereBy(ctx, look, filter, unlessCommon); err != nil {
		return nil, "", err
	}
	few, err := few(ctx, tx, c)
	if err != nil {
		return nil, "", err
	}
	if few {
		order.column = "+" + order.column
		return c, "", nil
	}
	c, err = whereBy(ctx, look, filter, oneByOne)
	return c, " INDEXED BY bookmark_created", err
}

// fewRows is up to how many rows of a list by date are found first and then
// sorted. A few may lie anywhere in the workspace; many are soon met where all
// of it is gone through in order.
const fewRows = 3000

// narrowed tells whether a filter has a way of its own to what it finds.
// PostgreSQL knows by itself when to take it.
func narrowed(filter api.BookmarkFilter) bool {
	return filter.FilterStatus != "deleted" &&
		(filter.FolderID != "" || filter.FilterStatus == "unfiled" || len(filter.Tags) > 0 || filter.Query != "")
}

// few tells whether a condition finds few rows.
func few(ctx context.Context, tx *sqldb.Tx, c *condition) (bool, error) {
	var n int
	err := tx.Row(ctx, `SELECT count(*) FROM (SELECT 1 FROM bookmark b WHERE `+c.String()+fmt.Sprintf(` LIMIT %d)`, fewRows), c.args, &n)
	if err != nil {
		return false, fmt.Errorf("look how much passes the filter: %w", err)
	}
	return n < fewRows, nil
}

// Count counts the bookmarks that pass a filter.
func (t *Tree) Count(ctx context.Context, scope access.Scope, filter api.BookmarkFilter) (n int, err error) {
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		c, err := where(ctx, tx, scope, filter)
		if err != nil {
			return err
		}
		return tx.Row(ctx, `SELECT count(*) FROM bookmark b WHERE `+c.String(), c.args, &n)
	})
	if err != nil {
		return 0, fmt.Errorf("count the bookmarks: %w", err)
	}
	return n, nil
}

// Get reads one live bookmark.
func (t *Tree) Get(ctx context.Context, scope access.Scope, id string) (b Bookmark, err error) {
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		b, err = findBookmark(ctx, tx, scope.TenantID, scope.WorkspaceID, id)
		return err
	})
	if err == nil && !b.Live() {
		err = noBookmark()
	}
	return b, err
}

// GetFolder reads one live folder.
func (t *Tree) GetFolder(ctx context.Context, scope access.Scope, id string) (f Folder, err error) {
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		f, err = findFolder(ctx, tx, scope.TenantID, scope.WorkspaceID, id)
		return err
	})
	if err == nil && !f.Live() {
		err = noFolder()
	}
	return f, err
}

// Folders reads all live folders, newest first, or those in the trash.
func (t *Tree) Folders(ctx context.Context, scope access.Scope, deleted bool) (list []Folder, err error) {
	err = t.db.Read(ctx, func(tx *sqldb.Tx) error {
		list, err = t.FoldersIn(ctx, tx, scope, deleted)
		return err
	})
	return list, err
}

// FoldersIn is [Tree.Folders] within a transaction.
func (t *Tree) FoldersIn(ctx context.Context, tx *sqldb.Tx, scope access.Scope, deleted bool) (list []Folder, err error) {
	part := `deleted_at = 0`
	if deleted {
		part = `deleted_at > 0 AND deletion_id <> '` + Purged + `'`
	}
	load := NewLoad(ctx)
	err = tx.Rows(ctx, `SELECT `+folderColumns+` FROM folder WHERE tenant_id = $1 AND workspace_id = $2 AND `+part+` ORDER BY created_at DESC, id DESC`,
		[]any{scope.TenantID, scope.WorkspaceID}, func(row sqldb.Scanner) error {
			f, err := scanFolder(row)
			if err != nil {
				return err
			}
			list = append(list, f)
			return load.Add(sizeOfFolder(&f.Folder))
		})
	if err != nil {
		return nil, fmt.Errorf("list the folders: %w", err)
	}
	return list, nil
}

// folderNodes is the living tree, which load is told of.
func folderNodes(ctx context.Context, tx *sqldb.Tx, scope access.Scope, load *Load) (nodes []query.FolderNode, err error) {
	err = tx.Rows(ctx, `SELECT id, parent_id, name FROM folder WHERE tenant_id = $1 AND workspace_id = $2 AND deleted_at = 0 ORDER BY id`,
		[]any{scope.TenantID, scope.WorkspaceID}, func(row sqldb.Scanner) error {
			var n query.FolderNode
			if err := row.Scan(&n.ID, &n.ParentID, &n.Name); err != nil {
				return err
			}
			nodes = append(nodes, n)
			return load.Add(nodeBytes + len(n.Name))
		})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return nodes, nil
}

// nodeBytes is what a folder of a tree holds beside its name: two ids, its place
// among the others and what tells whether it was meant.
const nodeBytes = 250
