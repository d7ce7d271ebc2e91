package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bm/server/api"
)

// Changes pulls a page of a workspace's changes. wait holds the request until
// there is something, at most [api.MaxWait].
func (c *Client) Changes(ctx context.Context, workspaceID, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	query := url.Values{"cursor": {cursor}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if wait > 0 {
		query.Set("wait", strconv.Itoa(int(min(wait, api.MaxWait).Seconds())))
	}
	var page api.ChangesPage
	err := c.do(ctx, call{method: http.MethodGet, path: workspace(workspaceID) + "/changes", query: query, wait: wait}, &page)
	return page, err
}

// Push sends edits, each to get a verdict of its own. A verdict has no entity
// where a bookmark was made just as the op says.
func (c *Client) Push(ctx context.Context, workspaceID string, push api.PushRequest) (api.PushResponse, error) {
	var response api.PushResponse
	minimal := http.Header{"Prefer": {"return=minimal"}}
	err := c.do(ctx, call{method: http.MethodPost, path: workspace(workspaceID) + "/changes", header: minimal, body: &push}, &response)
	return response, err
}

// EventStream is an open GET /me/events.
type EventStream struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	body   io.ReadCloser
	lines  *bufio.Reader
	quiet  *time.Timer
}

// maxQuiet is how long a stream may be silent before it counts as broken: the
// server sends a comment every 15 s.
const maxQuiet = 45 * time.Second

// Events opens the stream of pokes. It ends with ctx, or with Close.
func (c *Client) Events(ctx context.Context) (*EventStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	// A server that accepts and never answers must not hold us for ever.
	quiet := time.AfterFunc(maxQuiet, cancel)
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	response, err := c.send(ctx, call{method: http.MethodGet, path: "/me/events", header: header}) //nolint:bodyclose // it is the stream, and Close closes it
	if err != nil {
		quiet.Stop()
		cancel()
		return nil, err
	}
	return &EventStream{
		client: c, ctx: ctx, cancel: cancel, body: response.Body, quiet: quiet,
		lines: bufio.NewReaderSize(response.Body, 4096),
	}, nil
}

// Next waits for a poke. After an error the stream is of no more use.
func (s *EventStream) Next() (api.Event, error) {
	var data strings.Builder
	for {
		line, err := s.lines.ReadSlice('\n')
		if err != nil {
			return api.Event{}, &Unreachable{Server: s.client.server.String(), Err: err}
		}
		s.quiet.Reset(maxQuiet)
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case text == "" && data.Len() > 0:
			var event api.Event
			if err := json.Unmarshal([]byte(data.String()), &event); err != nil {
				return api.Event{}, fmt.Errorf("read an event: %w", err)
			}
			return event, nil
		case strings.HasPrefix(text, "data:"):
			data.WriteString(strings.TrimPrefix(strings.TrimPrefix(text, "data:"), " "))
			if data.Len() > maxFailed {
				return api.Event{}, fmt.Errorf("read an event: it is longer than %d bytes", maxFailed)
			}
		}
	}
}

// Close ends the stream.
func (s *EventStream) Close() error {
	s.quiet.Stop()
	s.cancel()
	return s.body.Close()
}
