package idempotency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"bm/server/api"
	"bm/server/op"
	"bm/server/sqldb"
)

// Kept is how long an answer is kept.
const Kept = 7 * 24 * time.Hour

// Store keeps the answers in the database.
type Store struct {
	db  *sqldb.DB
	now func() time.Time

	mu    sync.Mutex
	added map[string]int // see [Store.full]
}

// NewStore makes a store; now is its clock.
func NewStore(db *sqldb.DB, now func() time.Time) *Store {
	return &Store{db: db, now: now, added: map[string]int{}}
}

// Begin claims the key, or answers what it was used for.
func (s *Store) Begin(ctx context.Context, principal, key, requestHash string) (kept *op.StoredResponse, err error) {
	err = s.db.Write(ctx, func(tx *sqldb.Tx) error {
		kept = nil
		_, err := tx.Exec(ctx, `DELETE FROM idempotency WHERE principal = $1 AND idem_key = $2 AND created_at < $3`,
			principal, key, s.now().Add(-Kept).UnixMicro())
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `INSERT INTO idempotency (principal, idem_key, request_hash, created_at)
			VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, principal, key, requestHash, s.now().UnixMicro())
		if err != nil || n == 1 {
			return err
		}
		kept, err = find(ctx, tx, principal, key, requestHash)
		if errors.Is(err, sqldb.ErrNotFound) { // given free a moment ago
			return stillRunning()
		}
		return err
	})
	if err != nil {
		if _, ok := errors.AsType[*api.Error](err); ok {
			return nil, err
		}
		return nil, fmt.Errorf("claim the Idempotency-Key: %w", err)
	}
	return kept, nil
}

func find(ctx context.Context, tx *sqldb.Tx, principal, key, requestHash string) (*op.StoredResponse, error) {
	var hash, headers, body string
	response := &op.StoredResponse{Header: http.Header{}}
	err := tx.Row(ctx, `SELECT request_hash, status, headers, body FROM idempotency WHERE principal = $1 AND idem_key = $2`,
		[]any{principal, key}, &hash, &response.Status, &headers, &body)
	if err != nil {
		return nil, err
	}
	if hash != requestHash {
		return nil, api.Errorf(api.CodeConflict, "this Idempotency-Key was used for another request")
	}
	if response.Status == 0 {
		return nil, stillRunning()
	}
	if headers != "" {
		if err := json.Unmarshal([]byte(headers), &response.Header); err != nil {
			return nil, fmt.Errorf("read the kept headers: %w", err)
		}
	}
	response.Body = []byte(body)
	return response, nil
}

func stillRunning() error {
	return api.Errorf(api.CodeConflict, "the first request with this Idempotency-Key is still running, or was cut off: look whether it took effect before you send it with a new key")
}

// Finish keeps the answer. One that would take the place of too many
// others leaves its key free instead: it is of a push alone, whose ops have
// ids that keep them from taking effect twice.
func (s *Store) Finish(ctx context.Context, principal, key string, response op.StoredResponse) error {
	if len(response.Body) > maxKept {
		return s.Abandon(ctx, principal, key)
	}
	headers := ""
	if len(response.Header) > 0 {
		raw, err := json.Marshal(response.Header)
		if err != nil {
			return fmt.Errorf("keep the answer: %w", err)
		}
		headers = string(raw)
	}
	full := s.full(principal, len(response.Body))
	err := s.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE idempotency SET status = $3, headers = $4, body = $5 WHERE principal = $1 AND idem_key = $2`,
			principal, key, response.Status, headers, string(response.Body))
		if err != nil || !full {
			return err
		}
		return trim(ctx, tx, principal)
	})
	if err != nil {
		return fmt.Errorf("keep the answer: %w", err)
	}
	return nil
}

// Abandon gives the key free.
func (s *Store) Abandon(ctx context.Context, principal, key string) error {
	err := s.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM idempotency WHERE principal = $1 AND idem_key = $2 AND status = 0`, principal, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("give the Idempotency-Key free: %w", err)
	}
	return nil
}

// purgeRows is how many answers one transaction removes: they can be large,
// and others wait meanwhile.
const purgeRows = 200

// Purge removes what is kept no longer.
func (s *Store) Purge(ctx context.Context) error {
	before := s.now().Add(-Kept).UnixMicro()
	for n := int64(purgeRows); n == purgeRows; {
		err := s.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
			n, err = tx.Exec(ctx, `DELETE FROM idempotency WHERE (principal, idem_key) IN (
				SELECT principal, idem_key FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2)`, before, purgeRows)
			return err
		})
		if err != nil {
			return fmt.Errorf("purge the kept answers: %w", err)
		}
	}
	return nil
}
