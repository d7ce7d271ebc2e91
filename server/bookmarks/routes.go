package bookmarks

import (
	"context"
	"net/http"
	"slices"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/op"
	"bm/server/tree"
)

// inWorkspace is the path of the workspace flavour; the API-key flavour has no
// value of it.
type inWorkspace struct {
	WorkspaceID string `path:"workspaceId"`
}

type onBookmark struct {
	inWorkspace
	ID string `path:"id,bookmark_id"`
}

// filters are the values by which every list, count and export is narrowed.
type filters struct {
	Query        string   `query:"q" doc:"A query of the search grammar"`
	Tags         []string `query:"tag" doc:"A tag that must be there; may be repeated, then all must"`
	FolderID     string   `query:"folderId" doc:"That folder alone; root: those in no folder"`
	Recursive    bool     `query:"recursive" doc:"The folder's whole subtree (an extension)"`
	FilterStatus string   `query:"filterStatus" enum:"ok,dead,unknown,archived,untagged,unfiled,deleted"`
}

func (f filters) filter() api.BookmarkFilter {
	// One without a value asks for nothing, like any other.
	tags := slices.DeleteFunc(f.Tags, func(tag string) bool { return rules.Tag(tag) == "" })
	return api.BookmarkFilter{Query: f.Query, Tags: tags, FolderID: f.FolderID, Recursive: f.Recursive, FilterStatus: f.FilterStatus}
}

// flavour is one of the two ways to the same operations.
type flavour struct {
	prefix, id string
	spec       op.Spec
}

// Routes declares the operations of bookmarks and tags.
func (s *Service) Routes(r *op.Router) {
	byKey := flavour{"key-", "/{bookmark_id}", op.Spec{
		Section: "Bookmarks, API-key flavour", Status: http.StatusOK, Auth: op.KeyOnly, Scope: op.KeyWorkspace, Path: "/api/v1/bookmarks",
		Doc: "Works in the workspace that X-Workspace-ID names, else in the key's own.",
	}}
	byPath := flavour{"", "/{id}", op.Spec{
		Section: "Bookmarks, workspace flavour", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Workspace, Path: "/workspaces/{workspaceId}/bookmarks",
	}}
	for _, f := range []flavour{byKey, byPath} {
		s.single(r, f)
	}
	s.importRoute(r, byKey, "/imports")
	s.importRoute(r, byPath, "/import")
	s.readingRoutes(r, byPath.spec)
	s.manyRoutes(r, byPath.spec)
	s.tagRoutes(r)
}

// of is the row of one of a flavour's operations.
func (f flavour) of(id, method, path string, permission access.Permission, summary string) op.Spec {
	row := f.spec
	row.ID, row.Method, row.Path, row.Permission, row.Summary = f.prefix+id, method, row.Path+path, permission, summary
	return row
}

