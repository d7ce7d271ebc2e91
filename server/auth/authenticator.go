package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
)

// Authenticator checks bearer tokens. What it found is kept in memory until
// anything that decides access changes, in this process or any other: each
// request asks for the generation first.
type Authenticator struct {
	db     *sqldb.DB
	signer *signer
	now    func() time.Time

	mu          sync.RWMutex
	dataVersion int64
	generation  int64
	known       map[string]entry
	rights      int // in workspaces, of all that is known

	usedMu sync.Mutex
	used   map[string]time.Time // key id → last used
}

type entry struct {
	principal *access.Principal
	expiresAt time.Time // zero for never
	issuedAt  time.Time // zero for a key
}

// How many credentials are known at most, and how many rights in workspaces
// those have together: of each there is one for every workspace of its
// organization. Beyond either, everything is looked up anew.
const (
	maxKnown  = 20_000
	maxRights = 1_000_000
)

func unauthorized() error {
	return api.Errorf(api.CodeUnauthorized, "the credential is unknown, expired or revoked")
}

// Authenticate finds who a token belongs to and what it may do now.
func (a *Authenticator) Authenticate(ctx context.Context, token string, unknown func() error) (*access.Principal, error) {
	hash := hashSecret(api.Secret(token))
	if _, ok := a.remembered(hash); !ok {
		if err := unknown(); err != nil {
			return nil, err
		}
	}
	if err := a.refresh(ctx); err != nil {
		return nil, err
	}
	found, ok := a.remembered(hash)
	if !ok {
		var err error
		if found, err = a.load(ctx, token, hash); err != nil {
			return nil, err
		}
	}
	// Also of what is remembered: the clock may have been set back since.
	if !found.expiresAt.IsZero() && !a.now().Before(found.expiresAt) || a.signer.tooEarly(found.issuedAt) {
		return nil, unauthorized()
	}
	if found.principal.KeyID != "" {
		a.touch(found.principal.KeyID)
	}
	return found.principal, nil
}

func (a *Authenticator) remembered(hash string) (entry, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	found, ok := a.known[hash]
	return found, ok
}

// refresh drops what is known where access has changed since.
func (a *Authenticator) refresh(ctx context.Context) error {
	version, err := a.db.DataVersion(ctx)
	if err != nil {
		return err
	}
	a.mu.RLock()
	same := version == a.dataVersion && a.db.Dialect() == sqldb.SQLite
	a.mu.RUnlock()
	if same {
		return nil
	}
	generation, err := a.readGeneration(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// The version was read before the generation: if something was committed
	// between the two, the next request sees another version and looks again.
	a.dataVersion = version
	if generation != a.generation {
		a.generation = generation
		a.forget()
	}
	return nil
}

func (a *Authenticator) readGeneration(ctx context.Context) (generation int64, err error) {
	err = a.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Row(ctx, `SELECT generation FROM access_generation WHERE id = 1`, nil, &generation)
	})
	if err != nil {
		return 0, fmt.Errorf("read the access generation: %w", err)
	}
	return generation, nil
}

// load looks a token up, and keeps what it found under the generation that
// the same transaction saw.
func (a *Authenticator) load(ctx context.Context, token, hash string) (found entry, err error) {
	var generation int64
	err = a.db.Read(ctx, func(tx *sqldb.Tx) error {
		if err := tx.Row(ctx, `SELECT generation FROM access_generation WHERE id = 1`, nil, &generation); err != nil {
			return err
		}
		if plausibleKey(token) {
			found, err = a.loadKey(ctx, tx, hash)
		} else {
			found, err = a.loadSession(ctx, tx, token)
		}
		return err
	})
	if err != nil {
		return entry{}, err
	}
	a.keep(hash, found, generation)
	return found, nil
}

// keep remembers what was found under a generation, where that is the present
// one still.
func (a *Authenticator) keep(hash string, found entry, generation int64) {
	rights := found.principal.Rights
	size := len(rights.Workspaces) + len(rights.Deleted)
	a.mu.Lock()
	defer a.mu.Unlock()
	if generation != a.generation || size > maxRights {
		return
	}
	if len(a.known) >= maxKnown || a.rights+size > maxRights {
		a.forget()
	}
	if _, twice := a.known[hash]; !twice {
		a.known[hash] = found
		a.rights += size
	}
}

// forget drops all that is known.
func (a *Authenticator) forget() { a.known, a.rights = map[string]entry{}, 0 }

