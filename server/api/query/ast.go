package query

import (
	"strings"
	"time"

	"bm/server/api/rules"
)

// Query is what a user asked for. The zero Query asks for everything.
type Query struct {
	// Root is nil where nothing was asked.
	Root Node
	// Cut is true where more was asked than a query may hold: what lies beyond
	// was not heeded, so that more may be found than was meant.
	Cut bool
}

// Node is a part of a query: [And], [Or], [Not], *[Term] or a filter.
type Node interface{ node() }

// And matches what each of its parts matches.
type And []Node

// Or matches what one of its parts matches.
type Or []Node

// Not matches what its part does not.
type Not struct{ Node Node }

// Term is a word or a phrase: its tokens, in a row, in one field.
type Term struct {
	Tokens []string
	Ending Ending
	// Field is where the term must be; [AnyField] unless the term is part of
	// a tier.
	Field Field
}

// Ending says how far the last token of a term must match.
type Ending uint8

// The endings of a term.
const (
	// Whole tokens only.
	Whole Ending = iota
	// Prefix matches tokens that begin with the last one, after those that
	// are equal to it.
	Prefix
	// Part is for the single character of a script without spaces: every
	// token that begins with it holds it, so that no match is better.
	Part
)

// Field is where a term is looked for.
type Field uint8

// The fields, best first.
const (
	AnyField Field = iota
	Title
	Tags
	URL
	Description
)

// column is the field's name in the FTS5 table, and weight in a tsvector.
func (f Field) column() string { return [...]string{"", "title", "tags", "url", "description"}[f] }

func (f Field) weight() string { return [...]string{"", "A", "B", "C", "D"}[f] }

// Tag matches bookmarks that carry a tag.
type Tag struct {
	// Key is the tag's [rules.TagKey].
	Key string
}

// Folder matches bookmarks in a folder or below it.
type Folder struct {
	// Path names the folder and, before it, the folders that it lies in. A
	// path matches wherever in the tree it is, unless it is Rooted.
	Path   []string
	Rooted bool
}

// Site matches bookmarks of a host or of one below it.
type Site struct {
	// HostKey is what [HostKey] of the bookmark's URL must begin with.
	HostKey string
}

// Is matches bookmarks in a state.
type Is struct{ State State }

// State is a value of is:.
type State string

// The states that is: knows.
const (
	IsDead     State = "dead"
	IsOK       State = "ok"
	IsUnknown  State = "unknown"
	IsArchived State = "archived"
	IsUntagged State = "untagged"
	IsUnfiled  State = "unfiled"
)

var states = [...]State{IsDead, IsOK, IsUnknown, IsArchived, IsUntagged, IsUnfiled}

// Created matches bookmarks by when they were made: before From where Before
// is set, else at From or later.
type Created struct {
	From   time.Time
	Before bool
}

func (And) node()     {}
func (Or) node()      {}
func (Not) node()     {}
func (*Term) node()   {}
func (Tag) node()     {}
func (Folder) node()  {}
func (Site) node()    {}
func (Is) node()      {}
func (Created) node() {}

// Empty reports whether the query asks for nothing in particular.
func (q Query) Empty() bool { return q.Root == nil }

// Ranked reports whether the query has words to rank by; without any, its one
// order is newest first.
func (q Query) Ranked() bool { return len(q.words()) > 0 }

// words are the terms that a match holds, as opposed to those that it must
// not hold.
func (q Query) words() []*Term {
	var found []*Term
	var walk func(Node)
	walk = func(n Node) {
		switch n := n.(type) {
		case And:
			for _, part := range n {
				walk(part)
			}
		case Or:
			for _, part := range n {
				walk(part)
			}
		case *Term:
			found = append(found, n)
		}
	}
	walk(q.Root)
	return found
}

// parsePath splits the value of folder: at its slashes; `\/` is a literal one.
func parsePath(value string) (Folder, bool) {
	var f Folder
	var name strings.Builder
	f.Rooted = strings.HasPrefix(value, "/")
	end := func() {
		if s := rules.Line(name.String()); s != "" {
			f.Path = append(f.Path, s)
		}
		name.Reset()
	}
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && i+1 < len(value) && (value[i+1] == '/' || value[i+1] == '\\'):
			i++
			name.WriteByte(value[i])
		case c == '/':
			end()
		default:
			name.WriteByte(c)
		}
	}
	end()
	return f, len(f.Path) > 0
}
