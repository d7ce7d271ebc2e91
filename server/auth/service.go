package auth

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/rules"
	"bm/server/op"
	"bm/server/sqldb"
)

// sessionLife is how long a refresh token is good for.
const sessionLife = 30 * 24 * time.Hour

// Registration says who may make an account.
type Registration string

// The values of the registration setting.
const (
	RegistrationOpen    Registration = "open"
	RegistrationInvited Registration = "invited"
	RegistrationClosed  Registration = "closed"
)

// Organizations is what auth needs of tenants.
type Organizations interface {
	Create(ctx context.Context, tx *sqldb.Tx, name string, generated bool, ownerID string) (tenantID string, err error)
	HomeOf(ctx context.Context, tx *sqldb.Tx, accountID string) (tenantID string, err error)
}

// Workspaces is what auth needs of workspaces.
type Workspaces interface {
	CreateFirst(ctx context.Context, tx *sqldb.Tx, tenantID, accountID string) (workspaceID string, err error)
	DefaultFor(ctx context.Context, tx *sqldb.Tx, tenantID string, rights access.Rights) (workspaceID string, err error)
}

// Profiles is what auth needs of profiles.
type Profiles interface {
	Read(ctx context.Context, tx *sqldb.Tx, accountID, tenantID string) (api.AccountProfile, error)
}

// Ended is told, within the transaction, that a credential of a tenant ends by it:
// streams that were opened with it end too.
type Ended func(ctx context.Context, tx *sqldb.Tx, tenantID string) error

// Deps are what the service works with.
type Deps struct {
	DB            *sqldb.DB
	Now           func() time.Time
	NewID         func() string
	Organizations Organizations
	Workspaces    Workspaces
	Profiles      Profiles
	Ended         Ended
	Registration  Registration
}

// Service signs accounts in and out.
type Service struct {
	Deps
	signer    *signer
	passwords *passwords
}

// New makes the service and the authenticator of its tokens.
func New(ctx context.Context, deps Deps) (*Service, *Authenticator, error) {
	signer, err := loadSigner(ctx, deps.DB, deps.Now, deps.NewID)
	if err != nil {
		return nil, nil, err
	}
	passwords, err := newPasswords()
	if err != nil {
		return nil, nil, err
	}
	authenticator := &Authenticator{
		db: deps.DB, signer: signer, now: deps.Now, dataVersion: -1,
		known: map[string]entry{}, used: map[string]time.Time{},
	}
	return &Service{Deps: deps, signer: signer, passwords: passwords}, authenticator, nil
}

// Register makes an account with an organization and a workspace of its own,
// and signs it in.
func (s *Service) Register(ctx context.Context, call *op.Call, in api.Register) (api.Session, error) {
	if s.Registration != RegistrationOpen {
		return api.Session{}, api.Errorf(api.CodeForbidden, "this server does not take registrations: ask whoever runs it for an invitation")
	}
	accountID, err := s.CreateAccount(ctx, in, call.ClientIP.String())
	if err != nil {
		return api.Session{}, err
	}
	return s.open(ctx, accountID, "") // nobody knows of the account yet
}

// CreateAccount makes an account as registering does, for the operation and
// for the server's administrator.
func (s *Service) CreateAccount(ctx context.Context, in api.Register, address string) (accountID string, err error) {
	email, err := checkRegistration(&in)
	if err != nil {
		return "", err
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return "", err
	}
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		accountID = s.NewID()
		now := s.Now().UnixMicro()
		displayName := rules.Line(in.DisplayName.Value)
		n, err := tx.Exec(ctx, `INSERT INTO account (id, email, email_key, password_hash, display_name, home_tenant_id, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, '', $6, $6) ON CONFLICT (email_key) DO NOTHING`,
			accountID, email, strings.ToLower(email), hash, displayName, now)
		if err != nil {
			return fmt.Errorf("make the account: %w", err)
		}
		if n == 0 {
			return &api.Error{
				Code: api.CodeConflict, Message: "there is an account with this e-mail address: sign in instead",
				Details: []api.FieldError{{Field: "body.email", Message: "is taken"}},
			}
		}
		name, generated := rules.Line(in.OrganizationName.Value), false
		if name == "" {
			name, generated = ownName(displayName, email), true
		}
		tenantID, err := s.found(ctx, tx, accountID, name, generated)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE account SET home_tenant_id = $2 WHERE id = $1`, accountID, tenantID)
		if err != nil {
			return fmt.Errorf("set the home organization: %w", err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO notice_acceptance (id, account_id, notice_version, subject, address, created_at)
			VALUES ($1, $2, $3, 'register', $4, $5)`, s.NewID(), accountID, in.NoticeVersion, address, now)
		if err != nil {
			return fmt.Errorf("record the notice: %w", err)
		}
		return nil
	})
	return accountID, err
}

// found makes an organization of the account's own with its first workspace.
func (s *Service) found(ctx context.Context, tx *sqldb.Tx, accountID, name string, generated bool) (tenantID string, err error) {
	tenantID, err = s.Organizations.Create(ctx, tx, name, generated, accountID)
	if err != nil {
		return "", err
	}
	_, err = s.Workspaces.CreateFirst(ctx, tx, tenantID, accountID)
	return tenantID, err
}

func ownName(displayName, email string) string {
	if displayName != "" {
		return displayName
	}
	local, _, _ := strings.Cut(email, "@")
	return local
}

