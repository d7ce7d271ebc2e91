package organizations

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/sqldb"
)

// Service makes tenants.
type Service struct {
	now   func() time.Time
	newID func() string
}

// New makes the service; now is its clock, newID its source of ids.
func New(now func() time.Time, newID func() string) *Service {
	return &Service{now: now, newID: newID}
}

// Create makes a tenant with its built-in roles and its owner. Where
// generated is true the name was not chosen by anybody, and one that is taken
// gets a number; else a taken name is a conflict.
func (s *Service) Create(ctx context.Context, tx *sqldb.Tx, name string, generated bool, ownerID string) (tenantID string, err error) {
	tenantID, err = s.insert(ctx, tx, name, generated)
	if err != nil {
		return "", err
	}
	now := s.now().UnixMicro()
	for _, role := range access.BuiltIns() {
		_, err := tx.Exec(ctx, `INSERT INTO role (id, tenant_id, name, name_key, description, system_key, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			s.newID(), tenantID, role.Name, rules.NameKey(role.Name), role.Description, string(role.Key), now)
		if err != nil {
			return "", fmt.Errorf("make the role %s: %w", role.Name, err)
		}
	}
	_, err = tx.Exec(ctx, `INSERT INTO membership (tenant_id, account_id, role, is_owner, created_at) VALUES ($1, $2, $3, TRUE, $4)`,
		tenantID, ownerID, string(api.RoleAdmin), now)
	if err != nil {
		return "", fmt.Errorf("make the owner's membership: %w", err)
	}
	return tenantID, nil
}

func (s *Service) insert(ctx context.Context, tx *sqldb.Tx, name string, generated bool) (id string, err error) {
	id = s.newID()
	candidate := name
	for {
		slug := strings.TrimPrefix(rules.Slug(candidate)+"-"+id[len(id)-12:], "-")
		inserted, err := tx.Exec(ctx, `INSERT INTO tenant (id, name, name_key, slug, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (name_key) DO NOTHING`,
			id, candidate, rules.NameKey(candidate), slug, s.now().UnixMicro())
		switch {
		case err != nil:
			return "", fmt.Errorf("make the organization: %w", err)
		case inserted == 1:
			return id, nil
		case !generated:
			return "", &api.Error{
				Code: api.CodeConflict, Message: "an organization with this name exists",
				Details: []api.FieldError{{Field: "body.organizationName", Message: "is taken"}},
			}
		}
		if candidate, err = freeName(ctx, tx, name); err != nil {
			return "", err
		}
	}
}

// freeName is a name that is taken with the next number that is not. It looks
// in leaps: of an address such as info@ there may be thousands.
func freeName(ctx context.Context, tx *sqldb.Tx, name string) (string, error) {
	numbered := func(n int) string { return name + " " + strconv.Itoa(n) }
	taken := func(n int) (bool, error) {
		var found int
		err := tx.Row(ctx, `SELECT count(*) FROM tenant WHERE name_key = $1`, []any{rules.NameKey(numbered(n))}, &found)
		if err != nil {
			return false, fmt.Errorf("look for a free name: %w", err)
		}
		return found > 0, nil
	}
	last, free := 1, 2 // last is taken
	for {
		is, err := taken(free)
		if err != nil {
			return "", err
		}
		if !is {
			break
		}
		last, free = free, free*2
	}
	for free-last > 1 {
		middle := (last + free) / 2
		is, err := taken(middle)
		if err != nil {
			return "", err
		}
		if is {
			last = middle
		} else {
			free = middle
		}
	}
	return numbered(free), nil
}

// Name is a tenant's display name.
func (s *Service) Name(ctx context.Context, tx *sqldb.Tx, tenantID string) (string, error) {
	var name string
	if err := tx.Row(ctx, `SELECT name FROM tenant WHERE id = $1`, []any{tenantID}, &name); err != nil {
		return "", fmt.Errorf("read the organization: %w", err)
	}
	return name, nil
}

// HomeOf is the tenant that an account signs in to: its home, else the
// membership it has had longest, else "".
func (s *Service) HomeOf(ctx context.Context, tx *sqldb.Tx, accountID string) (string, error) {
	var tenantID string
	err := tx.Row(ctx, `SELECT m.tenant_id FROM membership m JOIN account a ON a.id = m.account_id
		WHERE m.account_id = $1 ORDER BY CASE WHEN m.tenant_id = a.home_tenant_id THEN 0 ELSE 1 END, m.created_at, m.tenant_id LIMIT 1`,
		[]any{accountID}, &tenantID)
	if errors.Is(err, sqldb.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the home organization: %w", err)
	}
	return tenantID, nil
}
