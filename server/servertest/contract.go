package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"bm/server/api"
)

// contract holds every answer of a server to the document that the server
// itself serves at /openapi.json.
type contract struct {
	t      testing.TB
	next   http.Handler
	routes *http.ServeMux
	failed sync.Map // operation and code → true
}

// maxChecked bounds the body that is held to its schema: of an export of
// thousands of bookmarks the first tell enough, and so do smaller ones.
const maxChecked = 1 << 20

// pages are what a server serves beside the operations of its document.
var pages = []string{"GET /healthz", "GET /readyz", "GET /openapi.json", "GET /openapi.yaml", "GET /docs"}

// operation is the handler of a route that only tells which it is.
type operation struct{ *routers.Route }

func (operation) ServeHTTP(http.ResponseWriter, *http.Request) {}

// newContract reads the document that next serves.
func newContract(t testing.TB, next http.Handler) *contract {
	t.Helper()
	recorder := httptest.NewRecorder()
	next.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", nil))
	routes, err := readDocument(recorder.Body.String())
	if err != nil {
		t.Fatal(err)
	}
	return &contract{t: t, next: next, routes: routes}
}

// known holds what was read: to read a document takes longer than to start
// the server that it is of, and all servers of a test's program serve the same.
var known sync.Map // document → *http.ServeMux

// readDocument makes the routes of an OpenAPI document.
func readDocument(text string) (*http.ServeMux, error) {
	if routes, ok := known.Load(text); ok {
		return routes.(*http.ServeMux), nil
	}
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read the server's document: %w", err)
	}
	if err := document.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("the server's document is not valid OpenAPI: %w", err)
	}
	// A client ignores what it does not know; a test must not.
	for _, schema := range document.Components.Schemas {
		if len(schema.Value.Properties) > 0 {
			schema.Value.AdditionalProperties = openapi3.BoolSchema{Has: openapi3.Ptr(false)}
		}
	}
	routes := http.NewServeMux()
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			routes.Handle(method+" "+path, operation{&routers.Route{Spec: document, Path: path, PathItem: item, Method: method, Operation: op}})
		}
	}
	for _, pattern := range pages {
		routes.Handle(pattern, http.NotFoundHandler())
	}
	known.Store(text, routes)
	return routes, nil
}

// ServeHTTP answers as next does, and checks the answer.
func (c *contract) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Clone(r.Context()) // what next does to the request is its own affair
	sent := &bytes.Buffer{}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, limited{sent}), r.Body}
	tap := &tap{ResponseWriter: w}
	c.next.ServeHTTP(tap, r)
	if tap.status == 0 {
		tap.status = http.StatusOK
	}
	given.Body = io.NopCloser(sent)
	if problem := c.check(given, tap); problem != nil {
		c.t.Errorf("%s %s answered %d, against the document: %v\n%.600s", given.Method, given.URL.Path, tap.status, problem, tap.body.Bytes())
	}
}

func (c *contract) check(r *http.Request, answer *tap) error {
	header := answer.Header()
	for _, name := range []string{"X-Correlation-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Content-Type-Options"} {
		if header.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
	}
	if answer.body.Len() > maxChecked || r.Method == http.MethodHead {
		return nil
	}
	handler, _ := c.routes.Handler(r)
	found, isOperation := handler.(operation)
	var failed api.Code
	if answer.status >= 400 {
		var err error
		if failed, err = c.checkFailure(header, answer); err != nil {
			return err
		}
	}
	if !isOperation {
		return nil
	}
	if answer.status == http.StatusNotModified && found.Operation.Responses.Status(http.StatusNotModified) == nil {
		return fmt.Errorf("304 is not among the answers")
	}
	kind := header.Get("Content-Type")
	if answer.status >= 400 {
		described := found.Operation.Responses.Status(answer.status)
		if described == nil || !slices.Contains(strings.Split(*described.Value.Description, ", "), string(failed)) {
			return fmt.Errorf("%s is not among the failures of %s", failed, found.Operation.OperationID)
		}
	}
	if answer.status < 300 {
		described := found.Operation.Responses.Status(answer.status)
		switch {
		case described == nil:
			return fmt.Errorf("the status is not among the answers")
		case len(described.Value.Content) == 0 && answer.body.Len() > 0:
			return fmt.Errorf("there is a body, and none is described")
		case len(described.Value.Content) > 0 && described.Value.Content.Get(kind) == nil:
			return fmt.Errorf("it came as %q, which is not described", kind)
		}
		if err := c.checkTaken(r, found); err != nil {
			return fmt.Errorf("the request was taken: %w", err)
		}
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: found.Route},
		Status:                 answer.status,
		Header:                 header,
		Body:                   io.NopCloser(bytes.NewReader(answer.body.Bytes())),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			// To read a schema takes a millisecond: of each kind of failure the
			// first is held to it, the rest to the type that it was made of.
			ExcludeResponseBody: kind != "application/json" || failed != "" && c.hadFailed(found.Operation.OperationID, failed),
		},
	})
}

