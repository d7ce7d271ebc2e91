package query

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Dialect is the engine that SQL is written for.
type Dialect uint8

// The dialects.
const (
	SQLite Dialect = iota
	PostgreSQL
)

// Schema says how a store's tables are called. Names are put into SQL as they
// stand; values never are.
type Schema struct {
	Dialect Dialect
	// Index is the FTS5 table on SQLite ("bookmark_fts"), the tsvector column
	// on PostgreSQL ("b.search").
	Index string
	// Row is the bookmark's column that is the FTS5 table's rowid ("b.seq");
	// of no use on PostgreSQL.
	Row string
	// Scope, of [ScopeToken], is what every search of the index is kept
	// within, and ScopeColumn the FTS5 column that holds it. Both are "" where
	// the index holds one workspace.
	Scope, ScopeColumn string

	CreatedAt     string // column, µs
	LinkStatus    string // column
	ArchiveStatus string // column
	FolderID      string // column
	NoFolder      string // condition: the bookmark is in no folder
	NoTags        string // condition: the bookmark has no tags
	// HasTag is the condition that the bookmark has the tag with that key; bind
	// adds a value and answers its placeholder.
	HasTag func(key string, bind func(any) string) (string, error)
	// Folders finds the ids that a filter means, see [FolderTree.Resolve]. It is
	// asked once for each filter of a query.
	Folders func(Folder) ([]string, error)
}

// Tier is one step of a ranked search. A bookmark belongs to it when it is in
// the index by Match, if that is not empty, and Where holds.
type Tier struct {
	// Match is an FTS5 expression (… MATCH $n) or a tsquery
	// (… @@ $n::text::tsquery); "" where the index is not the place to begin.
	Match string
	// Where is a condition on the bookmark, "TRUE" for none. Its placeholders
	// are numbered on from the one that was asked for.
	Where string
	Args  []any
}

// Filter is the whole query as one condition, for lists in an order of their
// own, counts and exports. Its placeholders are $first, $first+1 ….
func (q Query) Filter(s Schema, first int) (where string, args []any, err error) {
	c := compiler{schema: s, next: first, folders: map[string]string{}}
	where = c.condition(q.Root)
	return where, c.args, c.err
}

