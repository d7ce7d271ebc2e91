package op_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
)

// described is an operation as the document shows it.
type described struct {
	Security   []map[string][]string
	Parameters []struct {
		Name, In string
		Required bool
		Schema   map[string]any
	}
	RequestBody struct {
		Required bool
		Content  map[string]struct{ Schema map[string]any }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema map[string]any }
	}
}

func documentOf(t *testing.T, declare func(*op.Router)) (ops map[string]map[string]described, schemas map[string]map[string]any) {
	t.Helper()
	r := op.NewRouter(op.Deps{Title: "test", Doc: "About it."})
	declare(r)
	text, yaml, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(yaml), "openapi: 3.1.0") {
		t.Errorf("as YAML: %.100s", yaml)
	}
	var doc struct {
		OpenAPI    string
		Info       struct{ Version, Description string }
		Paths      map[string]map[string]described
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != api.APIVersion || doc.Info.Description != "About it." {
		t.Errorf("the document says %+v", doc.Info)
	}
	return doc.Paths, doc.Components.Schemas
}

// The document says of bodies what the decoder does.
func TestDocumentOfBodies(t *testing.T) {
	_, schemas := documentOf(t, declareThings)
	thing := schemas["Thing"]
	if required, _ := thing["required"].([]any); len(required) != 1 || required[0] != "name" {
		t.Errorf("required: %v", thing["required"])
	}
	if thing["additionalProperties"] != nil {
		t.Error("unknown fields are ignored, and the document forbids them")
	}
	properties := thing["properties"].(map[string]any)
	for name, want := range map[string]string{
		"name":  `{"type":"string"}`,
		"note":  `{"type":["string","null"]}`,
		"color": `{"enum":["red","blue","",null],"type":["string","null"]}`,
		"at":    `{"format":"date-time","type":["string","null"]}`,
		"order": `{"format":"int64","type":["integer","null"]}`,
		"tags":  `{"items":{"type":"string"},"type":"array"}`,
		"extra": `{"additionalProperties":{"type":"string"},"type":"object"}`,
		"parts": `{"items":{"$ref":"#/components/schemas/Part"},"type":"array"}`,
	} {
		if got, _ := json.Marshal(properties[name]); string(got) != want {
			t.Errorf("%s is described as %s, want %s", name, got, want)
		}
	}
	for name := range schemas {
		if name == "" {
			t.Error("a schema has no name")
		}
	}
}

