package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"bm/server"
	"bm/server/api"
)

// judge collects what the contract has to say.
type judge struct {
	testing.TB
	said []string
}

func (j *judge) Helper() {}

func (j *judge) Errorf(format string, args ...any) {
	j.said = append(j.said, fmt.Sprintf(format, args...))
}

// A server that strays from its document in any of these ways is noticed.
func TestContractCanFail(t *testing.T) {
	s := Start(t, server.Config{Dir: t.TempDir()})
	body := `{"email":"ada@example.test","password":"a long enough phrase","noticeVersion":"1"}`
	// stray answers a request as the server does, but for what change does.
	stray := func(method, path string, change func(*httptest.ResponseRecorder)) []string {
		j := &judge{TB: t}
		checked := newContract(j, s.Server)
		checked.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recorder := httptest.NewRecorder()
			s.ServeHTTP(recorder, r)
			change(recorder)
			for name, values := range recorder.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(recorder.Code)
			_, _ = w.Write(recorder.Body.Bytes())
		})
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		checked.ServeHTTP(httptest.NewRecorder(), request)
		return j.said
	}
	replace := func(old, with string) func(*httptest.ResponseRecorder) {
		return func(r *httptest.ResponseRecorder) {
			if !strings.Contains(r.Body.String(), old) {
				t.Fatalf("%s is not in %s", old, r.Body)
			}
			r.Body = bytes.NewBufferString(strings.Replace(r.Body.String(), old, with, 1))
		}
	}
	drop := func(name string) func(*httptest.ResponseRecorder) {
		return func(r *httptest.ResponseRecorder) { r.Header().Del(name) }
	}
	// fail answers with another failure than the server's, soundly.
	fail := func(code api.Code) func(*httptest.ResponseRecorder) {
		return func(r *httptest.ResponseRecorder) {
			e := api.Errorf(code, "oops")
			e.CorrelationID = r.Header().Get("X-Correlation-Id")
			text, err := json.Marshal(e.Envelope())
			if err != nil {
				t.Fatal(err)
			}
			r.Code, r.Body = code.Status(), bytes.NewBuffer(text)
		}
	}
	// succeed answers soundly where the server refuses.
	account := ""
	succeed := func(session string) func(*httptest.ResponseRecorder) {
		return func(r *httptest.ResponseRecorder) {
			r.Code, r.Body = http.StatusOK, bytes.NewBufferString(session+account+"}")
		}
	}
	stray("POST", "/auth/register", func(r *httptest.ResponseRecorder) {
		account = regexp.MustCompile(`"account":(\{.*?\})`).FindStringSubmatch(r.Body.String())[1]
	})
	body = strings.Replace(body, "ada@", "eve@", 1)
	if said := stray("POST", "/auth/register", func(*httptest.ResponseRecorder) {}); len(said) > 0 {
		t.Fatalf("a sound answer is refused: %v", said)
	}
	for name, c := range map[string]struct {
		method, path string
		change       func(*httptest.ResponseRecorder)
	}{
		"a field too many":     {"POST", "/auth/login", replace(`"tokenType"`, `"surprise":1,"tokenType"`)},
		"a field too few":      {"POST", "/auth/login", replace(`"tokenType":"Bearer",`, ``)},
		"a wrong type":         {"POST", "/auth/login", replace(`"expiresIn":900`, `"expiresIn":"900"`)},
		"null for a text":      {"POST", "/auth/login", replace(`"tokenType":"Bearer"`, `"tokenType":null`)},
		"none of the enum":     {"POST", "/auth/login", replace(`"role":"admin"`, `"role":"king"`)},
		"a wrong type within":  {"POST", "/auth/login", replace(`"isOwner":true`, `"isOwner":1`)},
		"another status":       {"POST", "/auth/login", func(r *httptest.ResponseRecorder) { r.Code = 202 }},
		"another media type":   {"POST", "/auth/login", func(r *httptest.ResponseRecorder) { r.Header().Set("Content-Type", "text/plain") }},
		"no correlation id":    {"POST", "/auth/login", drop("X-Correlation-Id")},
		"no limit's header":    {"POST", "/auth/login", drop("X-Ratelimit-Remaining")},
		"an unknown code":      {"POST", "/auth/register", replace(`"conflict"`, `"oops"`)},
		"a code of another":    {"POST", "/auth/register", func(r *httptest.ResponseRecorder) { r.Code = 400 }},
		"another id inside":    {"POST", "/auth/register", replace(`"correlation_id":"`, `"correlation_id":"x`)},
		"no envelope":          {"POST", "/auth/register", func(r *httptest.ResponseRecorder) { r.Body = bytes.NewBufferString("oops") }},
		"no envelope, no path": {"POST", "/nowhere", func(r *httptest.ResponseRecorder) { r.Body = bytes.NewBufferString("oops") }},
		"no Allow":             {"DELETE", "/auth/login", drop("Allow")},
		"no WWW-Authenticate":  {"GET", "/api/v1/me", drop("WWW-Authenticate")},
		"another failure":      {"POST", "/auth/login", fail(api.CodeConflict)},
		"an unknown query":     {"POST", "/auth/login?surprise=1", func(*httptest.ResponseRecorder) {}},
		"a body taken":         {"POST", "/auth/refresh", succeed(`{"accessToken":"a","tokenType":"Bearer","expiresIn":1,"refreshToken":"r","account":`)},
	} {
		if said := stray(c.method, c.path, c.change); len(said) != 1 {
			t.Errorf("%s: %d complaints: %v", name, len(said), said)
		}
	}
}
