package exchange_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"bm/server/api"
	"bm/server/api/exchange"
)

func TestReadsJSON(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"children before parents": {
			`{"version":1,"folders":[{"id":"2","parentId":"1","name":"G","description":"g"},{"id":"1","name":"F","extra":{"FOLDED":""}}],
			"bookmarks":[{"url":"a","title":"A","tags":["x","a,b"],"folderId":"2","description":"d"},{"url":"b","title":"B","extra":{"N":"v"}}]}`,
			"[F] FOLDED=\n [G] \"g\"\n  A <a> #x #a,b \"d\"\nB <b> N=v",
		},
		"keys in any order, unknown ones": {
			`{"bookmarks":[{"url":"a","title":"A","folderId":"1","x":[{}]}],"exportedAt":"2025-01-01T00:00:00Z","folders":[{"name":"F","id":"1"}],"more":{"bookmarks":[1,{"a":[]}]},"version":1}`,
			"[F]\n A <a>",
		},
		"no folders":    {`{"bookmarks":[{"url":"a"}]}`, " <a>"},
		"no bookmarks":  {`{"folders":[{"id":"1","name":"F"}]}`, "[F]"},
		"null folders":  {`{"folders":null,"bookmarks":[{"url":"a","title":null,"tags":null}]}`, " <a>"},
		"folder orders": {`{"folders":[{"id":"1","name":"second","sortOrder":2},{"id":"2","name":"first","sortOrder":1}],"bookmarks":[]}`, "[first]\n[second]"},
		"a circle, a lost parent, a folder in itself, an id twice": {
			`{"folders":[{"id":"1","parentId":"2","name":"A"},{"id":"2","parentId":"1","name":"B"},{"id":"3","parentId":"x","name":"C"},{"id":"4","parentId":"4","name":"D"},{"id":"4","name":"E"}],
			"bookmarks":[{"url":"b","folderId":"2"},{"url":"n","folderId":"nowhere"},{"url":"d","folderId":"4"}]}`,
			"[C]\n[D]\n[E]\n[A]\n [B]\n   <b>\n <n>\n  <d>",
		},
		"with a mark":   {"\ufeff \n{\"bookmarks\":[]}", ""},
		"wrong entries": {`{"bookmarks":[{"url":"a"},17,{"url":["x"],"title":"T"},null]}`, " <a>\n <>\nT <>\n <>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outline(readAll(t, strings.NewReader(test.in))); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestReadsJSONDetails(t *testing.T) {
	entries := readAll(t, strings.NewReader(`{"bookmarks": [
		{"url": "a", "createdAt": "2016-02-25T20:55:48.123Z", "updatedAt": 1456433748, "sortOrder": 7,
		 "snapshotEnabled": true, "readerExcerpt": "r", "videoEmbedUrl": "v"},

		{"url": "b", "createdAt": "soon", "title": "`+"\xff"+`"}, 5
	]}`))
	a, b, broken := entries[0], entries[1], entries[2]
	if a.Line != 2 || b.Line != 5 || broken.Line != 5 || b.Index != 1 {
		t.Errorf("lines %d %d %d, index %d", a.Line, b.Line, broken.Line, b.Index)
	}
	if want := time.Date(2016, 2, 25, 20, 55, 48, 123e6, time.UTC); !a.CreatedAt.Equal(want) || !a.ModifiedAt.Equal(want.Truncate(time.Second)) {
		t.Errorf("dates %v, %v", a.CreatedAt, a.ModifiedAt)
	}
	if a.Order != 7 || !a.SnapshotEnabled || a.ReaderExcerpt != "r" || a.VideoEmbedURL != "v" {
		t.Errorf("%+v", a)
	}
	if len(b.Issues) != 2 || b.Issues[0].Code != api.IssueTextRepaired || b.Issues[1].Code != api.IssueDateUnreadable {
		t.Errorf("issues %v", b.Issues)
	}
	if broken.Broken == nil || broken.Broken.Code != api.IssueUnreadable || a.Broken != nil {
		t.Errorf("broken: %v, %v", broken.Broken, a.Broken)
	}
}

func TestNewerJSONIsRefused(t *testing.T) {
	for _, in := range []string{
		`{"version":2,"bookmarks":[{"url":"a"}]}`, `{"exportedAt":"x","version":99}`,
	} {
		_, err := exchange.NewReader(strings.NewReader(in))
		if err == nil || !strings.Contains(err.Error(), "newer than this program") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestDamagedJSONSaysWhere(t *testing.T) {
	for name, test := range map[string]struct {
		in            string
		entries, line int
	}{
		"cut off":         {"{\"folders\":[],\"bookmarks\":[\n{\"url\":\"a\"},\n{\"url\":", 1, 2},
		"a comma missing": {"{\"folders\":[],\"bookmarks\":[\n{\"url\":\"a\"}\n{\"url\":\"b\"}]}", 1, 3},
		"a newer version": {"{\"bookmarks\":[],\n\"version\":2}", 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := exchange.NewReader(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for ; err == nil; n++ {
				_, err = reader.Next()
			}
			var bad *exchange.SyntaxError
			if !errors.As(err, &bad) || bad.Line != test.line {
				t.Errorf("%v", err)
			}
			if n-1 != test.entries {
				t.Errorf("%d entries before the damage", n-1)
			}
			if cut := errors.Is(err, io.ErrUnexpectedEOF); cut != (name == "cut off") {
				t.Errorf("an unexpected end: %v", cut)
			}
		})
	}
}