func (a *Authenticator) loadKey(ctx context.Context, tx *sqldb.Tx, hash string) (entry, error) {
	p := &access.Principal{Kind: access.Key}
	var permissions string
	var expiresAt int64
	// Found by a hash of 256 random bits: the comparison tells nothing about
	// the secret, whatever time it takes.
	err := tx.Row(ctx, `SELECT k.id, k.tenant_id, k.account_id, k.workspace_id, k.permissions, k.expires_at
		FROM api_key k JOIN account a ON a.id = k.account_id WHERE k.secret_hash = $1 AND k.revoked_at = 0 AND a.locked_at = 0`, []any{hash},
		&p.KeyID, &p.TenantID, &p.AccountID, &p.WorkspaceID, &permissions, &expiresAt)
	if errors.Is(err, sqldb.ErrNotFound) {
		return entry{}, unauthorized()
	}
	if err != nil {
		return entry{}, fmt.Errorf("look up an API key: %w", err)
	}
	if err := a.evaluate(ctx, tx, p); err != nil {
		return entry{}, err
	}
	if permissions != "" {
		var keys []access.Permission
		if err := json.Unmarshal([]byte(permissions), &keys); err != nil {
			return entry{}, fmt.Errorf("read a key's permissions: %w", err)
		}
		p.Masked = true
		p.Rights = p.Rights.Masked(access.SetOf(keys...))
	}
	p.ExpiresAt = api.FromMicros(expiresAt).Time
	return entry{principal: p, expiresAt: p.ExpiresAt}, nil
}

func (a *Authenticator) loadSession(ctx context.Context, tx *sqldb.Tx, token string) (entry, error) {
	c, err := a.signer.verify(ctx, tx, token)
	if errors.Is(err, errForged) {
		return entry{}, unauthorized() // why is for nobody to know who forges one
	}
	if err != nil {
		return entry{}, err
	}
	p := &access.Principal{
		Kind: access.JWT, AccountID: c.Subject, TenantID: c.TenantID, WorkspaceID: c.WorkspaceID, SessionID: c.SessionID,
	}
	var createdAt, expiresAt int64
	err = tx.Row(ctx, `SELECT s.created_at, s.expires_at FROM session s JOIN account a ON a.id = s.account_id
		WHERE s.id = $1 AND s.account_id = $2 AND s.revoked_at = 0 AND a.locked_at = 0`,
		[]any{c.SessionID, c.Subject}, &createdAt, &expiresAt)
	if errors.Is(err, sqldb.ErrNotFound) {
		return entry{}, unauthorized()
	}
	if err != nil {
		return entry{}, fmt.Errorf("look up a session: %w", err)
	}
	if err := a.evaluate(ctx, tx, p); err != nil {
		return entry{}, err
	}
	p.SignedInAt = api.FromMicros(createdAt).Time
	p.ExpiresAt = c.ExpiresAt.Time
	if end := api.FromMicros(expiresAt).Time; end.Before(p.ExpiresAt) {
		p.ExpiresAt = end
	}
	return entry{principal: p, expiresAt: p.ExpiresAt, issuedAt: c.IssuedAt.Time}, nil
}

func (a *Authenticator) evaluate(ctx context.Context, tx *sqldb.Tx, p *access.Principal) error {
	m, err := access.Evaluate(ctx, tx, p.TenantID, p.AccountID)
	if errors.Is(err, access.ErrNoMember) {
		return unauthorized()
	}
	if err != nil {
		return err
	}
	p.Role, p.IsOwner, p.Rights = m.Role, m.IsOwner, m.Rights
	return nil
}

// touch notes that a key was used, to the minute.
func (a *Authenticator) touch(keyID string) {
	at := a.now().Truncate(time.Minute)
	a.usedMu.Lock()
	defer a.usedMu.Unlock()
	if !a.used[keyID].Equal(at) {
		a.used[keyID] = at
	}
}

// FlushUse writes when keys were last used. It is called from time to time
// and at the end, so that a request is not a write.
func (a *Authenticator) FlushUse(ctx context.Context) error {
	a.usedMu.Lock()
	used := a.used
	a.used = map[string]time.Time{}
	a.usedMu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := a.db.Write(ctx, func(tx *sqldb.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(used)) { // in one order, so that two processes don't wait for each other
			if _, err := tx.Exec(ctx, `UPDATE api_key SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2`, id, used[id].UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		a.untold(used)
		return fmt.Errorf("write when keys were used: %w", err)
	}
	return nil
}

// untold keeps, for the next time, what could not be written.
func (a *Authenticator) untold(used map[string]time.Time) {
	a.usedMu.Lock()
	defer a.usedMu.Unlock()
	for id, at := range used {
		if at.After(a.used[id]) {
			a.used[id] = at
		}
	}
}
