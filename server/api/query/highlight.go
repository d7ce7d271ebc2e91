package query

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"bm/server/api/rules"
)

// Range is a part of a text, from byte Start up to byte End.
type Range struct{ Start, End int }

// Highlighter finds what of a bookmark a query's words match: the words and
// phrases that it was found by, whichever field a text is of.
type Highlighter struct {
	words []*Term
	tags  []string // keys
}

// Highlighter is what marks the query's words.
func (q Query) Highlighter() *Highlighter {
	return &Highlighter{words: q.words(), tags: tagsIn(q.Root)}
}

// tagsIn are the tags that a match carries.
func tagsIn(n Node) (keys []string) {
	switch n := n.(type) {
	case And:
		for _, part := range n {
			keys = append(keys, tagsIn(part)...)
		}
	case Or:
		for _, part := range n {
			keys = append(keys, tagsIn(part)...)
		}
	case Tag:
		keys = append(keys, n.Key)
	}
	return keys
}

// Text is what of a text the words match, in order and without overlaps.
func (h *Highlighter) Text(text string) []Range {
	if len(h.words) == 0 || text == "" {
		return nil
	}
	spans := scanSpans(text)
	var found []Range
	for _, word := range h.words {
		found = spans.find(word, found)
	}
	return merge(found)
}

// Tag reports whether the query asks for the tag as a whole.
func (h *Highlighter) Tag(name string) bool {
	return len(h.tags) > 0 && slices.Contains(h.tags, rules.TagKey(name))
}

// URL is [Highlighter.Text] of a URL as it is written, of which what it reads as
// is searched. Of a host that reads otherwise than it is written all is marked.
func (h *Highlighter) URL(raw string) []Range {
	var read strings.Builder
	var at []Range // of each byte that is read
	readURL(raw, func(part string, from, to int) {
		read.WriteString(part)
		for i := range len(part) {
			if part == raw[from:to] {
				at = append(at, Range{from + i, from + i + 1})
			} else {
				at = append(at, Range{from, to})
			}
		}
	})
	found := h.Text(read.String())
	for i, r := range found {
		found[i] = Range{at[r.Start].Start, at[r.End-1].End}
	}
	return merge(found)
}

// Without marks the words that none of some texts has; nil where they have all.
func (h *Highlighter) Without(texts ...string) *Highlighter {
	left := h.words
	for _, text := range texts {
		if len(left) == 0 {
			return nil
		}
		spans := scanSpans(text)
		left = slices.DeleteFunc(slices.Clone(left), func(word *Term) bool { return len(spans.find(word, nil)) > 0 })
	}
	if len(left) == 0 {
		return nil
	}
	return &Highlighter{words: left}
}

// span is a token and where it stands in the text.
type span struct {
	token string
	at    Range
}

// spans are the tokens of a text, and those added to them.
type spans struct {
	text       string
	row, added []span
}

func scanSpans(text string) *spans {
	s := &spans{text: text}
	scan(text, func(t token) {
		found := span{string(t.text), Range{t.start, t.end}}
		if t.alt {
			s.added = append(s.added, found)
		} else {
			s.row = append(s.row, found)
		}
	})
	return s
}

// find adds where a word stands.
func (s *spans) find(word *Term, found []Range) []Range {
	found = word.highlight(found, s.text, s.row)
	if len(word.Tokens) == 1 {
		found = word.highlight(found, s.text, s.added)
	}
	return found
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
