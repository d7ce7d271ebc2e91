package bookmark

import (
	"context"
	"fmt"
	"strings"

	"bm/cli/output"
	"bm/localstore"
	"bm/server/api/query"
)

// mistaken are the filters of a query that are none: they are searched as
// words, which finds nothing where it finds something else.
func mistaken(text string) []string {
	var hints []string
	for _, word := range strings.Fields(text) {
		key, value, found := strings.Cut(strings.TrimLeft(word, "-("), ":")
		value = strings.TrimRight(value, ")")
		if key = strings.ToLower(key); !found || value == "" {
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

// hint says on the side what a query can't have meant as it was written.
func (o *listOptions) hint(ctx context.Context, store *localstore.Store, replica int64) error {
	hints := mistaken(o.query)
	var unknown []string
	folders := foldersIn(query.Parse(o.query).Root)
	if len(folders) > 0 {
		tree, err := store.Tree(ctx, replica)
		if err != nil {
			return err
		}
		all := make([]query.FolderNode, len(tree))
		for i := range tree {
			all[i] = query.FolderNode{ID: tree[i].ID, ParentID: tree[i].ParentID, Name: tree[i].Name}
		}
		for _, f := range folders {
			if len(f.Resolve(all)) == 0 {
				unknown = append(unknown, localstore.JoinPath(f.Path...))
			}
		}
	}
	for _, path := range unknown {
		hints = append(hints, fmt.Sprintf("There is no folder %q; bm folder ls lists them.", path))
	}
	for _, text := range hints {
		fmt.Fprintln(o.app.IO.Err, output.Clean(text))
	}
	return nil
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
