package op_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"bm/server/api"
	"bm/server/op"
	"bm/server/sqldb"
)

// declareFailures is an operation for each way of going wrong.
func declareFailures(r *op.Router) {
	type in struct {
		How string `path:"how"`
	}
	s := public("fail", http.MethodGet, "/fail/{how}")
	s.Timeout = 20 * time.Millisecond
	op.Register(r, s, func(ctx context.Context, _ *op.Call, in *in) (op.Stream, error) {
		failed := errors.New("dial tcp 10.0.0.7: password=hunter2")
		switch in.How {
		case "panic":
			panic("hunter2")
		case "unknown":
			return op.Stream{}, failed
		case "database":
			return op.Stream{}, fmt.Errorf("read: %w: %w", sqldb.ErrUnavailable, failed)
		case "deadline":
			<-ctx.Done()
			return op.Stream{}, fmt.Errorf("read: %w", ctx.Err())
		case "ours":
			return op.Stream{}, fmt.Errorf("find the thing: %w", api.Errorf(api.CodeGone, "it went away"))
		case "stream-before":
			return op.Stream{ContentType: "text/html", Filename: "x.html", Write: func(context.Context, io.Writer) error {
				return failed
			}}, nil
		case "stream-after":
			return op.Stream{ContentType: "text/html", Write: func(_ context.Context, w io.Writer) error {
				_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
				return failed
			}}, nil
		case "stream-panic":
			return op.Stream{ContentType: "text/html", Write: func(_ context.Context, w io.Writer) error {
				if err := op.Flush(w); err != nil {
					return err
				}
				panic("hunter2")
			}}, nil
		}
		return op.Stream{ContentType: "text/html", Write: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "<p>whole")
			return err
		}}, nil
	})
}

func TestFailuresInTheEnvelope(t *testing.T) {
	w := newWorld(t, declareFailures)
	for how, want := range map[string]api.Code{
		"panic": api.CodeInternal, "unknown": api.CodeInternal, "database": api.CodeUnavailable,
		"deadline": api.CodeUnavailable, "ours": api.CodeGone, "stream-before": api.CodeInternal,
	} {
		a := w.do(t, "GET", "/fail/"+how, "", "")
		e := a.want(t, want)
		if strings.Contains(a.body, "hunter2") || strings.Contains(a.body, "10.0.0.7") {
			t.Errorf("%s: the caller is told %s", how, a.body)
		}
		if (want == api.CodeUnavailable) != (a.header.Get("Retry-After") != "") {
			t.Errorf("%s: Retry-After %q", how, a.header.Get("Retry-After"))
		}
		if a.header.Get("X-RateLimit-Limit") == "" {
			t.Errorf("%s: no rate limit's headers", how)
		}
		if a.header.Get("Content-Disposition") != "" {
			t.Errorf("%s: a failure as an attachment", how)
		}
		if want == api.CodeInternal && !strings.Contains(w.log.String(), e.CorrelationID) {
			t.Errorf("%s: the log does not have the correlation id", how)
		}
	}
	if !strings.Contains(w.log.String(), "hunter2") {
		t.Error("what failed inside is not in the log")
	}
	if a := w.do(t, "GET", "/fail/not", "", "").ok(t, 200); a.body != "<p>whole" || a.header.Get("Content-Type") != "text/html" {
		t.Errorf("a sound stream: %+v", a)
	}
}

// A stream that breaks is cut off: nobody takes a part for the whole.
func TestBrokenStreamIsCut(t *testing.T) {
	w := newWorld(t, declareFailures)
	for _, how := range []string{"stream-after", "stream-panic"} {
		response, err := http.Get(w.URL + "/fail/" + how)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil {
			t.Errorf("%s: the body ended as if it were whole", how)
		}
	}
	if !strings.Contains(w.log.String(), `"cut":true`) {
		t.Errorf("the log does not say it: %s", w.log)
	}
}

