package events

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
)

// channel is what the servers of one database notify each other on.
const channel = "bm_changes"

// Hub hands events on.
type Hub struct {
	db     *sqldb.DB
	logger *slog.Logger

	mu      sync.Mutex
	tenants map[string]*audience
	closed  bool

	stop   context.CancelFunc
	listen sync.WaitGroup
}

// audience is who subscribes to a tenant.
type audience struct {
	all map[*Subscription]bool
	// told is the last rev of each workspace: one's own change comes back from
	// PostgreSQL, and is no news. It is of them all: each stream would hold as
	// many as the tenant has workspaces.
	told map[string]int64
}

func (a *audience) wake() {
	for s := range a.all {
		s.wake()
	}
}

// NewHub begins to listen to the other servers of the database.
func NewHub(db *sqldb.DB, logger *slog.Logger) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{db: db, logger: logger, tenants: map[string]*audience{}, stop: stop}
	h.listen.Go(func() { db.Listen(ctx, channel, h.heard, h.reconnected) })
	return h
}

// Changed is told within a transaction of a workspace that it changes.
func (h *Hub) Changed(ctx context.Context, tx *sqldb.Tx, scope access.Scope, rev int64) error {
	tx.AfterCommit(func() { h.publish(scope, rev) })
	return tx.Notify(ctx, channel, scope.TenantID+" "+scope.WorkspaceID+" "+strconv.FormatInt(rev, 10))
}

// Ended is told within a transaction that a credential of a tenant ends by it:
// whoever listens there looks whether it was its own.
func (h *Hub) Ended(ctx context.Context, tx *sqldb.Tx, tenantID string) error {
	tx.AfterCommit(func() { h.rouse(tenantID) })
	return tx.Notify(ctx, channel, tenantID)
}

// rouse wakes who subscribes to a tenant, though there is nothing to take.
func (h *Hub) rouse(tenantID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if tenant := h.tenants[tenantID]; tenant != nil {
		tenant.wake()
	}
}

// heard takes another server's notification; one's own comes back too, and
// changes nothing.
func (h *Hub) heard(payload string) {
	parts := strings.Split(payload, " ")
	if len(parts) == 1 {
		h.rouse(parts[0])
	}
	if len(parts) != 3 {
		return
	}
	rev, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return
	}
	h.publish(access.Scope{TenantID: parts[0], WorkspaceID: parts[1]}, rev)
}

// reconnected wakes everyone: nobody knows what was said meanwhile.
func (h *Hub) reconnected(lost error) {
	if lost != nil {
		h.logger.Warn("the connection that hears of other servers' changes was lost", slog.Any("error", lost))
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, tenant := range h.tenants {
		tenant.wake()
	}
}

func (h *Hub) publish(scope access.Scope, rev int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tenant := h.tenants[scope.TenantID]
	if tenant == nil || rev <= tenant.told[scope.WorkspaceID] {
		return
	}
	tenant.told[scope.WorkspaceID] = rev
	for s := range tenant.all {
		s.add(scope.WorkspaceID, rev)
	}
}

// Subscribed is how many are waiting.
func (h *Hub) Subscribed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, tenant := range h.tenants {
		n += len(tenant.all)
	}
	return n
}

// Close ends every subscription and the listening. What is published later is
// heard by nobody.
func (h *Hub) Close() {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	for _, tenant := range h.tenants {
		for s := range tenant.all {
			close(s.done)
		}
	}
	h.tenants = map[string]*audience{}
	h.mu.Unlock()
	if !closed {
		h.stop()
	}
	h.listen.Wait()
}

// Subscription gathers the events of one tenant. However slowly it is read, it
// holds one event a workspace.
type Subscription struct {
	hub    *Hub
	tenant string
	ready  chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	pending map[string]int64
}

// maxSubscriptions is how many event streams and held requests a tenant has at
// once, on one server: each holds a connection.
const maxSubscriptions = 1000

// Subscribe begins to gather the events of a tenant. The caller cancels it.
// rate_limited where the tenant has too many.
func (h *Hub) Subscribe(tenantID string) (*Subscription, error) {
	s := &Subscription{
		hub: h, tenant: tenantID, ready: make(chan struct{}, 1), done: make(chan struct{}), pending: map[string]int64{},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(s.done)
		return s, nil
	}
	tenant := h.tenants[tenantID]
	if tenant != nil && len(tenant.all) >= maxSubscriptions {
		return nil, &api.Error{
			Code: api.CodeRateLimited, RetryAfter: time.Minute,
			Message: "the organization has too many event streams and held requests open: close some",
		}
	}
	if tenant == nil {
		tenant = &audience{all: map[*Subscription]bool{}, told: map[string]int64{}}
		h.tenants[tenantID] = tenant
	}
	tenant.all[s] = true
	return s, nil
}

// Cancel ends it.
func (s *Subscription) Cancel() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	tenant := s.hub.tenants[s.tenant]
	if tenant == nil {
		return // the hub has closed
	}
	if delete(tenant.all, s); len(tenant.all) == 0 {
		delete(s.hub.tenants, s.tenant)
	}
}

// Ready holds a value when there may be something to take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Done is closed when the server stops.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Take empties it.
func (s *Subscription) Take() []api.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := make([]api.Event, 0, len(s.pending))
	for id, rev := range s.pending {
		taken = append(taken, api.Event{WorkspaceID: id, Rev: rev})
	}
	clear(s.pending)
	return taken
}

func (s *Subscription) add(workspaceID string, rev int64) {
	s.mu.Lock()
	s.pending[workspaceID] = rev
	s.mu.Unlock()
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default: // it has yet to look at the last one
	}
}
