package op

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
)

type exchangeKey struct{}

// exchange is one request on its way through the checks.
type exchange struct {
	router        *Router
	w             *writer
	r             *http.Request
	call          *Call
	correlationID string
	started       time.Time
	failure       error
	holding       holding
}

// unmatched answers, in the envelope, what no operation matched.
func (ex *exchange) unmatched() {
	status := ex.w.status
	ex.w.matched, ex.w.status = true, 0
	header := ex.w.Header()
	header.Del("Location")
	if err := ex.admit(ex.r.Context(), RateDefault, nil); err != nil {
		ex.fail(err)
		return
	}
	if status == http.StatusMethodNotAllowed {
		ex.fail(api.Errorf(api.CodeMethodNotAllowed, "%s is not among the methods of this path: %s", ex.r.Method, header.Get("Allow")))
		return
	}
	header.Del("Allow")
	ex.fail(api.Errorf(api.CodeNotFound, "there is nothing at this path"))
}

// finish catches a panic and writes the log's line.
func (ex *exchange) finish() {
	ctx := ex.r.Context()
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler { //nolint:errorlint // a sentinel value of panic, not an error that was wrapped
			ex.log(ctx, slog.LevelWarn, true)
			panic(p)
		}
		ex.failure = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		ex.w.matched = true
		if ex.w.wrote {
			ex.log(ctx, slog.LevelError, true)
			panic(http.ErrAbortHandler)
		}
		writeError(ex.w, toAPI(ex.failure), ex.correlationID)
	}
	ex.w.await() // for what is not flushed yet
	level := slog.LevelInfo
	if ex.w.status >= 500 && !errors.Is(ctx.Err(), context.Canceled) { // else who asked has left
		level = slog.LevelError
	}
	ex.log(ctx, level, false)
}

// log writes the request's line; cut says that its answer was broken off.
func (ex *exchange) log(ctx context.Context, level slog.Level, cut bool) {
	elapsed := ex.router.deps.Now().Sub(ex.started)
	pattern := ex.r.Pattern
	if pattern == "" {
		pattern = "unmatched"
	}
	if ex.router.deps.Observer != nil {
		ex.router.deps.Observer.Observe(pattern, ex.r.Method, ex.w.status, elapsed)
	}
	if !ex.router.deps.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("correlation_id", ex.correlationID),
		slog.String("route", pattern),
		slog.Int("status", ex.w.status),
		slog.Duration("duration", elapsed),
	}
	if ex.failure != nil {
		attrs = append(attrs, slog.String("error", ex.failure.Error()))
	}
	if cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	ex.router.deps.Logger.LogAttrs(ctx, level, "request", attrs...)
}

// fail answers with an error, and keeps what the caller is not told for the log.
func (ex *exchange) fail(err error) {
	shown := toAPI(err)
	if shown.Code.Status() >= 500 {
		ex.failure = err
	}
	writeError(ex.w, shown, ex.correlationID)
}

// serve takes an operation's request through the checks, in the contract's
// order: rate, credential, right, media type, body.
func (ex *exchange) serve(req *http.Request, op *operation, handle func(context.Context, *Call, reflect.Value) (any, error)) {
	ex.r = req
	ctx := req.Context()
	if op.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, op.Timeout)
		defer cancel()
	}
	call := &Call{CorrelationID: ex.correlationID, ClientIP: ex.router.deps.ClientIP(req), Request: req}
	principal, credentialErr := ex.authenticate(ctx, op, ex.doubt)
	if err := ex.admit(ctx, op.Rate, principal); err != nil {
		ex.fail(err)
		return
	}
	if credentialErr != nil {
		if api.CodeOf(credentialErr) == api.CodeUnauthorized {
			ex.router.deps.Limiter.Failed(call.ClientIP)
		}
		ex.fail(credentialErr)
		return
	}
	call.Principal, ex.call = principal, call
	defer ex.letGo()
	if err := authorize(call, &op.Spec, req); err != nil {
		ex.fail(err)
		return
	}
	call.again = func(ctx context.Context) (*access.Principal, error) {
		principal, err := ex.authenticate(ctx, op, func() error { return nil }) // it was believed before
		if err != nil {
			return nil, err
		}
		now := &Call{Principal: principal}
		return principal, authorize(now, &op.Spec, req)
	}
	if principal != nil {
		ctx = sqldb.For(ctx, principal.TenantID)
	}
	in := reflect.New(op.input).Elem()
	leave, err := ex.share(op, call)
	if err != nil {
		ex.fail(err)
		return
	}
	defer leave()
	hash, err := ex.read(ctx, op, call, in)
	if op.binding.upload != nil {
		defer func() { _ = in.FieldByIndex(op.binding.upload).Addr().Interface().(*Upload).Close() }()
	}
	if err != nil {
		ex.fail(err)
		return
	}
	if list, ok := in.Addr().Interface().(paged); ok {
		if p := list.paging(); p.cursor != "" {
			if p.After, err = openCursor(ex.router.deps.CursorKey, call, p.cursor); err != nil {
				ex.fail(err)
				return
			}
		}
	}
	if key := req.Header.Get("Idempotency-Key"); key != "" && op.replays() {
		ex.replayable(ctx, op, call, in, key, hash, handle)
		return
	}
	output, err := handle(ctx, call, in)
	ex.respond(ctx, op, in, output, err)
}

