package server

import (
	"net/http"
	"slices"
	"strings"
)

// What a page of another origin may send and read.
var (
	corsMethods = strings.Join([]string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete}, ", ")
	corsSend    = "Authorization, Content-Type, X-Workspace-ID, X-Correlation-ID, If-Match, If-None-Match, Idempotency-Key, Prefer"
	corsRead    = "X-Correlation-ID, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, Idempotent-Replay"
)

// crossOrigin lets a page of an allowed origin call the API; true where it was
// only asked whether that may be. Credentials are never a cookie here, so none
// are allowed along.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) bool {
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(s.config.CORSOrigins, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", corsRead)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Allow-Headers", corsSend)
	header.Set("Access-Control-Max-Age", "600")
	return true
}
