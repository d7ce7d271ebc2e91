package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"bm/server/api"
	"bm/server/sqldb"
)

// ErrNoMember says that the account is not, or no longer, in the tenant.
var ErrNoMember = errors.New("not a member of the tenant")

// Membership is what an account is in a tenant, with its rights there.
type Membership struct {
	Role    api.MembershipRole
	IsOwner bool
	Rights  Rights
}

// Evaluate reads an account's rights in a tenant: its membership's role, and
// every assignment to it, added up. [ErrNoMember] where it is not a member.
func Evaluate(ctx context.Context, tx *sqldb.Tx, tenantID, accountID string) (Membership, error) {
	var m Membership
	err := tx.Row(ctx, `SELECT role, is_owner FROM membership WHERE tenant_id = $1 AND account_id = $2`,
		[]any{tenantID, accountID}, &m.Role, &m.IsOwner)
	if errors.Is(err, sqldb.ErrNotFound) {
		return Membership{}, ErrNoMember
	}
	if err != nil {
		return Membership{}, fmt.Errorf("read the membership: %w", err)
	}
	m.Rights.Tenant = ofMembership(m.Role)
	m.Rights.Workspaces, m.Rights.Deleted = map[string]Set{}, map[string]Set{}
	err = tx.Rows(ctx, `SELECT id, deleted_at > 0 FROM workspace WHERE tenant_id = $1`, []any{tenantID},
		func(row sqldb.Scanner) error {
			var id string
			var deleted bool
			if err := row.Scan(&id, &deleted); err != nil {
				return err
			}
			if deleted {
				m.Rights.Deleted[id] = 0
			} else {
				m.Rights.Workspaces[id] = 0
			}
			return nil
		})
	if err != nil {
		return Membership{}, fmt.Errorf("list the workspaces: %w", err)
	}
	err = tx.Rows(ctx, `
		SELECT a.scope_type, a.scope_id, r.system_key, r.permissions
		FROM role_assignment a JOIN role r ON r.id = a.role_id
		WHERE a.tenant_id = $1 AND a.account_id = $2 AND a.status = 'active'`, []any{tenantID, accountID},
		func(row sqldb.Scanner) error { return addAssignment(&m.Rights, row) })
	if err != nil {
		return Membership{}, fmt.Errorf("read the role assignments: %w", err)
	}
	return m, nil
}

func addAssignment(rights *Rights, row sqldb.Scanner) error {
	var scopeType, scopeID, systemKey, stored string
	if err := row.Scan(&scopeType, &scopeID, &systemKey, &stored); err != nil {
		return err
	}
	set := SystemRole(systemKey).Permissions()
	if systemKey == "" {
		var keys []Permission
		if err := json.Unmarshal([]byte(stored), &keys); err != nil {
			return fmt.Errorf("read a role's permissions: %w", err)
		}
		set = SetOf(keys...)
	}
	switch scopeType {
	case "org":
		rights.Tenant |= set
	case "workspace":
		if own, live := rights.Workspaces[scopeID]; live {
			rights.Workspaces[scopeID] = own | set
		} else if own, deleted := rights.Deleted[scopeID]; deleted {
			rights.Deleted[scopeID] = own | set
		}
	}
	return nil
}

// ofMembership is what a membership's role gives at organization scope.
func ofMembership(role api.MembershipRole) Set {
	switch role {
	case api.RoleAdmin:
		return Administrator.Permissions()
	case api.RoleSupport:
		return Support.Permissions()
	case api.RoleMember:
		return SetOf(WorkspacesCreate)
	}
	return 0
}
