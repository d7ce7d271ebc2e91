package api

// KeyStatus is the state of an API key.
type KeyStatus string

// The values of [APIKeyMetadata.Status].
const (
	KeyActive  KeyStatus = "active"
	KeyRevoked KeyStatus = "revoked"
)

// APIKeyPrefix is what every API key begins with.
const APIKeyPrefix = "bmk_"

// APIKeyMetadata is an API key without its secret.
type APIKeyMetadata struct {
	ID          string    `json:"id"`
	TenantID    string    `json:"tenantId"`
	WorkspaceID string    `json:"workspaceId,omitempty" doc:"Absent for a tenant-wide key"`
	AccountID   string    `json:"accountId" doc:"The account that the key acts as"`
	Label       string    `json:"label,omitempty"`
	Status      KeyStatus `json:"status" enum:"active,revoked"`
	CreatedAt   Time      `json:"createdAt"`
	RotatedAt   Time      `json:"rotatedAt,omitzero"`
	RevokedAt   Time      `json:"revokedAt,omitzero"`
	ExpiresAt   Time      `json:"expiresAt,omitzero"`
	LastUsedAt  Time      `json:"lastUsedAt,omitzero" doc:"To the minute"`
	Permissions []string  `json:"permissions,omitzero" doc:"The keys that narrow it; absent: all of its account's"`
}

// APIKeyCreate is the body of POST /api/v1/api-keys.
type APIKeyCreate struct {
	Label         Optional[string]   `json:"label,omitzero" doc:"At most 256 characters"`
	WorkspaceID   Optional[string]   `json:"workspaceId,omitzero" doc:"Absent: a tenant-wide key"`
	NoticeVersion string             `json:"noticeVersion" doc:"The version of the notice that was shown, 1 to 64 characters"`
	ExpiresAt     Optional[Time]     `json:"expiresAt,omitzero"`
	Permissions   Optional[[]string] `json:"permissions,omitzero" doc:"A subset of the account's own"`
}

// APIKeySecret is the answer of create and rotate, the only two that hold the
// secret.
type APIKeySecret struct {
	Metadata APIKeyMetadata `json:"metadata"`
	APIKey   Secret         `json:"apiKey"`
}
