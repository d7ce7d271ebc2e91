package idempotency

import (
	"context"

	"bm/server/sqldb"
)

// Quota is how many bytes of answers a caller has at most, give or take what
// comes between two looks: the oldest go first. A retry comes soon, and its
// answer is among the latest.
const Quota = 32 << 20

const (
	// maxKept is how large a kept answer is at most.
	maxKept = Quota / 4
	// overhead is what an answer counts beside its body.
	overhead = 1 << 10
	// lookEvery is after how much more a caller's answers are looked at.
	lookEvery = Quota / 8
	// maxCallers bounds the memory; beyond it counting begins anew.
	maxCallers = 10_000
)

// full counts an answer, and reports whether it is time to look what its caller
// has. Each process counts what it keeps itself.
func (s *Store) full(principal string, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.added) >= maxCallers {
		clear(s.added)
	}
	if s.added[principal] += size + overhead; s.added[principal] < lookEvery {
		return false
	}
	delete(s.added, principal)
	return true
}

// trim drops the oldest answers that are beyond a caller's quota. The lengths
// are those of the rows' headers: no body is read. An answer whose body was a
// secret, and so was not kept, stays: a retry would make a second key.
func trim(ctx context.Context, tx *sqldb.Tx, principal string) error {
	_, err := tx.Exec(ctx, `DELETE FROM idempotency WHERE principal = $1 AND status <> 0 AND idem_key IN (
		SELECT idem_key FROM (
			SELECT idem_key, SUM(octet_length(body) + $2) OVER (ORDER BY created_at DESC, idem_key) AS total
			FROM idempotency WHERE principal = $1) AS answers
		WHERE total > $3) AND (octet_length(body) > 0 OR status = 204)`, principal, overhead, Quota)
	return err
}
