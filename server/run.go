package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"bm/server/sqldb"
)

// Listen says where a server is reached.
type Listen struct {
	// Addr is a TCP address.
	Addr string
	// MetricsAddr is where /metrics is served, without any protection; "" is
	// nowhere.
	MetricsAddr string
	// CertFile and KeyFile, or domains for ACME, make it serve TLS.
	CertFile, KeyFile string
	ACME              ACME
	// Grace is how long requests may go on once the server stops; 30 s where 0.
	Grace time.Duration
}

// How long a client may take, beyond the deadlines of the operations.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	defaultGrace  = 30 * time.Second
)

// Run serves until ctx ends, and then lets what runs come to its end. ready is
// told the address once it is listened on.
func Run(ctx context.Context, config Config, listen Listen, ready func(addr string)) (err error) {
	lock, err := LockDir(config.Dir, listen.Addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	// What a process that was killed had been sent.
	if err := os.RemoveAll(filepath.Join(config.Dir, spoolDir)); err != nil {
		return fmt.Errorf("empty the folder of uploads: %w", err)
	}
	tlsConfig, authority, err := listen.tls(config.Dir)
	if err != nil {
		return err
	}
	// The port comes before the database: where it is taken, nothing was done.
	main, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() { _ = main.Close() }() // the server closes it too
	if err := lock.Note(main.Addr().String()); err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL})
	if err != nil {
		return err
	}
	// The claim comes before the schema: who has the database alone is not
	// disturbed.
	claim, err := db.Claim(ctx, false)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	defer func() { err = errors.Join(err, claim.Release(context.WithoutCancel(ctx))) }()
	s, err := build(ctx, config, db)
	if err != nil {
		return err
	}
	stopped := false
	stop := func() error {
		stopped = true
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultGrace)
		defer cancel()
		return s.Close(closing)
	}
	defer func() {
		if !stopped {
			err = errors.Join(err, stop())
		}
	}()
	metrics, err := s.serveMetrics(ctx, listen.MetricsAddr)
	if err != nil {
		return err
	}
	defer func() { _ = metrics.Close() }() // it serves numbers: nobody waits for it
	web := s.httpServer(tlsConfig)
	failed := make(chan error, 2)
	go func() {
		if tlsConfig != nil {
			failed <- web.ServeTLS(main, "", "")
		} else {
			failed <- web.Serve(main)
		}
	}()
	if authority != nil {
		go authority.keep(ctx, config.Logger)
	}
	background := s.startBackground(ctx, claim, failed)
	claim = nil // it is held there from now on
	ready(main.Addr().String())
	select {
	case err := <-failed:
		s.EndStreams()
		_ = web.Close() // what it serves has no answer any more
		background()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	config.Logger.Info("stopping: what runs may finish")
	s.EndStreams()
	grace := listen.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := web.Shutdown(closing); err != nil {
		config.Logger.Warn("some requests took too long to finish and were cut off")
		_ = web.Close() // what is left are connections that were given up
	}
	background()
	err = stop()
	config.Logger.Info("stopped")
	return err
}

func (s *Server) httpServer(tlsConfig *tls.Config) *http.Server {
	return &http.Server{
		Handler: s,
		// OPTIONS * is answered like anything else.
		DisableGeneralOptionsHandler: true,
		TLSConfig:                    tlsConfig,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		ErrorLog:                     slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelWarn),
	}
}

// tls is nil where the server is to speak plain HTTP, and the authority where
// nobody is asked for certificates.
func (l *Listen) tls(dir string) (*tls.Config, *authority, error) {
	switch {
	case len(l.ACME.Domains) > 0 && (l.CertFile != "" || l.KeyFile != ""):
		return nil, nil, errors.New("a certificate of one's own and one from ACME exclude each other")
	case len(l.ACME.Domains) > 0:
		authority, err := l.ACME.authority(dir)
		if err != nil {
			return nil, nil, err
		}
		return authority.tls(), authority, nil
	case l.ACME.Directory != "" || l.ACME.Email != "":
		return nil, nil, errors.New("an ACME authority is asked for certificates of domains, and none is named")
	case l.CertFile == "" && l.KeyFile == "":
		return nil, nil, nil
	case l.CertFile == "" || l.KeyFile == "":
		return nil, nil, errors.New("a certificate needs its key, and a key its certificate")
	}
	certificates := &certificates{certFile: l.CertFile, keyFile: l.KeyFile}
	if err := certificates.load(); err != nil {
		return nil, nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: certificates.get}, nil, nil
}

// serveMetrics serves the numbers on an address of their own.
func (s *Server) serveMetrics(ctx context.Context, addr string) (*http.Server, error) {
	web := &http.Server{Handler: s.metrics.Handler(), ReadHeaderTimeout: headerTimeout}
	if addr == "" {
		return web, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	web.Handler = mux
	go func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.config.Logger.Error("the metrics are no longer served", slog.Any("error", err))
		}
	}()
	return web, nil
}
