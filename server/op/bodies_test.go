package op_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"bm/server/api"
	"bm/server/op"
)

type color string

// thing has a field of every kind that the API's bodies have.
type thing struct {
	Name     string                 `json:"name"`
	Password api.Secret             `json:"password,omitempty"`
	Note     api.Optional[string]   `json:"note,omitzero"`
	Color    api.Optional[color]    `json:"color,omitzero" enum:"red,blue"`
	At       api.Optional[api.Time] `json:"at,omitzero"`
	Order    api.Optional[int64]    `json:"order,omitzero"`
	Tags     []string               `json:"tags,omitempty"`
	Extra    map[string]string      `json:"extra,omitempty"`
	Parts    []part                 `json:"parts,omitempty"`
}

type part struct {
	Label string `json:"label"`
	Count int    `json:"count,omitempty"`
}

// declareThings echoes what a body was understood as.
func declareThings(r *op.Router) {
	type seen struct {
		Name  string   `json:"name"`
		Note  string   `json:"note"`
		Color string   `json:"color"`
		At    string   `json:"at"`
		Order int64    `json:"order"`
		Tags  []string `json:"tags"`
		Parts []part   `json:"parts"`
		Extra string   `json:"extra"`
	}
	how := func(set, null bool) string {
		return map[[2]bool]string{{false, false}: "absent", {true, true}: "cleared", {true, false}: "set"}[[2]bool{set, null}]
	}
	echo := func(_ context.Context, _ *op.Call, in *struct{ Body thing }) (seen, error) {
		b := in.Body
		return seen{
			Name: b.Name, Note: how(b.Note.Set, b.Note.Null), Color: how(b.Color.Set, b.Color.Null),
			At: how(b.At.Set, b.At.Null), Order: b.Order.Value, Tags: b.Tags, Parts: b.Parts, Extra: fmt.Sprint(b.Extra),
		}, nil
	}
	op.Register(r, public("make-thing", http.MethodPost, "/things"), echo)
	optional := public("poke-thing", http.MethodPost, "/poke")
	optional.BodyOptional = true
	op.Register(r, optional, func(_ context.Context, _ *op.Call, in *struct {
		Body struct {
			Note api.Optional[string] `json:"note,omitzero"`
		}
	},
	) (map[string]bool, error) {
		return map[string]bool{"set": in.Body.Note.Set}, nil
	})
}

