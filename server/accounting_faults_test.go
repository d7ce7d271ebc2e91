package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/op"
	"bm/server/sqldb/sqldbtest"
)

// nasty are values that fit few fields.
var nasty = []any{
	nil, "", " ", "x", true, 0, -1, 1.5, 1e18, json.Number("9223372036854775807"), json.Number("-9223372036854775808"), json.Number("1e400"),
	[]any{},
	[]any{nil},
	[]any{""},
	[]any{1},
	[]any{[]any{}},
	map[string]any{},
	map[string]any{"a": nil},
	map[string]any{"A": "x"},
	"\u202e\ufeff\U0010ffff\ufffe", "%_\\'\";--", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-01-01T00:00:00+23:59",
	"javascript:alert(1)", "https://" + strings.Repeat("a", 70_000), strings.Repeat("ü", 10_000), nobodys, strings.ToUpper(nobodys),
	"root", "../..", "is:dead OR (", "-", "relevance", "*",
}

// inPath are values for a part of a path, as they are sent.
var inPath = []string{"x", "%00", "%ff", "%2f", "%2e%2e", "%20", "%F0%9F%98%80", "0", "-1", "null", "'", "%25", strings.Repeat("a", 5_000), nobodys, strings.ToUpper(nobodys)}

// broken are bodies that no operation takes.
var broken = map[string]string{
	"cut off":            `{"name":`,
	"two documents":      `{} {}`,
	"an array":           `[]`,
	"a text":             `"x"`,
	"null":               `null`,
	"invalid UTF-8":      "{\"z\":\"\xff\"}",
	"a NUL":              `{"z":"\u0000"}`,
	"half a character":   `{"z":["\ud800"]}`,
	"a name twice":       `{"z":1,"z":2}`,
	"deep":               strings.Repeat(`{"z":[`, 50_000),
	"too large a number": `{"z":1e999}`,
}

// No value of any field, query, header or part of a path is an internal error,
// whatever else it is; and every answer is as the document says.
func TestNoValueBreaksAnOperation(t *testing.T) {
	if testing.Short() {
		t.Skip("many thousand requests, one after another")
	}
	for name, config := range map[string]func(*testing.T) server.Config{
		"sqlite":   func(t *testing.T) server.Config { return server.Config{Dir: t.TempDir()} },
		"postgres": func(t *testing.T) server.Config { return server.Config{DatabaseURL: sqldbtest.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, config(t))
			document := documentOf(t, s)
			for _, spec := range s.Specs() {
				how, ok := calls[spec.ID]
				if !ok || how.ownSession {
					continue // the other tests say so; a session that ends answers 401 to everything
				}
				t.Run(spec.ID, func(t *testing.T) {
					ordeal{trial{s, spec, how}, document}.run(t)
				})
			}
		})
	}
}

// document is the part of the OpenAPI document that tells what to spoil.
type document struct {
	Paths map[string]map[string]struct {
		Parameters  []struct{ Name, In string }
		RequestBody struct {
			Content map[string]struct{ Schema fields }
		}
	}
	Components struct{ Schemas map[string]fields }
}

// fields are the members of a schema.
type fields struct {
	Ref        string `json:"$ref"`
	Properties map[string]fields
	Items      *fields
}

func documentOf(t *testing.T, s *stage) *document {
	t.Helper()
	d := decode[document](t, call(t, "GET", s.URL+"/openapi.json", "", ""), 200)
	return &d
}

func (d *document) resolve(f fields) fields {
	if f.Ref != "" {
		return d.Components.Schemas[f.Ref[strings.LastIndexByte(f.Ref, '/')+1:]]
	}
	return f
}

// ordeal is one operation before all values.
type ordeal struct {
	trial
	document *document
}

