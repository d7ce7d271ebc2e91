package op

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/semaphore"

	"bm/server/api"
)

// document gathers the OpenAPI description while operations are registered.
type document struct {
	openapi  *huma.OpenAPI
	registry huma.Registry
	known    map[reflect.Type]bool
	optional map[reflect.Type][]string // struct → JSON names of its Optional fields
	large    *semaphore.Weighted       // of all bodies, see [bodyDecoder]
}

func newDocument(title, doc string) *document {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[api.Time](), reflect.TypeFor[time.Time]())
	d := &document{
		registry: registry,
		known:    map[reflect.Type]bool{},
		optional: map[reflect.Type][]string{},
		large:    semaphore.NewWeighted(maxDecoding),
		openapi: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: title, Version: api.APIVersion, Description: doc},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"jwt":    {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A signed-in user's access token, from POST /auth/login"},
					"apiKey": {Type: "http", Scheme: "bearer", Description: "An API key, bmk_…, made with POST /api/v1/api-keys"},
				},
			},
			Servers: []*huma.Server{{URL: "/"}},
		},
	}
	d.schema(reflect.TypeFor[api.Envelope]())
	return d
}

// schema describes a type, by reference where it has a name.
func (d *document) schema(t reflect.Type) *huma.Schema {
	d.prepare(t)
	var s *huma.Schema
	if t.Kind() == reflect.Struct && t.Name() == "" {
		s = huma.SchemaFromType(d.registry, t)
		s.AdditionalProperties = nil
	} else {
		s = d.registry.Schema(t, true, "")
	}
	d.settle()
	return s
}

// settle makes the generated schemas say what the decoder does: unknown
// fields of a request are ignored, a null or an empty text clears an optional
// field. Arrays are never null.
func (d *document) settle() {
	for name, s := range d.registry.Map() {
		if s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
		for _, property := range s.Properties {
			if property.Type == huma.TypeArray {
				property.Nullable = false
			}
		}
		for _, optional := range d.optional[d.registry.TypeFromRef("#/components/schemas/"+name)] {
			property := s.Properties[optional]
			property.Nullable = true
			if property.Enum != nil && !slices.Contains(property.Enum, nil) {
				property.Enum = append(property.Enum, "", nil)
			}
		}
	}
}

// prepare teaches the generator every Optional within t: the generator must
// not see its Go fields, and the api package cannot know the generator.
func (d *document) prepare(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || d.known[t] {
		return
	}
	d.known[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		if elem, ok := optionalOf(f.Type); ok {
			d.registry.RegisterTypeAlias(f.Type, elem)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			d.optional[t] = append(d.optional[t], name)
			d.prepare(elem)
			continue
		}
		d.prepare(f.Type)
	}
}

func optionalOf(t reflect.Type) (reflect.Type, bool) {
	o, ok := reflect.Zero(t).Interface().(interface{ OptionalOf() reflect.Type })
	if !ok {
		return nil, false
	}
	return o.OptionalOf(), true
}

// add describes one operation and gives it its decoder.
func (d *document) add(op *operation, input, output reflect.Type) {
	item := &huma.Operation{
		OperationID: op.ID,
		Method:      op.Method,
		Path:        op.Path,
		Summary:     op.Summary,
		Description: op.describe(),
		Tags:        []string{op.Section},
		Responses:   map[string]*huma.Response{},
		Security:    op.security(),
	}
	for _, p := range op.binding.params {
		item.Parameters = append(item.Parameters, p.describe())
	}
	if _, ok := reflect.New(input).Interface().(paged); ok {
		item.Parameters = append(item.Parameters, pagingParams()...)
	}
	if op.Scope == Workspace || op.Scope == KeyWorkspace {
		item.Parameters = append(item.Parameters, &huma.Param{
			Name: "X-Workspace-ID", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "Selects the workspace where the key is tenant-wide",
		})
	}
	for _, m := range inBraces.FindAllStringSubmatch(op.Path, -1) {
		// The workspace is found by the checks, whether the input has it or not.
		if !slices.ContainsFunc(item.Parameters, func(p *huma.Param) bool { return p.In == "path" && p.Name == m[1] }) {
			item.Parameters = append(item.Parameters, &huma.Param{Name: m[1], In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
		}
	}
	item.Parameters = append(item.Parameters, op.headers(output)...)
	switch {
	case op.binding.upload != nil:
		file := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
			"file": {Type: huma.TypeString, Format: "binary", Description: "HTML or JSON; the first file of the form, whatever its field"},
		}}
		item.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: file}}}
	case op.binding.body != nil:
		field := input.FieldByIndex(op.binding.body)
		body := d.schema(field.Type)
		op.decoder = &bodyDecoder{registry: d.registry, schema: body, optional: op.BodyOptional, large: d.large}
		item.RequestBody = &huma.RequestBody{Required: !op.BodyOptional, Content: map[string]*huma.MediaType{"application/json": {Schema: body}}}
	}
	d.addResponses(op, item, output)
	d.openapi.AddOperation(item)
}

