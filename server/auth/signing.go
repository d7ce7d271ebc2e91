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
)

// claims are an access token's.
type claims struct {
	jwt.RegisteredClaims
	TenantID    string `json:"tid"`
	WorkspaceID string `json:"wid,omitempty"`
	SessionID   string `json:"sid"`
}

// signer makes and checks access tokens. Its keys are made on first start and
// replaced as they age, so that none signs for ever.
type signer struct {
	now    func() time.Time
	newest string
	keys   map[string]ed25519.PrivateKey
}

// loadSigner reads the keys, and makes one where there is none that is young
// enough to sign.
func loadSigner(ctx context.Context, db *sqldb.DB, now func() time.Time, newID func() string) (*signer, error) {
	s := &signer{now: now, keys: map[string]ed25519.PrivateKey{}}
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		s.newest = ""
		oldest := now().Add(-signingLife - accessLife).UnixMicro()
		if _, err := tx.Exec(ctx, `DELETE FROM signing_key WHERE created_at < $1`, oldest); err != nil {
			return err
		}
		var newestAt int64
		err := tx.Rows(ctx, `SELECT id, seed, created_at FROM signing_key ORDER BY created_at`, nil, func(row sqldb.Scanner) error {
			var id, seed string
			if err := row.Scan(&id, &seed, &newestAt); err != nil {
				return err
			}
			raw, err := base64.RawStdEncoding.DecodeString(seed)
			if err != nil || len(raw) != ed25519.SeedSize {
				return fmt.Errorf("the signing key %s is damaged", id)
			}
			s.keys[id], s.newest = ed25519.NewKeyFromSeed(raw), id
			return nil
		})
		if err != nil {
			return err
		}
		if s.newest != "" && newestAt > now().Add(-signingLife).UnixMicro() {
			return nil
		}
		seed := make([]byte, ed25519.SeedSize)
		_, _ = rand.Read(seed) // never fails: it ends the program instead
		s.newest = newID()
		s.keys[s.newest] = ed25519.NewKeyFromSeed(seed)
		_, err = tx.Exec(ctx, `INSERT INTO signing_key (id, seed, created_at) VALUES ($1, $2, $3)`,
			s.newest, base64.RawStdEncoding.EncodeToString(seed), now().UnixMicro())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load the signing keys: %w", err)
	}
	return s, nil
}

// sign makes an access token.
func (s *signer) sign(accountID, tenantID, workspaceID, sessionID string) (api.Secret, error) {
	now := s.now()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   accountID,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(accessLife)),
		},
		TenantID: tenantID, WorkspaceID: workspaceID, SessionID: sessionID,
	})
	token.Header["kid"] = s.newest
	text, err := token.SignedString(s.keys[s.newest])
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	return api.Secret(text), nil
}

// verify reads a token that one of the keys signed and that has not expired.
func (s *signer) verify(text string) (*claims, error) {
	var c claims
	_, err := jwt.ParseWithClaims(text, &c, func(token *jwt.Token) (any, error) {
		kid, _ := token.Header["kid"].(string)
		key, ok := s.keys[kid]
		if !ok {
			return nil, errors.New("signed by an unknown key")
		}
		return key.Public(), nil
	}, jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(s.now))
	if err != nil {
		return nil, fmt.Errorf("verify an access token: %w", err)
	}
	if c.Subject == "" || c.SessionID == "" || c.TenantID == "" {
		return nil, errors.New("verify an access token: claims are missing")
	}
	return &c, nil
}
