package api

// LinkCheckSchedule says how often a workspace's links are checked.
type LinkCheckSchedule string

// The values of [Workspace.HubLinkCheckSchedule].
const (
	CheckDaily    LinkCheckSchedule = "daily"
	CheckWeekly   LinkCheckSchedule = "weekly"
	CheckOnDemand LinkCheckSchedule = "on_demand"
)

// Workspace holds folders and bookmarks.
type Workspace struct {
	ID                   string            `json:"id"`
	TenantID             string            `json:"tenantId"`
	Name                 string            `json:"name"`
	Slug                 string            `json:"slug"`
	IsDefault            bool              `json:"isDefault"`
	HubLinkCheckSchedule LinkCheckSchedule `json:"hubLinkCheckSchedule" enum:"daily,weekly,on_demand"`
	CreatedAt            Time              `json:"createdAt"`
}

// WorkspaceCreate is the body of POST /workspaces.
type WorkspaceCreate struct {
	Name string           `json:"name" doc:"1 to 256 characters"`
	Slug Optional[string] `json:"slug,omitzero" doc:"Lower-case letters, digits and dashes; made from the name where absent"`
}

// WorkspacePatch is the body of PATCH /workspaces/{workspaceId}.
type WorkspacePatch struct {
	Name string `json:"name" doc:"1 to 256 characters"`
}

// HubSettings is the body of PATCH /workspaces/{workspaceId}/hub-settings.
type HubSettings struct {
	HubLinkCheckSchedule Optional[LinkCheckSchedule] `json:"hubLinkCheckSchedule,omitzero" enum:"daily,weekly,on_demand"`
}

// DeletedWorkspaceSummary is a workspace that can still be restored.
type DeletedWorkspaceSummary struct {
	ID                         string `json:"id"`
	Name                       string `json:"name"`
	Slug                       string `json:"slug"`
	DeletedAt                  Time   `json:"deletedAt"`
	DaysUntilPermanentDeletion int    `json:"daysUntilPermanentDeletion"`
}
