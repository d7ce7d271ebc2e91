package client

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"

	"bm/server/api"
)

// Place is where the bookmarks of a call are: in a workspace, or in the one
// that an API key reaches.
type Place struct {
	path   string
	upload string
	header http.Header
}

// InWorkspace is the workspace flavour of the bookmark operations.
func InWorkspace(id string) Place {
	return Place{path: workspace(id) + "/bookmarks", upload: workspace(id) + "/bookmarks/import"}
}

// ByKey is the API-key flavour. A tenant-wide key names a workspace; "" is the
// key's default.
func ByKey(workspaceID string) Place {
	p := Place{path: "/api/v1/bookmarks", upload: "/api/v1/bookmarks/imports"}
	if workspaceID != "" {
		p.header = http.Header{"X-Workspace-Id": {workspaceID}}
	}
	return p
}

func workspace(id string) string { return "/workspaces/" + url.PathEscape(id) }

// ListQuery narrows, orders and pages a list of bookmarks.
type ListQuery struct {
	api.BookmarkFilter
	SortBy string
	Limit  int
	Offset int
}

func filterQuery(f api.BookmarkFilter) url.Values {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("q", f.Query)
	set("folderId", f.FolderID)
	set("filterStatus", f.FilterStatus)
	if f.Recursive {
		query.Set("recursive", "true")
	}
	for _, tag := range f.Tags {
		query.Add("tag", tag)
	}
	return query
}

func (q ListQuery) values() url.Values {
	query := filterQuery(q.BookmarkFilter)
	if q.SortBy != "" {
		query.Set("sortBy", q.SortBy)
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Offset > 0 {
		query.Set("offset", strconv.Itoa(q.Offset))
	}
	return query
}

// ListBookmarks lists bookmarks as a plain array.
func (c *Client) ListBookmarks(ctx context.Context, p Place, q ListQuery) ([]api.Bookmark, error) {
	var list []api.Bookmark
	err := c.do(ctx, call{method: http.MethodGet, path: p.path, query: q.values(), header: p.header}, &list)
	return list, err
}

// PageBookmarks lists bookmarks page by page; cursor is "" for the first.
func (c *Client) PageBookmarks(ctx context.Context, p Place, q ListQuery, cursor string) (api.Page[api.Bookmark], error) {
	query := q.values()
	query.Set("cursor", cursor)
	var page api.Page[api.Bookmark]
	err := c.do(ctx, call{method: http.MethodGet, path: p.path, query: query, header: p.header}, &page)
	return page, err
}

// CreateBookmark saves a bookmark.
func (c *Client) CreateBookmark(ctx context.Context, p Place, in api.BookmarkInput, with ...With) (api.Bookmark, error) {
	var b api.Bookmark
	err := c.do(ctx, apply(call{method: http.MethodPost, path: p.path, body: in, header: p.header}, with), &b)
	return b, err
}

// GetBookmark reads one bookmark.
func (c *Client) GetBookmark(ctx context.Context, p Place, id string) (api.Bookmark, error) {
	b, _, err := c.GetBookmarkRev(ctx, p, id)
	return b, err
}

// GetBookmarkRev reads one bookmark with its ETag, for [IfMatch].
func (c *Client) GetBookmarkRev(ctx context.Context, p Place, id string) (api.Bookmark, string, error) {
	var b api.Bookmark
	header, err := c.exchange(ctx, call{method: http.MethodGet, path: p.path + "/" + url.PathEscape(id), header: p.header}, &b)
	return b, header.Get("ETag"), err
}

// UpdateBookmark changes what in sets.
func (c *Client) UpdateBookmark(ctx context.Context, p Place, id string, in api.BookmarkInput, with ...With) (api.Bookmark, error) {
	var b api.Bookmark
	err := c.do(ctx, apply(call{method: http.MethodPatch, path: p.path + "/" + url.PathEscape(id), body: in, header: p.header}, with), &b)
	return b, err
}

// DeleteBookmark deletes a bookmark; one that is deleted already, for good.
func (c *Client) DeleteBookmark(ctx context.Context, p Place, id string, with ...With) error {
	return c.do(ctx, apply(call{method: http.MethodDelete, path: p.path + "/" + url.PathEscape(id), header: p.header}, with), nil)
}

// RestoreBookmark brings a deleted bookmark back.
func (c *Client) RestoreBookmark(ctx context.Context, workspaceID, id string) (api.Bookmark, error) {
	var b api.Bookmark
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(workspaceID) + "/bookmarks/" + url.PathEscape(id) + "/restore"}, &b)
	return b, err
}

