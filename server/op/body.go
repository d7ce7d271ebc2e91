package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"bm/server/api"
)

// checkMediaType reports whether the body is declared as one that the
// operation takes. An absent Content-Type is fine where the body may be.
func checkMediaType(r *http.Request, want string, optional bool) error {
	given := r.Header.Get("Content-Type")
	if given == "" && (optional || r.ContentLength == 0) {
		return nil
	}
	media, params, err := mime.ParseMediaType(given)
	charset := strings.ToLower(params["charset"])
	if err != nil || media != want || charset != "" && charset != "utf-8" {
		return api.Errorf(api.CodeUnsupportedMediaType, "the body must be sent as Content-Type: %s", want)
	}
	return nil
}

// readBody reads at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength))
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge(limit)
	}
	if err != nil {
		return nil, truncated(r, err)
	}
	return buf.Bytes(), nil
}

// truncated tells a client that left in the middle of its body from a slow one.
func truncated(r *http.Request, err error) error {
	if ctxErr := r.Context().Err(); ctxErr != nil {
		return ctxErr
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return api.Errorf(api.CodeValidation, "the body ended before its announced length")
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
}

func (d *bodyDecoder) decode(raw []byte, into reflect.Value) error {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(raw) == 0 {
		if d.optional {
			return nil
		}
		return api.Invalid("body", "is required")
	}
	// encoding/json would silently replace invalid UTF-8; NUL, which JSON
	// spells \u0000, PostgreSQL could not store.
	if !utf8.Valid(raw) {
		return api.Invalid("body", "is not valid UTF-8")
	}
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		return malformed(err)
	}
	if path, ok := findNUL("body", document); ok {
		return api.Invalid(path, "holds a NUL character")
	}
	if err := d.validate(document); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into.Addr().Interface()); err != nil {
		return malformed(err)
	}
	return nil
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
			details = append(details, api.FieldError{Field: detail.Location, Message: detail.Message})
		}
	}
	return api.InvalidFields(details)
}

func malformed(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return api.Invalid("body", "is not JSON: %s at byte %d", strings.TrimPrefix(e.Error(), "json: "), e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := "body"
		if e.Field != "" {
			field += "." + e.Field
		}
		return api.Invalid(field, "is a %s where another type is expected", e.Value)
	}
	return api.Invalid("body", "does not fit: %v", err)
}

// findNUL looks for a NUL character in any string or key of a document.
func findNUL(path string, value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return path, strings.IndexByte(v, 0) >= 0
	case []any:
		for i, item := range v {
			if found, ok := findNUL(fmt.Sprintf("%s[%d]", path, i), item); ok {
				return found, true
			}
		}
	case map[string]any:
		for key, item := range v {
			if strings.IndexByte(key, 0) >= 0 {
				return path, true
			}
			if found, ok := findNUL(path+"."+key, item); ok {
				return found, true
			}
		}
	}
	return "", false
}