func TestBodies(t *testing.T) {
	w := newWorld(t, declareThings)
	deep := strings.Repeat(`{"a":[`, 4000)
	for _, c := range []struct{ name, body, field string }{
		{"empty", "", "body"},
		{"white space", " \n", "body"},
		{"cut off", `{"name":"x"`, "body"},
		{"cut off deep", `{"name":"x","parts":[{"label":"`, "body"},
		{"trailing garbage", `{"name":"x"} x`, "body"},
		{"two documents", `{"name":"x"}{"name":"y"}`, "body"},
		{"a comma too many", `{"name":"x",}`, "body"},
		{"single quotes", `{'name':'x'}`, "body"},
		{"comment", `{"name":"x"/* */}`, "body"},
		{"NaN", `{"name":"x","order":NaN}`, "body"},
		{"leading zero", `{"name":"x","order":01}`, "body"},
		{"control character", "{\"name\":\"a\nb\"}", "body"},
		{"raw NUL", "{\"name\":\"a\x00b\"}", "body"},
		{"deep", strings.Repeat("[", 100_000), "body"},
		{"deep objects", strings.Repeat(`{"a":`, 100_000), "body"},
		{"deep and whole", strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), "body"},
		{"deep in an unknown field", `{"name":"x","z":` + deep + strings.Repeat("]}", 4000) + `}`, ""},
		{"UTF-16", "\xff\xfe{\x00}\x00", "body"},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", "body"},
		{"invalid UTF-8 deep", "{\"name\":\"x\",\"parts\":[{\"label\":\"\xc3\"}]}", "body"},
		{"overlong UTF-8", "{\"name\":\"\xc0\xaf\"}", "body"},
		{"encoded surrogate", "{\"name\":\"\xed\xa0\x80\"}", "body"},

		{"null", `null`, "body"},
		{"an array", `[]`, "body"},
		{"a text", `"x"`, "body"},
		{"missing", `{}`, "body.name"},
		{"null where required", `{"name":null}`, "body.name"},
		{"number for a text", `{"name":1}`, "body.name"},
		{"object for a text", `{"name":{}}`, "body.name"},
		{"text for a list", `{"name":"x","tags":"a"}`, "body.tags"},
		{"number in a list", `{"name":"x","tags":["a",2]}`, "body.tags[1]"},
		{"null in a list", `{"name":"x","tags":[null]}`, "body.tags[0]"},
		{"wrong within", `{"name":"x","parts":[{"label":"a"},{"label":2}]}`, "body.parts[1].label"},
		{"missing within", `{"name":"x","parts":[{}]}`, "body.parts[0].label"},
		{"fraction for a number", `{"name":"x","order":1.5}`, "body.order"},
		{"fraction within", `{"name":"x","parts":[{"label":"a","count":1.5}]}`, "body.parts[0].count"},
		{"exponent", `{"name":"x","order":1e3}`, "body.order"},
		{"too large for 64 bits", `{"name":"x","order":9223372036854775808}`, "body.order"},
		{"too large for any", `{"name":"x","parts":[{"label":"a","count":1e999}]}`, "body.parts[0].count"},
		{"too large and unknown", `{"name":"x","z":[0,1e999]}`, "body.z[1]"},
		{"not of the enum", `{"name":"x","color":"green"}`, "body.color"},
		{"not a date", `{"name":"x","at":"yesterday"}`, "body.at"},
		{"a date that is none", `{"name":"x","at":"2025-02-30T00:00:00Z"}`, "body.at"},
		{"number in a map", `{"name":"x","extra":{"A":1}}`, "body.extra.A"},

		{"escaped NUL", `{"name":"a\u0000b"}`, "body.name"},
		{"escaped NUL deep", `{"name":"x","parts":[{"label":"y"},{"label":"\u0000"}]}`, "body.parts[1].label"},
		{"escaped NUL in a name", `{"name":"x","extra":{"a\u0000":"y"}}`, "body.extra"},
		{"escaped NUL in an unknown field", `{"name":"x","z":"\u0000"}`, "body.z"},
		{"escaped backslash before u0000", `{"name":"\\u0000"}`, ""},
		{"high surrogate alone", `{"name":"\ud800"}`, "body.name"},
		{"low surrogate alone", `{"name":"x","tags":["ok","\udc00"]}`, "body.tags[1]"},
		{"surrogates the wrong way", `{"name":"\udc00\ud800"}`, "body.name"},
		{"high surrogate before a letter", `{"name":"\ud83dx"}`, "body.name"},
		{"a pair", `{"name":"\ud83d\ude00"}`, ""},

		{"twice", `{"name":"x","name":"y"}`, "body.name"},
		{"twice, spelled in escapes", `{"name":"x","n\u0061me":"y"}`, "body.name"},
		{"twice within", `{"name":"x","parts":[{"label":"a","label":"a"}]}`, "body.parts[0].label"},
		{"twice in a map", `{"name":"x","extra":{"A":"1","A":"2"}}`, "body.extra.A"},
		{"the same in two objects", `{"name":"x","parts":[{"label":"a"},{"label":"a"}]}`, ""},
		{"other case", `{"Name":"x"}`, "body.name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.do(t, "POST", "/things", "", c.body, "Content-Type", "application/json")
			if c.field == "" {
				a.ok(t, 200)
			} else {
				a.field(t, c.field)
			}
		})
	}
}

// What only sounds like a field is not it: it can neither set nor bypass it.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	w := newWorld(t, declareThings)
	for _, body := range []string{
		`{"name":"x","z":1,"$schema":"y","__proto__":{"name":"z"}}`,
		`{"name":"x","NAME":"y","Color":"green","COLOR":7,"nOte":null,"order":9007199254740993}`,
		`{"COLOR":"green","name":"x","parts":[{"label":"a","LABEL":7}],"order":9007199254740993}`,
	} {
		a := w.do(t, "POST", "/things", "", body).ok(t, 200)
		var seen struct {
			Name, Color, Note string
			Order             int64
			Parts             []part
		}
		if err := json.Unmarshal([]byte(a.body), &seen); err != nil {
			t.Fatal(err)
		}
		if seen.Name != "x" || seen.Color != "absent" || seen.Note != "absent" {
			t.Errorf("%s was understood as %s", body, a.body)
		}
		if strings.Contains(body, "order") && seen.Order != 9007199254740993 {
			t.Errorf("a number lost digits: %d", seen.Order)
		}
		if len(seen.Parts) == 1 && seen.Parts[0].Label != "a" {
			t.Errorf("within: %+v", seen.Parts)
		}
	}
}