var inBraces = regexp.MustCompile(`\{([A-Za-z0-9_]+)\}`)

// headers are those of a request that the operation heeds beside its input's.
func (op *operation) headers(output reflect.Type) []*huma.Param {
	var params []*huma.Param
	add := func(name, meaning string) {
		params = append(params, &huma.Param{Name: name, In: "header", Description: meaning, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	_, tagged := reflect.Zero(output).Interface().(taggedOutput)
	if tagged && op.Method == http.MethodGet {
		add("If-None-Match", "An ETag that is known already: the answer is 304 where it still holds")
	}
	if slices.Contains(op.Errors, api.CodePreconditionFailed) {
		add("If-Match", "The ETag of the state that the change is meant for")
	}
	if op.replays() {
		add("Idempotency-Key", "At most 256 bytes: sent again within 7 days, the request has no second effect")
	}
	return params
}

func (d *document) addResponses(op *operation, item *huma.Operation, output reflect.Type) {
	ok := &huma.Response{Description: http.StatusText(op.Status), Headers: responseHeaders()}
	value := reflect.Zero(output).Interface()
	if tagged, is := value.(taggedOutput); is {
		value, _ = tagged.tagged()
		ok.Headers["ETag"] = &huma.Param{Schema: &huma.Schema{Type: huma.TypeString}}
		if op.Method == http.MethodGet {
			item.Responses["304"] = &huma.Response{Description: "Not modified", Headers: responseHeaders()}
		}
	}
	switch v := value.(type) {
	case None:
	case Stream:
		written := &huma.Schema{Type: huma.TypeString}
		if op.Streams != nil {
			written = d.schema(reflect.TypeOf(op.Streams))
		}
		ok.Content = map[string]*huma.MediaType{op.streamType(): {Schema: written}}
	case interface{ described() any }:
		ok.Content = jsonContent(d.schema(reflect.TypeOf(v.described())))
	case interface{ itemSchema() any }:
		ok.Content = jsonContent(d.listSchema(reflect.TypeOf(v.itemSchema())))
	default:
		ok.Content = jsonContent(d.schema(reflect.TypeOf(value)))
	}
	if op.replays() && !op.OnceOnly {
		ok.Headers["Idempotent-Replay"] = &huma.Param{
			Description: "true: the answer of the first request with this Idempotency-Key", Schema: &huma.Schema{Type: huma.TypeBoolean},
		}
	}
	item.Responses[strconv.Itoa(op.Status)] = ok
	envelope := jsonContent(d.schema(reflect.TypeFor[api.Envelope]()))
	for status, codes := range op.failures() {
		headers := responseHeaders()
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			headers["Retry-After"] = &huma.Param{Description: "In seconds", Schema: &huma.Schema{Type: huma.TypeInteger}}
		}
		item.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: strings.Join(codes, ", "), Headers: headers, Content: envelope,
		}
	}
	item.Responses["default"] = &huma.Response{
		Description: "A failure, in the one envelope", Headers: responseHeaders(), Content: envelope,
	}
}

// failures are the codes that an operation may answer with, by status: those
// of its checks, and those that its row adds.
func (op *operation) failures() map[int][]string {
	codes := append([]api.Code{api.CodeRateLimited, api.CodeInternal, api.CodeUnavailable}, op.Errors...)
	if op.Auth != Public {
		codes = append(codes, api.CodeUnauthorized)
	}
	if op.Auth == KeyOnly || op.Auth == JWTOnly || op.Scope == Tenant || op.Permission != NoPermission {
		codes = append(codes, api.CodeForbidden)
	}
	if strings.Contains(op.Path, "{") {
		codes = append(codes, api.CodeNotFound)
	}
	if op.Scope == Workspace && !op.Deleted || op.Scope == KeyWorkspace {
		codes = append(codes, api.CodeGone)
	}
	if op.binding.reads() || op.Scope == Workspace || op.Scope == KeyWorkspace {
		codes = append(codes, api.CodeValidation)
	}
	if op.binding.body != nil || op.binding.upload != nil {
		codes = append(codes, api.CodeUnsupportedMediaType, api.CodePayloadTooLarge)
	}
	if op.replays() {
		codes = append(codes, api.CodeConflict, api.CodeValidation)
	}
	slices.Sort(codes)
	byStatus := map[int][]string{}
	for _, code := range slices.Compact(codes) {
		byStatus[code.Status()] = append(byStatus[code.Status()], string(code))
	}
	return byStatus
}

func jsonContent(s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: s}}
}

