package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bm/server/api"
	"bm/server/api/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers every request with handler, and gives a client of it.
func serve(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Options{Server: server.URL, Version: "1.2.3", Token: "bmk_secret", Transport: transport, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(t *testing.T, w http.ResponseWriter, status int, body any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		t.Error(err)
	}
}

func TestRequestsAreWhatTheContractSays(t *testing.T) {
	var got *http.Request
	var body string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r.Clone(context.Background()), string(text)
		answer(t, w, http.StatusOK, map[string]any{})
	})
	ctx := context.Background()
	for _, test := range []struct {
		name string
		do   func() error
		want string
		body string
	}{
		{"create", func() error {
			_, err := c.CreateBookmark(ctx, client.InWorkspace("w"), api.BookmarkInput{URL: api.Some("https://a.example/?a=1")})
			return err
		}, "POST /workspaces/w/bookmarks", `{"url":"https://a.example/?a=1"}`},
		{"an id can't leave its place", func() error { return c.DeleteBookmark(ctx, client.InWorkspace("w"), "../../x?y") }, "DELETE /workspaces/w/bookmarks/..%2F..%2Fx%3Fy", ""},
		{"by key", func() error { _, err := c.GetBookmark(ctx, client.ByKey("w"), "b"); return err }, "GET /api/v1/bookmarks/b", ""},
		{"filters", func() error {
			_, err := c.CountBookmarks(ctx, "w", api.BookmarkFilter{Query: "go is:dead", Tags: []string{"a", "b"}, FolderID: "root", Recursive: true})
			return err
		}, "GET /workspaces/w/bookmarks/count?folderId=root&q=go+is%3Adead&recursive=true&tag=a&tag=b", ""},
		{"the first page", func() error {
			_, err := c.PageBookmarks(ctx, client.InWorkspace("w"), client.ListQuery{Limit: 7}, "")
			return err
		}, "GET /workspaces/w/bookmarks?cursor=&limit=7", ""},
		{"changes", func() error { _, err := c.Changes(ctx, "w", "c", 10, time.Hour); return err }, "GET /workspaces/w/changes?cursor=c&limit=10&wait=25", ""},
		{"logout", func() error { return c.Logout(ctx, api.Logout{RefreshToken: api.Some(api.Secret("r"))}) }, "POST /auth/logout", `{"refreshToken":"r"}`},
		{"rotate", func() error { _, err := c.RotateAPIKey(ctx, "k"); return err }, "POST /api/v1/api-keys/k/rotate", ""},
	} {
		if err := test.do(); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if sent := got.Method + " " + got.URL.RequestURI(); sent != test.want {
			t.Errorf("%s: sent %s, want %s", test.name, sent, test.want)
		}
		if strings.TrimSpace(body) != test.body {
			t.Errorf("%s: body %s, want %s", test.name, body, test.body)
		}
		if got.Header.Get("Authorization") != "Bearer bmk_secret" || got.Header.Get("User-Agent") != "bm/1.2.3" {
			t.Errorf("%s: headers %v", test.name, got.Header)
		}
		if test.body != "" && got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: content type %q", test.name, got.Header.Get("Content-Type"))
		}
	}
	if _, err := c.GetBookmark(ctx, client.ByKey("ws-1"), "b"); err != nil || got.Header.Get("X-Workspace-ID") != "ws-1" {
		t.Errorf("workspace header %q, %v", got.Header.Get("X-Workspace-ID"), err)
	}
	_, err := c.UpdateBookmark(ctx, client.InWorkspace("w"), "b", api.BookmarkInput{}, client.IfMatch(`"7"`), client.IdempotencyKey("i"))
	if err != nil || got.Header.Get("If-Match") != `"7"` || got.Header.Get("Idempotency-Key") != "i" {
		t.Errorf("edit headers %v, %v", got.Header, err)
	}
}

func TestFailuresAreTheServersOwn(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "17")
		e := api.Error{Code: api.CodeRateLimited, Message: "slower", CorrelationID: "c-1", Details: []api.FieldError{{Field: "f", Message: "m"}}}
		answer(t, w, e.Code.Status(), e.Envelope())
	})
	_, err := c.Me(context.Background())
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.CodeRateLimited || e.Message != "slower" || e.CorrelationID != "c-1" || e.RetryAfter != 17*time.Second || len(e.Details) != 1 {
		t.Errorf("got %+v", err)
	}
}

