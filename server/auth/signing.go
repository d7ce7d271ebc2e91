package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"bm/server/api"
	"bm/server/sqldb"
)

const (
	// accessLife is how long an access token is good for.
	accessLife = 15 * time.Minute
	// signingLife is how long a key signs; it verifies a while longer.
	signingLife = 90 * 24 * time.Hour
	// maxSkew is how far the clocks of two processes may differ. A token that
	// was issued later than that from now is refused: the clock was set back,
	// and it would live until the clock has caught up.
	maxSkew = 5 * time.Minute
)

// claims are an access token's.
type claims struct {
	jwt.RegisteredClaims
	TenantID    string `json:"tid"`
	WorkspaceID string `json:"wid,omitempty"`
	SessionID   string `json:"sid"`
}

// signingKey is one of the keys, which are rows: what one process signs
// another verifies.
type signingKey struct {
	id  string
	key ed25519.PrivateKey
}

// signer makes and checks access tokens. Its keys are made on first start and
// replaced as they age, so that none signs for ever. They are read each time:
// whoever removes one from the database ends it, and what was verified once is
// remembered by the [Authenticator].
type signer struct {
	now   func() time.Time
	newID func() string
}

// loadSigner finds the key to sign with, and drops those that verify nothing
// any more.
func loadSigner(ctx context.Context, db *sqldb.DB, now func() time.Time, newID func() string) (*signer, error) {
	s := &signer{now: now, newID: newID}
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		oldest := now().Add(-signingLife - accessLife).UnixMicro()
		if _, err := tx.Exec(ctx, `DELETE FROM signing_key WHERE created_at < $1`, oldest); err != nil {
			return err
		}
		_, err := s.current(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load the signing keys: %w", err)
	}
	return s, nil
}

// current is the key to sign with: the newest one, or a new one where that has
// signed long enough.
func (s *signer) current(ctx context.Context, tx *sqldb.Tx) (signingKey, error) {
	var id, seed string
	var createdAt int64
	err := tx.Row(ctx, `SELECT id, seed, created_at FROM signing_key ORDER BY created_at DESC, id DESC LIMIT 1`, nil, &id, &seed, &createdAt)
	if errors.Is(err, sqldb.ErrNotFound) || err == nil && createdAt <= s.now().Add(-signingLife).UnixMicro() {
		return s.insert(ctx, tx)
	}
	if err != nil {
		return signingKey{}, fmt.Errorf("read the signing keys: %w", err)
	}
	return keyOf(id, seed)
}

func (s *signer) insert(ctx context.Context, tx *sqldb.Tx) (signingKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: it ends the program instead
	k := signingKey{id: s.newID(), key: ed25519.NewKeyFromSeed(seed)}
	_, err := tx.Exec(ctx, `INSERT INTO signing_key (id, seed, created_at) VALUES ($1, $2, $3)`,
		k.id, base64.RawStdEncoding.EncodeToString(seed), s.now().UnixMicro())
	if err != nil {
		return signingKey{}, fmt.Errorf("keep the signing key: %w", err)
	}
	return k, nil
}

func keyOf(id, seed string) (signingKey, error) {
	raw, err := base64.RawStdEncoding.DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		return signingKey{}, fmt.Errorf("the signing key %s is damaged", id)
	}
	return signingKey{id: id, key: ed25519.NewKeyFromSeed(raw)}, nil
}

// sign makes an access token.
func (s *signer) sign(ctx context.Context, tx *sqldb.Tx, accountID, tenantID, workspaceID, sessionID string) (api.Secret, error) {
	key, err := s.current(ctx, tx)
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	now := s.now()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   accountID,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(accessLife)),
		},
		TenantID: tenantID, WorkspaceID: workspaceID, SessionID: sessionID,
	})
	token.Header["kid"] = key.id
	text, err := token.SignedString(key.key)
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	return api.Secret(text), nil
}

// errForged is every reason not to believe a token.
var errForged = errors.New("the access token does not hold")

// verify reads a token that one of the keys signed and that has not expired;
// errForged for any other.
func (s *signer) verify(ctx context.Context, tx *sqldb.Tx, text string) (*claims, error) {
	var c claims
	var broken error // what failed is the lookup, not the token
	_, err := jwt.ParseWithClaims(text, &c, func(token *jwt.Token) (any, error) {
		kid, _ := token.Header["kid"].(string)
		key, err := public(ctx, tx, kid)
		if err != nil && !errors.Is(err, errForged) {
			broken = err
		}
		return key, err
	}, jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(s.now))
	switch {
	case broken != nil:
		return nil, broken
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errForged, err)
	case !api.ValidID(c.Subject) || !api.ValidID(c.SessionID) || !api.ValidID(c.TenantID) || c.IssuedAt == nil:
		return nil, fmt.Errorf("%w: claims are missing", errForged)
	}
	return &c, nil
}

// tooEarly reports whether what was issued then cannot have been issued yet.
func (s *signer) tooEarly(issuedAt time.Time) bool { return issuedAt.After(s.now().Add(maxSkew)) }

// public is a key by its id.
func public(ctx context.Context, tx *sqldb.Tx, id string) (ed25519.PublicKey, error) {
	if !api.ValidID(id) {
		return nil, errForged
	}
	var seed string
	err := tx.Row(ctx, `SELECT seed FROM signing_key WHERE id = $1`, []any{id}, &seed)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, errForged
	}
	if err != nil {
		return nil, fmt.Errorf("look up a signing key: %w", err)
	}
	found, err := keyOf(id, seed)
	if err != nil {
		return nil, err
	}
	return found.key.Public().(ed25519.PublicKey), nil
}
