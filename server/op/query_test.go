package op_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
)

// shelf is a list that tests change between two pages.
type shelf struct{ items []string }

func (s *shelf) declare(r *op.Router) {
	list := spec("list-things", http.MethodGet, "/things")
	op.Register(r, list, func(_ context.Context, _ *op.Call, in *struct {
		op.Paging
		Tag   []string `query:"tag"`
		Sort  string   `query:"sort" enum:"name,-name"`
		Deep  bool     `query:"deep"`
		Depth int      `query:"depth" minimum:"1" maximum:"9"`
		Match string   `header:"X-Match"`
	},
	) (op.List[string], error) {
		start := in.Offset
		if in.After != nil {
			if err := json.Unmarshal(in.After, &start); err != nil {
				return op.List[string]{}, fmt.Errorf("read the position: %w", err)
			}
		}
		rest := s.items[min(start, len(s.items)):]
		page := op.Listed(rest[:min(len(rest), in.Limit+1)], in.Limit, func(string) any { return start + in.Limit })
		return page, nil
	})
	other := list
	other.ID, other.Path = "list-others", "/others"
	small := func(_ context.Context, _ *op.Call, _ *struct{ op.Paging }) (op.Small[string], error) {
		return op.Small[string]{Items: s.items, Key: func(item string) string { return item }}, nil
	}
	op.Register(r, other, small)
	of := list
	of.ID, of.Path, of.Scope, of.Permission = "list-of", "/workspaces/{workspaceId}/things", op.Workspace, access.BookmarksRead
	op.Register(r, of, small)
	byKey := list
	byKey.ID, byKey.Path, byKey.Auth, byKey.Scope, byKey.Permission = "list-by-key", "/key/things", op.KeyOnly, op.KeyWorkspace, access.BookmarksRead
	op.Register(r, byKey, small)
}

func TestQueryFaults(t *testing.T) {
	s := &shelf{items: []string{"a", "b", "c"}}
	w := newWorld(t, s.declare)
	for query, field := range map[string]string{
		"limit=0": "query.limit", "limit=201": "query.limit", "limit=abc": "query.limit", "limit=": "query.limit",
		"limit=-1": "query.limit", "limit=1.5": "query.limit", "limit=99999999999999999999": "query.limit",
		"limit=1&limit=2": "query.limit", "offset=-1": "query.offset", "offset=x": "query.offset",
		"offset=1&offset=1": "query.offset", "cursor=&offset=0": "query.offset", "cursor=&cursor=": "query.cursor",
		"cursor=x": "query.cursor", "cursor=%00": "query.cursor", "sort=title": "query.sort",
		"sort=name&sort=name": "query.sort", "sort=&sort=name": "query.sort", "deep=&deep=": "query.deep",
		"deep=maybe": "query.deep", "depth=0": "query.depth",
		"depth=10": "query.depth", "depth=x": "query.depth", "tag=a%00b": "query.tag", "tag=%ff": "query.tag",
		"tag=%zz": "query", "tag=a;b": "query", "%00=x": "query.\ufffd", "x=%ff": "query.x",
	} {
		w.do(t, "GET", "/things?"+query, "ada", "").field(t, field)
		if t.Failed() {
			t.Fatalf("?%s", query)
		}
	}
	w.do(t, "GET", "/things", "ada", "", "X-Match", "a", "X-Match", "b").field(t, "header.X-Match")
	for _, query := range []string{
		"", "limit=1", "limit=200", "offset=99", "unknown=1", "tag=a&tag=b", "tag=", "sort=-name", "sort=", "deep=true&depth=9", "offset=9223372036854775807",
	} {
		if a := w.do(t, "GET", "/things?"+query, "ada", "").ok(t, 200); !strings.HasPrefix(a.body, "[") {
			t.Errorf("?%s: %s", query, a.body)
		}
	}
}

func page(t *testing.T, a answer) api.Page[string] {
	t.Helper()
	var p api.Page[string]
	if err := json.Unmarshal([]byte(a.ok(t, 200).body), &p); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	if p.Pagination.HasMore != (p.Pagination.NextCursor != nil) {
		t.Errorf("pagination %s", a.body)
	}
	return p
}

func cursorOf(p api.Page[string]) string { return url.QueryEscape(*p.Pagination.NextCursor) }