// read fills the input from path, query, headers and body. Its hash stands
// for the request where an Idempotency-Key is used again.
func (ex *exchange) read(ctx context.Context, op *operation, call *Call, in reflect.Value) (hash string, err error) {
	req := call.Request
	digest := sha256.New()
	// The workspace may come from the credential or a header, not from the path.
	_, _ = fmt.Fprintf(digest, "%s %s\n%s\n", req.Method, req.URL.RequestURI(), call.Scope.WorkspaceID)
	// The body's media type comes before the query's values: a request of the
	// wrong kind is not looked into.
	switch {
	case op.binding.upload != nil:
		err = checkForm(req)
	case op.decoder != nil:
		err = checkMediaType(req, "application/json", op.BodyOptional)
	}
	if err != nil {
		return "", err
	}
	problems := op.binding.fill(in, req)
	if err := api.InvalidFields(problems); err != nil {
		return "", err
	}
	switch {
	case op.binding.upload != nil:
		upload, err := spool(ex.w, req, ex.router.deps.SpoolDir)
		if err != nil {
			return "", err
		}
		in.FieldByIndex(op.binding.upload).Set(reflect.ValueOf(upload))
		digest.Write([]byte(upload.sha256))
	case op.decoder != nil:
		raw, err := readBody(ex.w, req, op.MaxBody, op.Timeout)
		if err != nil {
			return "", err
		}
		if err := op.decoder.decode(ctx, raw, in.FieldByIndex(op.binding.body)); err != nil {
			return "", err
		}
		digest.Write(raw)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// authenticate finds who calls; nil for a public operation. unknown is asked
// before a credential that is not remembered is looked up.
func (ex *exchange) authenticate(ctx context.Context, op *operation, unknown func() error) (*access.Principal, error) {
	if op.Auth == Public {
		return nil, nil
	}
	scheme, token, _ := strings.Cut(ex.r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return nil, api.Errorf(api.CodeUnauthorized, "this operation needs a credential, sent as Authorization: Bearer <token>")
	}
	return ex.router.deps.Authenticator.Authenticate(ctx, token, unknown)
}

// doubt refuses to look up one more credential of an address that guesses.
func (ex *exchange) doubt() error {
	if wait := ex.router.deps.Limiter.Doubts(ex.router.deps.ClientIP(ex.r)); wait > 0 {
		return tooMany(wait)
	}
	return nil
}

func tooMany(wait time.Duration) error {
	return &api.Error{
		Code:       api.CodeRateLimited,
		Message:    fmt.Sprintf("too many requests: wait %d seconds", int64((wait+time.Second-1)/time.Second)),
		RetryAfter: wait,
	}
}

// admit counts the request and sets the headers that every response carries.
func (ex *exchange) admit(ctx context.Context, class RateClass, principal *access.Principal) error {
	request := RateRequest{
		Class:     class,
		Versioned: strings.HasPrefix(ex.r.URL.Path, "/api/v1/"),
		IP:        ex.router.deps.ClientIP(ex.r),
	}
	if principal != nil {
		request.KeyID, request.TenantID = principal.KeyID, principal.TenantID
	}
	verdict, err := ex.router.deps.Limiter.Admit(ctx, request)
	if err != nil {
		return fmt.Errorf("count the request: %w", err)
	}
	header := ex.w.Header()
	header.Set("X-RateLimit-Limit", strconv.FormatInt(verdict.Limit, 10))
	header.Set("X-RateLimit-Remaining", strconv.FormatInt(verdict.Remaining, 10))
	header.Set("X-RateLimit-Reset", strconv.FormatInt(verdict.Reset.Unix(), 10))
	if verdict.Allowed || class == RateHealth {
		return nil
	}
	return tooMany(verdict.RetryAfter)
}
