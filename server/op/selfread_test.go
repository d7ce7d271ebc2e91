package op_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/op"
)

const onePush = `{"epoch":"e","cursor":"c","ops":[{"opId":"1","action":"create","type":"bookmark","id":"i","baseRev":3,"set":{"url":"x","n":[1,{}]}}]}`

// declarePushes echoes a body that reads itself, and the same read as any other.
func declarePushes(r *op.Router) {
	type asAnyOther api.PushRequest
	op.Register(r, public("short", http.MethodPost, "/short"), func(_ context.Context, _ *op.Call, in *struct{ Body api.PushRequest }) (api.PushRequest, error) {
		return in.Body, nil
	})
	op.Register(r, public("long", http.MethodPost, "/long"), func(_ context.Context, _ *op.Call, in *struct{ Body asAnyOther }) (api.PushRequest, error) {
		return api.PushRequest(in.Body), nil
	})
}

func TestABodyThatReadsItselfDoesSo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		onePush: true, strings.ReplaceAll(onePush, `"epoch":"e",`, ""): true, " \n" + strings.ReplaceAll(onePush, ",", " ,\t"): true,
		`{}`: false, `{"ops":[]}`: false, `[]`: false, `null`: false,
		strings.Replace(onePush, `"e"`, "null", 1): false, strings.Replace(onePush, `"e"`, "1", 1): false, strings.Replace(onePush, "epoch", "other", 1): false,
		strings.Replace(onePush, "create", "destroy", 1): false, strings.Replace(onePush, `"bookmark"`, `"x"`, 1): false,
		strings.Replace(onePush, `"opId":"1",`, "", 1): false, strings.Replace(onePush, `"id":"i",`, "", 1): false, strings.Replace(onePush, "3", "3.5", 1): false,
		strings.Replace(onePush, `{"url":"x","n":[1,{}]}`, "null", 1): false, strings.Replace(onePush, `"opId"`, `"OPID"`, 1): false,
	} {
		var in api.PushRequest
		if got := in.ReadBody([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	many := `{"ops":[` + strings.Repeat(`{"opId":"1","action":"delete","type":"folder","id":"i"},`, api.MaxChangesOps) + `{"opId":"1","action":"delete","type":"folder","id":"i"}]}`
	if in := (&api.PushRequest{}); in.ReadBody([]byte(many)) {
		t.Error("more ops than a request may hold are read")
	}
}

// FuzzBodiesThatReadThemselves: the short way takes nothing that the long way
// refuses, and understands it the same.
func FuzzBodiesThatReadThemselves(f *testing.F) {
	for _, seed := range []string{
		onePush, strings.Replace(onePush, "[1,{}]", "[1e308,-1e400]", 1), `{"ops":[]}`, `{"ops":[{}]}`, `{"ops":[{"opId":"\u0041","action":"update","type":"folder","id":"","set":{}}]}`, `{"OPS":[],"ops":null}`,
		`{"ops":[{"opId":"1","action":"delete","type":"folder","id":"i","baseRev":-0}]}`, `{"ops":[{"opId":"1","opId":"2"}]}`, `{"ops":[{"set":{"a":"\ud800"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f, declarePushes)
	send := func(path string, body []byte) (int, api.PushRequest, string) {
		request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(body)))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		w.router.ServeHTTP(recorder, request)
		var in api.PushRequest
		if recorder.Code == http.StatusOK {
			if err := json.Unmarshal(recorder.Body.Bytes(), &in); err != nil {
				f.Fatal(err)
			}
		}
		return recorder.Code, in, recorder.Body.String()
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		status, short, _ := send("/short", body)
		wanted, long, why := send("/long", body)
		a, _ := json.Marshal(short)
		b, _ := json.Marshal(long)
		if status != wanted || string(a) != string(b) {
			t.Errorf("%s: %d with %s, and the long way %d with %s (%s)", body, status, a, wanted, b, why)
		}
	})
}