func TestUnmatched(t *testing.T) {
	w := newWorld(t, func(r *op.Router) {
		declareFailures(r)
		declareNames(r)
		r.Page("GET /page/{$}", op.RateDefault, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "page")
		}))
	})
	names := "/workspaces/" + home + "/names"
	for _, c := range []struct {
		method, path, allow string
		want                api.Code
	}{
		{"GET", "/", "", api.CodeNotFound},
		{"GET", "/nothing", "", api.CodeNotFound},
		{"GET", "/fail/", "", api.CodeNotFound},
		{"GET", "/fail/x/y", "", api.CodeNotFound},
		{"GET", "//fail/not", "", api.CodeNotFound},
		{"GET", "/fail/../fail/not", "", api.CodeNotFound},
		{"GET", "/fail/%2e%2e/not", "", api.CodeNotFound},
		{"GET", names, "POST", api.CodeMethodNotAllowed},
		{"PUT", names, "POST", api.CodeMethodNotAllowed},
		{"OPTIONS", names, "POST", api.CodeMethodNotAllowed},
		{"BREW", names, "POST", api.CodeMethodNotAllowed},
		{"POST", "/fail/not", "GET, HEAD", api.CodeMethodNotAllowed},
		{"POST", "/page/", "GET, HEAD", api.CodeMethodNotAllowed},
	} {
		a := w.do(t, c.method, c.path, "", "")
		a.want(t, c.want)
		if a.header.Get("Allow") != c.allow || a.header.Get("Location") != "" || a.header.Get("X-RateLimit-Limit") == "" {
			t.Errorf("%s %s: headers %v", c.method, c.path, a.header)
		}
	}
	if strings.Contains(w.log.String(), "/nothing") {
		t.Error("the log holds a path; a path may hold a token")
	}
	if a := w.do(t, "HEAD", "/fail/not", "", "").ok(t, 200); a.body != "" {
		t.Errorf("HEAD has a body: %q", a.body)
	}
}

func TestCorrelationID(t *testing.T) {
	w := newWorld(t, declareFailures)
	long := strings.Repeat("a", 128)
	for given, echoed := range map[string]bool{
		"x": true, "a b-c~!": true, long: true,
		long + "a": false, "é": false, "a\tb": false, "\x7f": false, "": false,
	} {
		request, err := http.NewRequest("GET", w.URL+"/fail/ours", nil)
		if err != nil {
			t.Fatal(err)
		}
		if given != "" {
			request.Header["X-Correlation-Id"] = []string{given}
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			if strings.Contains(err.Error(), "invalid header") {
				continue // our own transport does not send it
			}
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get("X-Correlation-ID"); got == "" || (got == given) != echoed {
			t.Errorf("%q came back as %q", given, got)
		}
	}
	// Every success has one too.
	if a := w.do(t, "GET", "/fail/not", "", ""); a.header.Get("X-Correlation-ID") == "" {
		t.Error("a success without a correlation id")
	}
}

// Two requests never share an id of the server's own making.
func TestCorrelationIDsDiffer(t *testing.T) {
	w := newWorld(t, declareFailures)
	first, second := w.do(t, "GET", "/x", "", ""), w.do(t, "GET", "/x", "", "")
	if first.header.Get("X-Correlation-ID") == second.header.Get("X-Correlation-ID") {
		t.Error("two requests have the same correlation id")
	}
}

func TestLogNamesTheRouteOnly(t *testing.T) {
	w := newWorld(t, func(r *op.Router) { declareFailures(r); declareNames(r) })
	w.do(t, "GET", "/fail/not?token=hunter2", "", "").ok(t, 200)
	w.do(t, "POST", "/workspaces/"+home+"/names?q=hunter2", "ada", `{"name":"hunter2"}`).ok(t, 200)
	w.do(t, "POST", "/workspaces/hunter2/names", "ada", `{"name":"hunter2"}`).want(t, api.CodeNotFound)
	w.do(t, "POST", "/workspaces/"+home+"/names", "hunter2", `{"name":"x"}`).want(t, api.CodeUnauthorized)
	log := w.log.String()
	if strings.Contains(log, "hunter2") || strings.Contains(log, home) {
		t.Errorf("the log holds what it must not: %s", log)
	}
	for _, want := range []string{`"route":"GET /fail/{how}"`, `"route":"POST /workspaces/{workspaceId}/names"`, `"status":401`, `"duration"`, `"correlation_id"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

// That whoever asked has left is no failure of the server.
func TestWhoLeavesIsNoFailure(t *testing.T) {
	began := make(chan struct{})
	w := newWorld(t, func(r *op.Router) {
		op.Register(r, public("slow", http.MethodGet, "/slow"), func(ctx context.Context, _ *op.Call, _ *struct{}) (op.Stream, error) {
			close(began)
			<-ctx.Done()
			return op.Stream{}, fmt.Errorf("read: %w", ctx.Err())
		})
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		leave()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+"/slow", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(request); err == nil {
		_ = answer.Body.Close()
		t.Fatal("it was answered")
	}
	for !strings.Contains(w.log.String(), "/slow") {
		time.Sleep(time.Millisecond)
	}
	if strings.Contains(w.log.String(), "ERROR") {
		t.Errorf("the log: %s", w.log.String())
	}
}
