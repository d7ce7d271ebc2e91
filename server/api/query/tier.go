package query

import (
	"slices"
	"strings"
	"time"
)

// tiers is the query once for each way to match, best first: all its words in
// one field, exactly; in that field, the last word as a prefix; and so on, the
// whole query at the end. What must not match is looked for everywhere.
func (q Query) tiers() []Node {
	words := q.words()
	if len(words) == 0 {
		return []Node{q.Root}
	}
	prefixed := slices.ContainsFunc(words, func(t *Term) bool { return t.Ending == Prefix })
	fields := []Field{Title, Tags, URL, Description}
	if len(words) > 1 {
		fields = append(fields, AnyField) // of one word, that is all of the above
	}
	var tiers []Node
	for _, field := range fields {
		tiers = append(tiers, restrict(q.Root, field, true))
		if prefixed {
			tiers = append(tiers, restrict(q.Root, field, false))
		}
	}
	return tiers
}

// restrict is the node with every word that must match looked for in one
// field alone, and exactly if it says so.
func restrict(n Node, field Field, exact bool) Node {
	switch n := n.(type) {
	case And:
		parts := make(And, len(n))
		for i, part := range n {
			parts[i] = restrict(part, field, exact)
		}
		return parts
	case Or:
		parts := make(Or, len(n))
		for i, part := range n {
			parts[i] = restrict(part, field, exact)
		}
		return parts
	case *Term:
		term := *n
		term.Field = field
		if exact && term.Ending == Prefix {
			term.Ending = Whole
		}
		return &term
	}
	return n
}

// Row is a bookmark as [Query.Match] sees it.
type Row struct {
	Index         Index
	TagKeys       []string
	CreatedAt     time.Time
	LinkStatus    string
	ArchiveStatus string
	FolderID      string // "" for none
}

// Match evaluates the query in plain Go: whether the row matches, and the
// number of the first tier that it is in. It is what the engines are tested
// against, and serves where there is no engine. folders are those of the
// workspace.
func (q Query) Match(row Row, folders *FolderTree) (tier int, ok bool) {
	m := matcher{row: row, folders: folders}
	for i, root := range q.tiers() {
		if m.node(root) {
			return i, true
		}
	}
	return 0, false
}

type matcher struct {
	row     Row
	folders *FolderTree
}

func (m matcher) node(n Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case And:
		return !slices.ContainsFunc(n, func(part Node) bool { return !m.node(part) })
	case Or:
		return slices.ContainsFunc(n, m.node)
	case Not:
		return !m.node(n.Node)
	case *Term:
		return m.term(n)
	case Site:
		tokens := strings.Fields(m.row.Index.URL)
		return slices.ContainsFunc(tokens, func(tok string) bool { return strings.HasPrefix(tok, altMark+n.HostKey) })
	case Tag:
		return slices.Contains(m.row.TagKeys, n.Key)
	case Folder:
		return m.folders.Holds(n, m.row.FolderID)
	case Is:
		return m.is(n.State)
	case Created:
		return m.row.CreatedAt.Before(n.From) == n.Before
	}
	return false
}

func (m matcher) is(s State) bool {
	switch s {
	case IsUntagged:
		return len(m.row.TagKeys) == 0
	case IsUnfiled:
		return m.row.FolderID == ""
	case IsArchived:
		return m.row.ArchiveStatus == "captured"
	default:
		return m.row.LinkStatus == string(s)
	}
}

func (m matcher) term(t *Term) bool {
	x := m.row.Index
	for i, text := range [...]string{x.Title, x.Tags, x.URL, x.Description} {
		if (t.Field == AnyField || t.Field == Field(i+1)) && t.in(strings.Fields(text)) {
			return true
		}
	}
	return false
}

// in reports whether the term's tokens stand in a row among tokens.
func (t *Term) in(tokens []string) bool {
	for i := 0; i+len(t.Tokens) <= len(tokens); i++ {
		if t.begins(tokens[i:]) {
			return true
		}
	}
	return false
}

// begins reports whether tokens, at least as many, begin with the term's.
func (t *Term) begins(tokens []string) bool {
	last := len(t.Tokens) - 1
	for i, tok := range t.Tokens {
		switch {
		case tokens[i] == tok:
		case i == last && t.Ending != Whole && strings.HasPrefix(tokens[i], tok):
		default:
			return false
		}
	}
	return true
}