func (o ordeal) run(t *testing.T) {
	by := o.credentials(t, o.s.ada)[0]
	try := func(what string, r request, headers ...string) {
		t.Helper()
		a := o.s.send(t, r, by.token, append(slices.Clone(by.headers), headers...)...)
		if a.status >= 500 {
			t.Errorf("%s: %d %.300s", what, a.status, a.body)
		}
	}
	described := o.document.Paths[o.spec.Path][strings.ToLower(o.spec.Method)]
	sound := o.request(t, o.s.ada)
	for name := range sound.vars {
		for _, value := range inPath {
			try(fmt.Sprintf("{%s} = %.40s", name, value), sound.with(name, value))
		}
	}
	for _, p := range described.Parameters {
		for _, value := range nasty {
			text := fmt.Sprint(value)
			if len(text) > 20_000 {
				continue // longer than a request's head may be
			}
			r := sound
			switch {
			case p.In == "query" && p.Name == "wait": // it would wait
			case p.In == "query":
				r.query = "?" + p.Name + "=" + escaped(text)
				try(fmt.Sprintf("?%s=%.40s", p.Name, text), r)
			case p.In == "header" && visible(text) && p.Name != "Idempotency-Key":
				try(fmt.Sprintf("%s: %.40s", p.Name, text), r, p.Name, text)
			}
		}
	}
	o.brokenBodies(t, sound, by)
	schema := o.document.resolve(described.RequestBody.Content["application/json"].Schema)
	if len(schema.Properties) == 0 || o.spec.Rate == op.RateAuth {
		return // signing in compares passwords for as long as it takes
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(sound.body), &body); err != nil {
		t.Fatal(err)
	}
	o.spoil(body, schema, func(what string) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r := sound
		r.body = string(text)
		try(what, r)
	})
}

// brokenBodies: what is no body of the operation is refused before it has any
// effect, with the code that says how.
func (o ordeal) brokenBodies(t *testing.T, r request, by credential) {
	send := func(body, kind string) answer {
		r.body, r.kind = body, kind
		return o.s.send(t, r, by.token, by.headers...)
	}
	switch {
	case o.how.form:
		whole, kind := upload(t)
		code(t, send(whole, "application/json"), api.CodeUnsupportedMediaType)
		code(t, send("{}", "application/json"), api.CodeUnsupportedMediaType)
		code(t, send(whole[:len(whole)-40], kind), api.CodeValidation)
		code(t, send("", kind), api.CodeValidation)
	case o.spec.Method == http.MethodPost || o.spec.Method == http.MethodPatch:
		for name, body := range broken {
			if a := send(body, "application/json"); a.status != 400 {
				t.Errorf("%s: %d %.300s", name, a.status, a.body)
			}
		}
		code(t, send("{}", "text/plain"), api.CodeUnsupportedMediaType)
		code(t, send(strings.Repeat(" ", int(max(o.spec.MaxBody, api.MaxJSONBody))+1), "application/json"), api.CodePayloadTooLarge)
		if !o.spec.BodyOptional {
			code(t, send("", ""), api.CodeValidation)
			code(t, send("{}", ""), api.CodeUnsupportedMediaType)
		}
	}
}

// spoil gives every member of a body, and of the objects in it, every value.
func (o ordeal) spoil(body map[string]any, schema fields, try func(what string)) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		before, had := body[name]
		for _, value := range nasty {
			body[name] = value
			try(fmt.Sprintf("%s = %.40v", name, value))
		}
		property := o.document.resolve(schema.Properties[name])
		if property.Items != nil {
			if items := o.document.resolve(*property.Items); len(items.Properties) > 0 {
				item := map[string]any{}
				if list, _ := before.([]any); len(list) > 0 {
					item, _ = list[0].(map[string]any)
				}
				body[name] = []any{item}
				o.spoil(item, items, try)
			}
		}
		if len(property.Properties) > 0 {
			inner, _ := before.(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			body[name] = inner
			o.spoil(inner, property, try)
		}
		if body[name] = before; !had {
			delete(body, name)
		}
	}
}

// escaped is a value as a query holds it, byte by byte.
func escaped(text string) string {
	var out strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&out, "%%%02x", text[i])
	}
	return out.String()
}

// visible: what a header can carry.
func visible(text string) bool {
	return text == http.CanonicalHeaderKey(text) || !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
