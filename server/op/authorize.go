package op

import (
	"net/http"
	"strings"

	"bm/server/access"
	"bm/server/api"
)

// authorize decides whether the caller may, and finds where the call works.
func authorize(call *Call, spec *Spec, r *http.Request) error {
	if spec.Auth == Public {
		return nil
	}
	p := call.Principal
	call.Scope.TenantID = p.TenantID
	switch {
	case spec.Auth == KeyOnly && p.Kind != access.Key:
		return api.Errorf(api.CodeForbidden, "this operation takes an API key, not a user's token")
	case spec.Auth == JWTOnly && p.Kind != access.JWT:
		return api.Errorf(api.CodeForbidden, "this operation takes a signed-in user's token, not an API key")
	}
	// Of several, none is what was meant: together they name nothing.
	header := strings.Join(r.Header.Values("X-Workspace-ID"), ", ")
	switch spec.Scope {
	case Self:
		return nil
	case Tenant:
		if p.Narrowed() {
			return api.Errorf(api.CodeForbidden, "this key is for one workspace; an operation of the organization needs a tenant-wide key")
		}
		return need(p.InTenant(), spec)
	case KeyWorkspace:
		return authorizeKeyWorkspace(call, spec, header)
	default:
		return authorizeWorkspace(call, spec, r.PathValue("workspaceId"), header)
	}
}

func authorizeKeyWorkspace(call *Call, spec *Spec, header string) error {
	p := call.Principal
	workspaceID := header
	if workspaceID == "" {
		workspaceID = p.WorkspaceID
	}
	if workspaceID == "" {
		return api.Invalid("header.X-Workspace-ID", "is required: this key is tenant-wide and has no default workspace")
	}
	// A header is a value of the request, not the thing that is asked for: a
	// foreign id in it is a validation error.
	if p.InWorkspace(workspaceID) == 0 {
		switch {
		case header == "" && p.InDeleted(workspaceID) != 0:
			return api.Errorf(api.CodeGone, "the workspace was deleted")
		case header == "":
			return api.Errorf(api.CodeForbidden, "the account of this key has no right in its workspace any more")
		}
		return api.Invalid("header.X-Workspace-ID", "names no workspace that this key reaches")
	}
	call.Scope.WorkspaceID = workspaceID
	return need(p.InWorkspace(workspaceID), spec)
}

func authorizeWorkspace(call *Call, spec *Spec, path, header string) error {
	p := call.Principal
	set := p.InWorkspace(path)
	if set == 0 {
		deleted := p.InDeleted(path)
		if deleted == 0 {
			return api.Errorf(api.CodeNotFound, "no such workspace")
		}
		if !spec.Deleted {
			return api.Errorf(api.CodeGone, "the workspace was deleted")
		}
		set = deleted
	}
	if p.Kind == access.Key && header != "" && header != path {
		return api.Invalid("header.X-Workspace-ID", "differs from the workspace in the path")
	}
	call.Scope.WorkspaceID = path
	return need(set, spec)
}

// need is forbidden where a permission is missing.
func need(set access.Set, spec *Spec) error {
	switch {
	case spec.Permission == NoPermission:
		return nil
	case !set.Has(spec.Permission):
		return lacking(spec.Permission)
	}
	for _, permission := range spec.Also {
		if !set.Has(permission) {
			return lacking(permission)
		}
	}
	return nil
}

func lacking(permission access.Permission) error {
	return api.Errorf(api.CodeForbidden, "this needs the permission %s", permission)
}
