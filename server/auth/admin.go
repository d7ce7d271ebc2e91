package auth

import (
	"context"
	"fmt"
	"strings"

	"bm/server/api"
	"bm/server/sqldb"
)

// AccountSummary is an account as the server's administrator sees it.
type AccountSummary struct {
	ID          string   `json:"id"`
	Email       string   `json:"email"`
	DisplayName string   `json:"displayName"`
	Verified    bool     `json:"verified"`
	Locked      bool     `json:"locked"`
	CreatedAt   api.Time `json:"createdAt"`
}

// Accounts lists every account, by address.
func (s *Service) Accounts(ctx context.Context) (list []AccountSummary, err error) {
	err = s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Rows(ctx, `SELECT id, email, display_name, verified_at, locked_at, created_at FROM account ORDER BY email_key`, nil, func(row sqldb.Scanner) error {
			var a AccountSummary
			var verified, locked, created int64
			err := row.Scan(&a.ID, &a.Email, &a.DisplayName, &verified, &locked, &created)
			a.Verified, a.Locked, a.CreatedAt = verified > 0, locked > 0, api.FromMicros(created)
			list = append(list, a)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list the accounts: %w", err)
	}
	return list, nil
}

// Verify takes an account's address for proven.
func (s *Service) Verify(ctx context.Context, email string) error {
	return s.administer(ctx, email, func(tx *sqldb.Tx, id string) error {
		_, err := tx.Exec(ctx, `UPDATE account SET verified_at = $2 WHERE id = $1 AND verified_at = 0`, id, s.Now().UnixMicro())
		return err
	})
}

// SetLocked keeps an account out, or lets it in again. Its sessions end; its
// API keys are refused as long as it is locked.
func (s *Service) SetLocked(ctx context.Context, email string, locked bool) error {
	return s.administer(ctx, email, func(tx *sqldb.Tx, id string) error {
		at := int64(0)
		if locked {
			at = s.Now().UnixMicro()
		}
		if locked {
			if err := s.endSessions(ctx, tx, id); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE account SET locked_at = $2 WHERE id = $1`, id, at)
		return err
	})
}

// SetPassword gives an account another password and ends its sessions.
func (s *Service) SetPassword(ctx context.Context, email string, password api.Secret) error {
	if problem := checkPassword(password, email); problem != "" {
		return api.Invalid("password", "%s", problem)
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.administer(ctx, email, func(tx *sqldb.Tx, id string) error {
		if err := s.endSessions(ctx, tx, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE account SET password_hash = $2 WHERE id = $1`, id, hash)
		return err
	})
}

// administer changes the account with an address.
func (s *Service) administer(ctx context.Context, email string, change func(tx *sqldb.Tx, id string) error) error {
	err := s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		var id string
		err := tx.Rows(ctx, `SELECT id FROM account WHERE email_key = $1`, []any{strings.ToLower(strings.TrimSpace(email))}, func(row sqldb.Scanner) error {
			return row.Scan(&id)
		})
		if err != nil {
			return err
		}
		if id == "" {
			return api.Errorf(api.CodeNotFound, "there is no account with this address")
		}
		// This takes the row: who signs in meanwhile waits for what becomes of it.
		if _, err := tx.Exec(ctx, `UPDATE account SET updated_at = $2 WHERE id = $1`, id, s.Now().UnixMicro()); err != nil {
			return err
		}
		return change(tx, id)
	})
	return api.Wrap("change the account", err)
}
