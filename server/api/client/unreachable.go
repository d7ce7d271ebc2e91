package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
)

// Unreachable says that no answer came, or only a part of one. Whether the
// request took effect is not known.
type Unreachable struct {
	Server string
	Err    error
}

func (e *Unreachable) Error() string {
	return fmt.Sprintf("can't reach %s: %s", e.Server, e.reason())
}

func (e *Unreachable) Unwrap() error { return e.Err }

// reason says in words what the chain of errors means.
func (e *Unreachable) reason() string {
	if dns, ok := errors.AsType[*net.DNSError](e.Err); ok {
		if dns.IsNotFound {
			return "there is no host of that name"
		}
		return "the name can't be looked up"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](e.Err); ok {
		return "its certificate is not one that this machine trusts"
	}
	if _, ok := errors.AsType[x509.HostnameError](e.Err); ok {
		return "its certificate is for another name"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](e.Err); ok {
		return "it does not speak https"
	}
	if errors.Is(e.Err, errWantsTLS) {
		return "it speaks https, not http"
	}
	if errors.Is(e.Err, http.ErrSchemeMismatch) {
		return "it speaks http, not https"
	}
	var timeout net.Error
	switch {
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.Is(e.Err, context.DeadlineExceeded), errors.As(e.Err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	}
	return "the connection broke off"
}

// wantsTLS is what a server of Go's library, as bm's own is, says to who speaks http
// where https is meant.
const wantsTLS = "Client sent an HTTP request to an HTTPS server"

var errWantsTLS = errors.New("the server wants https")

// failed tells the caller's own cancellation from a server that can't be
// reached. The caller's deadline is the caller's too; ours is the server's
// fault.
func (c *Client) failed(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("call %s: %w", c.server.Host, context.Canceled)
	}
	return &Unreachable{Server: c.server.String(), Err: err}
}