// CountBookmarks counts what a list would hold.
func (c *Client) CountBookmarks(ctx context.Context, workspaceID string, f api.BookmarkFilter) (int, error) {
	var count api.Count
	err := c.do(ctx, call{method: http.MethodGet, path: workspace(workspaceID) + "/bookmarks/count", query: filterQuery(f)}, &count)
	return count.Count, err
}

// SearchBookmarks finds bookmarks by relevance.
func (c *Client) SearchBookmarks(ctx context.Context, workspaceID, q string, limit, offset int) ([]api.Bookmark, error) {
	query := ListQuery{BookmarkFilter: api.BookmarkFilter{Query: q}, Limit: limit, Offset: offset}.values()
	var list []api.Bookmark
	err := c.do(ctx, call{method: http.MethodGet, path: workspace(workspaceID) + "/bookmarks/search", query: query}, &list)
	return list, err
}

// BulkDelete deletes up to [api.MaxBulkIDs] bookmarks.
func (c *Client) BulkDelete(ctx context.Context, workspaceID string, ids []string) (api.BulkDeleted, error) {
	var out api.BulkDeleted
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(workspaceID) + "/bookmarks/bulk-delete", body: api.BulkDelete{IDs: ids}}, &out)
	return out, err
}

// DeleteByScope deletes every bookmark of a scope.
func (c *Client) DeleteByScope(ctx context.Context, workspaceID string, in api.DeleteByScope) (int, error) {
	var out api.DeletedCount
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(workspaceID) + "/bookmarks/delete-by-scope", body: in}, &out)
	return out.DeletedCount, err
}

// MoveBookmarks moves bookmarks into another folder or workspace.
func (c *Client) MoveBookmarks(ctx context.Context, workspaceID string, in api.Move) (api.Moved, error) {
	var out api.Moved
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(workspaceID) + "/bookmarks/move", body: in}, &out)
	return out, err
}

// ExportJSON opens the JSON export, which is a stream: the caller closes it.
func (c *Client) ExportJSON(ctx context.Context, workspaceID string, f api.BookmarkFilter) (io.ReadCloser, error) {
	return c.open(ctx, workspace(workspaceID)+"/bookmarks/export", f)
}

// ExportHTML opens the export in the format that browsers read, which is a
// stream: the caller closes it.
func (c *Client) ExportHTML(ctx context.Context, workspaceID string, f api.BookmarkFilter) (io.ReadCloser, error) {
	return c.open(ctx, workspace(workspaceID)+"/export/bookmarks.html", f)
}

func (c *Client) open(ctx context.Context, path string, f api.BookmarkFilter) (io.ReadCloser, error) {
	header := http.Header{"Accept": {"*/*"}}
	response, err := c.send(ctx, call{method: http.MethodGet, path: path, query: filterQuery(f), header: header})
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Import uploads a file of bookmarks as it is read, into a folder or, with "",
// the top of the tree. It takes as long as it takes: ctx bounds it.
func (c *Client) Import(ctx context.Context, p Place, name string, file io.Reader, folderID string, with ...With) (api.ImportSummary, error) {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, file)
		}
		if err == nil {
			err = form.Close()
		}
		writer.CloseWithError(err) // nil ends the stream; it never fails
	}()
	what := call{method: http.MethodPost, path: p.upload, stream: reader, header: p.header.Clone()}
	if what.header == nil {
		what.header = http.Header{}
	}
	what.header.Set("Content-Type", form.FormDataContentType())
	if folderID != "" {
		what.query = url.Values{"folderId": {folderID}}
	}
	response, err := c.send(ctx, apply(what, with))
	// A server that refuses stops reading; the writer must learn of it.
	_ = reader.Close()
	if err != nil {
		return api.ImportSummary{}, err
	}
	defer response.Body.Close()
	var summary api.ImportSummary
	if err := decode(response, &summary); err != nil {
		return api.ImportSummary{}, c.failed(ctx, err)
	}
	return summary, nil
}

// With changes how an edit is sent.
type With func(http.Header)

// IfMatch lets an edit take effect only on the state that the ETag names.
func IfMatch(etag string) With {
	return func(h http.Header) { h.Set("If-Match", etag) }
}

// IdempotencyKey makes a POST that is sent again with the same key answer as
// the first time, without a second effect.
func IdempotencyKey(key string) With {
	return func(h http.Header) { h.Set("Idempotency-Key", key) }
}

func apply(what call, with []With) call {
	if len(with) == 0 {
		return what
	}
	if what.header = what.header.Clone(); what.header == nil {
		what.header = http.Header{}
	}
	for _, change := range with {
		change(what.header)
	}
	return what
}
