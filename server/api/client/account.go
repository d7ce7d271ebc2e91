package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"bm/server/api"
)

// Info asks what the server is and which extensions it has. A server without
// that page is a plain one: it has none.
func (c *Client) Info(ctx context.Context) (api.ServerInfo, error) {
	var info api.ServerInfo
	err := c.As("").do(ctx, call{method: http.MethodGet, path: "/.well-known/bm"}, &info)
	plain, _ := errors.AsType[*foreign](err)
	if api.CodeOf(err) == api.CodeNotFound || plain != nil && plain.status == http.StatusNotFound {
		return api.ServerInfo{Extensions: []string{}}, nil
	}
	return info, err
}

// Register makes an account with its organization and default workspace.
func (c *Client) Register(ctx context.Context, in api.Register) (api.Session, error) {
	return c.session(ctx, "/auth/register", in)
}

// Login signs in.
func (c *Client) Login(ctx context.Context, in api.Login) (api.Session, error) {
	return c.session(ctx, "/auth/login", in)
}

// Refresh spends a refresh token on a new session.
func (c *Client) Refresh(ctx context.Context, in api.Refresh) (api.Session, error) {
	return c.session(ctx, "/auth/refresh", in)
}

// SwitchWorkspace answers a session in another workspace.
func (c *Client) SwitchWorkspace(ctx context.Context, in api.SwitchWorkspace) (api.Session, error) {
	return c.session(ctx, "/auth/switch-workspace", in)
}

// SwitchOrganization answers a session in another organization.
func (c *Client) SwitchOrganization(ctx context.Context, in api.SwitchOrganization) (api.Session, error) {
	return c.session(ctx, "/auth/switch-organization", in)
}

func (c *Client) session(ctx context.Context, path string, body any) (api.Session, error) {
	var s api.Session
	err := c.do(ctx, call{method: http.MethodPost, path: path, body: body}, &s)
	return s, err
}

// Logout ends the session.
func (c *Client) Logout(ctx context.Context, in api.Logout) error {
	return c.do(ctx, call{method: http.MethodPost, path: "/auth/logout", body: in}, nil)
}

// Me reads the caller's profile.
func (c *Client) Me(ctx context.Context) (api.AccountProfile, error) {
	var p api.AccountProfile
	err := c.do(ctx, call{method: http.MethodGet, path: "/api/v1/me"}, &p)
	return p, err
}

// UpdateMe changes the caller's profile.
func (c *Client) UpdateMe(ctx context.Context, in api.ProfilePatch) (api.AccountProfile, error) {
	var p api.AccountProfile
	err := c.do(ctx, call{method: http.MethodPatch, path: "/api/v1/me", body: in}, &p)
	return p, err
}

// MyPermissions lists the caller's effective permission keys.
func (c *Client) MyPermissions(ctx context.Context) ([]string, error) {
	var p api.Permissions
	err := c.do(ctx, call{method: http.MethodGet, path: "/api/v1/me/permissions"}, &p)
	return p.Permissions, err
}

// ListAPIKeys lists API keys, without their secrets.
func (c *Client) ListAPIKeys(ctx context.Context) ([]api.APIKeyMetadata, error) {
	var list []api.APIKeyMetadata
	err := c.do(ctx, call{method: http.MethodGet, path: "/api/v1/api-keys"}, &list)
	return list, err
}

// CreateAPIKey makes an API key; its secret is in the answer and nowhere else.
func (c *Client) CreateAPIKey(ctx context.Context, in api.APIKeyCreate) (api.APIKeySecret, error) {
	var k api.APIKeySecret
	err := c.do(ctx, call{method: http.MethodPost, path: "/api/v1/api-keys", body: in}, &k)
	return k, err
}

// RotateAPIKey gives a key a new secret; the old one stops at once.
func (c *Client) RotateAPIKey(ctx context.Context, id string) (api.APIKeySecret, error) {
	var k api.APIKeySecret
	err := c.do(ctx, call{method: http.MethodPost, path: "/api/v1/api-keys/" + url.PathEscape(id) + "/rotate"}, &k)
	return k, err
}

// RevokeAPIKey ends a key for good.
func (c *Client) RevokeAPIKey(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodPost, path: "/api/v1/api-keys/" + url.PathEscape(id) + "/revoke"}, nil)
}
