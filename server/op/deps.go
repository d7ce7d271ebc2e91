package op

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"bm/server/access"
)

// Authenticator finds out who a bearer token belongs to.
type Authenticator interface {
	// Authenticate answers an *api.Error with code unauthorized for a token
	// that is unknown, expired or revoked. unknown is asked before one that is
	// not remembered is looked up: what it returns is the answer then.
	Authenticate(ctx context.Context, token string, unknown func() error) (*access.Principal, error)
}

// RateRequest is what a request counts against.
type RateRequest struct {
	Class     RateClass
	Versioned bool // the path is under /api/v1
	IP        netip.Addr
	KeyID     string
	TenantID  string
}

// RateVerdict is what a limiter answers; the numbers are those of the scope
// with the fewest requests left.
type RateVerdict struct {
	Allowed    bool
	Limit      int64
	Remaining  int64
	Reset      time.Time
	RetryAfter time.Duration
}

// Limiter counts requests.
type Limiter interface {
	Admit(ctx context.Context, request RateRequest) (RateVerdict, error)
	// Failed counts a credential from an address that was looked up and is
	// none. Doubts is how long, after too many of them, none of the address
	// is looked up; 0 where one may be.
	Failed(ip netip.Addr)
	Doubts(ip netip.Addr) time.Duration
}

// StoredResponse is an answer kept for a retry.
type StoredResponse struct {
	Status int
	Header http.Header
	Body   []byte
}

// Replays keeps the answers of POSTs by their Idempotency-Key.
type Replays interface {
	// Begin claims the key for a request. Where it was used before, it
	// answers the kept response, or an *api.Error with code conflict if the
	// request was another one, or has no known outcome.
	Begin(ctx context.Context, principal, key, requestHash string) (*StoredResponse, error)
	// Finish keeps the response.
	Finish(ctx context.Context, principal, key string, response StoredResponse) error
	// Abandon gives the key free: the request may be tried again.
	Abandon(ctx context.Context, principal, key string) error
}

// Observer is told of every request that was answered.
type Observer interface {
	Observe(pattern, method string, status int, elapsed time.Duration)
}

// Deps are what a router needs of the rest of the server.
type Deps struct {
	Authenticator Authenticator
	Limiter       Limiter
	Replays       Replays
	Observer      Observer
	Logger        *slog.Logger
	// ClientIP is the address that limits count.
	ClientIP func(*http.Request) netip.Addr
	// NewID makes correlation ids.
	NewID func() string
	Now   func() time.Time
	// CursorKey signs cursors.
	CursorKey []byte
	// SlowReader is how long a client may leave a piece of an answer unread;
	// 0 is 30 s.
	SlowReader time.Duration
	// SpoolDir is where uploads wait; "" is the system's.
	SpoolDir string
	// Version and Title head the OpenAPI document.
	Title string
	Doc   string
}
