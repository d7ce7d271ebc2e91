package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bm/server/api"
	"bm/server/op"
)

//go:embed docs.gohtml
var docsTemplate string

//go:embed style.css
var style string

// Docs serves the OpenAPI document as a page. It is made once: document is the
// document's JSON, specs the operations in the order in which they are shown,
// requests how many of them this server takes.
func Docs(document []byte, specs []op.Spec, requests []Limit) (http.Handler, error) {
	page, err := newPage(document, specs)
	if err != nil {
		return nil, err
	}
	page.Limits = append(page.Limits, requests...)
	tmpl, err := template.New("docs").Funcs(template.FuncMap{"type": typeOf, "limits": limitsOf, "prose": prose, "path": breakable}).Parse(docsTemplate)
	if err != nil {
		return nil, fmt.Errorf("read the page's template: %w", err)
	}
	var body bytes.Buffer
	if err := tmpl.Execute(&body, page); err != nil {
		return nil, fmt.Errorf("make the page: %w", err)
	}
	return serve(body.Bytes()), nil
}

// serve answers with a finished page, which may load nothing and run nothing.
func serve(body []byte) http.Handler {
	hash := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Length", strconv.Itoa(len(body)))
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		_, _ = w.Write(body) // the client has left: there is nobody to tell
	})
}

// page is what the template shows.
type page struct {
	Title, Version, Doc string
	Style               template.CSS
	Sections            []section
	Types               []namedType
	Errors              []failure
	Limits              []Limit
}

type section struct {
	Name, Anchor string
	Operations   []operation
}

type operation struct {
	ID, Method, Path, Summary string
	Paragraphs                []string
	Credential                string
	Permissions               []string
	Extension                 bool
	Parameters                []parameter
	Body                      *body
	Responses                 []response
	Failures                  []string
}

type body struct {
	Media    string
	Required bool
	Schema   *schema
	Fields   []field // of the schema, where it is an object
}

type response struct {
	Status, Text, Media string
	Schema              *schema
}

type namedType struct {
	Name   string
	Fields []field
	Schema *schema
}

type failure struct {
	Code   api.Code
	Status int
}

func newPage(document []byte, specs []op.Spec) (*page, error) {
	var doc openapi
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	about, _, _ := strings.Cut(doc.Info.Description, "\n\n") // what follows has its tables here
	p := &page{
		Title: doc.Info.Title, Version: doc.Info.Version, Doc: about,
		Style: template.CSS(style), Errors: failures(), Limits: limits(), //nolint:gosec // it is our own file
	}
	for _, spec := range specs {
		described := doc.Paths[spec.Path][strings.ToLower(spec.Method)]
		if described == nil {
			return nil, fmt.Errorf("%s %s is not in the OpenAPI document", spec.Method, spec.Path)
		}
		i := slices.IndexFunc(p.Sections, func(s section) bool { return s.Name == spec.Section })
		if i < 0 {
			i = len(p.Sections)
			p.Sections = append(p.Sections, section{Name: spec.Section, Anchor: anchor(spec.Section)})
		}
		p.Sections[i].Operations = append(p.Sections[i].Operations, doc.operation(spec, described))
	}
	for _, name := range sortedKeys(doc.Components.Schemas) {
		s := doc.Components.Schemas[name]
		p.Types = append(p.Types, namedType{Name: name, Fields: s.fields(), Schema: s})
	}
	return p, nil
}

func (d *openapi) operation(spec op.Spec, described *describedOperation) operation {
	o := operation{
		ID: spec.ID, Method: spec.Method, Path: spec.Path, Summary: spec.Summary, Extension: spec.Extension,
		Credential: map[op.Auth]string{
			op.Public: "none", op.KeyOnly: "an API key", op.JWTOnly: "a signed-in user's token", op.JWTOrKey: "a signed-in user's token or an API key",
		}[spec.Auth],
	}
	if spec.Doc != "" {
		o.Paragraphs = strings.Split(spec.Doc, "\n\n")
	}
	for _, permission := range spec.Permissions() {
		o.Permissions = append(o.Permissions, string(permission))
	}
	o.Parameters = described.Parameters
	for media, content := range described.RequestBody.Content {
		o.Body = &body{Media: media, Required: described.RequestBody.Required, Schema: content.Schema, Fields: d.resolve(content.Schema).fields()}
	}
	for _, status := range sortedKeys(described.Responses) {
		r := described.Responses[status]
		switch {
		case status == "default":
		case status >= "400":
			o.Failures = append(o.Failures, strings.Split(r.Description, ", ")...)
		default:
			shown := response{Status: status, Text: r.Description}
			for media, content := range r.Content {
				shown.Media, shown.Schema = media, content.Schema
			}
			o.Responses = append(o.Responses, shown)
		}
	}
	return o
}

// failures are the error codes with their statuses, by status.
func failures() []failure {
	var all []failure
	for _, code := range api.Codes() {
		all = append(all, failure{code, code.Status()})
	}
	slices.SortFunc(all, func(a, b failure) int {
		if a.Status != b.Status {
			return a.Status - b.Status
		}
		return strings.Compare(string(a.Code), string(b.Code))
	})
	return all
}

// anchor is a name as part of an address.
func anchor(name string) string {
	return "section-" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
}
