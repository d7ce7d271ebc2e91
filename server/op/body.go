package op

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"golang.org/x/sync/semaphore"

	"bm/server/api"
)

// checkMediaType reports whether the body is declared as one that the
// operation takes. An absent Content-Type is fine where the body may be.
func checkMediaType(r *http.Request, want string, optional bool) error {
	given := r.Header.Get("Content-Type")
	if r.ContentLength == 0 && (optional || given == "") || given == "" && optional {
		return nil
	}
	media, params, err := mime.ParseMediaType(given)
	charset := strings.ToLower(params["charset"])
	if err != nil || media != want || charset != "" && charset != "utf-8" {
		return api.Errorf(api.CodeUnsupportedMediaType, "the body must be sent as Content-Type: %s", want)
	}
	return nil
}

// bodyTime is how long a JSON body may take, whatever time the work on it has.
const bodyTime = 2 * time.Minute

// readBody reads at most limit bytes, for no longer than within where that is
// positive: whoever sends one byte a second must not hold a handler for ever.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, within time.Duration) (body []byte, err error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if within = min(within, bodyTime); within > 0 {
		controller := http.NewResponseController(w)
		// A test's recorder has no deadlines; every real connection has. It
		// is lifted when the body is whole: it would end the request else.
		if controller.SetReadDeadline(time.Now().Add(within)) == nil {
			defer func() {
				if err == nil {
					_ = controller.SetReadDeadline(time.Time{}) // it was set a moment ago
				}
			}()
		}
	}
	var buf bytes.Buffer
	buf.Grow(int(min(max(r.ContentLength, 0)+bytes.MinRead, firstPiece)))
	_, err = buf.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge(limit)
	}
	if err != nil {
		return nil, truncated(r, err)
	}
	return buf.Bytes(), nil
}

// firstPiece is what is made ready for a body before any of it came.
const firstPiece = 64 << 10

// truncated tells a client that left in the middle of its body from a slow one.
func truncated(r *http.Request, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return api.Errorf(api.CodeValidation, "the body ended before its announced length")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("read the body: %w", context.DeadlineExceeded)
	}
	if ctxErr := r.Context().Err(); ctxErr != nil {
		return ctxErr
	}
	return api.Errorf(api.CodeValidation, "the body could not be read to its end")
}

func tooLarge(limit int64) error {
	return api.Errorf(api.CodePayloadTooLarge, "the body is larger than %d bytes", limit)
}

// bodyDecoder turns JSON into an input's Body, after checking it against the
// schema that the OpenAPI document shows.
type bodyDecoder struct {
	registry huma.Registry
	schema   *huma.Schema
	optional bool
	// large bounds how much of large bodies is decoded at once: each takes
	// many times its size.
	large *semaphore.Weighted
}

const (
	smallBody   = 32 << 10
	maxDecoding = api.MaxChangesBody + 4<<20
)

func (d *bodyDecoder) decode(ctx context.Context, raw []byte, into reflect.Value) error {
	if weight := int64(len(raw)); weight > smallBody {
		if err := d.large.Acquire(ctx, weight); err != nil {
			return fmt.Errorf("wait for other large bodies: %w", err)
		}
		defer d.large.Release(weight)
	}
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(raw) == 0 {
		if d.optional {
			return nil
		}
		return api.Invalid("body", "is required")
	}
	// encoding/json would silently replace invalid UTF-8.
	if !utf8.Valid(raw) {
		return api.Invalid("body", "is not valid UTF-8")
	}
	if !json.Valid(raw) {
		return malformed(raw, json.Unmarshal(raw, &untaken{}))
	}
	if err := inspect(raw); err != nil {
		return err
	}
	if readsItself(into, raw) {
		return nil
	}
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		return malformed(raw, err)
	}
	strays := d.settle(d.schema, document)
	if err := d.validate(document); err != nil {
		return err
	}
	if strays {
		var err error
		if raw, err = d.withoutStrays(raw); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(raw, into.Addr().Interface()); err != nil {
		return malformed(raw, err)
	}
	return nil
}

// readsItself fills a body that has a way of its own to read what is in order.
func readsItself(into reflect.Value, raw []byte) bool {
	type reader interface{ ReadBody(raw []byte) bool }
	if _, ok := into.Addr().Interface().(reader); !ok {
		return false
	}
	read := reflect.New(into.Type())
	if !read.Interface().(reader).ReadBody(raw) {
		return false
	}
	into.Set(read.Elem())
	return true
}

// untaken is any JSON, of which nothing is kept.
type untaken struct{}

func (*untaken) UnmarshalJSON([]byte) error { return nil }

// settle brings a document to what it means: an empty text where a text has a
// form of its own clears like null does, and a member that differs from a
// field in the case of its letters is not that field, though encoding/json
// would take it for it. It reports whether there was such a stray.
func (d *bodyDecoder) settle(s *huma.Schema, value any) (strays bool) {
	for s.Ref != "" {
		s = d.registry.SchemaFromRef(s.Ref)
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if s.Items != nil && d.settle(s.Items, item) {
				strays = true
			}
		}
	case map[string]any:
		for name, item := range v {
			property := s.Properties[name]
			switch {
			case property == nil:
				if isStray(s, name) {
					delete(v, name)
					strays = true
				}
			case property.Nullable && item == "" && property.Type == huma.TypeString && (property.Format != "" || property.Enum != nil):
				v[name] = nil
			case d.settle(property, item):
				strays = true
			}
		}
	}
	return strays
}

func isStray(s *huma.Schema, name string) bool {
	for property := range s.Properties {
		if strings.EqualFold(property, name) {
			return true
		}
	}
	return false
}

// withoutStrays is the document without its strays, its numbers as they were.
func (d *bodyDecoder) withoutStrays(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, malformed(raw, err)
	}
	d.settle(d.schema, document)
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write the document without its strays: %w", err)
	}
	return raw, nil
}

// validate says which fields do not fit, without their values.
func (d *bodyDecoder) validate(document any) error {
	var result huma.ValidateResult
	path := huma.NewPathBuffer(make([]byte, 0, 64), 0)
	path.Push("body")
	huma.Validate(d.registry, d.schema, path, huma.ModeWriteToServer, document, &result)
	details := make([]api.FieldError, 0, len(result.Errors))
	for _, problem := range result.Errors {
		if detail, ok := errors.AsType[*huma.ErrorDetail](problem); ok {
			details = append(details, describe(detail))
		}
	}
	return api.InvalidFields(details)
}

// describe puts a problem that the schema found into our words: a member that
// is missing is named like one that is wrong.
func describe(problem *huma.ErrorDetail) api.FieldError {
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	if name, ok := strings.CutPrefix(problem.Message, before); ok {
		if name, ok = strings.CutSuffix(name, after); ok {
			return api.FieldError{Field: problem.Location + "." + name, Message: "is required"}
		}
	}
	return api.FieldError{Field: problem.Location, Message: problem.Message}
}

// malformed says what of a body could not be read, and where, without its text.
func malformed(raw []byte, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return api.Invalid("body", "is not JSON: %s at byte %d", strings.TrimPrefix(e.Error(), "json: "), e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ") // after it comes the number itself
		field := "body." + e.Field
		if e.Field == "" {
			field = placeAt(raw, e.Offset)
		}
		return api.Invalid(field, "is a %s that does not fit", kind)
	}
	return api.Invalid("body", "does not fit: %v", err)
}
