package server_test

// state says whether a row of the specification is served by now.
type state int

const (
	built state = iota
	later       // comes with a later part; until then it is absent, not faked
)

// row is a row of the specification's tables of endpoints.
type row struct {
	route string
	state state
}

// section is one of those tables.
type section struct {
	name string
	rows []row
}

// specification is every row of the specification's tables of endpoints, in
// their order.
var specification = []section{
	{"API keys", []row{
		{"GET /api/v1/api-keys", built},
		{"POST /api/v1/api-keys", built},
		{"POST /api/v1/api-keys/{keyId}/revoke", built},
		{"POST /api/v1/api-keys/{keyId}/rotate", built},
	}},
	{"Bookmarks, API-key flavour", []row{
		{"GET /api/v1/bookmarks", built},
		{"POST /api/v1/bookmarks", built},
		{"GET /api/v1/bookmarks/{bookmark_id}", built},
		{"PATCH /api/v1/bookmarks/{bookmark_id}", built},
		{"DELETE /api/v1/bookmarks/{bookmark_id}", built},
		{"POST /api/v1/bookmarks/imports", built},
	}},
	{"Bookmarks, workspace flavour", []row{
		{"GET /workspaces/{workspaceId}/bookmarks", built},
		{"POST /workspaces/{workspaceId}/bookmarks", built},
		{"GET /workspaces/{workspaceId}/bookmarks/{id}", built},
		{"PATCH /workspaces/{workspaceId}/bookmarks/{id}", built},
		{"DELETE /workspaces/{workspaceId}/bookmarks/{id}", built},
		{"POST /workspaces/{workspaceId}/bookmarks/{id}/check-link", later},
		{"POST /workspaces/{workspaceId}/bookmarks/{id}/enrich-metadata", later},
		{"GET /workspaces/{workspaceId}/bookmarks/{id}/reader", later},
		{"POST /workspaces/{workspaceId}/bookmarks/bulk-delete", built},
		{"POST /workspaces/{workspaceId}/bookmarks/check-links", later},
		{"GET /workspaces/{workspaceId}/bookmarks/count", built},
		{"POST /workspaces/{workspaceId}/bookmarks/delete-by-scope", built},
		{"GET /workspaces/{workspaceId}/bookmarks/export", built},
		{"POST /workspaces/{workspaceId}/bookmarks/import", built},
		{"POST /workspaces/{workspaceId}/bookmarks/preview-url", later},
		{"GET /workspaces/{workspaceId}/bookmarks/search", built},
		{"GET /workspaces/{workspaceId}/bookmarks/snapshot-search", later},
		{"GET /workspaces/{workspaceId}/export/bookmarks.html", built},
	}},
	{"Folders", []row{
		{"GET /workspaces/{workspaceId}/folders", built},
		{"POST /workspaces/{workspaceId}/folders", built},
		{"GET /workspaces/{workspaceId}/folders/{id}", built},
		{"PATCH /workspaces/{workspaceId}/folders/{id}", built},
		{"DELETE /workspaces/{workspaceId}/folders/{id}", built},
	}},
	{"Folder shares", []row{
		{"GET /workspaces/{workspaceId}/folders/{folderId}/shares", later},
		{"POST /workspaces/{workspaceId}/folders/{folderId}/shares", later},
		{"DELETE /workspaces/{workspaceId}/folders/{folderId}/shares/{shareId}", later},
	}},
	{"Shared folders by link", []row{
		{"GET /folders/shared/{token}", later},
		{"GET /folders/shared/{token}/bookmarks", later},
		{"POST /folders/shared/{token}/bookmarks", later},
		{"GET /folders/shared/{token}/bookmarks/{bookmarkId}", later},
		{"PATCH /folders/shared/{token}/bookmarks/{bookmarkId}", later},
		{"DELETE /folders/shared/{token}/bookmarks/{bookmarkId}", later},
	}},
	{"Folder e-mail invites", []row{
		{"GET /folders/email-invites/{token}", later},
		{"POST /folders/email-invites/{token}/accept", later},
		{"POST /folders/email-invites/{token}/decline", later},
		{"GET /me/shared-with-you", later},
		{"GET /me/shared-with-you/{inviteId}", later},
		{"POST /me/shared-with-you/{inviteId}/accept", later},
	}},
	{"Notifications", []row{
		{"GET /me/notifications", later},
		{"PATCH /me/notifications/{id}", later},
		{"POST /me/notifications/mark-read", later},
	}},
	{"Account, organization and profile", []row{
		{"GET /api/v1/me", built},
		{"PATCH /api/v1/me", built},
		{"POST /api/v1/me/consent", later},
		{"PATCH /api/v1/me/home-organization", later},
		{"GET /api/v1/me/organization-users", later},
		{"PATCH /api/v1/me/organization-users/{accountId}", later},
		{"GET /api/v1/me/organizations", later},
		{"GET /api/v1/me/permissions", built},
		{"GET /api/v1/me/preferences", later},
		{"PATCH /api/v1/me/preferences", later},
		{"PATCH /api/v1/me/tenant", later},
		{"POST /api/v1/organization/members/remove", later},
		{"POST /api/v1/organization/transfer-ownership", later},
	}},
	{"Workspaces", []row{
		{"GET /workspaces", built},
		{"POST /workspaces", built},
		{"GET /workspaces/{workspaceId}", built},
		{"PATCH /workspaces/{workspaceId}", built},
		{"DELETE /workspaces/{workspaceId}", built},
		{"PATCH /workspaces/{workspaceId}/hub-settings", built},
		{"GET /workspaces/deleted", built},
	}},
	{"Groups", []row{
		{"GET /api/v1/groups", later},
		{"POST /api/v1/groups", later},
		{"PATCH /api/v1/groups/{groupId}", later},
		{"DELETE /api/v1/groups/{groupId}", later},
		{"GET /api/v1/groups/{groupId}/members", later},
		{"POST /api/v1/groups/{groupId}/members", later},
		{"DELETE /api/v1/groups/{groupId}/members/{membershipId}", later},
	}},
	{"Roles", []row{
		{"GET /api/v1/roles", later},
		{"POST /api/v1/roles", later},
		{"PATCH /api/v1/roles/{roleId}", later},
		{"DELETE /api/v1/roles/{roleId}", later},
	}},
	{"Role assignments", []row{
		{"GET /api/v1/role-assignments", later},
		{"POST /api/v1/role-assignments", later},
		{"DELETE /api/v1/role-assignments/{id}", later},
	}},
	{"Organizational units", []row{
		{"GET /api/v1/organizations/units", later},
		{"POST /api/v1/organizations/units", later},
		{"GET /api/v1/organizations/units/{unitId}", later},
		{"PATCH /api/v1/organizations/units/{unitId}", later},
		{"DELETE /api/v1/organizations/units/{unitId}", later},
	}},
	{"Tenant invitations", []row{
		{"GET /invitations", later},
		{"POST /invitations", later},
		{"DELETE /invitations/{invitationId}", later},
		{"POST /invitations/{invitationId}/resend", later},
		{"POST /invitations/{token}/accept", later},
	}},
	{"Usage", []row{
		{"GET /billing/usage", later},
	}},
}

// signingIn are the operations that the specification mentions without a
// table; the contract gives their paths.
var signingIn = []row{
	{"POST /auth/register", built},
	{"POST /auth/login", built},
	{"POST /auth/refresh", built},
	{"POST /auth/logout", built},
	{"POST /auth/switch-workspace", built},
}
