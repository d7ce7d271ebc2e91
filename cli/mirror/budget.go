package mirror

import (
	"context"
	"sync"
	"time"
)

// budget keeps bulk work to half of what a key may ask for: the other half is for
// the commands beside it. One process at a time syncs a profile, so that what is
// counted here is all that its rounds ask for.
type budget struct {
	mu     sync.Mutex
	at     time.Time // when tokens was right
	tokens float64
}

// keyLimit is how many requests a key may send in a minute where the server has
// not said it.
const keyLimit = 600

// take counts a request at a server that allows so many in a minute. One of bulk
// work waits until there is room for it; any other goes at once, and bulk work
// makes up for it.
func (b *budget) take(ctx context.Context, limit int64, bulk bool) error {
	wait := time.NewTimer(b.count(limit, bulk))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// count takes a token, and answers how long to wait for it.
func (b *budget) count(limit int64, bulk bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limit <= 0 {
		limit = keyLimit
	}
	most := float64(limit) / 2
	now := time.Now()
	if b.at.IsZero() {
		b.tokens = most
	} else {
		b.tokens = min(most, b.tokens+now.Sub(b.at).Minutes()*most)
	}
	b.at = now
	b.tokens = max(b.tokens-1, -most)
	if !bulk || b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / most * float64(time.Minute))
}
