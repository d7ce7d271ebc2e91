package daemon

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"bm/daemon/control"
	"bm/server/api"
)

// Mirror is one profile: a local copy, and the server that it is a copy of.
type Mirror interface {
	// Refresh brings the list of workspaces up to date, and answers the ids
	// of those to keep in step. Where the server can't be reached those that are
	// known come beside the error.
	Refresh(ctx context.Context) ([]string, error)
	// Round runs one round of replication on a workspace: until there is
	// nothing left to pull and to push.
	Round(ctx context.Context, workspaceID string) (Result, error)
	// Listen calls opened when the server's event stream is open, then poke
	// for each of its events, until the stream breaks or ctx ends. A server
	// without the stream is [ErrNoEvents].
	Listen(ctx context.Context, opened func(), poke func(workspaceID string)) error
	// Info describes the profile and its workspaces from the local copy.
	Info(ctx context.Context) (control.ProfileInfo, error)
	// Close lets go of the local copy.
	Close() error
}

// Result is what a round did.
type Result struct {
	Pulled, Pushed int
	// Note is a defect that was found and mended; "" for none.
	Note string
}

// Errors of a Mirror that the daemon tells apart.
var (
	// ErrNoEvents says that the server has no event stream.
	ErrNoEvents = errors.New("the server has no event stream")
	// ErrNotSignedIn says that there is nothing to keep in step: the profile
	// has no server.
	ErrNotSignedIn = errors.New("the profile has no server")
	// ErrReplaced says that another local copy stands where the open one did, which
	// is to be opened in its place.
	ErrReplaced = errors.New("the local copy was replaced by another file")
)

// Deps is what the daemon is handed.
type Deps struct {
	Version string
	Socket  string
	Log     *slog.Logger
	// Profiles lists the profiles that there are on this machine.
	Profiles func() ([]string, error)
	// Open opens a profile; [ErrNotSignedIn] where it has no server.
	Open func(ctx context.Context, profile string) (Mirror, error)

	// Now and After are the clock, and Jitter a number from 0 up to 1.
	Now    func() time.Time
	After  func(time.Duration) <-chan time.Time
	Jitter func() float64
}

func (d Deps) withDefaults() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.After == nil {
		d.After = time.After
	}
	if d.Jitter == nil {
		d.Jitter = rand.Float64
	}
	return d
}

const (
	tick        = time.Minute
	backoffBase = time.Second
	backoffMax  = time.Minute
)

// backoff is how long to wait after the n-th failure in a row: full jitter,
// and at least as long as the server asked for.
func (d Deps) backoff(n int, err error) time.Duration {
	ceiling := backoffMax
	if n < 6 {
		ceiling = backoffBase << n
	}
	wait := time.Duration(d.Jitter() * float64(ceiling))
	if e, ok := errors.AsType[*api.Error](err); ok {
		wait = max(wait, e.RetryAfter)
	}
	return wait
}
