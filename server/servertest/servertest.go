// Package servertest gives any test a real server on a temporary database,
// SQLite or PostgreSQL, behind a real listener on loopback. It is imported by
// tests alone.
package servertest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bm/server"
	"bm/server/auth"
	"bm/server/sqldb/sqldbtest"
)

// Server is a running server.
type Server struct {
	*server.Server
	// URL is its base address.
	URL string
}

// Each runs test against a server on every database that is to be had.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, Start(t, server.Config{Dir: t.TempDir()}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Start(t, server.Config{DatabaseURL: sqldbtest.Postgres(t)}))
	})
}

// Start runs a server that is stopped at the end of the test. Registration is
// open and no limit counts, unless config says otherwise. Every answer is held
// to the document that the server itself serves, except in a benchmark.
func Start(t testing.TB, config server.Config) *Server {
	t.Helper()
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Registration == "" {
		config.Registration = auth.RegistrationOpen
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	}
	config.Version = "test"
	s, err := server.New(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler = s
	if _, measured := t.(*testing.B); !measured {
		handler = newContract(t, s)
	}
	listener := httptest.NewServer(handler)
	t.Cleanup(func() {
		listener.Close()
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return &Server{Server: s, URL: listener.URL}
}
