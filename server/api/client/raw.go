package client

import (
	"context"
	"io"
	"net/http"
	"strings"

	"bm/server/api"
)

// Raw sends a request of the caller's own making and answers the response of a
// success as it is. The caller closes its body.
func (c *Client) Raw(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return nil, api.Invalid("path", "it begins with one slash, as in /api/v1/me")
	}
	return c.send(ctx, call{method: method, path: path, header: header, stream: body})
}