// single declares what both flavours do with single bookmarks.
func (s *Service) single(r *op.Router, f flavour) {
	list := f.of("list-bookmarks", http.MethodGet, "", access.BookmarksRead, "The bookmarks of a workspace, newest first")
	op.Register(r, list, func(ctx context.Context, call *op.Call, in *struct {
		inWorkspace
		filters
		op.Paging
		SortBy string `query:"sortBy" doc:"createdAt, updatedAt, title, url or sortOrder, with - in front for descending; relevance with q"`
	},
	) (op.List[api.Bookmark], error) {
		return s.List(ctx, call.Scope, in.filter(), in.SortBy, in.Paging)
	})

	create := f.of("create-bookmark", http.MethodPost, "", access.BookmarksWrite, "Save a bookmark")
	create.Status, create.MaxBody, create.Errors = http.StatusCreated, api.MaxBookmarkBody, []api.Code{api.CodeConflict}
	op.Register(r, create, func(ctx context.Context, call *op.Call, in *struct {
		inWorkspace
		Body api.BookmarkInput
	},
	) (op.Tagged[api.Bookmark], error) {
		return tagged(s.Create(ctx, call.Scope, in.Body))
	})

	get := f.of("get-bookmark", http.MethodGet, f.id, access.BookmarksRead, "One bookmark")
	op.Register(r, get, func(ctx context.Context, call *op.Call, in *onBookmark) (op.Tagged[api.Bookmark], error) {
		return tagged(s.Get(ctx, call.Scope, in.ID))
	})

	patch := f.of("update-bookmark", http.MethodPatch, f.id, access.BookmarksWrite, "Change a bookmark; what is absent stays, null clears")
	patch.MaxBody, patch.Errors = api.MaxBookmarkBody, []api.Code{api.CodePreconditionFailed}
	op.Register(r, patch, func(ctx context.Context, call *op.Call, in *struct {
		onBookmark
		Body api.BookmarkInput
	},
	) (op.Tagged[api.Bookmark], error) {
		return tagged(s.Update(ctx, call.Scope, in.ID, in.Body, matches(call)))
	})

	remove := f.of("delete-bookmark", http.MethodDelete, f.id, access.BookmarksDelete, "Put a bookmark into the trash for 30 days")
	remove.Status, remove.Errors = http.StatusNoContent, []api.Code{api.CodePreconditionFailed}
	remove.Doc = joined(remove.Doc, "A bookmark that is in the trash already is removed for good.")
	op.Register(r, remove, func(ctx context.Context, call *op.Call, in *onBookmark) (op.None, error) {
		return op.None{}, s.Delete(ctx, call.Scope, in.ID, matches(call))
	})
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

func (s *Service) importRoute(r *op.Router, f flavour, path string) {
	row := f.of("import-bookmarks", http.MethodPost, path, access.BookmarksWrite, "Add what a file of bookmarks holds and the workspace does not")
	row.Timeout, row.Also = -1, []access.Permission{access.FoldersWrite} // it makes folders too
	row.Doc = joined(row.Doc, "The file is the first of the form, whatever its field is called: HTML as browsers export it, the JSON of this service, "+
		"of Firefox, of Chrome or of Pinboard. It is told by its content.")
	op.Register(r, row, func(ctx context.Context, call *op.Call, in *struct {
		inWorkspace
		FolderID string `query:"folderId" doc:"The folder that receives what is at the top of the file"`
		File     op.Upload
	},
	) (api.ImportSummary, error) {
		// It runs on though the client has left.
		return s.Import(context.WithoutCancel(ctx), call.Scope, in.File.File, in.FolderID)
	})
}

// readingRoutes declares what looks at many bookmarks.
func (s *Service) readingRoutes(r *op.Router, all op.Spec) {
	f := flavour{spec: all}
	op.Register(r, f.of("count-bookmarks", http.MethodGet, "/count", access.BookmarksRead, "How many bookmarks pass a filter"),
		func(ctx context.Context, call *op.Call, in *struct {
			inWorkspace
			filters
		},
		) (api.Count, error) {
			return s.Count(ctx, call.Scope, in.filter())
		})

	op.Register(r, f.of("search-bookmarks", http.MethodGet, "/search", access.BookmarksRead, "Find bookmarks, by relevance"),
		func(ctx context.Context, call *op.Call, in *struct {
			inWorkspace
			Query string `query:"q" doc:"A query of the search grammar"`
			op.Paging
		},
		) (op.List[api.Bookmark], error) {
			return s.Search(ctx, call.Scope, api.BookmarkFilter{Query: in.Query}, in.Paging)
		})

	asJSON := f.of("export-bookmarks", http.MethodGet, "/export", access.BookmarksRead, "The bookmarks that pass a filter with their folders, as JSON that an import reads back")
	// An export without the folders would be a copy that has lost something.
	asJSON.Also = []access.Permission{access.FoldersRead}
	asJSON.Timeout, asJSON.Streams = -1, api.ExportDocument{}
	op.Register(r, asJSON, func(ctx context.Context, call *op.Call, in *struct {
		inWorkspace
		filters
	},
	) (op.Stream, error) {
		return s.ExportJSON(ctx, call.Scope, in.filter())
	})

	asHTML := asJSON
	asHTML.ID, asHTML.Path, asHTML.Streams = "export-bookmarks-html", "/workspaces/{workspaceId}/export/bookmarks.html", nil
	asHTML.Summary = "The bookmarks that pass a filter with their folders, as the HTML that browsers read"
	op.Register(r, asHTML, func(ctx context.Context, call *op.Call, in *struct {
		inWorkspace
		filters
	},
	) (op.Stream, error) {
		return s.ExportHTML(ctx, call.Scope, in.filter())
	})
}

// manyTimeout is the deadline of what may change every bookmark of a workspace.
const manyTimeout = 10 * time.Minute

// manyRoutes declares what changes many bookmarks, and what undoes it.
func (s *Service) manyRoutes(r *op.Router, all op.Spec) {
	f := flavour{spec: all}
	op.Register(r, f.of("bulk-delete-bookmarks", http.MethodPost, "/bulk-delete", access.BookmarksDelete, "Put up to 1000 bookmarks into the trash"),
		func(ctx context.Context, call *op.Call, in *struct {
			inWorkspace
			Body api.BulkDelete
		},
		) (api.BulkDeleted, error) {
			return s.BulkDelete(ctx, call.Scope, in.Body)
		})

	byScope := f.of("delete-bookmarks-by-scope", http.MethodPost, "/delete-by-scope", access.BookmarksDelete, "Put every bookmark of a scope into the trash")
	byScope.Doc, byScope.Timeout = "The scope of a folder is its subtree. Folders stay. Cut off, the same request goes on with the rest.", manyTimeout
	op.Register(r, byScope, func(ctx context.Context, call *op.Call, in *struct {
		inWorkspace
		Body api.DeleteByScope
	},
	) (api.DeletedCount, error) {
		return s.DeleteByScope(ctx, call.Scope, in.Body)
	})

	move := f.of("move-bookmarks", http.MethodPost, "/move", access.BookmarksWrite, "Move up to 1000 bookmarks into another folder or workspace")
	move.Extension = true
	move.Doc = "In another workspace they get new ids, and the originals go to the trash of this one: that needs bookmarks.delete here and bookmarks.write there."
	op.Register(r, move, func(ctx context.Context, call *op.Call, in *struct {
		inWorkspace
		Body api.Move
	},
	) (api.Moved, error) {
		to := call.Scope
		if id := in.Body.WorkspaceID.Value; id != "" && id != to.WorkspaceID {
			rights := call.Principal.InWorkspace(id)
			switch {
			case rights == 0:
				return api.Moved{}, api.Invalid("body.workspaceId", "names no workspace that you reach")
			case !rights.Has(access.BookmarksWrite):
				return api.Moved{}, api.Errorf(api.CodeForbidden, "this needs the permission %s in the other workspace", access.BookmarksWrite)
			case !call.Can(access.BookmarksDelete):
				return api.Moved{}, api.Errorf(api.CodeForbidden, "this needs the permission %s", access.BookmarksDelete)
			}
			to.WorkspaceID = id
		}
		return s.Move(ctx, call.Scope, to, in.Body)
	})

	restore := f.of("restore-bookmark", http.MethodPost, "/{id}/restore", access.BookmarksWrite, "Take a bookmark out of the trash")
	restore.Extension, restore.BodyOptional = true, true
	op.Register(r, restore, func(ctx context.Context, call *op.Call, in *struct {
		onBookmark
		Body struct{}
	},
	) (op.Tagged[api.Bookmark], error) {
		return tagged(s.Restore(ctx, call.Scope, in.ID))
	})
}

// tagRoutes declares the operations of tags.
func (s *Service) tagRoutes(r *op.Router) {
	f := flavour{spec: op.Spec{
		Section: "Tags", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Workspace, Path: "/workspaces/{workspaceId}/tags", Extension: true,
	}}
	op.Register(r, f.of("list-tags", http.MethodGet, "", access.BookmarksRead, "The tags of a workspace with how many bookmarks carry each, by name"),
		func(ctx context.Context, call *op.Call, in *struct {
			inWorkspace
			op.Paging
		},
		) (op.List[api.Tag], error) {
			return s.Tags(ctx, call.Scope, in.Paging)
		})

	rename := f.of("rename-tag", http.MethodPost, "/rename", access.BookmarksWrite, "Give a tag another name on every bookmark")
	rename.Timeout = manyTimeout
	op.Register(r, rename,
		func(ctx context.Context, call *op.Call, in *struct {
			inWorkspace
			Body api.TagRename
		},
		) (api.Updated, error) {
			return s.RenameTag(ctx, call.Scope, in.Body)
		})

	merge := f.of("merge-tags", http.MethodPost, "/merge", access.BookmarksWrite, "Replace several tags by one on every bookmark")
	merge.Timeout = manyTimeout
	op.Register(r, merge,
		func(ctx context.Context, call *op.Call, in *struct {
			inWorkspace
			Body api.TagMerge
		},
		) (api.Updated, error) {
			return s.MergeTags(ctx, call.Scope, in.Body)
		})
}

func tagged(b tree.Bookmark, err error) (op.Tagged[api.Bookmark], error) {
	return op.Tagged[api.Bookmark]{Value: b.Bookmark, ETag: op.RevTag(b.Rev)}, err
}

// matches holds an edit to the state that the caller's If-Match names.
func matches(call *op.Call) check {
	return func(rev int64) error { return call.CheckMatch(op.RevTag(rev)) }
}
