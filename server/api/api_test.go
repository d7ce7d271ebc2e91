package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"bm/server/api"
)

func TestIDsAreIncreasingUUIDv7(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := api.NewIDs(func() time.Time { return now }, bytes.NewReader(bytes.Repeat([]byte{0xff, 0x00, 0x5a}, 200_000)))
	last := ""
	for i := range 9000 { // more than the counter's 4096 in one millisecond
		if i == 5000 {
			now = now.Add(-time.Hour) // a clock set back must not reorder
		}
		id := ids.New()
		if !api.ValidNewID(id) {
			t.Fatalf("%q is not a UUIDv7", id)
		}
		if id <= last {
			t.Fatalf("id %d: %q does not come after %q", i, id, last)
		}
		last = id
	}
}

func TestValidID(t *testing.T) {
	for text, want := range map[string][2]bool{
		"01890a5d-ac96-774b-bcce-b302099a8057": {true, true},
		"01890a5d-ac96-474b-bcce-b302099a8057": {true, false}, // version 4
		"01890a5d-ac96-774b-ccce-b302099a8057": {true, false}, // wrong variant
		"01890A5D-ac96-774b-bcce-b302099a8057": {false, false},
		"01890a5dac96774bbcceb302099a8057":     {false, false},
		"":                                     {false, false},
		"../../etc/passwd":                     {false, false},
	} {
		if got := [2]bool{api.ValidID(text), api.ValidNewID(text)}; got != want {
			t.Errorf("%q: valid, valid new = %v, want %v", text, got, want)
		}
	}
}

func TestOptionalTellsAbsentFromNull(t *testing.T) {
	type body struct {
		A api.Optional[string]   `json:"a,omitzero"`
		B api.Optional[string]   `json:"b,omitzero"`
		C api.Optional[[]string] `json:"c,omitzero"`
	}
	var in body
	if err := json.Unmarshal([]byte(`{"b":null,"c":["x"]}`), &in); err != nil {
		t.Fatal(err)
	}
	if in.A.Set || !in.B.Set || !in.B.Null || !in.C.Set || in.C.Null || in.C.Value[0] != "x" {
		t.Errorf("decoded %+v", in)
	}
	out, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"b":null,"c":["x"]}`; string(out) != want {
		t.Errorf("encoded %s, want %s", out, want)
	}
}

func TestTimeIsUTCWithMilliseconds(t *testing.T) {
	var at api.Time
	if err := json.Unmarshal([]byte(`"2025-03-01T12:00:00.123987+02:00"`), &at); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"2025-03-01T10:00:00.123Z"`; string(out) != want {
		t.Errorf("got %s, want %s", out, want)
	}
	if back := api.FromMicros(at.Micros()); !back.Equal(at.Time) {
		t.Errorf("through a column: %v, want %v", back, at)
	}
	if out, _ := json.Marshal(api.At(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))); string(out) != `"2025-01-01T00:00:00.000Z"` {
		t.Errorf("whole second: %s", out)
	}
	if first := api.At(time.Unix(0, 0)); first.IsZero() || !api.FromMicros(first.Micros()).Equal(first.Time) {
		t.Errorf("the beginning of 1970, %v, is no value in a column", first)
	}
	for _, bad := range []string{`"yesterday"`, `17`, `"2025-13-01T00:00:00Z"`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &at); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestDigestIsASum(t *testing.T) {
	var d api.Digest
	d = d.Add("a", 1).Add("b", 2).Add("c", 3).Remove("b", 2)
	if want := api.Digest(0).Add("c", 3).Add("a", 1); d != want {
		t.Errorf("%s, want %s", d, want)
	}
	back, err := api.ParseDigest(d.String())
	if err != nil || back != d {
		t.Errorf("through its wire form: %v, %v", back, err)
	}
	if _, err := api.ParseDigest("xyz"); err == nil {
		t.Error("xyz was parsed")
	}
}

func TestErrorsCompareByCode(t *testing.T) {
	err := fmt.Errorf("read folder: %w", api.Errorf(api.CodeGone, "the folder was deleted"))
	if !errors.Is(err, &api.Error{Code: api.CodeGone}) || errors.Is(err, &api.Error{Code: api.CodeConflict}) {
		t.Error("errors.Is does not compare codes")
	}
	if got := api.CodeOf(err); got != api.CodeGone {
		t.Errorf("code %q", got)
	}
	if got := api.CodeOf(errors.New("boom")); got != api.CodeInternal {
		t.Errorf("code of a foreign error %q", got)
	}
	for _, code := range api.Codes() {
		if status := code.Status(); status < 400 || status > 599 {
			t.Errorf("%s has status %d", code, status)
		}
	}
}