func TestAbsentNullAndEmpty(t *testing.T) {
	w := newWorld(t, declareThings)
	for body, want := range map[string]string{
		`{"name":"x"}`: `"note":"absent","color":"absent","at":"absent"`,
		`{"name":"x","note":null,"color":null,"at":null}`:                        `"note":"cleared","color":"cleared","at":"cleared"`,
		`{"name":"x","note":"","color":"","at":""}`:                              `"note":"cleared","color":"cleared","at":"cleared"`,
		`{"name":"x","note":"n","color":"red","at":"2025-01-31T12:00:00+02:00"}`: `"note":"set","color":"set","at":"set"`,
	} {
		if a := w.do(t, "POST", "/things", "", body).ok(t, 200); !strings.Contains(a.body, want) {
			t.Errorf("%s was understood as %s", body, a.body)
		}
	}
	if a := w.do(t, "POST", "/things", "", "\ufeff{\"name\":\"x\"}").ok(t, 200); !strings.Contains(a.body, `"x"`) {
		t.Errorf("a byte order mark: %s", a.body)
	}
}

func TestMediaTypes(t *testing.T) {
	w := newWorld(t, declareThings)
	for kind, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "APPLICATION/JSON;charset=UTF-8": true,
		"application/json; charset=latin1": false, "text/plain": false, "application/x-www-form-urlencoded": false,
		"application/jsonp": false, ";": false, "multipart/form-data; boundary=x": false,
	} {
		a := w.do(t, "POST", "/things", "", `{"name":"x"}`, "Content-Type", kind)
		if ok {
			a.ok(t, 200)
		} else {
			a.want(t, api.CodeUnsupportedMediaType)
		}
	}
	w.do(t, "POST", "/things", "", `{"name":"x"}`, "Content-Type", "").want(t, api.CodeUnsupportedMediaType)
}

func TestOptionalBodies(t *testing.T) {
	w := newWorld(t, declareThings)
	for _, c := range []struct {
		body, kind string
		want       api.Code
	}{
		{"", "", ""},
		{"", "application/json", ""},
		{"", "application/x-www-form-urlencoded", ""}, // what curl -d '' sends
		{"{}", "", ""},
		{"{}", "application/json", ""},
		{`{"note":"x"}`, "", ""},
		{`{"note":1}`, "", api.CodeValidation},
		{"{", "", api.CodeValidation},
		{"{}", "text/plain", api.CodeUnsupportedMediaType},
	} {
		a := w.do(t, "POST", "/poke", "", c.body, "Content-Type", c.kind)
		if c.want != "" {
			a.want(t, c.want)
			continue
		}
		if a.ok(t, 200); strings.Contains(a.body, "true") != strings.Contains(c.body, "note") {
			t.Errorf("%q was understood as %s", c.body, a.body)
		}
	}
	w.do(t, "POST", "/things", "", "", "Content-Type", "").field(t, "body")
}

func TestBodyLimit(t *testing.T) {
	w := newWorld(t, func(r *op.Router) {
		declareThings(r)
		s := public("make-large", http.MethodPost, "/large")
		s.MaxBody = 16 << 20
		op.Register(r, s, func(_ context.Context, _ *op.Call, in *struct{ Body thing }) (map[string]int, error) {
			if len(in.Body.Name) > 8192 {
				return nil, api.Invalid("body.name", "is too long")
			}
			return map[string]int{"length": len(in.Body.Name)}, nil
		})
	})
	body := func(n int) string { return `{"name":"` + strings.Repeat("x", n-len(`{"name":""}`)) + `"}` }
	w.do(t, "POST", "/things", "", body(api.MaxJSONBody)).ok(t, 200)
	w.do(t, "POST", "/things", "", body(api.MaxJSONBody+1)).want(t, api.CodePayloadTooLarge)
	w.do(t, "POST", "/large", "", body(10<<20)).field(t, "body.name")

	// One that does not say how long it is.
	request, err := http.NewRequest("POST", w.URL+"/things", struct{ io.Reader }{strings.NewReader(body(10 << 20))})
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	w.send(t, request).want(t, api.CodePayloadTooLarge)
}

