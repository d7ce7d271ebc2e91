package op_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/idempotency"
	"bm/server/op"
	"bm/server/ratelimit"
	"bm/server/sqldb"
)

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// people are the credentials that the tests' authenticator knows.
type people map[string]*access.Principal

func (p people) Authenticate(_ context.Context, token string, _ func() error) (*access.Principal, error) {
	if principal, ok := p[token]; ok {
		return principal, nil
	}
	return nil, api.Errorf(api.CodeUnauthorized, "unknown")
}

const (
	home  = "01920000-0000-7000-8000-000000000001"
	other = "01920000-0000-7000-8000-000000000002"
	trash = "01920000-0000-7000-8000-000000000003"
	alien = "01920000-0000-7000-8000-000000000004"
)

// cast is one of each kind of caller.
func cast() people {
	all := access.Rights{
		Tenant:     access.Everything(),
		Workspaces: map[string]access.Set{home: 0, other: 0},
		Deleted:    map[string]access.Set{trash: 0},
	}
	viewer := access.Rights{Workspaces: map[string]access.Set{home: access.Viewer.Permissions(), other: 0}}
	return people{
		"ada":    {Kind: access.JWT, AccountID: "ada", TenantID: "t1", SessionID: "s1", Rights: all},
		"bob":    {Kind: access.JWT, AccountID: "bob", TenantID: "t1", SessionID: "s2", Rights: viewer},
		"eve":    {Kind: access.JWT, AccountID: "eve", TenantID: "t2", SessionID: "s3", Rights: access.Rights{Tenant: access.Everything()}},
		"wide":   {Kind: access.Key, AccountID: "ada", TenantID: "t1", KeyID: "k1", Rights: all},
		"narrow": {Kind: access.Key, AccountID: "ada", TenantID: "t1", KeyID: "k2", WorkspaceID: home, Rights: all},
		// Its account may do nothing in its workspace any more.
		"empty": {Kind: access.Key, AccountID: "bob", TenantID: "t1", KeyID: "k3", WorkspaceID: other, Rights: viewer},
	}
}

// world is a router of a test's own behind a real listener.
type world struct {
	URL    string
	log    *lines
	clock  *clock
	router *op.Router
}

// noReplays is for the tests that send no Idempotency-Key.
type noReplays struct{ op.Replays }

func newWorld(t testing.TB, declare func(*op.Router), adjust ...func(*op.Deps)) *world {
	t.Helper()
	w := &world{log: &lines{}, clock: newClock()}
	var ids atomic.Int64
	deps := op.Deps{
		Authenticator: cast(),
		Limiter:       ratelimit.NewMemory(ratelimit.Limits{}, w.clock.now),
		Replays:       noReplays{},
		Logger:        slog.New(slog.NewJSONHandler(w.log, nil)),
		ClientIP: func(r *http.Request) netip.Addr {
			if ip := r.Header.Get("X-Test-IP"); ip != "" {
				return netip.MustParseAddr(ip)
			}
			return netip.MustParseAddr("192.0.2.1")
		},
		NewID:     func() string { return "id-" + strconv.FormatInt(ids.Add(1), 10) },
		Now:       w.clock.now,
		CursorKey: []byte("a key of the test's own"),
		SpoolDir:  t.TempDir(),
		Title:     "test",
	}
	for _, f := range adjust {
		f(&deps)
	}
	w.router = op.NewRouter(deps)
	declare(w.router)
	server := httptest.NewServer(w.router)
	t.Cleanup(server.Close)
	w.URL = server.URL
	return w
}

// withReplays keeps answers in a database.
func withReplays(db *sqldb.DB, c *clock) func(*op.Deps) {
	return func(d *op.Deps) {
		d.Replays, d.Now = idempotency.NewStore(db, c.now), c.now
	}
}

// answer is a response as a client sees it.
type answer struct {
	status int
	header http.Header
	body   string
}

func (w *world) do(t testing.TB, method, path, token, body string, headers ...string) answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequest(method, w.URL+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
			continue
		}
		request.Header.Add(headers[i], headers[i+1])
		if headers[i] == "Content-Type" {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	return w.send(t, request)
}

func (w *world) send(t testing.TB, request *http.Request) answer {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(request) // no redirect is followed
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(raw)}
}

// want checks that an answer is a failure with a code, in the envelope.
func (a answer) want(t testing.TB, code api.Code) api.EnvelopeError {
	t.Helper()
	var envelope api.Envelope
	if err := json.Unmarshal([]byte(a.body), &envelope); err != nil {
		t.Fatalf("status %d: %v in %.200s", a.status, err, a.body)
	}
	e := envelope.Error
	if a.status != code.Status() || e.Code != code {
		t.Errorf("got %d %s (%s), want %d %s", a.status, e.Code, e.Message, code.Status(), code)
	}
	if e.Message == "" || e.CorrelationID == "" || e.CorrelationID != a.header.Get("X-Correlation-ID") {
		t.Errorf("envelope %+v with the correlation id %q", e, a.header.Get("X-Correlation-ID"))
	}
	if kind := a.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("the envelope came as %q", kind)
	}
	if code == api.CodeUnauthorized && a.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("WWW-Authenticate: %q", a.header.Get("WWW-Authenticate"))
	}
	return e
}

// field checks that a validation error names the field.
func (a answer) field(t testing.TB, name string) {
	t.Helper()
	e := a.want(t, api.CodeValidation)
	for _, d := range e.Details {
		if d.Field == name {
			return
		}
	}
	t.Errorf("%+v does not name %s", e, name)
}

func (a answer) ok(t testing.TB, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	return a
}

// spec is a row that a test changes.
func spec(id, method, path string) op.Spec {
	return op.Spec{
		ID: id, Method: method, Path: path, Summary: id, Section: "Test", Status: http.StatusOK,
		Auth: op.JWTOrKey, Scope: op.Self, Permission: op.NoPermission,
	}
}

func public(id, method, path string) op.Spec {
	s := spec(id, method, path)
	s.Auth, s.Scope = op.Public, op.Nothing
	return s
}
