package op

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"bm/server/access"
	"bm/server/api"
)

// Auth is the credential that an operation takes.
type Auth int

// The kinds of credential. The zero value is refused: it must be said.
const (
	// Public operations look at no credential.
	Public Auth = iota + 1
	// KeyOnly operations take an API key.
	KeyOnly
	// JWTOnly operations take a signed-in user.
	JWTOnly
	// JWTOrKey operations take either.
	JWTOrKey
)

// Scope is what an operation works on, and so where its permission counts.
type Scope int

// The scopes. The zero value is refused: it must be said.
const (
	// Nothing: a public operation.
	Nothing Scope = iota + 1
	// Self: the caller's own things; any key may.
	Self
	// Tenant: the organization; a workspace's key may not.
	Tenant
	// Workspace: the one in the path.
	Workspace
	// KeyWorkspace: the one in X-Workspace-ID, else the key's own.
	KeyWorkspace
)

// NoPermission says that an operation needs no permission key: whoever has the
// credential may.
const NoPermission access.Permission = "none"

// RateClass is which of the stated limits an operation counts in.
type RateClass int

// The classes.
const (
	// RateDefault: the key's and the tenant's for a key, the address's for
	// everyone else and under /api/v1.
	RateDefault RateClass = iota
	// RateAuth: the few attempts of signing in.
	RateAuth
	// RateHealth: health and readiness. They count, and are told, like any public
	// page, but are never refused: a supervisor would take a server for failed
	// that is only busy.
	RateHealth
)

// Spec is the row that declares an operation.
type Spec struct {
	ID         string
	Method     string
	Path       string
	Summary    string
	Doc        string
	Section    string
	Status     int
	Auth       Auth
	Scope      Scope
	Permission access.Permission
	// Also are permissions that it needs beside Permission.
	Also []access.Permission
	// Deleted: the operation works on a deleted workspace too.
	Deleted bool
	Rate    RateClass
	// MaxBody is the limit of a JSON body, [api.MaxJSONBody] where 0.
	MaxBody int64
	// BodyOptional: none, {} and a missing Content-Type are fine.
	BodyOptional bool
	// NoReplay: an Idempotency-Key is not answered from store, since the
	// answer holds a secret. OnceOnly: such a replay is a conflict.
	NoReplay bool
	OnceOnly bool
	// Timeout is the deadline, 30 s where 0, none where negative.
	Timeout time.Duration
	// Streams is of the type whose JSON a [Stream] writes; nil where it writes
	// text.
	Streams any
	// Errors are codes beyond those that every operation may answer.
	Errors []api.Code
	// Extension marks what the specification does not have.
	Extension bool
}

// Permissions are all that the operation needs.
func (s *Spec) Permissions() []access.Permission {
	if s.Permission == NoPermission {
		return nil
	}
	return append([]access.Permission{s.Permission}, s.Also...)
}

const defaultTimeout = 30 * time.Second

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// check panics where the row leaves something unsaid.
func (s Spec) check() {
	fail := func(what string) { panic(fmt.Sprintf("op: %s %s (%s): %s", s.Method, s.Path, s.ID, what)) }
	switch {
	case !idPattern.MatchString(s.ID):
		fail("the ID is not like list-bookmarks")
	case s.Summary == "" || s.Section == "":
		fail("Summary and Section must be said")
	case s.Status == 0:
		fail("Status must be said")
	case s.Auth == 0 || s.Scope == 0 || s.Permission == "":
		fail("Auth, Scope and Permission must be said")
	case (s.Auth == Public) != (s.Scope == Nothing):
		fail("Public goes with Nothing, and nothing else does")
	case s.Permission != NoPermission && !s.Permission.Valid():
		fail("unknown permission " + string(s.Permission))
	case slices.ContainsFunc(s.Also, func(p access.Permission) bool { return !p.Valid() }):
		fail("unknown permission among " + fmt.Sprint(s.Also))
	case s.Permission == NoPermission && len(s.Also) > 0:
		fail("the first permission it needs is Permission")
	case s.Auth == Public && s.Permission != NoPermission:
		fail("a public operation cannot need a permission")
	case s.Scope == Workspace && !strings.Contains(s.Path, "{workspaceId}"):
		fail("scope Workspace needs {workspaceId} in the path")
	case s.Scope == KeyWorkspace && s.Auth != KeyOnly:
		fail("scope KeyWorkspace needs auth KeyOnly")
	}
	switch s.Method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete:
	default:
		fail("unexpected method")
	}
}

// Call is one request as a handler sees it.
type Call struct {
	// Principal is who calls; nil for a public operation.
	Principal *access.Principal
	// Scope is where the operation works; its workspace is "" outside of one.
	Scope         access.Scope
	CorrelationID string
	ClientIP      netip.Addr
	Request       *http.Request

	again func(context.Context) (*access.Principal, error)
}

// Again is who calls now, or why they may not any more: what runs for long
// asks from time to time, so that it ends with its credential or its right.
func (c *Call) Again(ctx context.Context) (*access.Principal, error) { return c.again(ctx) }

// Can reports whether the caller has a permission where the call works.
func (c *Call) Can(p access.Permission) bool {
	if c.Scope.WorkspaceID != "" {
		return c.Principal.InWorkspace(c.Scope.WorkspaceID).Has(p)
	}
	return c.Principal.InTenant().Has(p)
}

// Handler does an operation's work.
type Handler[I, O any] func(ctx context.Context, call *Call, in *I) (O, error)
