package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-resty/resty/v2"

	"bm/server/api"
)

// Options says which server to call, and as whom.
type Options struct {
	// Server is the base address, such as https://bookmarks.example.com.
	Server string
	// Version names this build in the User-Agent.
	Version string
	// Token is an API key or an access token; empty for the operations that
	// need none.
	Token api.Secret
	// InsecureHTTP lets the token go over plain http to another machine.
	InsecureHTTP bool
	// Timeout bounds a request that is not a stream; 0 means 60 s.
	Timeout time.Duration
	// Transport carries the requests; nil makes one that keeps connections.
	Transport http.RoundTripper
}

// Client calls one server as one caller. It is safe for use by several
// goroutines.
type Client struct {
	server  *url.URL
	token   api.Secret
	allowed bool
	timeout time.Duration
	rest    *resty.Client
	told    *atomic.Int64 // of all its copies
}

// ErrInsecure is the refusal to send a token over plain http to another
// machine.
var ErrInsecure = errors.New("the key would go over plain http, readable to anyone on the way")

// New makes a client. It sends nothing.
func New(opts Options) (*Client, error) {
	base, err := ParseServer(opts.Server)
	if err != nil {
		return nil, err
	}
	if opts.Timeout == 0 {
		opts.Timeout = time.Minute
	}
	if opts.Transport == nil {
		opts.Transport = newTransport()
	}
	rest := resty.New().
		SetTransport(opts.Transport).
		SetBaseURL(strings.TrimSuffix(base.String(), "/")).
		SetHeader("User-Agent", "bm/"+opts.Version).
		SetHeader("Accept", "application/json").
		SetDoNotParseResponse(true).
		SetDisableWarn(true).
		SetLogger(silent{}).
		SetRedirectPolicy(resty.RedirectPolicyFunc(func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}))
	c := &Client{server: base, allowed: opts.InsecureHTTP, timeout: opts.Timeout, rest: rest, told: &atomic.Int64{}}
	return c.As(opts.Token), nil
}

// As is the same client, over the same connections, for another caller.
func (c *Client) As(token api.Secret) *Client {
	other := *c
	other.token = token
	return &other
}

// Limit is how many requests the server allows in a minute, as its last answer
// said; 0 where none has said it.
func (c *Client) Limit() int64 { return c.told.Load() }

// Server is the base address.
func (c *Client) Server() string { return c.server.String() }

// newTransport keeps enough connections for a round of replication, an event
// stream and what a user does beside them.
func newTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if isLoopback(r.URL.Hostname()) {
				return nil, nil //nolint:nilnil // no proxy is an answer here
			}
			return http.ProxyFromEnvironment(r)
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil || net.ParseIP(host) != nil || !isLoopback(host) {
				return dialer.DialContext(ctx, network, address)
			}
			// What is called local is dialled here, whatever a name server says.
			conn, err := dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
			if err != nil {
				if other, failed := dialer.DialContext(ctx, network, net.JoinHostPort("::1", port)); failed == nil {
					return other, nil
				}
			}
			return conn, err
		},
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// ParseServer reads a server's address: http or https, and a host. Without a
// scheme it is https, or http for this machine.
func ParseServer(address string) (*url.URL, error) {
	text := strings.TrimSpace(address)
	if !strings.Contains(text, "://") {
		scheme := "https://"
		if host, _, _ := strings.Cut(text, "/"); isLoopback(hostOf(host)) {
			scheme = "http://"
		}
		text = scheme + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !validPort(u.Port()) || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, api.Invalid("server", "an address such as https://bookmarks.example.com is wanted")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// IsLocal reports whether a server's address is on this machine.
func IsLocal(server string) bool {
	u, err := ParseServer(server)
	return err == nil && isLoopback(u.Hostname())
}

// silent keeps resty from writing to the terminal by itself.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

// call is one request.
type call struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   any           // encoded as JSON
	stream io.Reader     // sent as it is, with its Content-Type in header
	wait   time.Duration // how much longer than usual the answer may take
}

// The bounds of what is read of an answer.
const (
	maxAnswer = 256 << 20
	maxFailed = 1 << 20
)

// do sends a call and decodes its answer into out, where that isn't nil.
func (c *Client) do(ctx context.Context, what call, out any) error {
	_, err := c.exchange(ctx, what, out)
	return err
}

func (c *Client) exchange(ctx context.Context, what call, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+what.wait)
	defer cancel()
	response, err := c.send(ctx, what)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if out == nil {
		// What is left unread would cost the connection.
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxFailed))
		return response.Header, nil
	}
	body := &watched{ReadCloser: response.Body}
	response.Body = body
	if err := decode(response, out); err != nil {
		if body.broke || ctx.Err() != nil {
			return nil, c.failed(ctx, err)
		}
		return nil, fmt.Errorf("read the answer of %s: %w", c.server.Host, err)
	}
	return response.Header, nil
}

