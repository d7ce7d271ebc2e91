package query

import "strings"

// match writes a part as an expression of the index, within the scope.
func (c *compiler) match(n Node) string {
	var expr string
	if c.schema.Dialect == PostgreSQL {
		expr = tsquery(n)
		if c.schema.Scope != "" {
			expr = "'" + c.schema.Scope + "' & " + expr
		}
		return expr
	}
	expr = fts5(n)
	if c.schema.Scope != "" {
		expr = c.schema.ScopeColumn + ` : "` + c.schema.Scope + `" AND ` + expr
	}
	return expr
}

// fts5 writes an expression of SQLite's FTS5. Its NOT takes two sides, so that
// what is excluded goes to the right of all that is not.
func fts5(n Node) string {
	switch n := n.(type) {
	case *Term:
		return ftsTerm(n)
	case Site:
		return `url : "` + altMark + n.HostKey + `" *`
	case Or:
		return join(n, " OR ", fts5)
	case And:
		var with, without []Node
		for _, part := range n {
			if not, ok := part.(Not); ok {
				without = append(without, not.Node)
			} else {
				with = append(with, part)
			}
		}
		if len(without) == 0 {
			return join(with, " AND ", fts5)
		}
		return "(" + join(with, " AND ", fts5) + " NOT " + join(without, " OR ", fts5) + ")"
	}
	return `""`
}

func ftsTerm(t *Term) string {
	var b strings.Builder
	if t.Field != AnyField {
		b.WriteString(t.Field.column())
		b.WriteString(" : ")
	}
	b.WriteByte('"')
	b.WriteString(strings.Join(t.Tokens, " "))
	b.WriteByte('"')
	if t.Ending != Whole {
		b.WriteString(" *")
	}
	return b.String()
}

// tsquery writes a PostgreSQL tsquery.
func tsquery(n Node) string {
	switch n := n.(type) {
	case *Term:
		return tsTerm(n)
	case Site:
		return "'" + altMark + n.HostKey + "':*" + URL.weight()
	case Or:
		return join(n, " | ", tsquery)
	case And:
		return join(n, " & ", tsquery)
	case Not:
		return "!" + tsquery(n.Node)
	}
	return "''"
}

func tsTerm(t *Term) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, tok := range t.Tokens {
		if i > 0 {
			b.WriteString(" <-> ")
		}
		b.WriteByte('\'')
		b.WriteString(tok)
		b.WriteByte('\'')
		last := i == len(t.Tokens)-1
		if prefix := last && t.Ending != Whole; prefix || t.Field != AnyField {
			b.WriteByte(':')
			if prefix {
				b.WriteByte('*')
			}
			b.WriteString(t.Field.weight())
		}
	}
	b.WriteByte(')')
	return b.String()
}

func join[N Node](parts []N, with string, write func(Node) string) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, part := range parts {
		if i > 0 {
			b.WriteString(with)
		}
		b.WriteString(write(part))
	}
	b.WriteByte(')')
	return b.String()
}
