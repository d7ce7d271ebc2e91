package bookmark

import (
	"strings"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api/query"
)

// highlight marks what a bookmark was found by; nil marks nothing.
type highlight struct{ words *query.Highlighter }

func newHighlight(q query.Query) *highlight { return &highlight{q.Highlighter()} }

func spans(ranges []query.Range) []output.Span {
	marked := make([]output.Span, len(ranges))
	for i, r := range ranges {
		marked[i] = output.Span(r)
	}
	return marked
}

// text marks what is searched as it is written.
func (h *highlight) text(text string) []output.Span { return spans(h.words.Text(text)) }

func (h *highlight) url(raw string) []output.Span { return spans(h.words.URL(raw)) }

// tags marks joined tags: the words of their names, and all of one that was asked
// for as such.
func (h *highlight) tags(list []string) output.Marks {
	return func(joined string) []output.Span {
		var marked []output.Span
		at := 0
		for _, tag := range list {
			quoted := app.QuoteTag(tag)
			if h.words.Tag(tag) {
				marked = append(marked, output.Span{Start: at, End: at + len(quoted)})
			}
			at += len(quoted) + len(",")
		}
		if len(marked) > 0 {
			return marked
		}
		return h.text(joined)
	}
}

// apply has the cells of a bookmark's row marked.
func (h *highlight) apply(b *localstore.Bookmark, title, url, tags *output.Cell) {
	if h == nil {
		return
	}
	title.Marks, url.Marks, tags.Marks = h.text, h.url, h.tags(b.Tags)
	if b.Title == "" {
		title.Marks = h.url // which is shown in its place
	}
}

// below is what of the description a bookmark was found by, where nothing else of
// its row has it.
func (h *highlight) below(b *localstore.Bookmark) output.Cell {
	if h == nil || b.Description == "" {
		return output.Cell{}
	}
	unseen := h.words.Without(b.Title, strings.Join(b.Tags, " "), query.URLText(b.URL))
	if unseen == nil {
		return output.Cell{}
	}
	found := unseen.Text(b.Description)
	if len(found) == 0 {
		return output.Cell{}
	}
	return output.Cell{Value: output.Around(b.Description, found[0].Start), Style: output.Faint, Marks: h.text}
}
