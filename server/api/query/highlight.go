package query

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Range is a part of a text, from byte Start up to byte End.
type Range struct{ Start, End int }

// Highlight is what of text the query's words match, in order and without
// overlaps: the words and phrases that a bookmark has been found by, whichever
// field the text comes from.
func (q Query) Highlight(text string) []Range {
	words := q.words()
	if len(words) == 0 || text == "" {
		return nil
	}
	var row, added []span
	scan(text, func(t token) {
		s := span{string(t.text), Range{t.start, t.end}}
		if t.alt {
			added = append(added, s)
		} else {
			row = append(row, s)
		}
	})
	var found []Range
	for _, word := range words {
		found = word.highlight(found, text, row)
		if len(word.Tokens) == 1 {
			found = word.highlight(found, text, added)
		}
	}
	return merge(found)
}

// span is a token and where it stands in the text.
type span struct {
	token string
	at    Range
}

func (t *Term) highlight(found []Range, text string, spans []span) []Range {
	for i := 0; i+len(t.Tokens) <= len(spans); i++ {
		if !t.beginsSpans(spans[i:]) {
			continue
		}
		last := spans[i+len(t.Tokens)-1]
		at := Range{spans[i].at.Start, last.at.End}
		if t.Ending == Part && last.token != t.Tokens[len(t.Tokens)-1] {
			// One character of a pair.
			_, size := utf8.DecodeRuneInString(text[last.at.Start:])
			at.End = last.at.Start + size
		}
		found = append(found, at)
	}
	return found
}

func (t *Term) beginsSpans(spans []span) bool {
	last := len(t.Tokens) - 1
	for i, tok := range t.Tokens {
		if spans[i].token != tok && (i != last || t.Ending == Whole || !strings.HasPrefix(spans[i].token, tok)) {
			return false
		}
	}
	return true
}

// merge sorts ranges and makes those that touch or overlap one.
func merge(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return slices.Clip(out)
}
