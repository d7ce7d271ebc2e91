package op

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bm/server/api"
)

// None is the output of an operation without a body.
type None struct{}

// Tagged is an output with an ETag. A GET whose If-None-Match names it is
// answered 304.
type Tagged[T any] struct {
	Value T
	ETag  string
}

// RevTag is the ETag of a row at a rev.
func RevTag(rev int64) string { return `"` + strconv.FormatInt(rev, 10) + `"` }

// ContentTag is the ETag of what has no rev: it stands for what a reader is
// shown.
func ContentTag(value any) (string, error) {
	body, err := encode(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`, nil
}

// WithContentTag is an output with the ETag of its content.
func WithContentTag[T any](value T, err error) (Tagged[T], error) {
	if err != nil {
		return Tagged[T]{}, err
	}
	tag, err := ContentTag(value)
	return Tagged[T]{Value: value, ETag: tag}, err
}

// TagMatches reports whether an If-Match or If-None-Match header names tag.
func TagMatches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == "*" || candidate == tag {
			return true
		}
	}
	return false
}

type taggedOutput interface {
	tagged() (value any, etag string)
}

func (t Tagged[T]) tagged() (any, string) { return t.Value, t.ETag }

// Encoded is a T whose JSON was written already.
type Encoded[T any] struct{ JSON []byte }

// AppendJSON appends the JSON.
func (e Encoded[T]) AppendJSON(dst []byte) []byte {
	if dst == nil {
		return e.JSON
	}
	return append(dst, e.JSON...)
}

func (e Encoded[T]) described() any { var zero T; return zero }

// Stream is an output that is written while it is made. An error after the
// first byte cuts the connection, so that nobody takes a part for the whole.
type Stream struct {
	ContentType string
	// Filename makes it an attachment.
	Filename string
	// Write makes the body; for a HEAD it is not called. ctx ends when the
	// client leaves.
	Write func(ctx context.Context, w io.Writer) error
}

// Flush sends what was written so far to the client.
func Flush(w io.Writer) error {
	if err := http.NewResponseController(w.(http.ResponseWriter)).Flush(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// encodePage writes the cursor form of a list.
func encodePage(items any, pagination api.Pagination) ([]byte, error) {
	data, err := encode(items)
	if err != nil {
		return nil, err
	}
	tail, err := encode(pagination)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(`{"data":`), data, []byte(`,"pagination":`), tail, []byte(`}`)), nil
}

// texts is how long the texts of bookmarks are: a list of long ones is not
// moved from one buffer to the next while it is written.
func texts(items []api.Bookmark) (n int) {
	for i := range items {
		n += len(items[i].URL) + len(items[i].Title) + len(items[i].Description) + len(items[i].ReaderExcerpt)
	}
	return n
}

// appendAll writes a list of what writes itself, beside so many bytes of texts.
func appendAll[T any, P interface {
	*T
	appender
}](items []T, texts int) []byte {
	dst := make([]byte, 0, 1024*len(items)+texts+2)
	dst = append(dst, '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = P(&items[i]).AppendJSON(dst)
	}
	return append(dst, ']')
}

// appender is what writes its own JSON, on the hot paths.
type appender interface {
	AppendJSON(dst []byte) []byte
}

// encode writes v as JSON, without HTML's escapes.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case appender:
		return v.AppendJSON(nil), nil
	case api.Bookmark:
		return v.AppendJSON(nil), nil
	case api.Folder:
		return v.AppendJSON(nil), nil
	case api.PushResponse:
		return v.AppendJSON(nil), nil
	case []api.Bookmark:
		return appendAll(v, texts(v)), nil
	case []api.Folder:
		return appendAll(v, 0), nil
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the response: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// CheckMatch refuses an edit whose If-Match names another state of the row
// than the one that is there.
func (c *Call) CheckMatch(etag string) error {
	given := strings.Join(c.Request.Header.Values("If-Match"), ",")
	if given == "" || TagMatches(given, etag) {
		return nil
	}
	return api.Errorf(api.CodePreconditionFailed, "it has changed meanwhile: read it again, and send If-Match with its ETag")
}

// CheckContent is CheckMatch for what has no rev.
func (c *Call) CheckContent(value any) error {
	if len(c.Request.Header.Values("If-Match")) == 0 {
		return nil
	}
	tag, err := ContentTag(value)
	if err != nil {
		return err
	}
	return c.CheckMatch(tag)
}