// The presence of cursor, not its value, chooses the form.
func TestListForms(t *testing.T) {
	s := &shelf{items: []string{"a", "b", "c"}}
	w := newWorld(t, s.declare)
	for _, path := range []string{"/things", "/others"} {
		if a := w.do(t, "GET", path, "ada", "").ok(t, 200); a.body != `["a","b","c"]` {
			t.Errorf("%s: %s", path, a.body)
		}
		if a := w.do(t, "GET", path+"?limit=1&offset=1", "ada", "").ok(t, 200); a.body != `["b"]` {
			t.Errorf("%s: %s", path, a.body)
		}
		if a := w.do(t, "GET", path+"?cursor", "ada", "").ok(t, 200); a.body != `{"data":["a","b","c"],"pagination":{"next_cursor":null,"has_more":false}}` {
			t.Errorf("%s: %s", path, a.body)
		}
		p := page(t, w.do(t, "GET", path+"?cursor=&limit=2", "ada", ""))
		if fmt.Sprint(p.Data) != "[a b]" || !p.Pagination.HasMore {
			t.Errorf("%s: first page %+v", path, p)
		}
		// The size of the page may change on the way.
		p = page(t, w.do(t, "GET", path+"?limit=9&cursor="+cursorOf(p), "ada", ""))
		if fmt.Sprint(p.Data) != "[c]" || p.Pagination.HasMore {
			t.Errorf("%s: second page %+v", path, p)
		}
	}
	s.items = nil
	for _, path := range []string{"/things", "/others"} {
		if a := w.do(t, "GET", path, "ada", "").ok(t, 200); a.body != `[]` {
			t.Errorf("%s empty: %s", path, a.body)
		}
		if a := w.do(t, "GET", path+"?cursor=", "ada", "").ok(t, 200); !strings.HasPrefix(a.body, `{"data":[],`) {
			t.Errorf("%s empty: %s", path, a.body)
		}
	}
}

func TestCursorsAreSealed(t *testing.T) {
	s := &shelf{items: []string{"a", "b", "c"}}
	w := newWorld(t, s.declare)
	first := func(path, token string, headers ...string) string {
		return *page(t, w.do(t, "GET", path, token, "", headers...)).Pagination.NextCursor
	}
	cursor := first("/things?cursor=&limit=1&tag=x", "ada")
	use := func(path, cursor, token string, headers ...string) answer {
		return w.do(t, "GET", path+"cursor="+url.QueryEscape(cursor), token, "", headers...)
	}
	use("/things?tag=x&limit=1&", cursor, "ada").ok(t, 200)
	use("/things?limit=1&tag=x&", cursor, "ada").ok(t, 200)
	use("/things?tag=y&limit=1&", cursor, "ada").field(t, "query.cursor")
	use("/things?limit=1&", cursor, "ada").field(t, "query.cursor")
	use("/others?tag=x&limit=1&", cursor, "ada").field(t, "query.cursor")
	use("/things?tag=x&limit=1&", cursor, "bob").field(t, "query.cursor")
	use("/things?tag=x&limit=1&", cursor, "eve").field(t, "query.cursor")
	use("/things?tag=x&limit=1&", cursor, "wide").ok(t, 200) // the same account's key

	in := first("/workspaces/"+home+"/things?cursor=&limit=1", "ada")
	use("/workspaces/"+home+"/things?", in, "ada").ok(t, 200)
	use("/workspaces/"+other+"/things?", in, "ada").field(t, "query.cursor")

	by := first("/key/things?cursor=&limit=1", "wide", "X-Workspace-ID", home)
	use("/key/things?", by, "wide", "X-Workspace-ID", home).ok(t, 200)
	use("/key/things?", by, "narrow").ok(t, 200) // the same workspace, as its default
	use("/key/things?", by, "wide", "X-Workspace-ID", other).field(t, "query.cursor")

	// Every single bit counts.
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		changed := append([]byte(nil), sealed...)
		changed[i] ^= 1
		use("/things?tag=x&limit=1&", base64.RawURLEncoding.EncodeToString(changed), "ada").field(t, "query.cursor")
	}
	for _, cut := range []string{cursor[1:], cursor[:len(cursor)-2], cursor + "AA", cursor + cursor, "!", " "} {
		use("/things?tag=x&limit=1&", cut, "ada").field(t, "query.cursor")
	}
	// So does every character: none is passed over, and no two mean the same.
	for _, other := range []string{cursor + "\n", cursor[:4] + "\r\n" + cursor[4:], otherSpelling(t, cursor)} {
		use("/things?tag=x&limit=1&", other, "ada").field(t, "query.cursor")
	}
}

