package apikeys

import (
	"context"
	"net/http"

	"bm/server/api"
	"bm/server/op"
)

// Routes declares the operations of API keys.
func (s *Service) Routes(r *op.Router) {
	base := op.Spec{Section: "API keys", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Tenant, Permission: op.NoPermission, Path: "/api/v1/api-keys"}

	list := base
	list.ID, list.Method, list.Summary = "list-api-keys", http.MethodGet, "The account's keys; the organization's with apikeys.read"
	op.Register(r, list, func(ctx context.Context, call *op.Call, _ *struct{ op.Paging }) (op.Small[api.APIKeyMetadata], error) {
		keys, err := s.List(ctx, call.Principal)
		return op.Small[api.APIKeyMetadata]{Items: keys, Key: func(k api.APIKeyMetadata) string { return k.ID }}, err
	})

	create := base
	create.ID, create.Method, create.Status = "create-api-key", http.MethodPost, http.StatusCreated
	create.Summary, create.OnceOnly = "Make a key; its secret is shown this once", true
	op.Register(r, create, func(ctx context.Context, call *op.Call, in *struct{ Body api.APIKeyCreate }) (api.APIKeySecret, error) {
		return s.Create(ctx, call, in.Body)
	})

	type one struct {
		KeyID string `path:"keyId"`
		Body  struct{}
	}
	revoke := base
	revoke.ID, revoke.Method, revoke.Path, revoke.Status = "revoke-api-key", http.MethodPost, "/api/v1/api-keys/{keyId}/revoke", http.StatusNoContent
	revoke.Summary, revoke.BodyOptional = "Disable a key for good", true
	op.Register(r, revoke, func(ctx context.Context, call *op.Call, in *one) (op.None, error) {
		return op.None{}, s.Revoke(ctx, call.Principal, in.KeyID)
	})

	rotate := base
	rotate.ID, rotate.Method, rotate.Path = "rotate-api-key", http.MethodPost, "/api/v1/api-keys/{keyId}/rotate"
	rotate.Summary, rotate.BodyOptional, rotate.OnceOnly = "Give a key a new secret; the one before stops working at once", true, true
	op.Register(r, rotate, func(ctx context.Context, call *op.Call, in *one) (api.APIKeySecret, error) {
		return s.Rotate(ctx, call.Principal, in.KeyID)
	})
}
