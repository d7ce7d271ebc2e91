package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
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
	id        string
	key       ed25519.PrivateKey
	createdAt time.Time
}

// signer makes and checks access tokens. Its keys are made on first start and
// replaced as they age, so that none signs for ever.
type signer struct {
	now   func() time.Time
	newID func() string

	mu     sync.RWMutex
	newest signingKey
	known  map[string]ed25519.PublicKey
}

// loadSigner finds the key to sign with, and drops those that verify nothing
// any more.
func loadSigner(ctx context.Context, db *sqldb.DB, now func() time.Time, newID func() string) (*signer, error) {
	s := &signer{now: now, newID: newID, known: map[string]ed25519.PublicKey{}}
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
	s.mu.RLock()
	newest := s.newest
	s.mu.RUnlock()
	if s.young(newest) {
		return newest, nil
	}
	var id, seed string
	var createdAt int64
	err := tx.Row(ctx, `SELECT id, seed, created_at FROM signing_key ORDER BY created_at DESC, id DESC`, nil, &id, &seed, &createdAt)
	if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
		return signingKey{}, fmt.Errorf("read the signing keys: %w", err)
	}
	if err == nil {
		if newest, err = keyOf(id, seed, createdAt); err != nil {
			return signingKey{}, err
		}
	}
	if !s.young(newest) {
		if newest, err = s.insert(ctx, tx); err != nil {
			return signingKey{}, err
		}
	}
	// Kept only when it is on disk: no other process could verify it else.
	tx.AfterCommit(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.newest = newest
		s.known[newest.id] = publicOf(newest.key)
	})
	return newest, nil
}

func (s *signer) young(k signingKey) bool {
	return k.id != "" && k.createdAt.After(s.now().Add(-signingLife))
}

func (s *signer) insert(ctx context.Context, tx *sqldb.Tx) (signingKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: it ends the program instead
	k := signingKey{id: s.newID(), key: ed25519.NewKeyFromSeed(seed), createdAt: s.now()}
	_, err := tx.Exec(ctx, `INSERT INTO signing_key (id, seed, created_at) VALUES ($1, $2, $3)`,
		k.id, base64.RawStdEncoding.EncodeToString(seed), k.createdAt.UnixMicro())
	if err != nil {
		return signingKey{}, fmt.Errorf("keep the signing key: %w", err)
	}
	return k, nil
}

func keyOf(id, seed string, createdAt int64) (signingKey, error) {
	raw, err := base64.RawStdEncoding.DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		return signingKey{}, fmt.Errorf("the signing key %s is damaged", id)
	}
	return signingKey{id: id, key: ed25519.NewKeyFromSeed(raw), createdAt: time.UnixMicro(createdAt)}, nil
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(key[ed25519.SeedSize:])
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
		key, err := s.public(ctx, tx, kid)
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
	case s.tooEarly(c.IssuedAt.Time):
		return nil, fmt.Errorf("%w: it was issued in the future", errForged)
	}
	return &c, nil
}

// tooEarly reports whether what was issued then cannot have been issued yet.
func (s *signer) tooEarly(issuedAt time.Time) bool { return issuedAt.After(s.now().Add(maxSkew)) }

// public is a key by its id: another process may have made it a moment ago.
func (s *signer) public(ctx context.Context, tx *sqldb.Tx, id string) (ed25519.PublicKey, error) {
	s.mu.RLock()
	key, ok := s.known[id]
	s.mu.RUnlock()
	if ok {
		return key, nil
	}
	if !api.ValidID(id) {
		return nil, errForged
	}
	var seed string
	var createdAt int64
	err := tx.Row(ctx, `SELECT seed, created_at FROM signing_key WHERE id = $1`, []any{id}, &seed, &createdAt)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, errForged
	}
	if err != nil {
		return nil, fmt.Errorf("look up a signing key: %w", err)
	}
	found, err := keyOf(id, seed, createdAt)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[id] = publicOf(found.key)
	return s.known[id], nil
}