// Tiers is the query in steps, best first; a bookmark is in one of them. The
// placeholders of each begin at $first.
func (q Query) Tiers(s Schema, first int) ([]Tier, error) {
	roots := q.apart()
	tiers := make([]Tier, 0, len(roots))
	folders := map[string]string{}
	for _, root := range roots {
		c := compiler{schema: s, next: first, folders: folders}
		t := c.tier(root)
		if c.err != nil {
			return nil, c.err
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// compiler writes one statement's condition.
type compiler struct {
	schema Schema
	next   int
	args   []any
	err    error
	// folders are the lists of ids that filters mean, one text for every tier:
	// there can be hundreds of thousands in one.
	folders map[string]string
}

// bind adds a value and returns its placeholder.
func (c *compiler) bind(v any) string {
	c.args = append(c.args, v)
	c.next++
	return "$" + strconv.Itoa(c.next-1)
}

func (c *compiler) tier(root Node) Tier {
	parts, ok := root.(And)
	if !ok {
		parts = And{root}
	}
	indexed, rest := c.split(parts)
	t := Tier{Where: "TRUE"}
	if indexed != nil {
		t.Match = c.match(indexed)
	}
	if len(rest) > 0 {
		t.Where = c.condition(rest)
	}
	t.Args = c.args
	return t
}

// split parts what the index answers in one go from the rest. There is
// nothing for the index unless something in it must be found: it cannot list
// what does not match.
func (c *compiler) split(parts And) (indexed, rest And) {
	found := false
	for _, part := range parts {
		switch {
		case !c.indexable(part):
			rest = append(rest, part)
		default:
			indexed = append(indexed, part)
			found = found || !isNot(part)
		}
	}
	if !found {
		return nil, parts
	}
	return indexed, rest
}

func isNot(n Node) bool {
	_, ok := n.(Not)
	return ok
}

// indexable reports whether the index alone can answer a part. Of a Not that
// holds for what it excludes.
func (c *compiler) indexable(n Node) bool {
	switch n := n.(type) {
	case *Term, Site:
		return true
	case Not:
		return !isNot(n.Node) && c.indexable(n.Node)
	case Or:
		for _, part := range n {
			if isNot(part) || !c.indexable(part) {
				return false
			}
		}
		return true
	case And:
		indexed, rest := c.split(n)
		return len(indexed) > 0 && len(rest) == 0
	}
	return false
}

// condition writes a part as SQL.
func (c *compiler) condition(n Node) string {
	switch n := n.(type) {
	case nil:
		return "TRUE"
	case And:
		indexed, rest := c.split(n)
		if len(rest) == 0 {
			return c.inIndex(indexed)
		}
		conditions := make([]string, 0, len(rest)+1)
		if indexed != nil {
			conditions = append(conditions, c.inIndex(indexed))
		}
		for _, part := range rest {
			conditions = append(conditions, c.condition(part))
		}
		return "(" + strings.Join(conditions, " AND ") + ")"
	case Or:
		if c.indexable(n) {
			return c.inIndex(n)
		}
		conditions := make([]string, 0, len(n))
		for _, part := range n {
			conditions = append(conditions, c.condition(part))
		}
		return "(" + strings.Join(conditions, " OR ") + ")"
	case Not:
		return "NOT " + c.condition(n.Node)
	case *Term, Site:
		return c.inIndex(n)
	default:
		return c.filter(n)
	}
}

// inIndex is the condition that the index finds the bookmark.
func (c *compiler) inIndex(n Node) string {
	at := c.bind(c.match(n))
	if c.schema.Dialect == PostgreSQL {
		return fmt.Sprintf("(%s @@ %s::text::tsquery)", c.schema.Index, at)
	}
	return fmt.Sprintf("(%s IN (SELECT rowid FROM %s WHERE %[2]s MATCH %s))", c.schema.Row, c.schema.Index, at)
}

func (c *compiler) filter(n Node) string {
	s := c.schema
	switch n := n.(type) {
	case Tag:
		has, err := s.HasTag(n.Key, c.bind)
		if err != nil && c.err == nil {
			c.err = fmt.Errorf("find a tag of a query: %w", err)
		}
		return "(" + has + ")"
	case Created:
		op := ">="
		if n.Before {
			op = "<"
		}
		return fmt.Sprintf("(%s %s %s)", s.CreatedAt, op, c.bind(n.From.UnixMicro()))
	case Is:
		switch n.State {
		case IsUntagged:
			return "(" + s.NoTags + ")"
		case IsUnfiled:
			return "(" + s.NoFolder + ")"
		case IsArchived:
			return fmt.Sprintf("(%s = 'captured')", s.ArchiveStatus)
		default:
			return fmt.Sprintf("(%s = %s)", s.LinkStatus, c.bind(string(n.State)))
		}
	case Folder:
		return c.folder(n)
	}
	return "FALSE"
}

// folder binds the ids as one JSON array: there can be more of them than an
// engine takes placeholders.
func (c *compiler) folder(f Folder) string {
	key := f.key()
	list, known := c.folders[key]
	if !known && c.err == nil {
		list, c.err = c.listed(f)
		c.folders[key] = list
	}
	if list == "" {
		return "FALSE"
	}
	at := c.bind(list)
	if c.schema.Dialect == PostgreSQL {
		return fmt.Sprintf("(%s IN (SELECT jsonb_array_elements_text(%s::text::jsonb)))", c.schema.FolderID, at)
	}
	return fmt.Sprintf("(%s IN (SELECT value FROM json_each(%s)))", c.schema.FolderID, at)
}

// listed is the ids that a filter means, as JSON; "" for none.
func (c *compiler) listed(f Folder) (string, error) {
	ids, err := c.schema.Folders(f)
	if err != nil {
		return "", fmt.Errorf("find the folders of a query: %w", err)
	}
	if len(ids) == 0 {
		return "", nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return "", fmt.Errorf("encode the folders of a query: %w", err)
	}
	return string(list), nil
}
