package api_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"bm/server/api"
)

const plainSet = `{"url":"https://go.dev/?a=1\u0026b=\"2\"","title":"Go \\","description":"","tags":["a","ü\ud83d\ude00"],"folderId":null,` +
	`"sortOrder":-7,"snapshotEnabled":true,"extra":{"A":"b","C":""},"createdAt":"2001-02-03T04:05:06.789Z"}`

func TestReadPlainTakesWhatIsPlain(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		plainSet, `{}`, " \n{ \"url\" :\t\"x\" , \"tags\" : [ \"a\" , \"b\" ] }", `{"tags":[],"extra":{},"title":null,"sortOrder":"","createdAt":""}`,
	} {
		var in api.BookmarkInput
		if !in.ReadPlain([]byte(text)) {
			t.Errorf("%s is not read", text)
		}
	}
	for _, text := range []string{
		`{"URL":"x"}`, `{"id":"x"}`, `{"url":1}`, `{"tags":"a"}`, `{"tags":[1]}`, `{"tags":[null]}`, `{"sortOrder":1.5}`, `{"sortOrder":1e3}`,
		`{"snapshotEnabled":"yes"}`, `{"extra":{"A":null}}`, `{"extra":["a"]}`, `{"createdAt":"yesterday"}`, `{"createdAt":7}`, `{"\u0075rl":"x"}`, `[]`, `null`, `7`,
	} {
		var in api.BookmarkInput
		if in.ReadPlain([]byte(text)) {
			t.Errorf("%s is read as %+v", text, in)
		}
	}
}

// FuzzReadPlain: what is read the short way is what the standard library reads.
func FuzzReadPlain(f *testing.F) {
	for _, seed := range []string{
		plainSet, `{}`, ` { "tags" : [ ] , "extra" : { } } `, `{"url":"\\","title":"\\\""}`, `{"url":"a","url":"b","extra":{"a":"1"},"extra":{"a":"2","a":"3"}}`,
		`{"sortOrder":-0,"createdAt":"2001-02-03t04:05:06+01:00"}`, `{"url":{"a":["}"]},"x":[[{}]]}`, `{"createdAt":"2001-02-03T04:05:06\u005a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var short, long api.BookmarkInput
		if !utf8.Valid(raw) || !json.Valid(raw) || !short.ReadPlain(raw) {
			return
		}
		if err := json.Unmarshal(raw, &long); err != nil || !reflect.DeepEqual(short, long) {
			t.Errorf("%s is read as %+v, the long way as %+v, %v", raw, short, long, err)
		}
	})
}

func BenchmarkReadBody(b *testing.B) {
	ops := make([]api.Op, api.MaxChangesOps)
	for i := range ops {
		ops[i] = api.Op{OpID: "00000000-0000-7000-8000-000000000000", Action: api.OpCreate, Type: api.TypeBookmark, ID: "x", Set: json.RawMessage(plainSet)}
	}
	raw, err := json.Marshal(api.PushRequest{Ops: ops})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		var in api.PushRequest
		if !in.ReadBody(raw) {
			b.Fatal("it is not read")
		}
		for i := range in.Ops {
			var set api.BookmarkInput
			if !set.ReadPlain(in.Ops[i].Set) {
				b.Fatal("a set is not read")
			}
		}
	}
}