// watched is a body that knows whether reading it failed before its end.
type watched struct {
	io.ReadCloser
	broke bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.broke = err != nil && !errors.Is(err, io.EOF)
	return n, err
}

func decode(response *http.Response, out any) error {
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
		return api.Errorf(api.CodeInternal, "the server answered %q where JSON was expected: is this a bm server?", kind)
	}
	switch fast := out.(type) {
	case *api.ChangesPage:
		return decodeChanges(response.Body, fast)
	case *api.PushResponse:
		return decodeVerdicts(response.Body, fast)
	}
	return json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(out)
}

// send sends a call and answers the response of a success, whose body the
// caller closes.
func (c *Client) send(ctx context.Context, what call) (*http.Response, error) {
	response, err := c.transmit(ctx, what)
	if err != nil {
		return nil, err
	}
	if err := c.judge(response); err != nil {
		return nil, err
	}
	return response, nil
}

// judge is what a response reports that is no success, whose body it closes.
func (c *Client) judge(response *http.Response) error {
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	defer response.Body.Close()
	return c.failure(response)
}

// transmit sends a call and answers whatever comes back.
func (c *Client) transmit(ctx context.Context, what call) (*http.Response, error) {
	request := c.rest.R().SetContext(ctx)
	for name, values := range what.header {
		request.Header[name] = values
	}
	if c.token != "" {
		if c.server.Scheme == "http" && !c.allowed && !isLoopback(c.server.Hostname()) {
			return nil, fmt.Errorf("call %s: %w", c.server.Host, ErrInsecure)
		}
		request.SetHeader("Authorization", "Bearer "+c.token.Reveal())
	}
	if what.query != nil {
		request.QueryParam = what.query
	}
	switch {
	case what.stream != nil:
		request.SetBody(what.stream)
	case what.body != nil:
		encoded, err := encode(what.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		request.SetHeader("Content-Type", "application/json").SetBody(encoded)
	}
	answer, err := request.Execute(what.method, what.path)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	response := answer.RawResponse
	if limit, err := strconv.ParseInt(response.Header.Get("X-RateLimit-Limit"), 10, 64); err == nil && limit > 0 {
		c.told.Store(limit)
	}
	return response, nil
}

func encode(body any) ([]byte, error) {
	if own, ok := body.(interface{ AppendJSON(dst []byte) []byte }); ok {
		return own.AppendJSON(nil), nil
	}
	return json.Marshal(body)
}

// failure is the error that an answer reports, also where it is not one of a
// bm server's: a proxy's page must not pass for a verdict.
func (c *Client) failure(response *http.Response) error {
	var envelope api.Envelope
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxFailed))
	if err := json.Unmarshal(text, &envelope); err != nil || envelope.Error.Code == "" {
		if strings.HasPrefix(string(text), wantsTLS) {
			return &Unreachable{Server: c.server.String(), Err: errWantsTLS}
		}
		return &foreign{status: response.StatusCode, err: &api.Error{
			Code:          codeOf(response),
			Message:       fmt.Sprintf("the server answered %d %s, and not as a bm server does", response.StatusCode, http.StatusText(response.StatusCode)),
			CorrelationID: response.Header.Get("X-Correlation-ID"),
			RetryAfter:    retryAfter(response.Header),
		}}
	}
	return &api.Error{
		Code: envelope.Error.Code, Message: envelope.Error.Message, Details: envelope.Error.Details,
		CorrelationID: envelope.Error.CorrelationID, RetryAfter: retryAfter(response.Header),
	}
}

// foreign is a failure without an envelope.
type foreign struct {
	status int
	err    *api.Error
}

func (f *foreign) Error() string { return f.err.Error() }
func (f *foreign) Unwrap() error { return f.err }

// codeOf is the nearest code for a status that came without one. A 404 says
// nothing about what was asked for then, nor does a 403, which portals and
// firewalls like to answer, nor a 401 that does not say what it wants.
func codeOf(response *http.Response) api.Code {
	switch response.StatusCode {
	case http.StatusUnauthorized:
		if response.Header.Get("WWW-Authenticate") != "" {
			return api.CodeUnauthorized
		}
	case http.StatusRequestEntityTooLarge:
		return api.CodePayloadTooLarge
	case http.StatusTooManyRequests:
		return api.CodeRateLimited
	}
	return api.CodeUnavailable
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 24*60*60)) * time.Second
}
