package api

// Folder is a node of a workspace's tree.
type Folder struct {
	ID          string            `json:"id"`
	TenantID    string            `json:"tenantId"`
	WorkspaceID string            `json:"workspaceId"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	ParentID    string            `json:"parentId,omitempty" doc:"Absent at the top of the tree"`
	SortOrder   int64             `json:"sortOrder" doc:"Position within the parent, ascending; one order with its bookmarks"`
	CreatedAt   Time              `json:"createdAt"`
	UpdatedAt   Time              `json:"updatedAt"`
	Extra       map[string]string `json:"extra,omitempty"`
	DeletedAt   Time              `json:"deletedAt,omitzero" doc:"Only in a list of what was deleted"`
}

// FolderInput is the body of a folder's create and update. Name is required
// on create.
type FolderInput struct {
	// ID is for creates alone: a UUIDv7 that the client chose.
	ID          Optional[string]            `json:"id,omitzero" doc:"A UUIDv7 of the client's choice; for creates alone"`
	Name        Optional[string]            `json:"name,omitzero" doc:"1 to 512 characters"`
	Description Optional[string]            `json:"description,omitzero" doc:"At most 4096 characters"`
	ParentID    Optional[string]            `json:"parentId,omitzero" doc:"null or empty: the top of the tree"`
	SortOrder   Optional[int64]             `json:"sortOrder,omitzero"`
	Extra       Optional[map[string]string] `json:"extra,omitzero"`
	// CreatedAt is heeded by import and by the change feed alone.
	CreatedAt Optional[Time] `json:"createdAt,omitzero" doc:"Heeded in the change feed alone"`
}
