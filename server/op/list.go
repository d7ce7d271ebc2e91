package op

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"bm/server/api"
)

// Paging is the part of a list's query that says which page: embed it in the
// input. With `cursor` in the query, empty for the first page, the list is
// answered as {data, pagination}, else as a plain array.
type Paging struct {
	// Limit is how many to answer at most; Given tells whether it was asked for.
	Limit  int
	Given  bool
	Offset int
	// ByCursor is true where the query has a cursor.
	ByCursor bool
	cursor   string
	// After is the position that a cursor goes on from; nil for the first page.
	After json.RawMessage
}

func (p *Paging) bindQuery(query url.Values) []api.FieldError {
	p.Limit = api.DefaultPageSize
	var problems []api.FieldError
	bad := func(field, message string) {
		problems = append(problems, api.FieldError{Field: "query." + field, Message: message})
	}
	for _, name := range []string{"limit", "offset", "cursor"} {
		if len(query[name]) > 1 {
			bad(name, "is given more than once")
		}
	}
	if query.Has("limit") {
		n, err := strconv.Atoi(query.Get("limit"))
		if err != nil || n < 1 || n > api.MaxPageSize {
			bad("limit", "must be a whole number from 1 to 200")
		}
		p.Limit, p.Given = n, true
	}
	if query.Has("offset") {
		n, err := strconv.Atoi(query.Get("offset"))
		if err != nil || n < 0 {
			bad("offset", "must be a whole number of 0 or more")
		}
		p.Offset = n
	}
	if query.Has("cursor") {
		p.ByCursor, p.cursor = true, query.Get("cursor")
		if query.Has("offset") {
			bad("offset", "cannot be combined with cursor")
		}
	}
	return problems
}

// paging finds itself through embedding.
func (p *Paging) paging() *Paging { return p }

type paged interface{ paging() *Paging }

// List is one page. Position is of the last item where more follow: a cursor
// is made of it, and a later request finds it in [Paging.After].
type List[T any] struct {
	Items    []T
	More     bool
	Position any
}

// Listed makes a page of a query that was asked for one item more than the
// page holds; position is taken of the last that is shown.
func Listed[T any](items []T, limit int, position func(T) any) List[T] {
	if len(items) <= limit {
		return List[T]{Items: items}
	}
	items = items[:limit]
	return List[T]{Items: items, More: true, Position: position(items[limit-1])}
}

// listOutput is what the router asks of a [List].
type listOutput interface {
	parts() (items any, more bool, position any)
	itemSchema() (item any)
}

func (l List[T]) parts() (any, bool, any) {
	if l.Items == nil {
		l.Items = []T{}
	}
	return l.Items, l.More, l.Position
}

func (l List[T]) itemSchema() any { var zero []T; return zero }

// Small is a set that is answered whole unless a page of it is asked for.
// Items are in the list's order; Key tells them apart.
type Small[T any] struct {
	Items []T
	Key   func(T) string
}

type smallOutput interface {
	window(p *Paging) (listOutput, error)
}

func (s Small[T]) window(p *Paging) (listOutput, error) {
	items := s.Items
	if !p.Given && !p.ByCursor {
		return List[T]{Items: items[min(p.Offset, len(items)):]}, nil
	}
	start := p.Offset
	if p.After != nil {
		var last smallPosition
		if err := json.Unmarshal(p.After, &last); err != nil {
			return nil, badCursor()
		}
		start = slices.IndexFunc(items, func(item T) bool { return s.Key(item) == last.Key }) + 1
		if start == 0 {
			// It is gone. No more follow it than did then: an item may come
			// twice, none is passed over.
			start = max(0, min(last.Before, len(items)-last.Rest))
		}
	}
	start = min(start, len(items))
	list := List[T]{Items: items[start:]}
	if end := start + p.Limit; end < len(items) {
		list = List[T]{Items: items[start:end], More: true, Position: smallPosition{
			Key: s.Key(items[end-1]), Before: end - 1, Rest: len(items) - end,
		}}
	}
	return list, nil
}

// smallPosition is where a page of a small set ended: at which item, and how
// many stood before and behind it.
type smallPosition struct {
	Key    string `json:"k"`
	Before int    `json:"b"`
	Rest   int    `json:"r"`
}

func (s Small[T]) itemSchema() any { var zero []T; return zero }

func badCursor() error {
	return api.Invalid("query.cursor", "is not one that this list gave out for this query")
}

// cursorFor seals a position to the caller and the query that it was reached with.
func cursorFor(key []byte, call *Call, position any) (string, error) {
	raw, err := json.Marshal(position)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(seal(key, call, raw), raw...)), nil
}

// openCursor is the position in a cursor that was given out for this query.
func openCursor(key []byte, call *Call, cursor string) (json.RawMessage, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	// The decoder passes over line breaks and over bits that stand for nothing.
	if err != nil || len(sealed) < sealSize || base64.RawURLEncoding.EncodeToString(sealed) != cursor {
		return nil, badCursor()
	}
	raw := sealed[sealSize:]
	if !hmac.Equal(sealed[:sealSize], seal(key, call, raw)) {
		return nil, badCursor()
	}
	return raw, nil
}

const sealSize = 16

func seal(key []byte, call *Call, raw []byte) []byte {
	query := call.Request.URL.Query()
	query.Del("cursor")
	query.Del("limit")
	account := ""
	if call.Principal != nil {
		account = call.Principal.AccountID
	}
	mac := hmac.New(sha256.New, key)
	// Quoted, so that no two ways of cutting them up look the same.
	_, _ = fmt.Fprintf(mac, "%q %q %q %q %q ", account, call.Scope.TenantID, call.Scope.WorkspaceID,
		call.Request.URL.Path, query.Encode())
	mac.Write(raw)
	return mac.Sum(nil)[:sealSize]
}
