package apikeys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/op"
	"bm/server/sqldb"
)

// NewSecret makes a key's secret and the hash that is stored of it.
type NewSecret func() (secret api.Secret, hash string)

// Ended is told, within the transaction, that a secret of a tenant ends by it:
// streams that were opened with it end too.
type Ended func(ctx context.Context, tx *sqldb.Tx, tenantID string) error

// Service keeps API keys.
type Service struct {
	db        *sqldb.DB
	now       func() time.Time
	newID     func() string
	newSecret NewSecret
	ended     Ended
}

// New makes the service.
func New(db *sqldb.DB, now func() time.Time, newID func() string, newSecret NewSecret, ended Ended) *Service {
	return &Service{db: db, now: now, newID: newID, newSecret: newSecret, ended: ended}
}

const columns = `id, tenant_id, workspace_id, account_id, label, permissions, created_at, rotated_at, revoked_at, expires_at, last_used_at`

func scan(row sqldb.Scanner) (api.APIKeyMetadata, error) {
	var k api.APIKeyMetadata
	var permissions string
	var created, rotated, revoked, expires, used int64
	err := row.Scan(&k.ID, &k.TenantID, &k.WorkspaceID, &k.AccountID, &k.Label, &permissions, &created, &rotated, &revoked, &expires, &used)
	if err != nil {
		return k, err
	}
	if permissions != "" {
		if err := json.Unmarshal([]byte(permissions), &k.Permissions); err != nil {
			return k, fmt.Errorf("read a key's permissions: %w", err)
		}
	}
	k.CreatedAt, k.RotatedAt, k.RevokedAt = api.FromMicros(created), api.FromMicros(rotated), api.FromMicros(revoked)
	k.ExpiresAt, k.LastUsedAt = api.FromMicros(expires), api.FromMicros(used)
	k.Status = api.KeyActive
	if revoked > 0 {
		k.Status = api.KeyRevoked
	}
	return k, nil
}

