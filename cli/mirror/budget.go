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

// A key may send 600 requests in a minute.
const (
	budgetMost   = 300.0
	budgetSecond = budgetMost / 60
)

// take counts a request. One of bulk work waits until there is room for it; any
// other goes at once, and bulk work makes up for it.
func (b *budget) take(ctx context.Context, bulk bool) error {
	wait := time.NewTimer(b.count(bulk))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// count takes a token, and answers how long to wait for it.
func (b *budget) count(bulk bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.at.IsZero() {
		b.tokens = budgetMost
	} else {
		b.tokens = min(budgetMost, b.tokens+now.Sub(b.at).Seconds()*budgetSecond)
	}
	b.at = now
	b.tokens = max(b.tokens-1, -budgetMost)
	if !bulk || b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / budgetSecond * float64(time.Second))
}