// checkRegistration checks the fields and returns the address to store.
func checkRegistration(in *api.Register) (string, error) {
	var details []api.FieldError
	bad := func(field, message string) {
		details = append(details, api.FieldError{Field: "body." + field, Message: message})
	}
	email, ok := cleanEmail(in.Email)
	if !ok {
		bad("email", "is not an e-mail address")
	}
	if message := checkPassword(in.Password, email); message != "" {
		bad("password", message)
	}
	if n := utf8.RuneCountInString(in.NoticeVersion); n == 0 || n > api.MaxNoticeVersion {
		bad("noticeVersion", "must have 1 to 64 characters")
	}
	for _, name := range []struct{ field, value string }{
		{"displayName", in.DisplayName.Value}, {"organizationName", in.OrganizationName.Value},
	} {
		if problem := rules.CheckText(name.field, name.value, api.MaxName); problem != nil {
			bad(name.field, problem.Message)
		}
	}
	return email, api.InvalidFields(details)
}

// cleanEmail is the address as it is stored.
func cleanEmail(text string) (string, bool) {
	text = strings.TrimSpace(text)
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || len(text) > 254 {
		return "", false
	}
	return text, true
}

// Login signs in with a password. A wrong password, an unknown address and a
// locked account answer alike, and take alike long.
func (s *Service) Login(ctx context.Context, in api.Login) (api.Session, error) {
	var accountID, hash string
	var lockedAt int64
	err := s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		err := tx.Row(ctx, `SELECT id, password_hash, locked_at FROM account WHERE email_key = $1`,
			[]any{strings.ToLower(strings.TrimSpace(in.Email))}, &accountID, &hash, &lockedAt)
		if errors.Is(err, sqldb.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return api.Session{}, fmt.Errorf("look up the account: %w", err)
	}
	match, err := s.passwords.matches(ctx, in.Password, hash)
	if err != nil {
		return api.Session{}, err
	}
	if !match || lockedAt > 0 {
		return api.Session{}, wrongPassword()
	}
	return s.open(ctx, accountID, hash)
}

func wrongPassword() error {
	return api.Errorf(api.CodeUnauthorized, "the e-mail address or the password is wrong")
}

// open begins a session in the account's home organization. An account that
// was left without one gets its own. hash is the password's that was checked, ""
// where none was: a session never outlives the change of it, nor of a lock, that came meanwhile.
func (s *Service) open(ctx context.Context, accountID, hash string) (session api.Session, err error) {
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		// The row stays locked: a change of the password comes before this, or
		// finds the session and ends it.
		n, err := tx.Exec(ctx, `UPDATE account SET email_key = email_key WHERE id = $1 AND ($2 = '' OR password_hash = $2) AND locked_at = 0`, accountID, hash)
		if err != nil {
			return fmt.Errorf("look at the account again: %w", err)
		}
		if n == 0 {
			return wrongPassword()
		}
		tenantID, err := s.Organizations.HomeOf(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if tenantID == "" {
			if tenantID, err = s.foundOwn(ctx, tx, accountID); err != nil {
				return err
			}
		}
		workspaceID, err := s.workspaceIn(ctx, tx, tenantID, accountID)
		if err != nil {
			return err
		}
		sessionID := s.NewID()
		now := s.Now()
		_, err = tx.Exec(ctx, `INSERT INTO session (id, account_id, tenant_id, workspace_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			sessionID, accountID, tenantID, workspaceID, now.UnixMicro(), now.Add(sessionLife).UnixMicro())
		if err != nil {
			return fmt.Errorf("begin the session: %w", err)
		}
		session, err = s.issue(ctx, tx, sessionID, accountID, tenantID, workspaceID)
		return err
	})
	return session, err
}

func (s *Service) foundOwn(ctx context.Context, tx *sqldb.Tx, accountID string) (string, error) {
	var email, displayName string
	err := tx.Row(ctx, `SELECT email, display_name FROM account WHERE id = $1`, []any{accountID}, &email, &displayName)
	if err != nil {
		return "", fmt.Errorf("read the account: %w", err)
	}
	return s.found(ctx, tx, accountID, ownName(displayName, email), true)
}

func (s *Service) workspaceIn(ctx context.Context, tx *sqldb.Tx, tenantID, accountID string) (string, error) {
	m, err := access.Evaluate(ctx, tx, tenantID, accountID)
	if err != nil {
		return "", fmt.Errorf("read the rights: %w", err)
	}
	return s.Workspaces.DefaultFor(ctx, tx, tenantID, m.Rights)
}

// issue makes the tokens of a session.
func (s *Service) issue(ctx context.Context, tx *sqldb.Tx, sessionID, accountID, tenantID, workspaceID string) (api.Session, error) {
	refresh := newToken()
	now := s.Now()
	_, err := tx.Exec(ctx, `INSERT INTO refresh_token (hash, session_id, created_at, expires_at) VALUES ($1, $2, $3, $4)`,
		hashSecret(refresh), sessionID, now.UnixMicro(), now.Add(sessionLife).UnixMicro())
	if err != nil {
		return api.Session{}, fmt.Errorf("keep the refresh token: %w", err)
	}
	accessToken, err := s.signer.sign(ctx, tx, accountID, tenantID, workspaceID, sessionID)
	if err != nil {
		return api.Session{}, err
	}
	profile, err := s.Profiles.Read(ctx, tx, accountID, tenantID)
	if err != nil {
		return api.Session{}, err
	}
	return api.Session{
		AccessToken: accessToken, TokenType: "Bearer", ExpiresIn: int(accessLife / time.Second),
		RefreshToken: refresh, Account: profile,
	}, nil
}
