package control

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"
)

// ErrNotRunning says that no daemon listens on the socket.
var ErrNotRunning = errors.New("the daemon is not running")

// maxMessage bounds a message.
const maxMessage = 4 << 20

// Client talks to the daemon that listens on a socket.
type Client struct {
	Socket  string
	Version string

	soon time.Duration // a test's, in place of the constant
}

// Conn is an open connection, on which the request was sent.
type Conn struct {
	conn  net.Conn
	lines *bufio.Scanner
	stop  func() bool
}

// Open sends a request. ctx ends the connection, whenever that is.
func (c *Client) Open(ctx context.Context, request Request) (*Conn, error) {
	request.Protocol, request.Version = Protocol, c.Version
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, ErrNotRunning
		}
		return nil, fmt.Errorf("reach the daemon at %s: %w", c.Socket, err)
	}
	text, err := json.Marshal(request)
	if err == nil {
		_, err = conn.Write(append(text, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("ask the daemon: %w", errors.Join(leaving(err), conn.Close()))
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 4096), maxMessage)
	return &Conn{conn: conn, lines: lines, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

// leaving is [ErrNotRunning] where a daemon that ends has let go of a connection that
// it had not come to.
func leaving(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return ErrNotRunning
	}
	return err
}

// Next waits for a reply. One that reports a failure is returned with it as an
// error.
func (c *Conn) Next() (Reply, error) {
	if !c.lines.Scan() {
		if err := c.lines.Err(); err != nil {
			return Reply{}, fmt.Errorf("hear from the daemon: %w", leaving(err))
		}
		return Reply{}, fmt.Errorf("hear from the daemon: %w", ErrNotRunning)
	}
	var reply Reply
	if err := json.Unmarshal(c.lines.Bytes(), &reply); err != nil {
		return Reply{}, fmt.Errorf("understand the daemon: %w", err)
	}
	if reply.Error != "" {
		return reply, &Failure{Version: reply.Version, Message: reply.Error}
	}
	return reply, nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.stop()
	if err := c.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Failure is what the daemon says went wrong.
type Failure struct {
	Version string
	Message string
}

func (f *Failure) Error() string { return f.Message }

// How long a daemon may take to answer: what it knows, and what it has to come
// to an end for.
const (
	soon  = 5 * time.Second
	later = time.Minute
)

// ErrSilent says that a daemon is there and does not answer.
var ErrSilent = errors.New("the daemon does not answer: it is suspended, or hangs; end its process, and run the command again")

// Ask sends a request and waits for its only reply. A daemon that does not
// answer is told apart from one that still works: only a round may take as long
// as it takes.
func (c *Client) Ask(ctx context.Context, request Request) (Reply, error) {
	patience := later
	switch request.Command {
	case Status, Nudge:
		patience = cmp.Or(c.soon, soon)
	case Sync:
		if _, err := c.Ask(ctx, Request{Command: Status}); err != nil {
			return Reply{}, err
		}
		return c.ask(ctx, request)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, patience, ErrSilent)
	defer cancel()
	reply, err := c.ask(bounded, request)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), ErrSilent) {
		err = ErrSilent
	}
	return reply, err
}

func (c *Client) ask(ctx context.Context, request Request) (Reply, error) {
	conn, err := c.Open(ctx, request)
	if err != nil {
		return Reply{}, err
	}
	reply, err := conn.Next()
	return reply, errors.Join(err, conn.Close())
}
