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
)

// Router serves operations. It is built once, then only read.
type Router struct {
	deps     Deps
	mux      *http.ServeMux
	specs    []Spec
	document *document
}

// NewRouter makes a router without operations.
func NewRouter(deps Deps) *Router {
	return &Router{deps: deps, mux: http.NewServeMux(), document: newDocument(deps.Title, deps.Doc)}
}

// Specs lists the operations in the order in which they were registered.
func (r *Router) Specs() []Spec { return r.specs }

// Document is the OpenAPI document, as JSON and as YAML.
func (r *Router) Document() (asJSON, asYAML []byte, err error) { return r.document.render() }

// Page serves something that is not an operation, as the documentation's
// page. It counts against the limits like any public operation.
func (r *Router) Page(pattern string, rate RateClass, handler http.Handler) {
	r.mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ex := req.Context().Value(exchangeKey{}).(*exchange)
		ex.w.matched = true
		if err := ex.admit(req.Context(), rate, nil); err != nil {
			ex.fail(err)
			return
		}
		handler.ServeHTTP(ex.w, req)
	}))
}

// operation is a registered row with what its types tell.
type operation struct {
	Spec
	binding binding
	decoder *bodyDecoder
	input   reflect.Type
}

// Register adds an operation. It panics where the row or the types do not say
// enough: that is found by the first test that builds a server.
func Register[I, O any](r *Router, spec Spec, handler Handler[I, O]) {
	spec.check()
	op := &operation{Spec: spec, input: reflect.TypeFor[I]()}
	op.binding = newBinding(op.input, spec.Path)
	if op.MaxBody == 0 {
		op.MaxBody = api.MaxJSONBody
	}
	if op.Timeout == 0 {
		op.Timeout = defaultTimeout
	}
	r.document.add(op, op.input, reflect.TypeFor[O]())
	r.specs = append(r.specs, spec)
	r.mux.HandleFunc(spec.Method+" "+spec.Path, func(_ http.ResponseWriter, req *http.Request) {
		ex := req.Context().Value(exchangeKey{}).(*exchange)
		ex.w.matched = true
		ex.serve(req, op, func(ctx context.Context, call *Call, in reflect.Value) (any, error) {
			return handler(ctx, call, in.Addr().Interface().(*I))
		})
	})
}

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
}

