package client

import (
	"context"
	"io"
	"net/http"
	"strings"

	"bm/server/api"
)

// Raw sends a request of the caller's own making and answers the response of a
// success as it is. The caller closes its body. With the error that another one
// reports comes that response too, of which the body is read and closed.
func (c *Client) Raw(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return nil, api.Invalid("path", "it begins with one slash, as in /api/v1/me")
	}
	response, err := c.transmit(ctx, call{method: method, path: path, header: header, stream: body})
	if err != nil {
		return nil, err
	}
	return response, c.judge(response)
}