// raw sends bytes over a connection of its own and reads what comes back; it
// closes its sending half after them.
func (w *world) raw(t *testing.T, text string, half bool) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if half {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

func TestTruncatedBody(t *testing.T) {
	w := newWorld(t, declareThings)
	head := "POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, request := range map[string]string{
		"shorter than announced": head + "Content-Length: 100\r\n\r\n{\"name\":\"x\"}",
		"broken chunk":           head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"na",
		"no chunk":               head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		if got := w.raw(t, request, true); !strings.HasPrefix(got, "400 ") || !strings.Contains(got, `"validation_error"`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A body that never ends does not hold its handler longer than the
// operation's deadline.
func TestSlowBodyEnds(t *testing.T) {
	w := newWorld(t, func(r *op.Router) {
		s := public("slow-thing", http.MethodPost, "/slow")
		s.Timeout = 50 * time.Millisecond
		op.Register(r, s, func(context.Context, *op.Call, *struct{ Body thing }) (op.None, error) { return op.None{}, nil })
	})
	got := w.raw(t, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"name\"", false)
	if !strings.HasPrefix(got, "503 ") || !strings.Contains(got, `"unavailable"`) {
		t.Errorf("a body that stops: %s", got)
	}
}

// Who is refused without a look at the body hears it at once, though the body
// never comes, and the connection ends.
func TestRefusalsDoNotWaitForTheBody(t *testing.T) {
	over := make(ends, 10)
	w := newWorld(t, func(r *op.Router) {
		declareThings(r)
		op.Register(r, spec("guarded", http.MethodPost, "/guarded"), func(context.Context, *op.Call, *struct{ Body thing }) (op.None, error) { return op.None{}, nil })
	}, func(d *op.Deps) { d.Observer = over })
	for request, status := range map[string]string{
		"POST /guarded HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{":       "401 ",
		"POST /guarded HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n": "401 ",
		"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{":                                         "404 ",
		"DELETE /things HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{":                                        "405 ",
		"POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n{":              "415 ",
		"POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n{":  "413 ",
	} {
		began := time.Now()
		if got := w.raw(t, request, false); !strings.HasPrefix(got, status) {
			t.Errorf("%.20s: %s", request, got)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%.20s: answered after %v", request, took)
		}
		<-over
	}
	// A connection whose body was read goes on.
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	for range 3 {
		if _, err := io.WriteString(conn, "POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"name\":\"x\"}"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil || response.StatusCode != 200 || response.Close {
			t.Fatalf("%+v, %v", response, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
}

// What a body may cost is bounded by its length, whatever it is made of; a
// body that is as full as it may be is taken.
func TestCostlyBodies(t *testing.T) {
	w := newWorld(t, func(r *op.Router) {
		declareThings(r)
		s := public("make-large", http.MethodPost, "/large")
		s.MaxBody = api.MaxChangesBody
		op.Register(r, s, func(_ context.Context, _ *op.Call, in *struct{ Body thing }) (map[string]int, error) {
			return map[string]int{"parts": len(in.Body.Parts), "tags": len(in.Body.Tags)}, nil
		})
	})
	many := func(what string, n int) string { return what + strings.Repeat(","+what, n-1) }
	for name, body := range map[string]string{
		"objects":        `{"name":"x","parts":[` + many(`{"":0}`, 2_000_000) + `]}`,
		"unknown arrays": `{"name":"x","y":[` + many(`[]`, 5_000_000) + `]}`,
		"empty texts":    `{"name":"x","tags":[` + many(`""`, 5_000_000) + `]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e := w.do(t, "POST", "/large", "", body).want(t, api.CodeValidation)
		runtime.ReadMemStats(&after)
		if len(e.Details) != 1 || e.Details[0].Message != "holds too many values" {
			t.Errorf("%s: %+v", name, e)
		}
		if cost := (after.TotalAlloc - before.TotalAlloc) / uint64(len(body)); cost > 12 { // the client's copies included
			t.Errorf("%s: %d bytes for each of the body's", name, cost)
		}
	}
	for _, full := range []string{
		`{"name":"x","tags":[` + many(`"a"`, 500*256) + `]}`,
		`{"name":"x","parts":[` + many(`{"label":"x"}`, 9000) + `]}`,
	} {
		w.do(t, "POST", "/large", "", full).ok(t, 200)
	}
}

// A validation error tells where, never what: the value may be a secret.
func TestValuesAreNotEchoed(t *testing.T) {
	w := newWorld(t, declareThings)
	for _, body := range []string{
		`{"name":"x","password":424242}`,
		`{"name":"x","password":424242e999}`,
		`{"name":"x","password":["424242"]}`,
		`{"name":"x","password":{"424242":1}}`,
		`{"name":"x","password":"424242\u0000"}`,
		`{"name":"x","password":"424242\ud800"}`,
		`{"name":"x","password":"424242"`,
		`{"name":"x","password":"424242","color":"424242","at":"424242","order":424242.5,"tags":[424242],"parts":"424242"}`,
	} {
		a := w.do(t, "POST", "/things", "", body)
		a.want(t, api.CodeValidation)
		if strings.Contains(a.body, "424242") || strings.Contains(w.log.String(), "424242") {
			t.Errorf("%s was repeated: %s", body, a.body)
		}
	}
}
