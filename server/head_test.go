package server_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"bm/server/servertest"
)

// HEAD answers what GET would, without its body: of a stream too, which has no
// end to wait for.
func TestHeadOfAStreamEnds(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		transport := &http.Transport{MaxConnsPerHost: 1} // what has not ended keeps the next waiting
		defer transport.CloseIdleConnections()
		for range 2 {
			for path, kind := range map[string]string{
				"/me/events": "text/event-stream",
				"/workspaces/" + p.Workspace.ID + "/bookmarks/export":      "application/json",
				"/workspaces/" + p.Workspace.ID + "/export/bookmarks.html": "text/html; charset=utf-8",
				"/workspaces/" + p.Workspace.ID + "/bookmarks":             "application/json",
			} {
				request, err := http.NewRequestWithContext(ctx, http.MethodHead, s.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Authorization", "Bearer "+string(p.Secret))
				response, err := transport.RoundTrip(request)
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != kind {
					t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
				}
				_ = response.Body.Close()
			}
		}
		if n := s.Waiting(); n != 0 {
			t.Errorf("%d still wait for events", n)
		}
	})
}
