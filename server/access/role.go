package access

// SystemRole is the stable name of a built-in role.
type SystemRole string

// The built-in roles.
const (
	Administrator SystemRole = "administrator"
	Editor        SystemRole = "editor"
	Viewer        SystemRole = "viewer"
	Support       SystemRole = "support"
)

// BuiltIn describes a built-in role.
type BuiltIn struct {
	Key         SystemRole
	Name        string
	Description string
	Permissions Set
}

// BuiltIns lists the built-in roles, the strongest first.
func BuiltIns() []BuiltIn {
	return []BuiltIn{
		{Administrator, "Administrator", "May do everything.", Everything()},
		{Editor, "Editor", "Reads, writes, deletes and shares bookmarks and folders.", SetOf(
			BookmarksRead, BookmarksWrite, BookmarksDelete, FoldersRead, FoldersWrite, FoldersDelete,
			SharesRead, SharesWrite, WorkspacesRead)},
		{Viewer, "Viewer", "Reads bookmarks and folders.", SetOf(BookmarksRead, FoldersRead, WorkspacesRead)},
		{Support, "Support", "Reads everything but members, keys and invitations.", SetOf(
			BookmarksRead, FoldersRead, WorkspacesRead, GroupsRead, RolesRead, UnitsRead, BillingRead)},
	}
}

// Permissions are what a built-in role allows; nothing for an unknown one.
func (r SystemRole) Permissions() Set {
	for _, role := range BuiltIns() {
		if role.Key == r {
			return role.Permissions
		}
	}
	return 0
}
