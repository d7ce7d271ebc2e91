package bookmarks

import (
	"context"
	"io"
	"iter"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/query"
	"bm/server/api/rules"
	"bm/server/op"
	"bm/server/tree"
)

// List reads a page of the bookmarks that pass a filter.
func (s *Service) List(ctx context.Context, scope access.Scope, filter api.BookmarkFilter, sortBy string, p op.Paging) (op.List[api.Bookmark], error) {
	order, byRelevance, err := tree.ParseOrder(sortBy)
	if err != nil {
		return op.List[api.Bookmark]{}, err
	}
	if byRelevance {
		if query.Parse(filter.Query).Empty() {
			return op.List[api.Bookmark]{}, api.Invalid("query.sortBy", "relevance needs a query in q")
		}
		return s.Search(ctx, scope, filter, p)
	}
	rows, err := s.tree.List(ctx, scope, filter, order, page(p))
	return shown(rows, p.Limit, func(b *tree.Bookmark) *api.Bookmark { return &b.Bookmark }, order.Position), err
}

// Search reads a page of what a query finds, by relevance.
func (s *Service) Search(ctx context.Context, scope access.Scope, filter api.BookmarkFilter, p op.Paging) (op.List[api.Bookmark], error) {
	rows, err := s.tree.Search(ctx, scope, filter, page(p))
	return shown(rows, p.Limit, func(f *tree.Found) *api.Bookmark { return &f.Bookmark.Bookmark }, tree.Found.Position), err
}

func page(p op.Paging) tree.Page { return tree.Page{Limit: p.Limit, Offset: p.Offset, After: p.After} }

// shown makes the answer of rows that were asked for one more than the page
// holds.
func shown[T any](rows []T, limit int, bookmark func(*T) *api.Bookmark, position func(T) any) op.List[api.Bookmark] {
	list := op.List[api.Bookmark]{Items: make([]api.Bookmark, 0, min(limit, len(rows)))}
	if len(rows) > limit {
		rows = rows[:limit]
		list.More, list.Position = true, position(rows[limit-1])
	}
	for i := range rows {
		list.Items = append(list.Items, *bookmark(&rows[i]))
	}
	return list
}

// Count counts the bookmarks that pass a filter.
func (s *Service) Count(ctx context.Context, scope access.Scope, filter api.BookmarkFilter) (api.Count, error) {
	n, err := s.tree.Count(ctx, scope, filter)
	return api.Count{Count: n}, err
}

// Tags reads a page of the tags of a workspace with their counts, by name.
func (s *Service) Tags(ctx context.Context, scope access.Scope, p op.Paging) (op.List[api.Tag], error) {
	tags, err := s.tree.Tags(ctx, scope, page(p))
	return op.Listed(tags, p.Limit, func(t api.Tag) any { return rules.TagKey(t.Name) }), err
}

// export is what a filter found, ready to be written.
type export struct {
	workspace api.Workspace
	folders   []api.Folder
	found     *tree.Selection
	// homes are the folders that hold something that was found, "" the first;
	// strays are those that are not among the workspace's, as those of the
	// trash: what is in them is shown at the top.
	homes, strays []string
}

// selected finds what is exported. Of a filtered export, the folders are those
// that lead to a bookmark that passed, see [exchange.Leading].
func (s *Service) selected(ctx context.Context, scope access.Scope, filter api.BookmarkFilter) (x export, err error) {
	if x.workspace, err = s.workspaces.Get(ctx, scope); err != nil {
		return x, err
	}
	if x.found, err = s.tree.Select(ctx, scope, filter); err != nil {
		return x, err
	}
	rows := x.found.Living
	parents := make(map[string]string, len(rows))
	for i := range rows {
		parents[rows[i].ID] = rows[i].ParentID
	}
	everything := filter.Query == "" && len(filter.Tags) == 0 && filter.FilterStatus == "" &&
		(filter.FolderID == "" || filter.FolderID == api.RootFolder && filter.Recursive)
	leads := map[string]bool{}
	x.homes = []string{""}
	for _, id := range x.found.Folders() {
		if _, known := parents[id]; !known && id != "" {
			x.strays = append(x.strays, id)
			continue
		}
		if id != "" {
			x.homes = append(x.homes, id)
		}
		for ; id != "" && !leads[id]; id = parents[id] {
			leads[id] = true
		}
	}
	x.folders = make([]api.Folder, 0, len(rows))
	for i := range rows {
		x.folders = append(x.folders, rows[i].Folder)
	}
	if !everything {
		x.folders = exchange.Leading(x.folders, leads)
	}
	return x, nil
}

// ExportHTML writes the format that every browser reads.
func (s *Service) ExportHTML(ctx context.Context, scope access.Scope, filter api.BookmarkFilter) (op.Stream, error) {
	x, err := s.selected(ctx, scope, filter)
	if err != nil {
		return op.Stream{}, err
	}
	return op.Stream{
		ContentType: "text/html; charset=utf-8", Filename: "bookmarks.html",
		Write: func(ctx context.Context, w io.Writer) error {
			return exchange.WriteHTML(w, exchange.Source{Folders: x.folders, Bookmarks: func(folderID string) iter.Seq2[*api.Bookmark, error] {
				return plain(x.right(ctx, folderID))
			}})
		},
	}, nil
}

// right is what was found right in a folder, which it is shown in though it
// was moved since; at the top the strays too.
func (x *export) right(ctx context.Context, folderID string) iter.Seq2[*tree.Bookmark, error] {
	return func(yield func(*tree.Bookmark, error) bool) {
		from := []string{folderID}
		if folderID == "" {
			from = append(from, x.strays...)
		}
		for _, id := range from {
			for b, err := range x.found.In(ctx, id) {
				if err == nil {
					b.FolderID = folderID
				}
				if !yield(b, err) {
					return
				}
			}
		}
	}
}

// all is all that was found, folder by folder.
func (x *export) all(ctx context.Context) iter.Seq2[*tree.Bookmark, error] {
	return func(yield func(*tree.Bookmark, error) bool) {
		for _, id := range x.homes {
			for b, err := range x.right(ctx, id) {
				if !yield(b, err) {
					return
				}
			}
		}
	}
}

// ExportJSON writes the document that an import reads back.
func (s *Service) ExportJSON(ctx context.Context, scope access.Scope, filter api.BookmarkFilter) (op.Stream, error) {
	x, err := s.selected(ctx, scope, filter)
	if err != nil {
		return op.Stream{}, err
	}
	return op.Stream{
		ContentType: "application/json", Filename: "bookmarks.json",
		Write: func(ctx context.Context, w io.Writer) error {
			return exchange.WriteJSON(w, api.At(s.now()), x.workspace, x.folders, plain(x.all(ctx)))
		},
	}, nil
}

// plain is rows as the contract shows them.
func plain(rows iter.Seq2[*tree.Bookmark, error]) iter.Seq2[*api.Bookmark, error] {
	return func(yield func(*api.Bookmark, error) bool) {
		for b, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&b.Bookmark, nil) {
				return
			}
		}
	}
}
