package client

import (
	"context"
	"net/http"

	"bm/server/api"
)

// ListWorkspaces lists the workspaces that the caller belongs to.
func (c *Client) ListWorkspaces(ctx context.Context) ([]api.Workspace, error) {
	var list []api.Workspace
	err := c.do(ctx, call{method: http.MethodGet, path: "/workspaces"}, &list)
	return list, err
}

// CreateWorkspace makes a workspace.
func (c *Client) CreateWorkspace(ctx context.Context, in api.WorkspaceCreate, with ...With) (api.Workspace, error) {
	var w api.Workspace
	err := c.do(ctx, apply(call{method: http.MethodPost, path: "/workspaces", body: in}, with), &w)
	return w, err
}

// GetWorkspace reads one workspace.
func (c *Client) GetWorkspace(ctx context.Context, id string) (api.Workspace, error) {
	var w api.Workspace
	err := c.do(ctx, call{method: http.MethodGet, path: workspace(id)}, &w)
	return w, err
}

// RenameWorkspace gives a workspace another name.
func (c *Client) RenameWorkspace(ctx context.Context, id, name string) (api.Workspace, error) {
	var w api.Workspace
	err := c.do(ctx, call{method: http.MethodPatch, path: workspace(id), body: api.WorkspacePatch{Name: name}}, &w)
	return w, err
}

// DeleteWorkspace deletes a workspace with its contents; it stays restorable
// for [api.TrashDays].
func (c *Client) DeleteWorkspace(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: workspace(id)}, nil)
}

// RestoreWorkspace brings a deleted workspace back.
func (c *Client) RestoreWorkspace(ctx context.Context, id string) (api.Workspace, error) {
	var w api.Workspace
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(id) + "/restore"}, &w)
	return w, err
}

// ListDeletedWorkspaces lists the workspaces that can still be restored.
func (c *Client) ListDeletedWorkspaces(ctx context.Context) ([]api.DeletedWorkspaceSummary, error) {
	var list []api.DeletedWorkspaceSummary
	err := c.do(ctx, call{method: http.MethodGet, path: "/workspaces/deleted"}, &list)
	return list, err
}

// SetHubSettings says how often a workspace's links are checked.
func (c *Client) SetHubSettings(ctx context.Context, id string, in api.HubSettings) (api.Workspace, error) {
	var w api.Workspace
	err := c.do(ctx, call{method: http.MethodPatch, path: workspace(id) + "/hub-settings", body: in}, &w)
	return w, err
}