// hadFailed reports whether an operation has failed with a code before.
func (c *contract) hadFailed(operation string, code api.Code) bool {
	_, before := c.failed.LoadOrStore(operation+" "+string(code), true)
	return before
}

// checkTaken holds a request that was taken to what is described: what the
// server heeds a client must be able to know.
func (c *contract) checkTaken(r *http.Request, found operation) error {
	for name := range r.URL.Query() {
		if found.Operation.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("its query has %s, which is not described", name)
		}
	}
	body := found.Operation.RequestBody
	if body == nil || r.Header.Get("Content-Type") != "application/json" || r.ContentLength == 0 || r.ContentLength > maxChecked {
		return nil
	}
	described := body.Value.Content.Get("application/json")
	if described == nil {
		return fmt.Errorf("its body is JSON, which is not described")
	}
	var value any
	if err := json.NewDecoder(r.Body).Decode(&value); err != nil {
		return fmt.Errorf("its body is no JSON: %w", err)
	}
	dropCleared(value, described.Schema)
	return described.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
}

// dropCleared takes out of a body what its server takes for nothing: a null,
// and, where null clears a text, an empty one, whatever form the text has.
func dropCleared(value any, ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	schema := ref.Value
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			dropCleared(item, schema.Items)
		}
	case map[string]any:
		for name, member := range v {
			property := schema.Properties[name]
			if property != nil && (member == nil || member == "" && property.Value.Type.Permits("null") && property.Value.Type.Permits("string")) {
				delete(v, name)
				continue
			}
			dropCleared(member, property)
		}
	}
}

// limited keeps what is written up to what is checked.
type limited struct{ *bytes.Buffer }

func (l limited) Write(p []byte) (int, error) {
	if l.Len() <= maxChecked {
		_, _ = l.Buffer.Write(p) // memory takes it
	}
	return len(p), nil
}

// checkFailure holds a failure to the one envelope, whatever the path.
func (c *contract) checkFailure(header http.Header, answer *tap) (api.Code, error) {
	if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind != "application/json" {
		return "", fmt.Errorf("a failure as %q", kind)
	}
	var envelope api.Envelope
	decoder := json.NewDecoder(bytes.NewReader(answer.body.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&envelope); err != nil {
		return "", fmt.Errorf("a failure outside of the envelope: %w", err)
	}
	e := envelope.Error
	switch {
	case !slices.Contains(api.Codes(), e.Code) || e.Code.Status() != answer.status:
		return "", fmt.Errorf("the code %q does not go with the status", e.Code)
	case e.Message == "" || e.CorrelationID != header.Get("X-Correlation-Id"):
		return "", fmt.Errorf("the envelope has no message, or another correlation id than the header")
	case (e.Code == api.CodeRateLimited || e.Code == api.CodeUnavailable) && header.Get("Retry-After") == "":
		return "", fmt.Errorf("no Retry-After")
	case answer.status == http.StatusUnauthorized && !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer"):
		return "", fmt.Errorf("no WWW-Authenticate")
	case answer.status == http.StatusMethodNotAllowed && header.Get("Allow") == "":
		return "", fmt.Errorf("no Allow")
	}
	return e.Code, nil
}

// tap passes an answer on and keeps a copy.
type tap struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tap) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tap) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tap) Write(p []byte) (int, error) {
	if t.body.Len() <= maxChecked {
		t.body.Write(p)
	}
	return t.ResponseWriter.Write(p)
}