func TestAPageThatIsNotOursIsNoVerdict(t *testing.T) {
	status := http.StatusNotFound
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		fmt.Fprint(w, "<h1>A proxy</h1>")
	})
	ctx := context.Background()
	if _, err := c.GetBookmark(ctx, client.InWorkspace("w"), "b"); api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("a proxy's 404 passes for %q: %v", api.CodeOf(err), err)
	}
	if info, err := c.Info(ctx); err != nil || len(info.Extensions) != 0 {
		t.Errorf("a server without the page: %+v, %v", info, err)
	}
	status = http.StatusOK
	if _, err := c.ListWorkspaces(ctx); err == nil || !strings.Contains(err.Error(), "is this a bm server") {
		t.Errorf("a web page was taken for a list: %v", err)
	}
}

func TestKeyGoesNowhereElse(t *testing.T) {
	stolen := ""
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = r.Header.Get("Authorization") }))
	defer thief.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Me(context.Background()); err == nil {
		t.Error("a redirect was taken for an answer")
	}
	if stolen != "" {
		t.Errorf("a redirect took %q along", stolen)
	}

	sent := false
	transport := roundTrip(func(*http.Request) (*http.Response, error) { sent = true; return nil, errors.New("sent") })
	for server, insecure := range map[string]bool{
		"http://bookmarks.example": true, "http://192.0.2.7:8787": true, "http://localhost.example": true,
		"http://127.0.0.1:1": false, "http://[::1]:1": false, "http://localhost:1": false, "https://bookmarks.example": false,
	} {
		for _, allow := range []bool{false, true} {
			sent = false
			c, err := client.New(client.Options{Server: server, Token: "bmk_x", InsecureHTTP: allow, Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Me(context.Background())
			if refused := errors.Is(err, client.ErrInsecure); refused != (insecure && !allow) || sent == refused {
				t.Errorf("%s, allowed %v: sent %v, %v", server, allow, sent, err)
			}
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Server: address})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Me(context.Background())
	if u, ok := errors.AsType[*client.Unreachable](err); !ok || !strings.HasSuffix(u.Error(), "nothing listens there") {
		t.Errorf("nobody there: %v", err)
	}

	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	c, err = client.New(client.Options{Server: "https://" + plain.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Me(context.Background())
	if u, ok := errors.AsType[*client.Unreachable](err); !ok || !strings.HasSuffix(u.Error(), "it speaks http, not https") {
		t.Errorf("without https: %v", err)
	}

	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	c, err = client.New(client.Options{Server: "http://" + secure.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Me(context.Background())
	if u, ok := errors.AsType[*client.Unreachable](err); !ok || !strings.HasSuffix(u.Error(), "it speaks https, not http") {
		t.Errorf("with http: %v", err)
	}

	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	slow, err := client.New(client.Options{Server: server.URL, Timeout: 20 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = slow.Me(context.Background())
	if u, ok := errors.AsType[*client.Unreachable](err); !ok || !strings.HasSuffix(u.Error(), "did not answer in time") {
		t.Errorf("too slow: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = slow.Me(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, ok := errors.AsType[*client.Unreachable](err); ok {
		t.Error("the caller's own cancellation counts as unreachable")
	}
}

// Of an answer that breaks off, whatever reads it, nothing is known; one that is whole
// and no JSON is the server's own fault.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	for answer, broken := range map[string]bool{`{"data":[`: true, `{"data":[]}`: true, "": true, `{"data":[}`: false} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if broken {
				w.Header().Set("Content-Length", "100")
			}
			_, _ = io.WriteString(w, answer)
		})
		_, me := c.Me(t.Context())
		_, page := c.Changes(t.Context(), "w", "", 0, 0)
		_, verdicts := c.Push(t.Context(), "w", api.PushRequest{})
		for what, err := range map[string]error{"me": me, "changes": page, "push": verdicts} {
			// What is there may be all that a reader looks at.
			whole := answer == `{"data":[]}` && what == "me"
			if _, unreachable := errors.AsType[*client.Unreachable](err); unreachable != (broken && !whole) {
				t.Errorf("%s, of which came %q: %v", what, answer, err)
			}
		}
	}
}

func TestImportStreams(t *testing.T) {
	refuse := false
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if refuse {
			answer(t, w, http.StatusForbidden, api.Errorf(api.CodeForbidden, "no").Envelope())
			return
		}
		file, header, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		text, _ := io.ReadAll(file)
		answer(t, w, http.StatusOK, api.ImportSummary{Imported: len(text), Errors: []api.ImportSummaryIssue{{Message: header.Filename + " " + r.URL.Query().Get("folderId")}}})
	})
	got, err := c.Import(context.Background(), client.InWorkspace("w"), "b.html", strings.NewReader(strings.Repeat("x", 1<<20)), "f")
	if err != nil || got.Imported != 1<<20 || got.Errors[0].Message != "b.html f" {
		t.Errorf("%+v, %v", got, err)
	}
	refuse = true
	_, err = c.Import(context.Background(), client.InWorkspace("w"), "b.html", strings.NewReader(strings.Repeat("x", 8<<20)), "")
	// The refusal may come while the upload is under way, which breaks it off.
	if _, broken := errors.AsType[*client.Unreachable](err); api.CodeOf(err) != api.CodeForbidden && !broken {
		t.Errorf("refused: %v", err)
	}
}

func TestEvents(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\n\ndata: {\"workspaceId\":\"w\",\"rev\":7}\n\n:\n\nevent: x\ndata: {\"workspaceId\":\"v\",\ndata: \"rev\":8}\r\n\r\n")
	})
	stream, err := c.Events(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []api.Event{{WorkspaceID: "w", Rev: 7}, {WorkspaceID: "v", Rev: 8}} {
		if got, err := stream.Next(); err != nil || got != want {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if _, err := stream.Next(); err == nil {
		t.Error("the end of the stream is no error")
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

func TestParseServer(t *testing.T) {
	for in, want := range map[string]string{
		"bookmarks.example":     "https://bookmarks.example",
		"bookmarks.example/bm/": "https://bookmarks.example/bm",
		"127.0.0.1:8787":        "http://127.0.0.1:8787",
		"localhost:8787":        "http://localhost:8787",
		"http://10.0.0.1":       "http://10.0.0.1",
		"ftp://x":               "",
		"https://":              "",
		"https://user:pw@x":     "",
		"https://x/?q":          "",
		"":                      "",
		"https://x y":           "",
		"https://:8787":         "",
		"x:99999":               "",
		"x:0":                   "",
		"[::1]:65535":           "http://[::1]:65535",
	} {
		u, err := client.ParseServer(in)
		switch {
		case want == "" && api.CodeOf(err) != api.CodeValidation:
			t.Errorf("%q: %v, %v", in, u, err)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q: %v, %v", in, u, err)
		}
	}
}

func TestChangesDecode(t *testing.T) {
	page := api.ChangesPage{
		Data: []api.Change{
			{Type: api.TypeFolder, ID: "f", Rev: 1, Folder: &api.Folder{ID: "f", Name: "Ünï", CreatedAt: api.At(time.Unix(1, 0))}},
			{Type: api.TypeBookmark, ID: "b", Rev: 2, Bookmark: &api.Bookmark{ID: "b", Tags: []string{"x"}, Extra: map[string]string{"ADD": "1"}}},
			{Type: api.TypeBookmark, ID: "c", Rev: 3, Deleted: true},
		},
		Head: api.Head{Epoch: "e", Rev: 3, Digest: "00", Count: 2},
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(t, w, http.StatusOK, page) })
	got, err := c.Changes(context.Background(), "w", "", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(page)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", b, a)
	}
}

// What the server says that it allows is known to every copy of the client, also
// from an answer that refuses.
func TestLimitIsWhatTheServerSays(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if n := c.Limit(); n != 0 {
		t.Errorf("before any answer %d", n)
	}
	if _, err := c.As("key").ListWorkspaces(t.Context()); err == nil {
		t.Error("a refusal is no error")
	}
	if n := c.Limit(); n != 120 {
		t.Errorf("limit %d", n)
	}
}