// ServeHTTP gives every request its correlation id, its envelope and its line
// in the log, and routes it.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	ex := &exchange{router: r, w: &writer{ResponseWriter: w}, r: req, started: r.deps.Now()}
	ex.correlationID = correlationID(req, r.deps.NewID)
	header := w.Header()
	header.Set("X-Correlation-ID", ex.correlationID)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	req = req.WithContext(context.WithValue(req.Context(), exchangeKey{}, ex))
	ex.r = req
	defer ex.finish()
	r.mux.ServeHTTP(ex.w, req)
	if !ex.w.matched {
		ex.unmatched()
	}
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
	level := slog.LevelInfo
	if ex.w.status >= 500 {
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
	principal, credentialErr := ex.authenticate(ctx, op)
	if err := ex.admit(ctx, op.Rate, principal); err != nil {
		ex.fail(err)
		return
	}
	if credentialErr != nil {
		ex.fail(credentialErr)
		return
	}
	call.Principal, ex.call = principal, call
	if err := authorize(call, &op.Spec, req); err != nil {
		ex.fail(err)
		return
	}
	call.again = func(ctx context.Context) (*access.Principal, error) {
		principal, err := ex.authenticate(ctx, op)
		if err != nil {
			return nil, err
		}
		now := &Call{Principal: principal}
		return principal, authorize(now, &op.Spec, req)
	}
	in := reflect.New(op.input).Elem()
	hash, err := ex.read(op, call, in)
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
func (ex *exchange) read(op *operation, call *Call, in reflect.Value) (hash string, err error) {
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
		if err := op.decoder.decode(raw, in.FieldByIndex(op.binding.body)); err != nil {
			return "", err
		}
		digest.Write(raw)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// respond writes what a handler returned.
func (ex *exchange) respond(ctx context.Context, op *operation, in reflect.Value, output any, err error) {
	if err != nil {
		ex.fail(err)
		return
	}
	if stream, ok := output.(Stream); ok {
		ex.stream(ctx, op.Status, stream)
		return
	}
	status, body, err := ex.render(op, in, output)
	switch {
	case err != nil:
		ex.fail(err)
	case body == nil:
		ex.w.WriteHeader(status)
	default:
		writeJSON(ex.w, status, body)
	}
}

// render encodes an output; a nil body is none.
func (ex *exchange) render(op *operation, in reflect.Value, output any) (status int, body []byte, err error) {
	if tagged, ok := output.(taggedOutput); ok {
		value, etag := tagged.tagged()
		ex.w.Header().Set("ETag", etag)
		if (ex.r.Method == http.MethodGet || ex.r.Method == http.MethodHead) && TagMatches(ex.r.Header.Get("If-None-Match"), etag) {
			return http.StatusNotModified, nil, nil
		}
		output = value
	}
	if _, none := output.(None); none {
		return op.Status, nil, nil
	}
	var paging *Paging
	if list, ok := in.Addr().Interface().(paged); ok {
		paging = list.paging()
	}
	if small, ok := output.(smallOutput); ok {
		window, err := small.window(paging)
		if err != nil {
			return 0, nil, err
		}
		output = window
	}
	if list, ok := output.(listOutput); ok {
		items, more, position := list.parts()
		if !paging.ByCursor {
			body, err = encode(items)
			return op.Status, body, err
		}
		var pagination api.Pagination
		if more {
			cursor, err := cursorFor(ex.router.deps.CursorKey, ex.call, position)
			if err != nil {
				return 0, nil, fmt.Errorf("make a cursor: %w", err)
			}
			pagination = api.Pagination{NextCursor: &cursor, HasMore: true}
		}
		body, err = encodePage(items, pagination)
		return op.Status, body, err
	}
	body, err = encode(output)
	return op.Status, body, err
}

func (ex *exchange) stream(ctx context.Context, status int, s Stream) {
	header := ex.w.Header()
	header.Set("Content-Type", s.ContentType)
	if s.Filename != "" {
		header.Set("Content-Disposition", `attachment; filename="`+s.Filename+`"`)
		header.Set("Content-Security-Policy", "sandbox")
	}
	ex.w.status = status
	err := s.Write(ctx, ex.w)
	switch {
	case err == nil:
		if !ex.w.wrote {
			ex.w.WriteHeader(status)
		}
	case !ex.w.wrote:
		header.Del("Content-Disposition")
		ex.fail(err)
	case errors.Is(err, context.Canceled):
		// The client left.
	default:
		ex.failure = err
		panic(http.ErrAbortHandler)
	}
}

// authenticate finds who calls; nil for a public operation.
func (ex *exchange) authenticate(ctx context.Context, op *operation) (*access.Principal, error) {
	if op.Auth == Public {
		return nil, nil
	}
	scheme, token, _ := strings.Cut(ex.r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return nil, api.Errorf(api.CodeUnauthorized, "this operation needs a credential, sent as Authorization: Bearer <token>")
	}
	return ex.router.deps.Authenticator.Authenticate(ctx, token)
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
	if verdict.Allowed {
		return nil
	}
	return &api.Error{
		Code:       api.CodeRateLimited,
		Message:    fmt.Sprintf("too many requests: wait %d seconds", int64((verdict.RetryAfter+time.Second-1)/time.Second)),
		RetryAfter: verdict.RetryAfter,
	}
}

// correlationID echoes the request's own where it is harmless.
func correlationID(r *http.Request, newID func() string) string {
	given := r.Header.Get("X-Correlation-ID")
	if given == "" || len(given) > 128 {
		return newID()
	}
	for i := range len(given) {
		if given[i] < 0x20 || given[i] > 0x7e {
			return newID()
		}
	}
	return given
}
