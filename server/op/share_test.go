package op_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
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
