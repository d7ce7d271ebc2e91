package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"bm/server/op"
	"bm/server/sqldb"
	"bm/server/web"
)

// pages serves what is no operation of the API.
func (s *Server) pages() error {
	docs, err := web.Docs(s.openapi[0], s.router.Specs(), requestLimits(s.config.Limits))
	if err != nil {
		return err
	}
	s.router.Page("GET /healthz", op.RateHealth, plain("ok\n"))
	s.router.Page("GET /readyz", op.RateHealth, http.HandlerFunc(s.ready))
	s.router.Page("GET /openapi.json", op.RateDefault, document("application/json", s.openapi[0]))
	s.router.Page("GET /openapi.yaml", op.RateDefault, document("application/yaml", s.openapi[1]))
	s.router.Page("GET /docs", op.RateDefault, docs)
	return nil
}

// readyTimeout bounds how long a supervisor waits for its answer.
const readyTimeout = 5 * time.Second

// ready reports whether the database answers; its schema was brought up to
// date before the first request.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.db.Ping(ctx); err != nil {
		op.Fail(r, fmt.Errorf("%w: %w", sqldb.ErrUnavailable, err))
		return
	}
	plain("ready\n").ServeHTTP(w, r)
}

func plain(text string) http.Handler { return document("text/plain; charset=utf-8", []byte(text)) }

func document(contentType string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body) // the client has left: there is nobody to tell
	})
}