// otherSpelling is text in base64 that differs in bits which stand for nothing.
func otherSpelling(t *testing.T, text string) string {
	t.Helper()
	want, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, last := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		other := text[:len(text)-1] + string(last)
		if got, err := base64.RawURLEncoding.DecodeString(other); err == nil && other != text && bytes.Equal(got, want) {
			return other
		}
	}
	t.Fatalf("%q has no other spelling: take a position of another length", text)
	return ""
}

// Between two pages of a small set items come and go: none that stays is
// passed over.
func TestSmallSetChangesBetweenPages(t *testing.T) {
	letters := func(text string) []string { return strings.Split(text, "") }
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", "abcdef", "abcdef", "cdef"},
		{"added in front", "abcdef", "zabcdef", "cdef"},
		{"the last shown went", "abcdef", "acdef", "cdef"},
		{"all that were shown went", "abcdef", "cdef", "cdef"},
		{"the last shown and one behind it went", "abcdef", "acef", "cef"},
		{"the last shown went and one came", "abcdef", "zacdef", "cdef"},
		{"all went", "abcdef", "", ""},
		{"appended, and the last shown went", "abcdef", "acdefg", "cdefg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &shelf{items: letters(c.before)}
			w := newWorld(t, s.declare)
			first := page(t, w.do(t, "GET", "/others?cursor=&limit=2", "ada", ""))
			s.items = letters(c.after)
			if c.after == "" {
				s.items = nil
			}
			got := strings.Join(page(t, w.do(t, "GET", "/others?cursor="+cursorOf(first), "ada", "")).Data, "")
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("then came %q, want %q", got, c.want)
			}
		})
	}
}

func TestTags(t *testing.T) {
	w := newWorld(t, func(r *op.Router) {
		op.Register(r, public("get-thing", http.MethodGet, "/thing"), func(context.Context, *op.Call, *struct{}) (op.Tagged[map[string]int], error) {
			return op.Tagged[map[string]int]{Value: map[string]int{"a": 1}, ETag: op.RevTag(7)}, nil
		})
		op.Register(r, public("change-thing", http.MethodPatch, "/thing"), func(_ context.Context, call *op.Call, _ *struct{ Body struct{} }) (op.Tagged[map[string]int], error) {
			if err := call.CheckMatch(op.RevTag(7)); err != nil {
				return op.Tagged[map[string]int]{}, err
			}
			return op.Tagged[map[string]int]{Value: map[string]int{"a": 1}, ETag: op.RevTag(8)}, nil
		})
	})
	for _, method := range []string{"GET", "HEAD"} {
		for given, status := range map[string]int{
			"": 200, `"6"`: 200, `7`: 200, `"7"`: 304, `W/"7"`: 304, `"1", "7"`: 304, `*`: 304,
		} {
			a := w.do(t, method, "/thing", "", "", "If-None-Match", given).ok(t, status)
			if a.header.Get("ETag") != `"7"` || a.header.Get("X-RateLimit-Limit") == "" || a.header.Get("X-Correlation-ID") == "" {
				t.Errorf("%s, If-None-Match %s: headers %v", method, given, a.header)
			}
			if (a.body == "") != (status == 304 || method == "HEAD") {
				t.Errorf("%s, If-None-Match %s: body %q", method, given, a.body)
			}
		}
	}
	for given, ok := range map[string]bool{"": true, `"7"`: true, `*`: true, `"1","7"`: true, `"6"`: false, `7`: false} {
		a := w.do(t, "PATCH", "/thing", "", "{}", "If-Match", given)
		if !ok {
			a.want(t, api.CodePreconditionFailed)
		} else if a.ok(t, 200); a.header.Get("ETag") != `"8"` {
			t.Errorf("If-Match %s: ETag %s", given, a.header.Get("ETag"))
		}
	}
	// A change is never "not modified".
	w.do(t, "PATCH", "/thing", "", "{}", "If-None-Match", `"8"`).ok(t, 200)
}
