package workspaces

import (
	"context"
	"net/http"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
)

type workspacePath struct {
	WorkspaceID string `path:"workspaceId"`
}

// Routes declares the operations of workspaces.
func (s *Service) Routes(r *op.Router) {
	organization := op.Spec{Section: "Workspaces", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Tenant, Permission: op.NoPermission, Path: "/workspaces"}
	one := organization
	one.Scope, one.Path = op.Workspace, "/workspaces/{workspaceId}"

	list := organization
	list.ID, list.Method, list.Scope, list.Summary = "list-workspaces", http.MethodGet, op.Self, "The workspaces that the account can read"
	op.Register(r, list, func(ctx context.Context, call *op.Call, _ *struct{ op.Paging }) (op.Small[api.Workspace], error) {
		items, err := s.List(ctx, call.Principal)
		return op.Small[api.Workspace]{Items: items, Key: func(w api.Workspace) string { return w.ID }}, err
	})

	create := organization
	create.ID, create.Method, create.Status, create.Permission = "create-workspace", http.MethodPost, http.StatusCreated, access.WorkspacesCreate
	create.Summary = "Make a workspace; its maker becomes its administrator"
	op.Register(r, create, func(ctx context.Context, call *op.Call, in *struct{ Body api.WorkspaceCreate }) (api.Workspace, error) {
		return s.Create(ctx, call.Principal, in.Body)
	})

	deleted := organization
	deleted.ID, deleted.Method, deleted.Path = "list-deleted-workspaces", http.MethodGet, "/workspaces/deleted"
	deleted.Summary = "Deleted workspaces that can still be restored; for administrators"
	op.Register(r, deleted, func(ctx context.Context, call *op.Call, _ *struct{ op.Paging }) (op.Small[api.DeletedWorkspaceSummary], error) {
		items, err := s.Deleted(ctx, call.Principal)
		return op.Small[api.DeletedWorkspaceSummary]{Items: items, Key: func(w api.DeletedWorkspaceSummary) string { return w.ID }}, err
	})

	get := one
	get.ID, get.Method, get.Permission, get.Summary = "get-workspace", http.MethodGet, access.WorkspacesRead, "One workspace"
	op.Register(r, get, func(ctx context.Context, call *op.Call, _ *workspacePath) (op.Tagged[api.Workspace], error) {
		return op.WithContentTag(s.Get(ctx, call.Scope))
	})

	patch := one
	patch.ID, patch.Method, patch.Permission, patch.Summary = "update-workspace", http.MethodPatch, access.WorkspacesWrite, "Rename a workspace"
	patch.Errors = []api.Code{api.CodePreconditionFailed}
	op.Register(r, patch, func(ctx context.Context, call *op.Call, in *struct {
		workspacePath
		Body api.WorkspacePatch
	},
	) (op.Tagged[api.Workspace], error) {
		return op.WithContentTag(s.Rename(ctx, call.Scope, in.Body, matching(call)))
	})

	remove := one
	remove.ID, remove.Method, remove.Permission, remove.Status = "delete-workspace", http.MethodDelete, access.WorkspacesDelete, http.StatusNoContent
	remove.Summary, remove.Errors = "Put a workspace with all in it into the trash for 30 days", []api.Code{api.CodeConflict, api.CodePreconditionFailed}
	op.Register(r, remove, func(ctx context.Context, call *op.Call, _ *workspacePath) (op.None, error) {
		return op.None{}, s.Delete(ctx, call.Scope, matching(call))
	})

	hub := one
	hub.ID, hub.Method, hub.Path, hub.Permission = "update-hub-settings", http.MethodPatch, "/workspaces/{workspaceId}/hub-settings", access.WorkspacesWrite
	hub.Summary, hub.Errors = "How often the links of a workspace are checked", []api.Code{api.CodePreconditionFailed}
	op.Register(r, hub, func(ctx context.Context, call *op.Call, in *struct {
		workspacePath
		Body api.HubSettings
	},
	) (op.Tagged[api.Workspace], error) {
		return op.WithContentTag(s.SetHub(ctx, call.Scope, in.Body, matching(call)))
	})

	restore := one
	restore.ID, restore.Method, restore.Path, restore.Permission = "restore-workspace", http.MethodPost, "/workspaces/{workspaceId}/restore", access.WorkspacesWrite
	restore.Summary, restore.Deleted, restore.Extension, restore.BodyOptional = "Take a deleted workspace out of the trash", true, true, true
	restore.Errors = []api.Code{api.CodeGone}
	op.Register(r, restore, func(ctx context.Context, call *op.Call, _ *struct {
		workspacePath
		Body struct{}
	},
	) (api.Workspace, error) {
		return s.Restore(ctx, call.Scope)
	})
}

// matching refuses an edit of a workspace that is not what its If-Match means.
func matching(call *op.Call) func(api.Workspace) error {
	return func(before api.Workspace) error { return call.CheckContent(before) }
}