// The document says of an operation what its row does.
func TestDocumentOfOperations(t *testing.T) {
	type in struct {
		op.Paging
		Tag   []string `query:"tag"`
		Deep  bool     `query:"deep"`
		Depth int      `query:"depth" minimum:"1" maximum:"9"`
	}
	ops, _ := documentOf(t, func(r *op.Router) {
		list := spec("list-things", http.MethodGet, "/workspaces/{workspaceId}/things")
		list.Scope, list.Permission = op.Workspace, access.BookmarksRead
		op.Register(r, list, func(context.Context, *op.Call, *in) (op.List[part], error) { return op.List[part]{}, nil })
		get := list
		get.ID, get.Path = "get-thing", list.Path+"/{id}"
		op.Register(r, get, func(context.Context, *op.Call, *struct {
			ID string `path:"id"`
		},
		) (op.Tagged[part], error) {
			return op.Tagged[part]{}, nil
		})
		change := get
		change.ID, change.Method, change.Errors = "change-thing", http.MethodPatch, []api.Code{api.CodePreconditionFailed}
		op.Register(r, change, func(context.Context, *op.Call, *struct {
			ID   string `path:"id"`
			Body part
		},
		) (op.Tagged[part], error) {
			return op.Tagged[part]{}, nil
		})
		send := list
		send.ID, send.Method, send.Path, send.Auth, send.Scope = "send-file", http.MethodPost, "/files", op.KeyOnly, op.KeyWorkspace
		op.Register(r, send, func(context.Context, *op.Call, *struct{ File op.Upload }) (op.None, error) { return op.None{}, nil })
		export := list
		export.ID, export.Path, export.Streams = "export", "/workspaces/{workspaceId}/export", part{}
		op.Register(r, export, func(context.Context, *op.Call, *struct{}) (op.Stream, error) { return op.Stream{}, nil })
		op.Register(r, public("look", http.MethodGet, "/look.html"), func(context.Context, *op.Call, *struct{}) (op.Stream, error) { return op.Stream{}, nil })
		poke := spec("poke", http.MethodPost, "/poke")
		poke.BodyOptional, poke.NoReplay, poke.Auth = true, true, op.JWTOnly
		op.Register(r, poke, func(context.Context, *op.Call, *struct{ Body struct{} }) (op.None, error) { return op.None{}, nil })
	})
	at := func(method, path string) described {
		t.Helper()
		found, ok := ops[path][method]
		if !ok {
			t.Fatalf("%s %s is not in the document", method, path)
		}
		return found
	}
	params := func(d described) string {
		var all []string
		for _, p := range d.Parameters {
			all = append(all, p.In+":"+p.Name)
			if p.Required != (p.In == "path") {
				t.Errorf("%s: required is %v", p.Name, p.Required)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	failures := func(d described) string {
		var all []string
		for status, r := range d.Responses {
			if status >= "400" && status < "default" {
				all = append(all, status+" "+r.Description)
			}
		}
		slices.Sort(all)
		return strings.Join(all, "; ")
	}
	for _, c := range []struct{ method, path, params, failures, security string }{
		{
			"get", "/workspaces/{workspaceId}/things",
			"header:X-Workspace-ID path:workspaceId query:cursor query:deep query:depth query:limit query:offset query:tag",
			"400 validation_error; 401 unauthorized; 403 forbidden; 404 not_found; 410 gone; 429 rate_limited; 500 internal_error; 503 unavailable",
			`[{"jwt":[]},{"apiKey":[]}]`,
		},
		{
			"get", "/workspaces/{workspaceId}/things/{id}", "header:If-None-Match header:X-Workspace-ID path:id path:workspaceId",
			"400 validation_error; 401 unauthorized; 403 forbidden; 404 not_found; 410 gone; 429 rate_limited; 500 internal_error; 503 unavailable",
			`[{"jwt":[]},{"apiKey":[]}]`,
		},
		{
			"patch", "/workspaces/{workspaceId}/things/{id}", "header:If-Match header:X-Workspace-ID path:id path:workspaceId",
			"400 validation_error; 401 unauthorized; 403 forbidden; 404 not_found; 410 gone; 412 precondition_failed; 413 payload_too_large; 415 unsupported_media_type; 429 rate_limited; 500 internal_error; 503 unavailable",
			`[{"jwt":[]},{"apiKey":[]}]`,
		},
		{
			"post", "/files", "header:Idempotency-Key header:X-Workspace-ID",
			"400 validation_error; 401 unauthorized; 403 forbidden; 409 conflict; 410 gone; 413 payload_too_large; 415 unsupported_media_type; 429 rate_limited; 500 internal_error; 503 unavailable",
			`[{"apiKey":[]}]`,
		},
		{
			"post", "/poke", "",
			"400 validation_error; 401 unauthorized; 403 forbidden; 413 payload_too_large; 415 unsupported_media_type; 429 rate_limited; 500 internal_error; 503 unavailable",
			`[{"jwt":[]}]`,
		},
		{"get", "/look.html", "", "429 rate_limited; 500 internal_error; 503 unavailable", `[]`},
	} {
		d := at(c.method, c.path)
		if got := params(d); got != c.params {
			t.Errorf("%s %s has the parameters\n\t%s, want\n\t%s", c.method, c.path, got, c.params)
		}
		if got := failures(d); got != c.failures {
			t.Errorf("%s %s fails with\n\t%s, want\n\t%s", c.method, c.path, got, c.failures)
		}
		if got, _ := json.Marshal(d.Security); string(got) != c.security {
			t.Errorf("%s %s takes %s, want %s", c.method, c.path, got, c.security)
		}
	}
	if r := at("get", "/workspaces/{workspaceId}/things/{id}").Responses; r["304"].Description == "" || r["200"].Content["application/json"].Schema["$ref"] != "#/components/schemas/Part" {
		t.Errorf("a single thing answers %+v", r)
	}
	if forms := at("get", "/workspaces/{workspaceId}/things").Responses["200"].Content["application/json"].Schema["oneOf"].([]any); len(forms) != 2 {
		t.Errorf("a list has the forms %v", forms)
	}
	if body := at("post", "/poke").RequestBody; body.Required {
		t.Error("an optional body is required")
	}
	if body := at("patch", "/workspaces/{workspaceId}/things/{id}").RequestBody; !body.Required {
		t.Error("a required body is optional")
	}
	if body := at("post", "/files").RequestBody; body.Content["multipart/form-data"].Schema == nil {
		t.Errorf("a file is sent as %+v", body.Content)
	}
	if got := at("get", "/workspaces/{workspaceId}/export").Responses["200"].Content["application/json"].Schema["$ref"]; got != "#/components/schemas/Part" {
		t.Errorf("a stream of JSON is described as %v", got)
	}
	if got := at("get", "/look.html").Responses["200"].Content["text/html"].Schema["type"]; got != "string" {
		t.Errorf("a stream of HTML is described as %v", got)
	}
}

// A stream cannot be kept for a retry.
func TestRegisterRefusesToReplayAStream(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a POST that streams was let through")
		}
	}()
	op.Register(op.NewRouter(op.Deps{}), spec("stream", http.MethodPost, "/x"), func(context.Context, *op.Call, *struct{}) (op.Stream, error) {
		return op.Stream{}, nil
	})
}

// brokenDoor is an authenticator whose database is away.
type brokenDoor struct{}

func (brokenDoor) Authenticate(context.Context, string, func() error) (*access.Principal, error) {
	return nil, errors.New("dial tcp: hunter2")
}

// Also where it is not known who calls, the request is counted.
func TestBrokenAuthenticator(t *testing.T) {
	w := newWorld(t, declareNames, func(d *op.Deps) { d.Authenticator = brokenDoor{} })
	a := w.do(t, "POST", "/workspaces/"+home+"/names", "ada", `{"name":"x"}`)
	a.want(t, api.CodeInternal)
	if a.header.Get("X-RateLimit-Limit") == "" || strings.Contains(a.body, "hunter2") {
		t.Errorf("it answers %v %s", a.header, a.body)
	}
}
