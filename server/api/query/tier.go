package query

import "slices"

// fields are where words are looked for, best first, and the way of several
// words that stand in different ones.
func (q Query) fields(words []*Term) []Field {
	if len(words) > 1 {
		return []Field{Title, Tags, URL, Description, AnyField}
	}
	return []Field{Title, Tags, URL, Description} // of one word, that is all
}

// tiers is the query once for each way to match, best first: all its words in
// one field, exactly; in that field, the last word as a prefix; and so on, the
// whole query at the end. What must not match is looked for everywhere. A
// bookmark may be in several; the first is its own.
func (q Query) tiers() []Node {
	words := q.words()
	if len(words) == 0 {
		return []Node{q.Root}
	}
	var tiers []Node
	for _, field := range q.fields(words) {
		tiers = append(tiers, restrict(q.Root, field, true))
		if prefixed(words) {
			tiers = append(tiers, restrict(q.Root, field, false))
		}
	}
	return tiers
}

func prefixed(words []*Term) bool {
	return slices.ContainsFunc(words, func(t *Term) bool { return t.Ending == Prefix })
}

// apart is the tiers without what an earlier one has, so that each can be gone
// through by itself. What is asked beside the words is the same in all of them,
// so that it is the words that are kept out.
func (q Query) apart() []Node {
	words := q.words()
	if len(words) == 0 {
		return []Node{q.Root}
	}
	parts, ok := q.Root.(And)
	if !ok {
		parts = And{q.Root}
	}
	var asked, beside And
	for _, part := range parts {
		if len(Query{Root: part}.words()) > 0 {
			asked = append(asked, part)
		} else {
			beside = append(beside, part)
		}
	}
	var tiers []Node
	var before And // what all fields so far have
	for _, field := range q.fields(words) {
		exact, all := restrict(simplify(asked), field, true), restrict(simplify(asked), field, false)
		tiers = append(tiers, simplify(And{exact, beside, before}))
		if prefixed(words) {
			tiers = append(tiers, simplify(And{all, beside, before, Not{exact}}))
		}
		before = append(before[:len(before):len(before)], Not{all})
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
