package bookmark

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"bm/cli/output"
	"bm/localstore"
	"bm/server/api/query"
)

// filters are the keys of a query's filters.
var filters = []string{"tag", "folder", "site", "is", "before", "after"}

// unmeant are words that other programs take for filters or operators.
var unmeant = map[string]string{
	"tags": "tag:", "folders": "folder:", "host": "site:", "domain": "site:", "in": "folder:", "since": "after:", "until": "before:",
}

// foreign are the hints for what another program's grammar has.
func foreign(word string) string {
	key, _, filtered := strings.Cut(strings.TrimLeft(word, "-("), ":")
	switch key = strings.ToLower(key); {
	case filtered && unmeant[key] != "":
		return fmt.Sprintf("%s: is no filter and searched as a word; %s is one.", key, unmeant[key])
	case filtered && slices.Contains([]string{"title", "url", "description", "text"}, key):
		return fmt.Sprintf("%s: is no filter: words are looked for in title, tags, URL and description.", key)
	case word == "NOT":
		return "NOT is a word like any other: a - in front of a word says not."
	case word == "AND":
		return "AND is a word like any other: all words have to match anyhow."
	}
	return ""
}

// mistaken are the filters of a query that are none: they are searched as
// words, which finds nothing where it finds something else.
func mistaken(text string) []string {
	var hints []string
	for _, word := range outsideQuotes(text) {
		if hint := foreign(word); hint != "" {
			hints = append(hints, hint)
		}
		key, value, found := strings.Cut(strings.TrimLeft(word, "-("), ":")
		value = strings.TrimRight(value, ")")
		if key = strings.ToLower(key); !found {
			continue
		}
		if strings.Trim(value, `"`) == "" {
			if slices.Contains(filters, key) {
				hints = append(hints, fmt.Sprintf("%s: is no filter without a value behind it, and searched as a word.", key))
			}
			continue
		}
		_, isWord := query.Parse(key + ":" + value).Root.(*query.Term)
		switch {
		case key == "is" && isWord:
			hints = append(hints, fmt.Sprintf("%s:%s is no filter and searched as words: is: takes dead, ok, unknown, archived, untagged or unfiled.", key, value))
		case (key == "before" || key == "after") && isWord:
			hints = append(hints, fmt.Sprintf("%s:%s is no filter and searched as words: %s: takes a date such as 2025-01-31, 2025-01 or 2025.", key, value, key))
		}
	}
	return hints
}

// outsideQuotes splits a query at the spaces that stand outside quotes.
func outsideQuotes(text string) []string {
	var words []string
	start, quoted := -1, false
	for i, r := range text {
		if r == '"' {
			quoted = !quoted
		}
		switch space := unicode.IsSpace(r) && !quoted; {
		case space && start >= 0:
			words = append(words, text[start:i])
			start = -1
		case !space && start < 0:
			start = i
		}
	}
	if start >= 0 {
		words = append(words, text[start:])
	}
	return words
}

// hint says on the side what a query can't have meant as it was written; found
// is how much it finds.
func (o *listOptions) hint(ctx context.Context, store *localstore.Store, replica int64, found int) error {
	hints, parsed := mistaken(o.query), query.Parse(o.query)
	if parsed.Cut {
		hints = append(hints, "The query is longer than one can be: what lies beyond is not searched for, so that more is found than was asked for.")
	}
	if found == 0 {
		unknown, err := unknownFolders(ctx, store, replica, parsed)
		if err != nil {
			return err
		}
		hints = append(hints, unknown...)
	}
	for _, text := range hints {
		fmt.Fprintln(o.app.IO.Err, output.Clean(text))
	}
	return nil
}

// unknownFolders are hints at the folders of a query that there are not.
func unknownFolders(ctx context.Context, store *localstore.Store, replica int64, q query.Query) ([]string, error) {
	folders := foldersIn(q.Root)
	if len(folders) == 0 {
		return nil, nil
	}
	tree, err := store.Folders(ctx, replica)
	if err != nil {
		return nil, err
	}
	all := make([]query.FolderNode, len(tree))
	for i := range tree {
		all[i] = query.FolderNode{ID: tree[i].ID, ParentID: tree[i].ParentID, Name: tree[i].Name}
	}
	var hints []string
	for _, f := range folders {
		if len(f.Resolve(all)) == 0 {
			hints = append(hints, fmt.Sprintf("There is no folder %q; bm folder ls lists them.", localstore.JoinPath(f.Path...)))
		}
	}
	return hints, nil
}

// foldersIn are the folders that a query is narrowed to.
func foldersIn(n query.Node) []query.Folder {
	var found []query.Folder
	switch n := n.(type) {
	case query.And:
		for _, part := range n {
			found = append(found, foldersIn(part)...)
		}
	case query.Or:
		for _, part := range n {
			found = append(found, foldersIn(part)...)
		}
	case query.Not:
		return foldersIn(n.Node)
	case query.Folder:
		return []query.Folder{n}
	}
	return found
}
