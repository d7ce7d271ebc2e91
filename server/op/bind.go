package op

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bm/server/api"
)

// queryBinder is a field that reads the query by itself.
type queryBinder interface {
	bindQuery(url.Values) []api.FieldError
}

var queryBinderType = reflect.TypeFor[queryBinder]()

// param is one path, query or header value of an input struct.
type param struct {
	in       string // path, query or header
	name     string
	doc      string
	enum     []string
	minimum  *int64
	maximum  *int64
	field    []int
	kind     reflect.Type
	required bool
}

// binding is how an input struct is filled.
type binding struct {
	params  []param
	binders [][]int
	body    []int // index of Body, nil for none
	upload  []int // index of the Upload, nil for none
}

var uploadType = reflect.TypeFor[Upload]()

// newBinding reads an input struct's tags; it panics on what it cannot bind.
// One struct can serve several paths: a path value may have several names, and
// one that pattern does not hold is left out.
func newBinding(t reflect.Type, pattern string) binding {
	var b binding
	for _, f := range reflect.VisibleFields(t) {
		switch {
		case f.Name == "Body":
			b.body = f.Index
			continue
		case f.Type == uploadType:
			b.upload = f.Index
			continue
		case reflect.PointerTo(f.Type).Implements(queryBinderType):
			b.binders = append(b.binders, f.Index)
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			name, ok := f.Tag.Lookup(in)
			if ok && in == "path" {
				name, ok = pathName(name, pattern)
			}
			if !ok {
				continue
			}
			p := param{in: in, name: name, doc: f.Tag.Get("doc"), field: f.Index, kind: f.Type, required: in == "path"}
			if enum := f.Tag.Get("enum"); enum != "" {
				p.enum = strings.Split(enum, ",")
			}
			p.minimum, p.maximum = bound(f, "minimum"), bound(f, "maximum")
			switch f.Type.Kind() {
			case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
			case reflect.Slice:
				if f.Type.Elem().Kind() != reflect.String {
					panic("op: cannot bind " + f.Name)
				}
			default:
				panic("op: cannot bind " + f.Name)
			}
			b.params = append(b.params, p)
		}
	}
	return b
}

// pathName is which of the names pattern has.
func pathName(names, pattern string) (string, bool) {
	for name := range strings.SplitSeq(names, ",") {
		if strings.Contains(pattern, "{"+name+"}") {
			return name, true
		}
	}
	return "", false
}

func bound(f reflect.StructField, tag string) *int64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("op: field %s: %s: %v", f.Name, tag, err))
	}
	return &n
}

// reads reports whether a request can be wrong in what it says.
func (b binding) reads() bool {
	asks := func(p param) bool { return p.in != "path" }
	return slices.ContainsFunc(b.params, asks) || len(b.binders) > 0 || b.body != nil || b.upload != nil
}

// fill reads the path, the query and the headers into in, and says what is
// wrong with them. A malformed id in the path is found by whoever looks the
// thing up: it is not_found, like any unknown one.
func (b binding) fill(in reflect.Value, r *http.Request) []api.FieldError {
	var problems []api.FieldError
	var query url.Values
	if r.URL.RawQuery != "" {
		var err error
		if query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
			return []api.FieldError{{Field: "query", Message: "is not well-formed"}}
		}
		for _, name := range slices.Sorted(maps.Keys(query)) {
			if !cleanText(name) || slices.ContainsFunc(query[name], dirtyText) {
				problems = append(problems, api.FieldError{Field: "query." + shownText(name), Message: "holds NUL or invalid UTF-8"})
			}
		}
	}
	for i := range b.params {
		p := &b.params[i]
		var values []string
		switch p.in {
		case "path":
			// What cannot be stored names nothing: whoever looks it up finds
			// just that, and answers as for any unknown one.
			values = []string{shownText(r.PathValue(p.name))}
		case "query":
			values = query[p.name]
		case "header":
			values = r.Header.Values(p.name)
		}
		// One without a value asks for nothing; beside another it leaves open which
		// was meant.
		if len(values) == 0 || len(values) == 1 && values[0] == "" && p.kind.Kind() != reflect.Slice {
			continue
		}
		if problem := p.set(in.FieldByIndex(p.field), values); problem != "" {
			problems = append(problems, api.FieldError{Field: p.in + "." + p.name, Message: problem})
		}
	}
	for _, index := range b.binders {
		problems = append(problems, in.FieldByIndex(index).Addr().Interface().(queryBinder).bindQuery(query)...)
	}
	return problems
}

// set parses values into f; "" or what is wrong with them.
func (p *param) set(f reflect.Value, values []string) string {
	if len(values) > 1 && f.Kind() != reflect.Slice {
		return "is given more than once"
	}
	switch f.Kind() {
	case reflect.Slice:
		f.Set(reflect.ValueOf(values).Convert(f.Type()))
	case reflect.String:
		if len(p.enum) > 0 && !slices.Contains(p.enum, values[0]) {
			return "must be one of " + strings.Join(p.enum, ", ")
		}
		f.SetString(values[0])
	case reflect.Bool:
		v, err := strconv.ParseBool(values[0])
		if err != nil {
			return "must be true or false"
		}
		f.SetBool(v)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return "must be a whole number"
		}
		if p.minimum != nil && n < *p.minimum {
			return fmt.Sprintf("must be %d or more", *p.minimum)
		}
		if p.maximum != nil && n > *p.maximum {
			return fmt.Sprintf("must be %d or less", *p.maximum)
		}
		f.SetInt(n)
	}
	return ""
}

// cleanText reports whether a text may be stored: no NUL, valid UTF-8.
func cleanText(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

func dirtyText(s string) bool { return !cleanText(s) }

// shownText is a text with the replacement character for what may not be stored.
func shownText(s string) string {
	if cleanText(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
