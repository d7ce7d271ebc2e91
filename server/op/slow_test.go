package op_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"bm/server/op"
)

// ends is told when requests end.
type ends chan int

func (e ends) Observe(_, _ string, status int, _ time.Duration) { e <- status }

// Over HTTP/2, too, a connection goes on behind a request without a body, or
// with one that was read.
func TestConnectionsAreKept(t *testing.T) {
	w := newWorld(t, declareThings)
	s := httptest.NewUnstartedServer(w.router)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	for i, call := range []func() (*http.Response, error){
		func() (*http.Response, error) { return s.Client().Get(s.URL + "/nowhere") },
		func() (*http.Response, error) {
			return s.Client().Post(s.URL+"/things", "application/json", strings.NewReader(`{"name":"x"}`))
		},
		func() (*http.Response, error) { return s.Client().Get(s.URL + "/nowhere") },
	} {
		response, err := call()
		if err != nil {
			t.Fatal(err)
		}
		if response.Proto != "HTTP/2.0" || response.Close || response.Header.Get("Connection") != "" {
			t.Errorf("request %d: %s, %v", i, response.Proto, response.Header)
		}
		_ = response.Body.Close()
	}
	response, err := s.Client().Transport.RoundTrip(traced(t, s.URL+"/nowhere"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// traced is a request that wants a connection which was used before.
func traced(t *testing.T, url string) *http.Request {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			t.Error("a new connection was made")
		}
	}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// A client that stops reading ends its request, however much there is to say;
// one that reads slowly gets it all.
func TestSlowReaders(t *testing.T) {
	const size, patience = 32 << 20, 200 * time.Millisecond
	over := make(ends, 10)
	w := newWorld(t, func(r *op.Router) {
		op.Register(r, public("whole", http.MethodGet, "/whole"), func(context.Context, *op.Call, *struct{}) (string, error) {
			return strings.Repeat("x", size), nil
		})
		op.Register(r, public("late", http.MethodGet, "/late"), func(context.Context, *op.Call, *struct{}) (string, error) {
			<-time.After(3 * patience)
			return "x", nil
		})
		long := public("stream", http.MethodGet, "/stream")
		long.Timeout = -1
		op.Register(r, long, func(context.Context, *op.Call, *struct{}) (op.Stream, error) {
			return op.Stream{ContentType: "text/plain", Write: func(_ context.Context, out io.Writer) error {
				for range size >> 10 {
					if _, err := out.Write(make([]byte, 1<<10)); err != nil {
						return err
					}
				}
				return nil
			}}, nil
		})
	}, func(d *op.Deps) { d.SlowReader, d.Observer = patience, over })
	open := func(path string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	for _, path := range []string{"/whole", "/stream"} {
		open(path) // and nothing is read
		select {
		case <-over:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the request of a client that does not read goes on", path)
		}
	}
	for _, path := range []string{"/whole", "/stream"} {
		response, err := http.ReadResponse(bufio.NewReader(open(path)), nil)
		if err != nil {
			t.Fatal(err)
		}
		read, tick := 0, time.NewTicker(5*time.Millisecond)
		for buffer := make([]byte, 256<<10); ; <-tick.C { // for several times as long as its patience
			n, err := io.ReadFull(response.Body, buffer)
			if read += n; err != nil {
				break
			}
		}
		tick.Stop()
		_ = response.Body.Close()
		if read < size {
			t.Errorf("%s: a slow reader got %d of %d bytes", path, read, size)
		}
		<-over
	}
	// An answer that comes late is not taken for one that is not read.
	for range 2 { // the second over the same connection
		w.do(t, "GET", "/late", "", "").ok(t, 200)
		<-over
	}
}
