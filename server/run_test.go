package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
)

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen chan struct{} // closed once the word was written
	word string
}

func watchFor(word string) *logged { return &logged{seen: make(chan struct{}), word: word} }

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := strings.Contains(l.text.String(), l.word)
	l.text.Write(p)
	if !before && strings.Contains(l.text.String(), l.word) {
		close(l.seen)
	}
	return len(p), nil
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// running is a server that runs as a program's does.
type running struct {
	addr string
	log  *logged
	stop context.CancelFunc
	// ended is what Run returned.
	ended chan error
}

func start(t *testing.T, config server.Config, listen server.Listen, log *logged) *running {
	t.Helper()
	config = complete(config)
	config.Logger = slog.New(slog.NewTextHandler(log, nil))
	ctx, stop := context.WithCancel(context.Background())
	r := &running{log: log, stop: stop, ended: make(chan error, 1)}
	ready := make(chan string, 1)
	listen.Addr = "127.0.0.1:0"
	go func() { r.ended <- server.Run(ctx, config, listen, func(addr string) { ready <- addr }) }()
	t.Cleanup(stop)
	select {
	case r.addr = <-ready:
	case err := <-r.ended:
		t.Fatal(err)
	}
	return r
}

// An import that is under way when the server is told to go comes to its end,
// event streams and held polls end at once, and nothing new is taken.
func TestStopFinishesWhatRuns(t *testing.T) {
	ctx, numbers := t.Context(), freeAddr(t)
	r := start(t, server.Config{Dir: t.TempDir()}, server.Listen{MetricsAddr: numbers}, watchFor("stopping"))
	ada := servertest.Join(t, &servertest.Server{URL: "http://" + r.addr}, "ada")
	page, err := ada.Key.Changes(ctx, ada.Workspace.ID, "", 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := ada.Key.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	streamed := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Next(); err != nil {
				streamed <- err
				return
			}
		}
	}()
	polled := make(chan error, 1)
	go func() {
		_, err := ada.Key.Changes(ctx, ada.Workspace.ID, *page.Pagination.NextCursor, 10, 25*time.Second)
		polled <- err
	}()
	for waiting := ""; !strings.Contains(waiting, "bm_streams 2"); {
		_, waiting = get(t, "http://"+numbers+"/metrics")
	}
	// Half of an import is sent. Nothing of it is before the server reads.
	body, send := io.Pipe()
	form := multipart.NewWriter(send)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr+"/api/v1/bookmarks/imports", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Authorization", "Bearer "+ada.Secret.Reveal())
	request.Header.Set("X-Workspace-ID", ada.Workspace.ID)
	request.Header.Set("Expect", "100-continue")
	sender := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer sender.CloseIdleConnections()
	imported := make(chan error, 1)
	go func() {
		answer, err := sender.Do(request)
		if err == nil {
			var summary api.ImportSummary
			err = json.NewDecoder(answer.Body).Decode(&summary)
			if closed := answer.Body.Close(); err == nil {
				err = closed
			}
			if answer.StatusCode != http.StatusOK || summary.Imported != 2 {
				err = fmt.Errorf("status %d, %d imported, %w", answer.StatusCode, summary.Imported, err)
			}
		}
		imported <- err
	}()
	part, err := form.CreateFormFile("file", "bookmarks.html")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF=\"https://a.example/\">A</A>\n"); err != nil {
		t.Fatal(err)
	}

	r.stop()
	<-r.log.seen
	if err := <-streamed; err == nil {
		t.Error("the event stream ended without an end")
	}
	if err := <-polled; err != nil && api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("the held poll: %v", err)
	}
	select {
	case err := <-r.ended:
		t.Fatalf("the server ended before the import: %v\n%s", err, r.log)
	default:
	}
	if connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.addr); err == nil {
		t.Error("it still takes connections")
		_ = connection.Close()
	}
	if _, err := io.WriteString(part, "<DT><A HREF=\"https://b.example/\">B</A>\n</DL>\n"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{form.Close(), send.Close(), <-imported, <-r.ended} {
		if err != nil {
			t.Errorf("%v\n%s", err, r.log)
		}
	}
}

// What does not end in time is cut off, and the server ends all the same.
func TestStopIsBounded(t *testing.T) {
	r := start(t, server.Config{Dir: t.TempDir()}, server.Listen{Grace: 50 * time.Millisecond}, watchFor("stopping"))
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	const half = "POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
	if _, err := io.WriteString(connection, half); err != nil {
		t.Fatal(err)
	}
	// It says so when it begins to read the body, which never comes.
	if line, err := bufio.NewReader(connection).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.log.String(), "took too long") {
		t.Errorf("it does not say so:\n%s", r.log)
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := servertest.Certificate(t, dir)
	r := start(t, server.Config{Dir: filepath.Join(dir, "srv")}, server.Listen{CertFile: certFile, KeyFile: keyFile}, watchFor("stopping"))
	raw, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(raw)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.addr+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("status %d over %s", answer.StatusCode, answer.Proto)
	}
	transport.CloseIdleConnections()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	for name, listen := range map[string]server.Listen{
		"a certificate without its key": {CertFile: certFile},
		"a key without its certificate": {KeyFile: keyFile},
		"a file that is no certificate": {CertFile: keyFile, KeyFile: keyFile},
		"both ways at once":             {CertFile: certFile, KeyFile: keyFile, ACME: server.ACME{Domains: []string{"bm.example"}}},
		"a certificate of an address":   {ACME: server.ACME{Domains: []string{"192.0.2.1"}}},
		"a certificate of any name":     {ACME: server.ACME{Domains: []string{"*.bm.example"}}},
		"a certificate of this machine": {ACME: server.ACME{Domains: []string{"localhost"}}},
		"an authority without a domain": {ACME: server.ACME{Directory: "https://ca.example/directory"}},
		"an authority in the clear":     {ACME: server.ACME{Domains: []string{"bm.example"}, Directory: "http://ca.example/directory"}},
	} {
		listen.Addr = "127.0.0.1:0"
		err := server.Run(t.Context(), complete(server.Config{Dir: filepath.Join(dir, "srv")}), listen, func(string) {
			t.Errorf("%s: it served", name)
		})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// freeAddr is an address that nobody has yet.
func freeAddr(t *testing.T) string {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	return free.Addr().String()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// The numbers are served on an address of their own alone.
func TestMetricsApart(t *testing.T) {
	addr := freeAddr(t)
	r := start(t, server.Config{Dir: t.TempDir()}, server.Listen{MetricsAddr: addr}, watchFor("stopping"))
	if status, _ := get(t, "http://"+r.addr+"/metrics"); status != http.StatusNotFound {
		t.Errorf("the API's address serves the metrics: %d", status)
	}
	if status, text := get(t, "http://"+addr+"/metrics"); status != http.StatusOK || !strings.Contains(text, "unmatched") {
		t.Errorf("%d:\n%s", status, text)
	}
	if status, _ := get(t, "http://"+addr+"/healthz"); status != http.StatusNotFound {
		t.Errorf("the metrics' address serves more: %d", status)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

// The one request that net/http would answer by itself is answered, and
// counted, like any other.
func TestOptionsOfTheServer(t *testing.T) {
	r := start(t, server.Config{Dir: t.TempDir()}, server.Listen{}, watchFor("serving"))
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	for _, name := range []string{"X-Correlation-ID", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if response.Header.Get(name) == "" {
			t.Errorf("%d without %s", response.StatusCode, name)
		}
	}
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("it was answered with %d", response.StatusCode)
	}
}
