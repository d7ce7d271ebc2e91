package auth

import (
	"context"
	"net/http"

	"bm/server/api"
	"bm/server/op"
)

const section = "Signing in"

type body[T any] struct{ Body T }

// Routes declares the operations of signing in and out.
func (s *Service) Routes(r *op.Router) {
	public := op.Spec{
		Method: http.MethodPost, Section: section, Status: http.StatusOK,
		Auth: op.Public, Scope: op.Nothing, Permission: op.NoPermission, NoReplay: true,
	}
	signedIn := public
	signedIn.Auth, signedIn.Scope = op.JWTOnly, op.Self

	spec := public
	spec.ID, spec.Path, spec.Status, spec.Rate = "register", "/auth/register", http.StatusCreated, op.RateAuth
	spec.Summary = "Make an account, with an organization and a workspace of its own"
	spec.Errors = []api.Code{api.CodeConflict, api.CodeForbidden}
	op.Register(r, spec, func(ctx context.Context, call *op.Call, in *body[api.Register]) (api.Session, error) {
		return s.Register(ctx, call, in.Body)
	})

	spec = public
	spec.ID, spec.Path, spec.Rate = "login", "/auth/login", op.RateAuth
	spec.Summary, spec.Errors = "Sign in with a password", []api.Code{api.CodeUnauthorized}
	op.Register(r, spec, func(ctx context.Context, _ *op.Call, in *body[api.Login]) (api.Session, error) {
		return s.Login(ctx, in.Body)
	})

	spec = public
	spec.ID, spec.Path = "refresh", "/auth/refresh"
	spec.Summary, spec.Errors = "Spend a refresh token for new tokens", []api.Code{api.CodeUnauthorized}
	op.Register(r, spec, func(ctx context.Context, _ *op.Call, in *body[api.Refresh]) (api.Session, error) {
		return s.Refresh(ctx, in.Body)
	})

	spec = signedIn
	spec.ID, spec.Path, spec.Status, spec.BodyOptional = "logout", "/auth/logout", http.StatusNoContent, true
	spec.Summary = "End this session"
	spec.Doc = "With the refresh token of another session of the account, that one ends too."
	op.Register(r, spec, func(ctx context.Context, call *op.Call, in *body[api.Logout]) (op.None, error) {
		return op.None{}, s.Logout(ctx, call.Principal, in.Body.RefreshToken.Value)
	})

	spec = signedIn
	spec.ID, spec.Path = "switch-workspace", "/auth/switch-workspace"
	spec.Summary = "Make another workspace the active one"
	op.Register(r, spec, func(ctx context.Context, call *op.Call, in *body[api.SwitchWorkspace]) (api.Session, error) {
		return s.SwitchWorkspace(ctx, call.Principal, in.Body.WorkspaceID)
	})

	spec = signedIn
	spec.ID, spec.Path, spec.Extension = "switch-organization", "/auth/switch-organization", true
	spec.Summary = "Make another organization the active one"
	op.Register(r, spec, func(ctx context.Context, call *op.Call, in *body[api.SwitchOrganization]) (api.Session, error) {
		return s.SwitchOrganization(ctx, call.Principal, in.Body.TenantID)
	})
}
