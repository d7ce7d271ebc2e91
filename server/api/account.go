package api

// MembershipRole is what an account is in a tenant.
type MembershipRole string

// The membership roles.
const (
	RoleAdmin   MembershipRole = "admin"
	RoleMember  MembershipRole = "member"
	RoleSupport MembershipRole = "support"
)

// AccountProfile is an account as it sees itself in the active tenant.
type AccountProfile struct {
	Email            string         `json:"email"`
	DisplayName      string         `json:"displayName,omitempty"`
	AvatarURL        string         `json:"avatarUrl,omitempty"`
	TwoFactorEnabled bool           `json:"twoFactorEnabled"`
	OrganizationName string         `json:"organizationName"`
	TenantID         string         `json:"tenantId"`
	AccountID        string         `json:"accountId"`
	Role             MembershipRole `json:"role" enum:"admin,member,support"`
	CanManageBilling bool           `json:"canManageBilling"`
	HomeTenantID     string         `json:"homeTenantId"`
	ActiveTenantID   string         `json:"activeTenantId"`
	IsOwner          bool           `json:"isOwner"`
}

// ProfilePatch is the body of PATCH /api/v1/me.
type ProfilePatch struct {
	DisplayName Optional[string] `json:"displayName,omitzero" doc:"At most 256 characters"`
	AvatarURL   Optional[string] `json:"avatarUrl,omitzero" doc:"http or https, at most 2048 characters"`
}

// Permissions is the answer of GET /api/v1/me/permissions.
type Permissions struct {
	Permissions []string `json:"permissions"`
}

// Register is the body of POST /auth/register.
type Register struct {
	Email            string           `json:"email"`
	Password         Secret           `json:"password" doc:"12 to 256 characters, not a common one"`
	DisplayName      Optional[string] `json:"displayName,omitzero"`
	OrganizationName Optional[string] `json:"organizationName,omitzero"`
	NoticeVersion    string           `json:"noticeVersion" doc:"The version of the notice that was shown, 1 to 64 characters"`
}

// Login is the body of POST /auth/login.
type Login struct {
	Email    string           `json:"email"`
	Password Secret           `json:"password"`
	Code     Optional[Secret] `json:"code,omitzero" doc:"Second factor or backup code"`
}

// Refresh is the body of POST /auth/refresh.
type Refresh struct {
	RefreshToken Secret `json:"refreshToken"`
}

// Logout is the optional body of POST /auth/logout.
type Logout struct {
	RefreshToken Optional[Secret] `json:"refreshToken,omitzero"`
}

// SwitchWorkspace is the body of POST /auth/switch-workspace.
type SwitchWorkspace struct {
	WorkspaceID string `json:"workspaceId"`
}

// SwitchOrganization is the body of POST /auth/switch-organization.
type SwitchOrganization struct {
	TenantID string `json:"tenantId"`
}

// Session is what signing in answers.
type Session struct {
	AccessToken  Secret         `json:"accessToken"`
	TokenType    string         `json:"tokenType" enum:"Bearer"`
	ExpiresIn    int            `json:"expiresIn" doc:"Seconds until the access token expires"`
	RefreshToken Secret         `json:"refreshToken" doc:"Good for one refresh, within 30 days"`
	Account      AccountProfile `json:"account"`
}
