package op_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/server/api"
	"bm/server/op"
)

// A tenant has so many bytes of large bodies on the way at once, however slowly
// they come; another's do not count, nor do small ones.
func TestLargeBodiesAtOnce(t *testing.T) {
	w := newWorld(t, func(r *op.Router) {
		s := spec("put", http.MethodPost, "/put")
		s.MaxBody = api.MaxChangesBody
		op.Register(r, s, func(context.Context, *op.Call, *struct {
			Body struct {
				Text string `json:"text"`
			}
		},
		) (op.None, error) {
			return op.None{}, nil
		})
	})
	var slow []net.Conn
	for _, length := range []string{"Content-Length: 16777216", "Content-Length: 16777216", "Transfer-Encoding: chunked", "Content-Length: 16777000"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
		_, err = fmt.Fprintf(conn, "POST /put HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ada\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n%s\r\n\r\n", length)
		if err != nil {
			t.Fatal(err)
		}
		// The server asks for the body: the request is on the way.
		if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 100") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	large := `{"text":"` + strings.Repeat("x", 100_000) + `"}`
	if a := w.do(t, "POST", "/put", "wide", large); a.want(t, api.CodeRateLimited).Message == "" || a.header.Get("Retry-After") == "" {
		t.Errorf("without Retry-After: %v", a.header)
	}
	w.do(t, "POST", "/put", "ada", `{"text":"x"}`).ok(t, 200)
	w.do(t, "POST", "/put", "eve", large).ok(t, 200)
	for _, conn := range slow {
		_ = conn.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); w.do(t, "POST", "/put", "ada", large).status != 200; {
		if time.Now().After(deadline) {
			t.Fatal("who has left still has a share")
		}
	}
}

// What a tenant's answers hold is bounded until they are read, however slowly
// that is; one alone may be larger, and another's do not count.
func TestLargeAnswersAtOnce(t *testing.T) {
	const large, huge = 60 << 20, 200 << 20
	over := make(ends, 10)
	w := newWorld(t, func(r *op.Router) {
		for path, size := range map[string]int{"/large": large, "/huge": huge} {
			// Only a part is written: what counts is what it was made of.
			op.Register(r, spec("get"+path[1:], http.MethodGet, path), func(ctx context.Context, _ *op.Call, _ *struct{}) (string, error) {
				return strings.Repeat("x", 16<<20), op.Hold(ctx, size)
			})
		}
		var steps sync.WaitGroup
		steps.Add(8)
		op.Register(r, spec("steps", http.MethodGet, "/steps"), func(ctx context.Context, _ *op.Call, _ *struct{}) (op.None, error) {
			err := op.Hold(ctx, 10<<20)
			steps.Done()
			steps.Wait()
			for n := 0; err == nil && n < 15; n++ {
				err = op.Hold(ctx, 10<<20)
			}
			return op.None{}, err
		})
		op.Register(r, spec("body", http.MethodGet, "/body"), func(context.Context, *op.Call, *struct{}) (string, error) {
			return strings.Repeat("x", large), nil
		})
		op.Register(r, spec("change", http.MethodPost, "/change"), func(context.Context, *op.Call, *struct{}) (string, error) {
			return strings.Repeat("x", large), nil
		})
	}, func(d *op.Deps) { d.Observer = over })
	slow := func(path, who string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, who)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReaderSize(conn, 16).ReadString(' '); line != "HTTP/1.1 " {
			t.Fatalf("%q, %v", line, err)
		}
		return conn
	}
	leave := func(conns ...net.Conn) {
		t.Helper()
		for _, conn := range conns {
			_ = conn.Close()
			<-over
		}
	}
	first, second := slow("/large", "ada"), slow("/body", "wide")
	for _, path := range []string{"/large", "/huge", "/body"} {
		if a := w.do(t, "GET", path, "ada", ""); a.want(t, api.CodeRateLimited).Message == "" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: without Retry-After: %v", path, a.header)
		}
		<-over
	}
	w.do(t, "POST", "/change", "ada", "").ok(t, 200) // it is done: to say that it was not would be wrong
	<-over
	w.do(t, "GET", "/huge", "eve", "").ok(t, 200)
	<-over
	leave(first, second)
	third := slow("/huge", "ada")
	w.do(t, "GET", "/large", "ada", "").want(t, api.CodeRateLimited)
	<-over
	leave(third)
	// Of many that grow together one is given.
	together := make(chan answer, 8)
	for range cap(together) {
		go func() { together <- w.do(t, "GET", "/steps", "ada", "") }()
	}
	given := 0
	for range cap(together) {
		if a := <-together; a.status == 200 {
			given++
		} else {
			a.want(t, api.CodeRateLimited)
		}
		<-over
	}
	if given == 0 {
		t.Error("all refuse each other")
	}
	if held := w.router.Held(); held != 0 {
		t.Errorf("%d bytes are held though nobody reads", held)
	}
}
