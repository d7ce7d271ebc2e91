package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
)

// A name below localhost is this machine: the key goes neither to a proxy nor
// to where a name server says.
func TestLocalNamesStayHere(t *testing.T) {
	if server := os.Getenv("BM_TEST_LOCAL_SERVER"); server != "" {
		c, err := client.New(client.Options{Server: server, Token: "bmk_secret"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ListWorkspaces(context.Background()); err != nil {
			t.Fatal(err)
		}
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		answer(t, w, http.StatusOK, []api.Workspace{})
	}))
	defer server.Close()
	proxied := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied <- r.Host + " " + r.Header.Get("Authorization")
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	// The environment's proxies are read once in a process.
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLocalNamesStayHere$")
	child.Env = append(os.Environ(), "BM_TEST_LOCAL_SERVER=http://bm.localhost:"+port, "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
	if output, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	select {
	case saw := <-proxied:
		t.Errorf("the proxy saw %q", saw)
	default:
	}
}

// What does not answer as a bm server does says nothing of rights: a portal's
// page must not freeze a replica, nor sign anybody out.
func TestPagesOfOthersAreNoVerdicts(t *testing.T) {
	for _, c := range []struct {
		status int
		header string
		want   api.Code
	}{
		{http.StatusForbidden, "", api.CodeUnavailable},
		{http.StatusNotFound, "", api.CodeUnavailable},
		{http.StatusUnauthorized, "", api.CodeUnavailable},
		{http.StatusUnauthorized, `Bearer`, api.CodeUnauthorized},
		{http.StatusRequestEntityTooLarge, "", api.CodePayloadTooLarge},
		{http.StatusTooManyRequests, "", api.CodeRateLimited},
		{http.StatusBadGateway, "", api.CodeUnavailable},
	} {
		portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("WWW-Authenticate", c.header)
			}
			w.Header().Set("Connection", "close")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte("<html>Sign in to the hotel's network</html>"))
		}))
		caller, err := client.New(client.Options{Server: portal.URL, Token: "bmk_secret"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := caller.ListWorkspaces(t.Context()); api.CodeOf(err) != c.want {
			t.Errorf("%d %q: %v, want %s", c.status, c.header, err, c.want)
		}
		portal.Close()
	}
}
