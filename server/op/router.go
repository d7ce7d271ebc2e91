package op

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"bm/server/api"
)

// Router serves operations. It is built once, then only read.
type Router struct {
	deps     Deps
	mux      *http.ServeMux
	specs    []Spec
	document *document
	uploads  *share
	bodies   *share
	answers  *share
}

// NewRouter makes a router without operations.
func NewRouter(deps Deps) *Router {
	r := &Router{
		deps: deps, mux: http.NewServeMux(), document: newDocument(deps.Title, deps.Doc),
		uploads: newShare(maxUploads, "files on the way: wait until one is taken in"),
		bodies:  newShare(maxBodies, "large requests on the way: wait until one is taken in"),
		answers: newShare(maxAnswers, "large answers on the way: wait until one is read, or ask for less at a time"),
	}
	r.answers.alone = true
	return r
}

// Held is how many bytes large answers hold in memory.
func (r *Router) Held() int64 { return r.answers.all() }

// Specs lists the operations in the order in which they were registered.
func (r *Router) Specs() []Spec { return r.specs }

// Document is the OpenAPI document, as JSON and as YAML.
func (r *Router) Document() (asJSON, asYAML []byte, err error) { return r.document.render() }

// Page serves something that is not an operation, as the documentation's
// page. It counts against the limits like any public operation.
func (r *Router) Page(pattern string, rate RateClass, handler http.Handler) {
	r.mux.HandleFunc(pattern, func(_ http.ResponseWriter, req *http.Request) {
		req.Context().Value(exchangeKey{}).(*exchange).page(req, rate, handler)
	})
}

// Answer answers a request as a page would, whatever its path.
func (r *Router) Answer(w http.ResponseWriter, req *http.Request, rate RateClass, handler http.Handler) {
	r.exchange(w, req, func(ex *exchange, req *http.Request) { ex.page(req, rate, handler) })
}

func (ex *exchange) page(req *http.Request, rate RateClass, handler http.Handler) {
	ex.w.matched = true
	if err := ex.admit(req.Context(), rate, nil); err != nil {
		ex.fail(err)
		return
	}
	handler.ServeHTTP(ex.w, req)
}

// Fail answers a page's request with an error, in the envelope.
func Fail(r *http.Request, err error) { r.Context().Value(exchangeKey{}).(*exchange).fail(err) }

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
	if op.replays() && reflect.TypeFor[O]() == reflect.TypeFor[Stream]() {
		panic("op: " + op.ID + ": a stream cannot be kept for a retry: say NoReplay")
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

// ServeHTTP routes a request.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.exchange(w, req, func(ex *exchange, req *http.Request) {
		r.mux.ServeHTTP(ex.w, req)
		if !ex.w.matched {
			ex.unmatched()
		}
	})
}

// exchange gives a request its correlation id, its envelope and its line in the
// log.
func (r *Router) exchange(w http.ResponseWriter, req *http.Request, serve func(*exchange, *http.Request)) {
	ex := &exchange{
		router: r, r: req, started: r.deps.Now(),
		w: &writer{ResponseWriter: w, patience: cmp.Or(r.deps.SlowReader, slowReader), body: &requestBody{ReadCloser: req.Body, none: req.ContentLength == 0}},
	}
	if req.ContentLength != 0 {
		req.Body = ex.w.body
		defer ex.w.leaveBody()
	}
	ex.w.await() // what the connection's last answer was given is over
	ex.correlationID = correlationID(req, r.deps.NewID)
	header := w.Header()
	header.Set("X-Correlation-ID", ex.correlationID)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	req = req.WithContext(context.WithValue(req.Context(), exchangeKey{}, ex))
	ex.r = req
	defer ex.finish()
	serve(ex, req)
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
