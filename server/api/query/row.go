package query

import (
	"slices"
	"strings"
	"time"
)

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
	m := matcher{tiers: q.tiers(), folders: folders}
	return m.match(row)
}

// matcher evaluates one query for one row after the other.
type matcher struct {
	tiers   []Node
	folders *FolderTree

	row   Row
	split [5][]string // the row's fields as tokens, nil if not asked for yet
}

func (m *matcher) match(row Row) (tier int, ok bool) {
	m.row, m.split = row, [5][]string{}
	for i, root := range m.tiers {
		if m.node(root) {
			return i, true
		}
	}
	return 0, false
}

func (m *matcher) node(n Node) bool {
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
		return slices.ContainsFunc(m.field(URL), func(tok string) bool { return strings.HasPrefix(tok, altMark+n.HostKey) })
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

// field is the tokens of a field of the row.
func (m *matcher) field(f Field) []string {
	if m.split[f] == nil {
		x := m.row.Index
		m.split[f] = append([]string{}, strings.Fields([...]string{"", x.Title, x.Tags, x.URL, x.Description}[f])...)
	}
	return m.split[f]
}

func (m *matcher) is(s State) bool {
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

func (m *matcher) term(t *Term) bool {
	if t.Field != AnyField {
		return t.in(m.field(t.Field))
	}
	return t.in(m.field(Title)) || t.in(m.field(Tags)) || t.in(m.field(URL)) || t.in(m.field(Description))
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
