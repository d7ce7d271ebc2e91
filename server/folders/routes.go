package folders

import (
	"context"
	"net/http"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
	"bm/server/tree"
)

type workspacePath struct {
	WorkspaceID string `path:"workspaceId"`
}

type folderPath struct {
	workspacePath
	ID string `path:"id"`
}

// manyTimeout is the deadline of what may change every bookmark of a workspace:
// of a large folder, PostgreSQL takes minutes to bring all back.
const manyTimeout = 10 * time.Minute

// Routes declares the operations of folders.
func (s *Service) Routes(r *op.Router) {
	all := op.Spec{Section: "Folders", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Workspace, Path: "/workspaces/{workspaceId}/folders"}
	one := all
	one.Path += "/{id}"

	list := all
	list.ID, list.Method, list.Permission, list.Summary = "list-folders", http.MethodGet, access.FoldersRead, "The folders of a workspace"
	op.Register(r, list, func(ctx context.Context, call *op.Call, in *struct {
		workspacePath
		op.Paging
		FilterStatus string `query:"filterStatus" enum:"deleted" doc:"deleted: those that can be restored (an extension)"`
	},
	) (op.Small[api.Folder], error) {
		items, err := s.List(ctx, call.Scope, in.FilterStatus == "deleted")
		return op.Small[api.Folder]{Items: items, Key: func(f api.Folder) string { return f.ID }}, err
	})

	create := all
	create.ID, create.Method, create.Permission, create.Status = "create-folder", http.MethodPost, access.FoldersWrite, http.StatusCreated
	create.Summary, create.Errors = "Make a folder", []api.Code{api.CodeConflict}
	op.Register(r, create, func(ctx context.Context, call *op.Call, in *struct {
		workspacePath
		Body api.FolderInput
	},
	) (op.Tagged[api.Folder], error) {
		return tagged(s.Create(ctx, call.Scope, in.Body))
	})

	get := one
	get.ID, get.Method, get.Permission, get.Summary = "get-folder", http.MethodGet, access.FoldersRead, "One folder"
	op.Register(r, get, func(ctx context.Context, call *op.Call, in *folderPath) (op.Tagged[api.Folder], error) {
		return tagged(s.Get(ctx, call.Scope, in.ID))
	})

	patch := one
	patch.ID, patch.Method, patch.Permission, patch.Summary = "update-folder", http.MethodPatch, access.FoldersWrite, "Rename, move or describe a folder"
	patch.Errors = []api.Code{api.CodeConflict, api.CodePreconditionFailed}
	op.Register(r, patch, func(ctx context.Context, call *op.Call, in *struct {
		folderPath
		Body api.FolderInput
	},
	) (op.Tagged[api.Folder], error) {
		return tagged(s.Update(ctx, call.Scope, in.ID, in.Body, matches(call)))
	})

	remove := one
	remove.ID, remove.Method, remove.Permission, remove.Status = "delete-folder", http.MethodDelete, access.FoldersDelete, http.StatusNoContent
	remove.Summary, remove.Errors = "Put a folder with all in it into the trash for 30 days", []api.Code{api.CodePreconditionFailed}
	remove.Doc, remove.Timeout = "A folder that is in the trash already is removed for good.", manyTimeout
	op.Register(r, remove, func(ctx context.Context, call *op.Call, in *folderPath) (op.None, error) {
		return op.None{}, s.Delete(ctx, call.Scope, in.ID, matches(call))
	})

	restore := one
	restore.ID, restore.Method, restore.Permission, restore.Path = "restore-folder", http.MethodPost, access.FoldersWrite, one.Path+"/restore"
	restore.Summary, restore.Extension, restore.BodyOptional = "Take a folder out of the trash, with what its deletion took", true, true
	restore.Timeout = manyTimeout
	op.Register(r, restore, func(ctx context.Context, call *op.Call, in *struct {
		folderPath
		Body struct{}
	},
	) (op.Tagged[api.Folder], error) {
		return tagged(s.Restore(ctx, call.Scope, in.ID))
	})
}

func tagged(f tree.Folder, err error) (op.Tagged[api.Folder], error) {
	return op.Tagged[api.Folder]{Value: f.Folder, ETag: op.RevTag(f.Rev)}, err
}

// matches holds an edit to the state that the caller's If-Match names.
func matches(call *op.Call) check {
	return func(rev int64) error { return call.CheckMatch(op.RevTag(rev)) }
}
