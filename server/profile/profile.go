package profile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/op"
	"bm/server/sqldb"
)

// Service reads and changes profiles.
type Service struct {
	db  *sqldb.DB
	now func() time.Time
}

// New makes the service; now is its clock.
func New(db *sqldb.DB, now func() time.Time) *Service { return &Service{db: db, now: now} }

// Read is an account's profile as seen in a tenant that it belongs to.
func (s *Service) Read(ctx context.Context, tx *sqldb.Tx, accountID, tenantID string) (api.AccountProfile, error) {
	p := api.AccountProfile{AccountID: accountID, TenantID: tenantID, ActiveTenantID: tenantID}
	err := tx.Row(ctx, `
		SELECT a.email, a.display_name, a.avatar_url, a.home_tenant_id, t.name, m.role, m.is_owner
		FROM account a
		JOIN membership m ON m.account_id = a.id AND m.tenant_id = $2
		JOIN tenant t ON t.id = m.tenant_id
		WHERE a.id = $1`, []any{accountID, tenantID},
		&p.Email, &p.DisplayName, &p.AvatarURL, &p.HomeTenantID, &p.OrganizationName, &p.Role, &p.IsOwner)
	if err != nil {
		return api.AccountProfile{}, fmt.Errorf("read the profile: %w", err)
	}
	p.CanManageBilling = p.IsOwner
	return p, nil
}

// Get is the caller's profile.
func (s *Service) Get(ctx context.Context, p *access.Principal) (profile api.AccountProfile, err error) {
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		profile, err = s.Read(ctx, tx, p.AccountID, p.TenantID)
		return err
	})
	return profile, err
}

// Patch changes the caller's profile, where match is content with what is there.
func (s *Service) Patch(ctx context.Context, p *access.Principal, in api.ProfilePatch, match func(api.AccountProfile) error) (profile api.AccountProfile, err error) {
	if err := check(in); err != nil {
		return api.AccountProfile{}, err
	}
	err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
		// The row is held until the end of the transaction.
		if _, err := tx.Exec(ctx, `UPDATE account SET updated_at = updated_at WHERE id = $1`, p.AccountID); err != nil {
			return fmt.Errorf("hold the account: %w", err)
		}
		before, err := s.Read(ctx, tx, p.AccountID, p.TenantID)
		if err != nil {
			return err
		}
		if err := match(before); err != nil {
			return err
		}
		if name, ok := in.DisplayName.Get(); ok {
			if err := s.set(ctx, tx, p.AccountID, "display_name", rules.Line(name)); err != nil {
				return err
			}
		}
		if avatar, ok := in.AvatarURL.Get(); ok {
			if err := s.set(ctx, tx, p.AccountID, "avatar_url", strings.TrimSpace(avatar)); err != nil {
				return err
			}
		}
		profile, err = s.Read(ctx, tx, p.AccountID, p.TenantID)
		return err
	})
	return profile, err
}

func check(in api.ProfilePatch) error {
	var details []api.FieldError
	if problem := rules.CheckText("body.displayName", in.DisplayName.Value, api.MaxName); problem != nil {
		details = append(details, *problem)
	}
	if avatar := strings.TrimSpace(in.AvatarURL.Value); avatar != "" {
		if problem := rules.CheckLink("body.avatarUrl", avatar); problem != nil {
			details = append(details, *problem)
		}
	}
	return api.InvalidFields(details)
}

// set writes one column, whose name is ours.
func (s *Service) set(ctx context.Context, tx *sqldb.Tx, accountID, column, value string) error {
	_, err := tx.Exec(ctx, `UPDATE account SET `+column+` = $2, updated_at = $3 WHERE id = $1`, accountID, value, s.now().UnixMicro())
	if err != nil {
		return fmt.Errorf("change the profile: %w", err)
	}
	return nil
}

// Routes declares the operations of the profile.
func (s *Service) Routes(r *op.Router) {
	spec := op.Spec{Section: "Account", Status: http.StatusOK, Auth: op.JWTOrKey, Scope: op.Self, Permission: op.NoPermission, Path: "/api/v1/me"}

	get := spec
	get.ID, get.Method, get.Summary = "get-me", http.MethodGet, "The account's profile"
	op.Register(r, get, func(ctx context.Context, call *op.Call, _ *struct{}) (op.Tagged[api.AccountProfile], error) {
		return op.WithContentTag(s.Get(ctx, call.Principal))
	})

	patch := spec
	patch.ID, patch.Method, patch.Summary, patch.Scope = "update-me", http.MethodPatch, "Change the display name or the picture", op.Tenant
	patch.Errors = []api.Code{api.CodePreconditionFailed}
	op.Register(r, patch, func(ctx context.Context, call *op.Call, in *struct{ Body api.ProfilePatch }) (op.Tagged[api.AccountProfile], error) {
		return op.WithContentTag(s.Patch(ctx, call.Principal, in.Body, func(before api.AccountProfile) error { return call.CheckContent(before) }))
	})

	permissions := spec
	permissions.ID, permissions.Method, permissions.Path = "list-my-permissions", http.MethodGet, "/api/v1/me/permissions"
	permissions.Summary = "The effective permission keys in the current organization"
	op.Register(r, permissions, func(_ context.Context, call *op.Call, _ *struct{}) (api.Permissions, error) {
		return api.Permissions{Permissions: call.Principal.Effective().Keys()}, nil
	})
}
