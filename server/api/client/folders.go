package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"bm/server/api"
)

// ListFolders lists every folder of a workspace. deleted lists those that can
// be restored instead.
func (c *Client) ListFolders(ctx context.Context, workspaceID string, deleted bool) ([]api.Folder, error) {
	var query url.Values
	if deleted {
		query = url.Values{"filterStatus": {"deleted"}}
	}
	var list []api.Folder
	err := c.do(ctx, call{method: http.MethodGet, path: workspace(workspaceID) + "/folders", query: query}, &list)
	return list, err
}

// CreateFolder makes a folder.
func (c *Client) CreateFolder(ctx context.Context, workspaceID string, in api.FolderInput, with ...With) (api.Folder, error) {
	var f api.Folder
	err := c.do(ctx, apply(call{method: http.MethodPost, path: workspace(workspaceID) + "/folders", body: in}, with), &f)
	return f, err
}

// GetFolder reads one folder.
func (c *Client) GetFolder(ctx context.Context, workspaceID, id string) (api.Folder, error) {
	var f api.Folder
	err := c.do(ctx, call{method: http.MethodGet, path: folder(workspaceID, id)}, &f)
	return f, err
}

// UpdateFolder renames, moves or describes a folder.
func (c *Client) UpdateFolder(ctx context.Context, workspaceID, id string, in api.FolderInput, with ...With) (api.Folder, error) {
	var f api.Folder
	err := c.do(ctx, apply(call{method: http.MethodPatch, path: folder(workspaceID, id), body: in}, with), &f)
	return f, err
}

// DeleteFolder deletes a folder with what is in it.
func (c *Client) DeleteFolder(ctx context.Context, workspaceID, id string, with ...With) error {
	return c.do(ctx, apply(call{method: http.MethodDelete, path: folder(workspaceID, id)}, with), nil)
}

// RestoreFolder brings back a folder and what its deletion took.
func (c *Client) RestoreFolder(ctx context.Context, workspaceID, id string) (api.Folder, error) {
	var f api.Folder
	err := c.do(ctx, call{method: http.MethodPost, path: folder(workspaceID, id) + "/restore"}, &f)
	return f, err
}

func folder(workspaceID, id string) string {
	return workspace(workspaceID) + "/folders/" + url.PathEscape(id)
}

// ListTags lists all of a workspace's tags with their counts.
func (c *Client) ListTags(ctx context.Context, workspaceID string) ([]api.Tag, error) {
	var list []api.Tag
	query := url.Values{"limit": {strconv.Itoa(api.MaxPageSize)}, "cursor": {""}}
	for {
		var page api.Page[api.Tag]
		if err := c.do(ctx, call{method: http.MethodGet, path: workspace(workspaceID) + "/tags", query: query}, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Data...)
		if !page.Pagination.HasMore || page.Pagination.NextCursor == nil {
			return list, nil
		}
		query.Set("cursor", *page.Pagination.NextCursor)
	}
}

// RenameTag gives a tag another name, and says how many bookmarks changed.
func (c *Client) RenameTag(ctx context.Context, workspaceID string, in api.TagRename) (int, error) {
	var out api.Updated
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(workspaceID) + "/tags/rename", body: in}, &out)
	return out.UpdatedCount, err
}

// MergeTags replaces several tags by one, and says how many bookmarks changed.
func (c *Client) MergeTags(ctx context.Context, workspaceID string, in api.TagMerge) (int, error) {
	var out api.Updated
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(workspaceID) + "/tags/merge", body: in}, &out)
	return out.UpdatedCount, err
}
