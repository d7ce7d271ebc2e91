package op_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"bm/server/api"
)

// FuzzBodies: whatever the body, the answer is a thing or an envelope, and
// what was taken is text that any database can hold.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{"name":"x","tags":["a"],"parts":[{"label":"y","count":1}],"extra":{"A":"b"},"at":"2025-01-31T12:00:00Z","color":"red","order":1}`,
		`{"name":"\ud83d\ude00","n\u0061me":"x"}`, `{"Name":"x","name":"y"}`, `[[[[{"a":`, `{"name":"\ud800"}`, `{"name":"x","z":1e999}`,
		"\xef\xbb\xbf{}", `{"name":"x","at":"0000-01-01T00:00:00+01:00"}`, `{"a":{"b":[{"c":"\u0000"}]}}`, ` null `, `"\\"`,
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f, declareThings)
	f.Fuzz(func(t *testing.T, body []byte) {
		request := httptest.NewRequest("POST", "/things", strings.NewReader(string(body)))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		w.router.ServeHTTP(recorder, request)
		switch recorder.Code {
		case 200:
			if !json.Valid(body) && !strings.HasPrefix(string(body), "\ufeff") {
				t.Errorf("taken, though it is not JSON: %q", body)
			}
			if !utf8.Valid(body) {
				t.Errorf("taken, though it is not UTF-8: %q", body)
			}
			var seen struct{ Name string }
			if err := json.Unmarshal(recorder.Body.Bytes(), &seen); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsRune(seen.Name, 0) {
				t.Errorf("a NUL came through: %q", body)
			}
			if strings.ContainsRune(seen.Name, utf8.RuneError) && !strings.ContainsRune(string(body), utf8.RuneError) && !strings.Contains(strings.ToLower(string(body)), `\ufffd`) {
				t.Errorf("a character was replaced in silence: %q", body)
			}
		case 400, 413:
			var envelope api.Envelope
			if err := json.Unmarshal(recorder.Body.Bytes(), &envelope); err != nil || envelope.Error.Code == "" {
				t.Errorf("%d with %q", recorder.Code, recorder.Body)
			}
		default:
			t.Errorf("%d for %q: %s", recorder.Code, body, recorder.Body)
		}
	})
}

// FuzzCursors: a cursor that was not given out is refused, whatever it is.
func FuzzCursors(f *testing.F) {
	s := &shelf{items: []string{"a", "b", "c"}}
	w := newWorld(f, s.declare)
	get := func(cursor string) *httptest.ResponseRecorder {
		request := httptest.NewRequest("GET", "/others?limit=1", nil)
		query := request.URL.Query()
		query.Set("cursor", cursor)
		request.URL.RawQuery = query.Encode()
		request.Header.Set("Authorization", "Bearer ada")
		recorder := httptest.NewRecorder()
		w.router.ServeHTTP(recorder, request)
		return recorder
	}
	var first api.Page[string]
	if err := json.Unmarshal(get("").Body.Bytes(), &first); err != nil {
		f.Fatal(err)
	}
	given := *first.Pagination.NextCursor
	f.Add(given)
	f.Add(given[:len(given)-1])
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", 16) + `{"k":"b"}`)))
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, cursor string) {
		recorder := get(cursor)
		// Of base64's last character a few bits do not count.
		same := len(cursor) == len(given) && cursor[:len(cursor)-1] == given[:len(given)-1]
		if recorder.Code == 200 != (cursor == "" || cursor == given) && !same || recorder.Code != 200 && recorder.Code != 400 {
			t.Errorf("%q: %d %s", cursor, recorder.Code, recorder.Body)
		}
	})
}
