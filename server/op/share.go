package op

import (
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
)

// share counts what each tenant has on the way.
type share struct {
	most int64
	what string
	mu   sync.Mutex
	of   map[string]int64
}

func newShare(most int64, what string) *share {
	return &share{most: most, what: what, of: map[string]int64{}}
}

// enter counts so much more, until leave; rate_limited where that is too much.
func (s *share) enter(tenantID string, weight int64) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[tenantID]+weight > s.most {
		return nil, &api.Error{
			Code: api.CodeRateLimited, RetryAfter: 10 * time.Second,
			Message: "the organization has too many " + s.what + " on the way: wait until one is taken in",
		}
	}
	s.of[tenantID] += weight
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.of[tenantID] -= weight; s.of[tenantID] == 0 {
			delete(s.of, tenantID)
		}
	}, nil
}

// share is what of its tenant's share a request takes while it lasts.
func (ex *exchange) share(op *operation, call *Call) (leave func(), err error) {
	switch size := call.Request.ContentLength; {
	case call.Principal == nil:
	case op.binding.upload != nil:
		return ex.router.uploads.enter(call.Principal.TenantID, 1)
	case op.decoder != nil && size < 0: // it does not say how long it is
		return ex.router.bodies.enter(call.Principal.TenantID, op.MaxBody)
	case op.decoder != nil && size > smallBody:
		return ex.router.bodies.enter(call.Principal.TenantID, min(size, op.MaxBody))
	}
	return func() {}, nil
}
