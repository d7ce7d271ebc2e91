package access

import (
	"time"

	"bm/server/api"
)

// Kind is how a caller proved who it is.
type Kind int

// The kinds of principal.
const (
	Anonymous Kind = iota
	JWT
	Key
)

// Principal is an authenticated caller with its rights as they are now.
type Principal struct {
	Kind      Kind
	AccountID string
	TenantID  string
	// WorkspaceID is a JWT's active workspace or the only one that a key
	// reaches; "" for a tenant-wide key.
	WorkspaceID string
	// SessionID is a JWT's, KeyID a key's.
	SessionID string
	KeyID     string
	// SignedInAt is when a JWT's session began.
	SignedInAt time.Time
	// Masked: a key that was given fewer permissions than its account has.
	Masked bool
	// ExpiresAt is when the credential ends by itself; zero for never.
	ExpiresAt time.Time
	Role      api.MembershipRole
	IsOwner   bool
	Rights    Rights
}

// Narrowed reports whether the principal is a key of a single workspace.
func (p *Principal) Narrowed() bool { return p.Kind == Key && p.WorkspaceID != "" }

// InWorkspace are the permissions that the principal has in a workspace.
func (p *Principal) InWorkspace(workspaceID string) Set {
	if p.Narrowed() && p.WorkspaceID != workspaceID {
		return 0
	}
	return p.Rights.In(workspaceID)
}

// InDeleted are the permissions that the principal has in a workspace that
// was deleted and can still be restored.
func (p *Principal) InDeleted(workspaceID string) Set {
	if p.Narrowed() && p.WorkspaceID != workspaceID {
		return 0
	}
	return p.Rights.InDeleted(workspaceID)
}

// InTenant are the permissions that the principal has at organization scope.
func (p *Principal) InTenant() Set { return p.Rights.Tenant }

// Rights are an account's permissions in one tenant.
type Rights struct {
	// Tenant holds at organization scope, and so in every workspace.
	Tenant Set
	// Workspaces are the tenant's live workspaces with what the account was
	// given there, which adds to Tenant's. One that is not in it does not
	// exist for the caller.
	Workspaces map[string]Set
	// Deleted are those that were deleted and not yet purged.
	Deleted map[string]Set
}

// In are the permissions in a workspace; none where it is not one of the
// tenant's live ones. With none at all, it does not exist for the caller.
func (r Rights) In(workspaceID string) Set { return r.in(r.Workspaces, workspaceID) }

// InDeleted are the permissions in a workspace that was deleted.
func (r Rights) InDeleted(workspaceID string) Set { return r.in(r.Deleted, workspaceID) }

func (r Rights) in(workspaces map[string]Set, id string) Set {
	own, ok := workspaces[id]
	if !ok {
		return 0
	}
	return (own | r.Tenant) & withinWorkspace
}

// withinWorkspace are the permissions that mean something in a workspace; to
// hold others at organization scope makes no workspace visible.
var withinWorkspace = SetOf(BookmarksRead, BookmarksWrite, BookmarksDelete, FoldersRead, FoldersWrite, FoldersDelete,
	SharesRead, SharesWrite, WorkspacesRead, WorkspacesWrite, WorkspacesDelete)

// Masked are the rights of a key that was given fewer than its account has.
func (r Rights) Masked(mask Set) Rights {
	narrow := func(sets map[string]Set) map[string]Set {
		narrowed := make(map[string]Set, len(sets))
		for id, set := range sets {
			narrowed[id] = set & mask
		}
		return narrowed
	}
	return Rights{Tenant: r.Tenant & mask, Workspaces: narrow(r.Workspaces), Deleted: narrow(r.Deleted)}
}

// Scope is where an operation works: a tenant, and for most a workspace of
// it. Every query names both.
type Scope struct {
	TenantID    string
	WorkspaceID string
}

// Effective is every permission that the principal has anywhere in its tenant.
func (p *Principal) Effective() Set {
	if p.Narrowed() {
		return p.InWorkspace(p.WorkspaceID)
	}
	set := p.Rights.Tenant
	for id := range p.Rights.Workspaces {
		set |= p.Rights.In(id)
	}
	return set
}