// List is the caller's own keys, and the tenant's for whoever may see them,
// newest first.
func (s *Service) List(ctx context.Context, p *access.Principal) (keys []api.APIKeyMetadata, err error) {
	where, args := `tenant_id = $1 AND account_id = $2`, []any{p.TenantID, p.AccountID}
	if p.InTenant().Has(access.APIKeysRead) {
		where, args = `tenant_id = $1`, args[:1]
	}
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Rows(ctx, `SELECT `+columns+` FROM api_key WHERE `+where+` ORDER BY created_at DESC, id DESC`, args,
			func(row sqldb.Scanner) error {
				key, err := scan(row)
				keys = append(keys, key)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list the keys: %w", err)
	}
	return keys, nil
}

// Create makes a key that acts as the caller.
func (s *Service) Create(ctx context.Context, call *op.Call, in api.APIKeyCreate) (made api.APIKeySecret, err error) {
	p := call.Principal
	mask, err := s.check(p, in)
	if err != nil {
		return made, err
	}
	permissions := ""
	if mask != access.Everything() {
		raw, err := json.Marshal(mask.Keys())
		if err != nil {
			return made, fmt.Errorf("write the key's permissions: %w", err)
		}
		permissions = string(raw)
	}
	secret, hash := s.newSecret()
	id, now := s.newID(), s.now().UnixMicro()
	err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO api_key (id, tenant_id, account_id, workspace_id, label, secret_hash, permissions, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			id, p.TenantID, p.AccountID, in.WorkspaceID.Value, rules.Line(in.Label.Value), hash, permissions, now, in.ExpiresAt.Value.Micros())
		if err != nil {
			return fmt.Errorf("make the key: %w", err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO notice_acceptance (id, account_id, notice_version, subject, address, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			s.newID(), p.AccountID, in.NoticeVersion, "apikey:"+id, call.ClientIP.String(), now)
		if err != nil {
			return fmt.Errorf("record the notice: %w", err)
		}
		made.Metadata, err = s.find(ctx, tx, p.TenantID, id)
		return err
	})
	made.APIKey = secret
	return made, err
}

// check says what the key may do. A key makes none wider than itself.
func (s *Service) check(p *access.Principal, in api.APIKeyCreate) (access.Set, error) {
	var details []api.FieldError
	bad := func(field, message string) {
		details = append(details, api.FieldError{Field: "body." + field, Message: message})
	}
	if n := utf8.RuneCountInString(in.NoticeVersion); n == 0 || n > api.MaxNoticeVersion {
		bad("noticeVersion", "must have 1 to 64 characters")
	}
	if problem := rules.CheckText("label", in.Label.Value, api.MaxName); problem != nil {
		bad("label", problem.Message)
	}
	if id := in.WorkspaceID.Value; id != "" && p.InWorkspace(id) == 0 {
		bad("workspaceId", "names no workspace that you can read")
	}
	if at := in.ExpiresAt.Value; !at.IsZero() && !at.After(s.now()) {
		bad("expiresAt", "is in the past")
	}
	own := p.Effective()
	mask := access.Everything()
	if wanted, ok := in.Permissions.Get(); ok && !in.Permissions.Null {
		mask = 0
		for i, key := range wanted {
			permission := access.Permission(key)
			switch {
			case !permission.Valid():
				bad(fmt.Sprintf("permissions[%d]", i), "is no permission key")
			case !own.Has(permission):
				bad(fmt.Sprintf("permissions[%d]", i), "is more than you have")
			}
			mask |= access.SetOf(permission)
		}
	} else if p.Kind == access.Key && p.Masked {
		mask = own
	}
	if p.Kind == access.Key && !p.ExpiresAt.IsZero() {
		if at := in.ExpiresAt.Value; at.IsZero() || at.After(p.ExpiresAt) {
			bad("expiresAt", "must not be later than that of the key that makes it")
		}
	}
	return mask, api.InvalidFields(details)
}

func (s *Service) find(ctx context.Context, tx *sqldb.Tx, tenantID, id string) (key api.APIKeyMetadata, err error) {
	err = tx.Rows(ctx, `SELECT `+columns+` FROM api_key WHERE tenant_id = $1 AND id = $2`, []any{tenantID, id},
		func(row sqldb.Scanner) error {
			key, err = scan(row)
			return err
		})
	if err == nil && key.ID == "" {
		err = noKey()
	}
	return key, err
}

func noKey() error { return api.Errorf(api.CodeNotFound, "no such API key") }

func revoked() error { return api.Errorf(api.CodeConflict, "the key is revoked: make a new one") }

// Revoke disables a key for good, from the next request on.
func (s *Service) Revoke(ctx context.Context, p *access.Principal, id string) error {
	err := s.db.Write(ctx, func(tx *sqldb.Tx) error {
		key, err := s.find(ctx, tx, p.TenantID, id)
		if err != nil {
			return err
		}
		if key.AccountID != p.AccountID {
			if !p.InTenant().Has(access.APIKeysRead) {
				return noKey()
			}
			if !p.InTenant().Has(access.APIKeysWrite) {
				return api.Errorf(api.CodeForbidden, "this needs the permission %s", access.APIKeysWrite)
			}
		}
		_, err = tx.Exec(ctx, `UPDATE api_key SET revoked_at = $3 WHERE tenant_id = $1 AND id = $2 AND revoked_at = 0`,
			p.TenantID, id, s.now().UnixMicro())
		if err != nil {
			return err
		}
		return s.ended(ctx, tx, p.TenantID)
	})
	return wrap("revoke the key", err)
}

// Rotate gives the caller's own key a new secret; the one before stops
// working at once.
func (s *Service) Rotate(ctx context.Context, p *access.Principal, id string) (made api.APIKeySecret, err error) {
	secret, hash := s.newSecret()
	err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
		key, err := s.find(ctx, tx, p.TenantID, id)
		switch {
		case err != nil:
			return err
		case key.AccountID != p.AccountID && !p.InTenant().Has(access.APIKeysRead):
			return noKey()
		case key.AccountID != p.AccountID:
			return api.Errorf(api.CodeForbidden, "only the account that made a key can rotate it; revoke it instead")
		case key.Status == api.KeyRevoked:
			return revoked()
		}
		if err := s.notWider(p, key); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE api_key SET secret_hash = $3, rotated_at = $4 WHERE tenant_id = $1 AND id = $2 AND revoked_at = 0`,
			p.TenantID, id, hash, s.now().UnixMicro())
		if err != nil {
			return err
		}
		if n == 0 { // it was, a moment ago
			return revoked()
		}
		if err := s.ended(ctx, tx, p.TenantID); err != nil {
			return err
		}
		made.Metadata, err = s.find(ctx, tx, p.TenantID, id)
		return err
	})
	made.APIKey = secret
	return made, wrap("rotate the key", err)
}

// notWider keeps a narrow key from getting hold of a wider one's secret.
func (s *Service) notWider(p *access.Principal, key api.APIKeyMetadata) error {
	if p.Kind != access.Key || p.KeyID == key.ID {
		return nil
	}
	narrower := !p.Masked
	if p.Masked && key.Permissions != nil {
		narrower = true
		for _, permission := range key.Permissions {
			narrower = narrower && p.Effective().Has(access.Permission(permission))
		}
	}
	if !narrower || !p.ExpiresAt.IsZero() && (key.ExpiresAt.IsZero() || key.ExpiresAt.After(p.ExpiresAt)) {
		return api.Errorf(api.CodeForbidden, "a key cannot rotate one that may do more than itself")
	}
	return nil
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*api.Error](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