// listSchema is a list in its two forms.
func (d *document) listSchema(slice reflect.Type) *huma.Schema {
	array := &huma.Schema{Type: huma.TypeArray, Items: d.schema(slice.Elem())}
	page := &huma.Schema{
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{
			"data":       {Type: huma.TypeArray, Items: d.schema(slice.Elem())},
			"pagination": d.schema(reflect.TypeFor[api.Pagination]()),
		},
		Required: []string{"data", "pagination"},
	}
	return &huma.Schema{OneOf: []*huma.Schema{array, page}}
}

func (s *Spec) streamType() string {
	switch {
	case strings.HasSuffix(s.Path, ".html"):
		return "text/html"
	case strings.HasSuffix(s.Path, "/events"):
		return "text/event-stream"
	}
	return "application/json"
}

func (s *Spec) describe() string {
	text := s.Doc
	for i, permission := range s.Permissions() {
		if i == 0 {
			text += "\n\nNeeds the permission "
		} else {
			text += " and "
		}
		text += "`" + string(permission) + "`"
	}
	if s.Permission != NoPermission {
		text += "."
	}
	if s.Extension {
		text += "\n\nAn extension: a server may not have it, see /.well-known/bm."
	}
	return strings.TrimSpace(text)
}

func (s *Spec) security() []map[string][]string {
	switch s.Auth {
	case KeyOnly:
		return []map[string][]string{{"apiKey": {}}}
	case JWTOnly:
		return []map[string][]string{{"jwt": {}}}
	case JWTOrKey:
		return []map[string][]string{{"jwt": {}}, {"apiKey": {}}}
	}
	return []map[string][]string{}
}

func (p *param) describe() *huma.Param {
	s := &huma.Schema{Type: huma.TypeString}
	switch p.kind.Kind() {
	case reflect.Bool:
		s.Type = huma.TypeBoolean
	case reflect.Int, reflect.Int64:
		s.Type = huma.TypeInteger
	case reflect.Slice:
		s = &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
	}
	for _, value := range p.enum {
		s.Enum = append(s.Enum, value)
	}
	number := func(n *int64) *float64 {
		if n == nil {
			return nil
		}
		f := float64(*n)
		return &f
	}
	s.Minimum, s.Maximum = number(p.minimum), number(p.maximum)
	return &huma.Param{Name: p.name, In: p.in, Required: p.required, Schema: s, Description: p.doc}
}

func pagingParams() []*huma.Param {
	one, most, zero := 1.0, float64(api.MaxPageSize), 0.0
	return []*huma.Param{
		{Name: "limit", In: "query", Description: "How many at most; 50 where absent", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &one, Maximum: &most}},
		{Name: "offset", In: "query", Description: "How many to pass over; not with cursor", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &zero}},
		{Name: "cursor", In: "query", AllowEmptyValue: true, Description: "Asks for the paged form: empty for the first page, then the page's next_cursor", Schema: &huma.Schema{Type: huma.TypeString}},
	}
}

func responseHeaders() map[string]*huma.Param {
	number := &huma.Schema{Type: huma.TypeInteger}
	return map[string]*huma.Param{
		"X-Correlation-ID":      {Schema: &huma.Schema{Type: huma.TypeString}},
		"X-RateLimit-Limit":     {Schema: number},
		"X-RateLimit-Remaining": {Schema: number},
		"X-RateLimit-Reset":     {Schema: number, Description: "Seconds since 1970"},
	}
}

// render finishes the document.
func (d *document) render() (asJSON, asYAML []byte, err error) {
	for _, section := range d.sections() {
		d.openapi.Tags = append(d.openapi.Tags, &huma.Tag{Name: section})
	}
	asJSON, err = json.MarshalIndent(d.openapi, "", "  ")
	if err != nil {
		return nil, nil, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	var generic any
	if err := json.Unmarshal(asJSON, &generic); err != nil {
		return nil, nil, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	if asYAML, err = yaml.Marshal(generic); err != nil {
		return nil, nil, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	return asJSON, asYAML, nil
}

func (d *document) sections() []string {
	seen := map[string]bool{}
	var names []string
	for _, item := range d.openapi.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Patch, item.Delete} {
			if op != nil && !seen[op.Tags[0]] {
				seen[op.Tags[0]] = true
				names = append(names, op.Tags[0])
			}
		}
	}
	sort.Strings(names)
	return names
}
