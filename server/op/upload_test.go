package op_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
)

// shown is what an upload was understood as.
type shown struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Text string `json:"text"`
}

func declareUpload(r *op.Router) {
	s := spec("upload", http.MethodPost, "/workspaces/{workspaceId}/upload")
	s.Scope, s.Permission, s.Timeout = op.Workspace, access.BookmarksWrite, -1
	op.Register(r, s, func(_ context.Context, _ *op.Call, in *struct {
		WorkspaceID string `path:"workspaceId"`
		Depth       int    `query:"depth" minimum:"1"`
		Upload      op.Upload
	},
	) (shown, error) {
		text, err := io.ReadAll(io.LimitReader(in.Upload.File, 100))
		return shown{in.Upload.Name, in.Upload.Size, string(text)}, err
	})
}

// form is a multipart body and its Content-Type; a part with a file name is a
// file.
func form(t *testing.T, parts ...[3]string) (body, kind string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, p := range parts {
		create := func() (io.Writer, error) { return w.CreateFormField(p[0]) }
		if p[1] != "" {
			create = func() (io.Writer, error) { return w.CreateFormFile(p[0], p[1]) }
		}
		part, err := create()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, p[2]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String(), w.FormDataContentType()
}

func TestUploads(t *testing.T) {
	var spool string
	w := newWorld(t, declareUpload, func(d *op.Deps) { spool = d.SpoolDir })
	path := "/workspaces/" + home + "/upload"
	for name, parts := range map[string][][3]string{
		"ours":            {{"file", "b.html", "whole"}},
		"another field":   {{"upload", "b.html", "whole"}},
		"without a name":  {{"file", "", "whole"}},
		"after a field":   {{"note", "", "x"}, {"file", "b.html", "whole"}},
		"before others":   {{"file", "b.html", "whole"}, {"other", "c.html", "ignored"}},
		"an empty file":   {{"file", "b.html", ""}},
		"NUL in the file": {{"file", "b.html", "a\x00b"}},
	} {
		body, kind := form(t, parts...)
		a := w.do(t, "POST", path, "ada", body, "Content-Type", kind).ok(t, 200)
		want := map[string]string{"an empty file": `"text":""`, "NUL in the file": `"text":"a\u0000b"`}[name]
		if want == "" {
			want = `"text":"whole"`
		}
		if !strings.Contains(a.body, want) {
			t.Errorf("%s: %s", name, a.body)
		}
	}

	whole, kind := form(t, [3]string{"file", "b.html", strings.Repeat("x", 100_000)})
	w.do(t, "POST", path, "ada", "{}").want(t, api.CodeUnsupportedMediaType)
	w.do(t, "POST", path+"?depth=0", "ada", "{}").want(t, api.CodeUnsupportedMediaType)
	w.do(t, "POST", path+"?depth=0", "ada", whole, "Content-Type", kind).field(t, "query.depth")
	w.do(t, "POST", path, "ada", whole, "Content-Type", "multipart/form-data").want(t, api.CodeUnsupportedMediaType)
	w.do(t, "POST", path, "bob", whole, "Content-Type", kind).want(t, api.CodeForbidden)
	empty, emptyKind := form(t, [3]string{"note", "", "x"})
	w.do(t, "POST", path, "ada", empty, "Content-Type", emptyKind).field(t, "file")
	w.do(t, "POST", path, "ada", "no form at all", "Content-Type", kind).want(t, api.CodeValidation)
	// Cut in the file, and at its end.
	w.do(t, "POST", path, "ada", whole[:len(whole)-100], "Content-Type", kind).want(t, api.CodeValidation)
	w.do(t, "POST", path, "ada", whole[:strings.LastIndex(whole, "\r\n--")], "Content-Type", kind).want(t, api.CodeValidation)
	w.do(t, "POST", path, "ada", whole[:len(whole)/2], "Content-Type", kind).want(t, api.CodeValidation)

	// The connection ends in the middle of what was announced.
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ada\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, kind, len(whole))
	for _, sent := range []int{50_000, len(whole) - 4} { // in the file, and in the form's last line
		if got := w.raw(t, head+whole[:sent], true); !strings.HasPrefix(got, "400 ") {
			t.Errorf("%d of %d bytes: %s", sent, len(whole), got)
		}
	}

	// One that is too large, and does not say so before.
	endless := io.MultiReader(strings.NewReader(whole[:len(whole)/2]), io.LimitReader(zeros{}, api.MaxImportBody+1<<20))
	request, err := http.NewRequest("POST", w.URL+path, endless)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Authorization", "Bearer ada")
	w.send(t, request).want(t, api.CodePayloadTooLarge)

	left, err := os.ReadDir(spool)
	if err != nil || len(left) > 0 {
		t.Errorf("spooled files stay: %v, %v", left, err)
	}
}

// A tenant has a few files on the way at once; another's do not count.
func TestUploadsAtOnce(t *testing.T) {
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan struct{}, 8)
	w := newWorld(t, func(r *op.Router) {
		s := spec("upload", http.MethodPost, "/upload")
		s.Timeout = -1
		op.Register(r, s, func(_ context.Context, _ *op.Call, _ *struct{ Upload op.Upload }) (op.None, error) {
			entered <- struct{}{}
			<-leave
			return op.None{}, nil
		})
	})
	body, kind := form(t, [3]string{"file", "b.html", "x"})
	var running sync.WaitGroup
	send := func(who string) {
		running.Go(func() {
			w.do(t, "POST", "/upload", who, body, "Content-Type", kind).ok(t, 200)
			done <- struct{}{}
		})
		<-entered
	}
	for range 4 {
		send("ada")
	}
	for _, who := range []string{"ada", "wide"} {
		if a := w.do(t, "POST", "/upload", who, body, "Content-Type", kind); a.header.Get("Retry-After") == "" {
			t.Errorf("%d without Retry-After", a.status)
		} else {
			a.want(t, api.CodeRateLimited)
		}
	}
	send("eve")
	for range 2 { // one of ada's, at least; the other may be eve's
		leave <- struct{}{}
		<-done
	}
	send("wide")
	close(leave)
	running.Wait()
	for range 4 {
		go func() { <-entered }()
	}
	for range 4 {
		w.do(t, "POST", "/upload", "ada", body, "Content-Type", kind).ok(t, 200)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
