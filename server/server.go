package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"bm/server/api"
	"bm/server/apikeys"
	"bm/server/auth"
	"bm/server/bookmarks"
	"bm/server/changes"
	"bm/server/events"
	"bm/server/folders"
	"bm/server/idempotency"
	"bm/server/metrics"
	"bm/server/op"
	"bm/server/organizations"
	"bm/server/profile"
	"bm/server/ratelimit"
	"bm/server/sqldb"
	"bm/server/tree"
	"bm/server/workspaces"
)

// Server is an open server. It is an http.Handler.
type Server struct {
	config        Config
	db            *sqldb.DB
	router        *op.Router
	authenticator *auth.Authenticator
	signing       *auth.Service
	workspaces    *workspaces.Service
	tree          *tree.Tree
	replays       *idempotency.Store
	metrics       *metrics.Metrics
	hub           *events.Hub
	redis         *ratelimit.Redis // nil where requests are counted here
	openapi       [2][]byte        // JSON and YAML
}

// New opens and migrates the database and wires the features.
func New(ctx context.Context, config Config) (*Server, error) {
	db, err := sqldb.Open(ctx, sqldb.Config{Dir: config.Dir, URL: config.DatabaseURL})
	if err != nil {
		return nil, err
	}
	return build(ctx, config, db)
}

// build makes a server of an open database, which is its own from now on.
func build(ctx context.Context, config Config, db *sqldb.DB) (_ *Server, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if _, err := db.Migrate(ctx); err != nil {
		return nil, err
	}
	s, err := open(ctx, config, db)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.leave())
		}
	}()
	if s.openapi[0], s.openapi[1], err = s.router.Document(); err != nil {
		return nil, err
	}
	if err := s.pages(); err != nil {
		return nil, err
	}
	return s, nil
}

// open wires the features over a database with this build's schema. What it
// returns serves no pages: rendering them takes longer than all the rest.
func open(ctx context.Context, config Config, db *sqldb.DB) (*Server, error) {
	s := &Server{config: config, db: db, metrics: metrics.New(config.Version)}
	if err := s.wire(ctx); err != nil {
		return nil, errors.Join(err, s.leave())
	}
	return s, nil
}

// spool is the folder in which uploads wait; the system's where the server has
// no folder of its own.
func (s *Server) spool() (string, error) {
	if s.config.Dir == "" {
		return "", nil
	}
	dir := filepath.Join(s.config.Dir, spoolDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of uploads: %w", err)
	}
	return dir, nil
}

// spoolDir is the folder of uploads, in the data folder.
const spoolDir = "spool"

// limiter counts requests, in Redis where there is one.
func (s *Server) limiter(ctx context.Context) (op.Limiter, error) {
	if s.config.RedisURL == "" {
		return ratelimit.NewMemory(s.config.Limits, s.config.Now), nil
	}
	var err error
	s.redis, err = ratelimit.NewRedis(ctx, s.config.RedisURL, s.config.Limits, s.config.Now, s.config.Logger)
	return s.redis, err
}

// leave ends what the server holds beside its database.
func (s *Server) leave() error {
	if s.hub != nil {
		s.hub.Close()
	}
	if s.redis != nil {
		return s.redis.Close()
	}
	return nil
}

// wire makes the features, hands each what it needs of the others, and
// declares their operations.
func (s *Server) wire(ctx context.Context) error {
	now, newID := s.config.Now, api.NewIDs(s.config.Now, rand.Reader).New
	cursorKey, err := secret(ctx, s.db, "cursor")
	if err != nil {
		return err
	}
	s.hub = events.NewHub(s.db, s.config.Logger)
	tenants := organizations.New(now, newID)
	places := workspaces.New(s.db, now, newID)
	profiles := profile.New(s.db, now)
	signing, authenticator, err := auth.New(ctx, auth.Deps{
		DB: s.db, Now: now, NewID: newID, Registration: s.config.Registration,
		Organizations: tenants, Workspaces: places, Profiles: profiles, Ended: s.hub.Ended,
	})
	if err != nil {
		return err
	}
	s.authenticator, s.signing, s.workspaces = authenticator, signing, places
	limiter, err := s.limiter(ctx)
	if err != nil {
		return err
	}
	spool, err := s.spool()
	if err != nil {
		return err
	}
	s.replays = idempotency.NewStore(s.db, now)
	s.router = op.NewRouter(op.Deps{
		Authenticator: authenticator,
		Limiter:       limiter,
		Replays:       s.replays,
		Observer:      s.metrics,
		Logger:        s.config.Logger,
		ClientIP:      clientIP(s.config.TrustedProxies),
		NewID:         newID,
		Now:           now,
		CursorKey:     cursorKey,
		SpoolDir:      spool,
		Title:         "bm",
		Doc:           describe(s.config.Limits),
	})
	signing.Routes(s.router)
	profiles.Routes(s.router)
	apikeys.New(s.db, now, newID, auth.NewAPIKey, s.hub.Ended).Routes(s.router)
	places.Routes(s.router)
	s.metrics.Gauge("bm_streams", func() float64 { return float64(s.Waiting()) })
	s.metrics.Gauge("bm_answer_bytes", func() float64 { return float64(s.router.Held()) })
	s.tree = tree.New(s.db, now, newID, s.hub.Changed)
	folders.New(s.tree).Routes(s.router)
	bookmarks.New(s.db, s.tree, places, now, newID).Routes(s.router)
	changes.New(s.db, s.tree, s.hub, now, cursorKey).Routes(s.router)
	s.announce()
	return nil
}

// secret is a random value that is made on the first start and stays.
func secret(ctx context.Context, db *sqldb.DB, name string) (value []byte, err error) {
	var fresh [32]byte
	_, _ = rand.Read(fresh[:]) // never fails: it ends the program instead
	err = db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO server_secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
			name, base64.StdEncoding.EncodeToString(fresh[:]))
		if err != nil {
			return err
		}
		var text string
		if err := tx.Row(ctx, `SELECT value FROM server_secret WHERE name = $1`, []any{name}, &text); err != nil {
			return err
		}
		value, err = base64.StdEncoding.DecodeString(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the server's secret %s: %w", name, err)
	}
	return value, nil
}

// ServeHTTP serves the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(s.config.CORSOrigins) > 0 && s.crossOrigin(w, r) {
		s.router.Answer(w, r, op.RateDefault, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}))
		return
	}
	s.router.ServeHTTP(w, r)
}

// EndStreams ends the event streams and the held polls, so that a server that
// stops need not wait for them.
func (s *Server) EndStreams() { s.hub.Close() }

// Waiting is how many event streams and held polls there are.
func (s *Server) Waiting() int { return s.hub.Subscribed() }

// Close writes what is still in memory and closes the database. No request
// may be running.
func (s *Server) Close(ctx context.Context) error {
	return errors.Join(s.leave(), s.authenticator.FlushUse(ctx), s.db.Close())
}

// Specs lists the operations, for tests and for documentation.
func (s *Server) Specs() []op.Spec { return s.router.Specs() }
