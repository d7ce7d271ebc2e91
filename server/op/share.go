package op

import (
	"context"
	"net/http"
	"sync"
	"time"

	"bm/server/api"
)

// What a tenant has on the way at once, on one server, so that it cannot take
// all of the disk or of the memory.
const (
	// maxUploads bounds files: each takes room on the disk and, while it is
	// taken in, the writers' time.
	maxUploads = 4
	// maxBodies bounds the bytes of JSON bodies that are not small: four of the
	// largest, whoever sends them slowly.
	maxBodies = 4 * api.MaxChangesBody
	// maxAnswers bounds the bytes of what answers are made of, however slowly
	// they are read: of a few hundred rows there can be a hundred megabytes. One
	// alone may be larger, or it could never be given.
	maxAnswers = 128 << 20
	// lightAnswer is what an answer may hold without being counted.
	lightAnswer = 256 << 10
)

// share counts what each tenant has on the way.
type share struct {
	most int64
	what string
	// alone: one may have more than there is to share, if it is the only one.
	alone bool
	mu    sync.Mutex
	of    map[string]int64
}

// newShare makes a share; what completes "the organization has too many".
func newShare(most int64, what string) *share {
	return &share{most: most, what: what, of: map[string]int64{}}
}

// all is what every tenant has on the way.
func (s *share) all() (sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, weight := range s.of {
		sum += weight
	}
	return sum
}

// enter counts so much more, until leave; rate_limited where that is too much.
// Whoever has so much of it already may have any amount, as long as nobody else
// of the tenant has any.
func (s *share) enter(tenantID string, already, weight int64) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if has := s.of[tenantID]; has+weight > s.most && (!s.alone || has > already) {
		return nil, &api.Error{
			Code: api.CodeRateLimited, RetryAfter: 10 * time.Second,
			Message: "the organization has too many " + s.what,
		}
	}
	return s.count(tenantID, weight), nil
}

// take is enter of what is there already, however much that is.
func (s *share) take(tenantID string, weight int64) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count(tenantID, weight)
}

func (s *share) count(tenantID string, weight int64) (leave func()) {
	s.of[tenantID] += weight
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.of[tenantID] -= weight; s.of[tenantID] == 0 {
			delete(s.of, tenantID)
		}
	}
}

// share is what of its tenant's share a request takes while it lasts.
func (ex *exchange) share(op *operation, call *Call) (leave func(), err error) {
	switch size := call.Request.ContentLength; {
	case call.Principal == nil:
	case op.binding.upload != nil:
		return ex.router.uploads.enter(call.Principal.TenantID, 0, 1)
	case op.decoder != nil && size < 0: // it does not say how long it is
		return ex.router.bodies.enter(call.Principal.TenantID, 0, op.MaxBody)
	case op.decoder != nil && size > smallBody:
		return ex.router.bodies.enter(call.Principal.TenantID, 0, min(size, op.MaxBody))
	}
	return func() {}, nil
}

// holding is what of its tenant's share an answer takes, until the request is
// over.
type holding struct {
	mu            sync.Mutex
	bytes, shared int64
	let           []func()
}

// Hold counts bytes that an answer holds in memory from now on; rate_limited
// where its tenant's answers hold too much. Outside of a request it counts
// nothing.
func Hold(ctx context.Context, bytes int) error {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	if ex == nil || ex.call == nil || ex.call.Principal == nil {
		return nil
	}
	return ex.hold(int64(bytes))
}

func (ex *exchange) hold(bytes int64) error {
	h := &ex.holding
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes += bytes; h.bytes <= max(h.shared, lightAnswer) {
		return nil
	}
	more := max(h.bytes-h.shared, lightAnswer) // few steps
	let, err := ex.router.answers.enter(ex.call.Principal.TenantID, h.shared, more)
	if err != nil {
		// What was gathered is given up, so that of many that grow together the
		// last one is left alone.
		h.letGo()
		return err
	}
	h.shared += more
	h.let = append(h.let, let)
	return nil
}

func (h *holding) letGo() {
	for _, let := range h.let {
		let()
	}
	h.let, h.shared = nil, 0
}

// letGo ends what the request held.
func (ex *exchange) letGo() {
	ex.holding.mu.Lock()
	defer ex.holding.mu.Unlock()
	ex.holding.letGo()
}

// holdBody counts the body that was made, as far as it is more than what it was
// made of.
func (ex *exchange) holdBody(body []byte) error {
	h := &ex.holding
	more := int64(len(body)) - h.bytes
	if ex.call.Principal == nil || more <= 0 {
		return nil
	}
	if ex.r.Method == http.MethodGet || ex.r.Method == http.MethodHead {
		return ex.hold(more)
	}
	// What it answers is done: to say that it was not would be wrong.
	if len(body) > lightAnswer {
		h.let = append(h.let, ex.router.answers.take(ex.call.Principal.TenantID, more))
	}
	return nil
}
