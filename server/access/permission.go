package access

import (
	"math/bits"
	"sort"
)

// Permission is one permission key of the contract.
type Permission string

// The permission keys. A GET needs the read key, POST and PATCH write, DELETE
// delete where there is one.
const (
	BookmarksRead     Permission = "bookmarks.read"
	BookmarksWrite    Permission = "bookmarks.write"
	BookmarksDelete   Permission = "bookmarks.delete"
	FoldersRead       Permission = "folders.read"
	FoldersWrite      Permission = "folders.write"
	FoldersDelete     Permission = "folders.delete"
	SharesRead        Permission = "shares.read"
	SharesWrite       Permission = "shares.write"
	WorkspacesRead    Permission = "workspaces.read"
	WorkspacesWrite   Permission = "workspaces.write"
	WorkspacesDelete  Permission = "workspaces.delete"
	WorkspacesCreate  Permission = "workspaces.create"
	APIKeysRead       Permission = "apikeys.read"
	APIKeysWrite      Permission = "apikeys.write"
	MembersRead       Permission = "members.read"
	MembersWrite      Permission = "members.write"
	InvitationsRead   Permission = "invitations.read"
	InvitationsWrite  Permission = "invitations.write"
	GroupsRead        Permission = "groups.read"
	GroupsWrite       Permission = "groups.write"
	RolesRead         Permission = "roles.read"
	RolesWrite        Permission = "roles.write"
	UnitsRead         Permission = "units.read"
	UnitsWrite        Permission = "units.write"
	OrganizationWrite Permission = "organization.write"
	BillingRead       Permission = "billing.read"
	AuditRead         Permission = "audit.read"
)

// all is in an order that must not change: a key's place is its bit.
var all = []Permission{
	BookmarksRead, BookmarksWrite, BookmarksDelete,
	FoldersRead, FoldersWrite, FoldersDelete,
	SharesRead, SharesWrite,
	WorkspacesRead, WorkspacesWrite, WorkspacesDelete, WorkspacesCreate,
	APIKeysRead, APIKeysWrite,
	MembersRead, MembersWrite,
	InvitationsRead, InvitationsWrite,
	GroupsRead, GroupsWrite,
	RolesRead, RolesWrite,
	UnitsRead, UnitsWrite,
	OrganizationWrite, BillingRead, AuditRead,
}

var bitOf = func() map[Permission]int {
	places := make(map[Permission]int, len(all))
	for i, p := range all {
		places[p] = i
	}
	return places
}()

// Valid reports whether p is a permission key.
func (p Permission) Valid() bool {
	_, ok := bitOf[p]
	return ok
}

// Set is a set of permissions.
type Set uint64

// SetOf is the set of the given permissions; what is no permission key is not
// in it.
func SetOf(permissions ...Permission) Set {
	var s Set
	for _, p := range permissions {
		if i, ok := bitOf[p]; ok {
			s |= 1 << i
		}
	}
	return s
}

// Everything is the set of all permissions.
func Everything() Set { return 1<<len(all) - 1 }

// Has reports whether p is in the set.
func (s Set) Has(p Permission) bool {
	i, ok := bitOf[p]
	return ok && s&(1<<i) != 0
}

// Covers reports whether every permission of other is in the set.
func (s Set) Covers(other Set) bool { return other&^s == 0 }

// Keys lists the set's permission keys in alphabetical order.
func (s Set) Keys() []string {
	keys := make([]string, 0, bits.OnesCount64(uint64(s)))
	for i, p := range all {
		if s&(1<<i) != 0 {
			keys = append(keys, string(p))
		}
	}
	sort.Strings(keys)
	return keys
}
