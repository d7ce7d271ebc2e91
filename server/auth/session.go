package auth

import (
	"context"
	"errors"
	"fmt"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
	"bm/server/sqldb"
)

// Refresh spends a refresh token for a new pair. A token that was spent
// before is a sign of theft: its whole session ends.
func (s *Service) Refresh(ctx context.Context, in api.Refresh) (session api.Session, err error) {
	stolen := false
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		stolen = false
		hash, now := hashSecret(in.RefreshToken), s.Now().UnixMicro()
		var sessionID, accountID, tenantID, workspaceID string
		err := tx.Row(ctx, `SELECT s.id, s.account_id
			FROM refresh_token r JOIN session s ON s.id = r.session_id JOIN account a ON a.id = s.account_id
			WHERE r.hash = $1 AND r.expires_at > $2 AND s.revoked_at = 0 AND a.locked_at = 0`, []any{hash, now},
			&sessionID, &accountID)
		if errors.Is(err, sqldb.ErrNotFound) {
			return unauthorized()
		}
		if err != nil {
			return fmt.Errorf("look up the refresh token: %w", err)
		}
		// The session comes before its tokens, here as in a switch: two that took
		// them in different orders would wait for each other.
		err = tx.Row(ctx, `UPDATE session SET expires_at = $2 WHERE id = $1 AND revoked_at = 0 RETURNING tenant_id, workspace_id`,
			[]any{sessionID, s.Now().Add(sessionLife).UnixMicro()}, &tenantID, &workspaceID)
		if errors.Is(err, sqldb.ErrNotFound) { // it ended a moment ago
			return unauthorized()
		}
		if err != nil {
			return fmt.Errorf("prolong the session: %w", err)
		}
		// Of two that refresh at the same moment, one spends it.
		spent, err := tx.Exec(ctx, `UPDATE refresh_token SET spent_at = $2 WHERE hash = $1 AND spent_at = 0`, hash, now)
		if err != nil {
			return fmt.Errorf("spend the refresh token: %w", err)
		}
		if spent == 0 {
			stolen = true
			return s.revoke(ctx, tx, sessionID)
		}
		tenantID, workspaceID, err = s.stillThere(ctx, tx, accountID, tenantID, workspaceID)
		if err != nil {
			return err
		}
		session, err = s.issue(ctx, tx, sessionID, accountID, tenantID, workspaceID)
		return err
	})
	if err == nil && stolen {
		return api.Session{}, unauthorized()
	}
	return session, err
}

// stillThere is where a session goes on: where it was, or where the account
// may still go.
func (s *Service) stillThere(ctx context.Context, tx *sqldb.Tx, accountID, tenantID, workspaceID string) (string, string, error) {
	m, err := access.Evaluate(ctx, tx, tenantID, accountID)
	if errors.Is(err, access.ErrNoMember) {
		if tenantID, err = s.Organizations.HomeOf(ctx, tx, accountID); err != nil {
			return "", "", err
		}
		if tenantID == "" {
			if tenantID, err = s.foundOwn(ctx, tx, accountID); err != nil {
				return "", "", err
			}
		}
		workspaceID, err = s.workspaceIn(ctx, tx, tenantID, accountID)
		return tenantID, workspaceID, err
	}
	if err != nil {
		return "", "", fmt.Errorf("read the rights: %w", err)
	}
	if m.Rights.In(workspaceID) == 0 {
		workspaceID, err = s.Workspaces.DefaultFor(ctx, tx, tenantID, m.Rights)
	}
	return tenantID, workspaceID, err
}

func (s *Service) revoke(ctx context.Context, tx *sqldb.Tx, sessionID string) error {
	var accountID string
	err := tx.Row(ctx, `UPDATE session SET revoked_at = $2 WHERE id = $1 AND revoked_at = 0 RETURNING account_id`,
		[]any{sessionID, s.Now().UnixMicro()}, &accountID)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return s.tellEnd(ctx, tx, accountID)
}

// endSessions comes after the account's row was taken in its transaction, see
// [Service.open], and before a change of it that moves the generation: whoever
// ends or moves a session takes first that and then the generation.
func (s *Service) endSessions(ctx context.Context, tx *sqldb.Tx, accountID string) error {
	_, err := tx.Exec(ctx, `UPDATE session SET revoked_at = $2 WHERE account_id = $1 AND revoked_at = 0`, accountID, s.Now().UnixMicro())
	if err != nil {
		return fmt.Errorf("end the sessions: %w", err)
	}
	return s.tellEnd(ctx, tx, accountID)
}

// tellEnd tells every organization of an account that credentials of it end: its
// keys listen in others than its session is in, and so does a token from before
// the session moved.
func (s *Service) tellEnd(ctx context.Context, tx *sqldb.Tx, accountID string) error {
	var tenants []string
	err := tx.Rows(ctx, `SELECT tenant_id FROM membership WHERE account_id = $1`, []any{accountID}, func(row sqldb.Scanner) error {
		var id string
		err := row.Scan(&id)
		tenants = append(tenants, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for the account's organizations: %w", err)
	}
	for _, id := range tenants {
		if err := s.Ended(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// Logout ends the caller's session, from the next request on, and that of the
// refresh token, where it is one of the caller's; "" is none.
func (s *Service) Logout(ctx context.Context, p *access.Principal, refreshToken api.Secret) error {
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := s.revoke(ctx, tx, p.SessionID); err != nil || refreshToken == "" {
			return err
		}
		var other string
		err := tx.Row(ctx, `SELECT s.id FROM refresh_token r JOIN session s ON s.id = r.session_id WHERE r.hash = $1 AND s.account_id = $2`,
			[]any{hashSecret(refreshToken), p.AccountID}, &other)
		if errors.Is(err, sqldb.ErrNotFound) || other == p.SessionID {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look up the refresh token: %w", err)
		}
		return s.revoke(ctx, tx, other)
	})
}

// SwitchWorkspace makes a workspace of the tenant the session's active one.
func (s *Service) SwitchWorkspace(ctx context.Context, p *access.Principal, workspaceID string) (api.Session, error) {
	if p.InWorkspace(workspaceID) == 0 {
		return api.Session{}, api.Invalid("body.workspaceId", "names no workspace that you can read")
	}
	return s.moveTo(ctx, p, p.TenantID, workspaceID)
}

// SwitchOrganization makes another tenant of the account the active one.
func (s *Service) SwitchOrganization(ctx context.Context, p *access.Principal, tenantID string) (session api.Session, err error) {
	var workspaceID string
	err = s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		workspaceID, err = s.workspaceIn(ctx, tx, tenantID, p.AccountID)
		return err
	})
	if errors.Is(err, access.ErrNoMember) {
		return api.Session{}, api.Invalid("body.tenantId", "names no organization that you belong to")
	}
	if err != nil {
		return api.Session{}, err
	}
	return s.moveTo(ctx, p, tenantID, workspaceID)
}

// moveTo re-issues the session's tokens for another place; the refresh tokens
// from before are spent.
func (s *Service) moveTo(ctx context.Context, p *access.Principal, tenantID, workspaceID string) (session api.Session, err error) {
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE session SET tenant_id = $2, workspace_id = $3, expires_at = $4 WHERE id = $1 AND revoked_at = 0`,
			p.SessionID, tenantID, workspaceID, s.Now().Add(sessionLife).UnixMicro())
		if err != nil {
			return fmt.Errorf("move the session: %w", err)
		}
		if n == 0 {
			return unauthorized()
		}
		_, err = tx.Exec(ctx, `UPDATE refresh_token SET spent_at = $2 WHERE session_id = $1 AND spent_at = 0`, p.SessionID, s.Now().UnixMicro())
		if err != nil {
			return fmt.Errorf("spend the refresh token: %w", err)
		}
		session, err = s.issue(ctx, tx, p.SessionID, p.AccountID, tenantID, workspaceID)
		return err
	})
	return session, err
}

// purgeRows is how many rows one transaction removes.
const purgeRows = 500

// Purge removes sessions and refresh tokens that ended.
func (s *Service) Purge(ctx context.Context) error {
	now := s.Now().UnixMicro()
	for _, table := range []struct{ name, key string }{{"refresh_token", "hash"}, {"session", "id"}} {
		for n := int64(purgeRows); n == purgeRows; {
			err := s.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
				n, err = tx.Exec(ctx, `DELETE FROM `+table.name+` WHERE `+table.key+` IN (
					SELECT `+table.key+` FROM `+table.name+` WHERE expires_at < $1 LIMIT $2)`, now, purgeRows)
				return err
			})
			if err != nil {
				return fmt.Errorf("purge sessions: %w", err)
			}
		}
	}
	return nil
}

var _ op.Authenticator = (*Authenticator)(nil)
