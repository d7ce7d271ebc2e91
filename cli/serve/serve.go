package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/server"
)

// envPrefix is what the variables of the settings begin with.
const envPrefix = "BM_SERVE_"

// settings are what a server is run with.
type settings struct {
	app *app.App

	file         string
	addr         string
	dataDir      string
	databaseURL  string
	redisURL     string
	registration string
	metricsAddr  string
	tlsCert      string
	tlsKey       string
	acme         server.ACME
	proxies      []string
	origins      []string
	logFormat    string
	limits       server.Limits
}

// New is the command.
func New(a *app.App) *cobra.Command {
	s := &settings{app: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Host the backend",
		Long: `Host the backend: everything runs in this one process, on an embedded SQLite or on
PostgreSQL. It serves on loopback unless --addr says otherwise.

Every setting can be given as a flag, as a variable (--data-dir is BM_SERVE_DATA_DIR)
or in a TOML file (data-dir = "…"), in this order of precedence.`,
		Example: `  bm serve
  bm serve --addr 0.0.0.0:443 --acme-domain bookmarks.example.com
  bm serve --database-url postgres://bm@db/bm --trusted-proxy 10.0.0.0/8
  BM_SERVE_ADDR=127.0.0.1:9000 bm serve --config /etc/bm/serve.toml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.load(cmd); err != nil {
				return err
			}
			return s.run(cmd.Context())
		},
	}
	s.define(cmd)
	cmd.AddCommand(newAdmin(a))
	return cmd
}

// define declares the settings.
func (s *settings) define(cmd *cobra.Command) {
	stated := server.StatedLimits()
	f := cmd.Flags()
	f.StringVar(&s.file, "config", "", "read settings from a TOML `file`")
	f.StringVar(&s.addr, "addr", "127.0.0.1:8787", "the `address` to serve on")
	s.defineData(cmd)
	f.StringVar(&s.redisURL, "redis-url", "", "count requests in a Redis, for processes that share a database: a redis:// `URL`")
	f.StringVar(&s.registration, "registration", "", "`who` may make an account: open, invited or closed (default: open on loopback, else invited)")
	f.StringVar(&s.metricsAddr, "metrics-addr", "", "serve /metrics on this `address`, which needs no credential: keep it to yourself")
	f.StringVar(&s.tlsCert, "tls-cert", "", "the certificate `file`, PEM; it is read again when it changes")
	f.StringVar(&s.tlsKey, "tls-key", "", "the certificate's key `file`, PEM")
	f.StringSliceVar(&s.acme.Domains, "acme-domain", nil, "get a certificate for this `domain` by itself; may be repeated")
	f.StringVar(&s.acme.Directory, "acme-directory", "", "get certificates from the authority with this directory `URL` (default: Let's Encrypt's)")
	f.StringVar(&s.acme.Email, "acme-email", "", "the e-mail `address` that the authority may write to")
	f.StringSliceVar(&s.proxies, "trusted-proxy", nil, "a `network` whose X-Forwarded-For is believed; may be repeated")
	f.StringSliceVar(&s.origins, "cors-origin", nil, "a web `origin` whose pages may call the API; may be repeated")
	f.IntVar(&s.limits.Key, "limit-key", stated.Key, "`requests` of one API key in 60 s; 0 is no limit")
	f.IntVar(&s.limits.Tenant, "limit-tenant", stated.Tenant, "`requests` of all keys of an organization in 60 s; 0 is no limit")
	f.IntVar(&s.limits.IP, "limit-ip", stated.IP, "`requests` of one address in 60 s; 0 is no limit")
	f.IntVar(&s.limits.Auth, "limit-auth", stated.Auth, "`attempts` to sign in of one address in 900 s; 0 is no limit")
	f.StringVar(&s.logFormat, "log-format", "auto", "the `format`: text, json, or auto, which is text on a terminal and JSON elsewhere")
}

// defineData declares where the rows are.
func (s *settings) defineData(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.dataDir, "data-dir", "", "the `folder` of the database and of uploads (default: server/ in bm's data folder)")
	f.StringVar(&s.databaseURL, "database-url", "", "keep the rows in PostgreSQL: a postgres:// `URL`")
}

// load fills in what was not given as a flag.
func (s *settings) load(cmd *cobra.Command) error {
	file := s.file
	if file == "" {
		file = s.app.Getenv(envPrefix + "CONFIG")
	}
	if err := config.Overlay(cmd.LocalNonPersistentFlags(), envPrefix, os.Environ(), file); err != nil {
		told := app.Fail(app.Usage, "%v.", err).Try("bm serve --help").Because(err)
		if _, unread := errors.AsType[*fs.PathError](err); unread {
			told.Message = output.Sentence(app.Plain(err))
		}
		return told
	}
	if s.dataDir == "" {
		c, err := s.app.Config()
		if err != nil {
			return err
		}
		s.dataDir = filepath.Join(c.Folders.Data, "server")
	}
	var err error
	if s.dataDir, err = filepath.Abs(s.dataDir); err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	return nil
}

// config checks the settings, and puts them into the server's terms.
func (s *settings) config() (server.Config, error) {
	c := server.Config{
		Dir: s.dataDir, DatabaseURL: s.databaseURL, Version: s.app.Version, Registration: server.Registration(s.registration),
		Limits: s.limits, RedisURL: s.redisURL, CORSOrigins: s.origins, Now: time.Now,
	}
	bad := func(flag, format string, args ...any) error {
		return app.Fail(app.Usage, "--%s: %s.", flag, fmt.Sprintf(format, args...)).Try("bm serve --help")
	}
	if !isAddress(s.addr) {
		return c, bad("addr", "%q is not an address such as 127.0.0.1:8787", s.addr)
	}
	if s.metricsAddr != "" && !isAddress(s.metricsAddr) {
		return c, bad("metrics-addr", "%q is not an address such as 127.0.0.1:9090", s.metricsAddr)
	}
	if s.metricsAddr != "" && s.metricsAddr == s.addr && !strings.HasSuffix(s.addr, ":0") {
		return c, bad("metrics-addr", "is that of --addr")
	}
	switch c.Registration {
	case "":
		c.Registration = server.RegistrationInvited
		if loopback(s.addr) {
			c.Registration = server.RegistrationOpen
		}
	case server.RegistrationOpen, server.RegistrationInvited, server.RegistrationClosed:
	default:
		return c, bad("registration", "must be open, invited or closed")
	}
	for _, text := range s.proxies {
		network, err := netip.ParsePrefix(text)
		if address, addrErr := netip.ParseAddr(text); err != nil && addrErr == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return c, bad("trusted-proxy", "%q is not a network such as 10.0.0.0/8", text)
		}
		c.TrustedProxies = append(c.TrustedProxies, network)
	}
	for _, origin := range s.origins {
		if !strings.HasPrefix(origin, "http://") && !strings.HasPrefix(origin, "https://") || strings.Count(origin, "/") != 2 {
			return c, bad("cors-origin", "%q is not an origin such as https://example.com", origin)
		}
	}
	for flag, n := range map[string]int{"limit-key": s.limits.Key, "limit-tenant": s.limits.Tenant, "limit-ip": s.limits.IP, "limit-auth": s.limits.Auth} {
		if n < 0 {
			return c, bad(flag, "must be 0 or more")
		}
	}
	if s.databaseURL != "" && !strings.HasPrefix(s.databaseURL, "postgres://") && !strings.HasPrefix(s.databaseURL, "postgresql://") {
		return c, bad("database-url", "must begin with postgres://")
	}
	// What is wrong with it is not told: the parser quotes the password.
	if _, err := url.Parse(s.databaseURL); err != nil {
		return c, bad("database-url", "is no URL such as postgres://bm@localhost/bm; in a password %%2F stands for /, and so on")
	}
	if scheme, _, ok := strings.Cut(s.redisURL, "://"); s.redisURL != "" && (!ok || !slices.Contains([]string{"redis", "rediss", "unix"}, scheme)) {
		return c, bad("redis-url", "must begin with redis://, rediss:// or unix://")
	}
	for _, pair := range [][2]string{{s.tlsCert, "tls-key"}, {s.tlsKey, "tls-cert"}} {
		if given, other := pair[0] != "", pair[1]; given && (s.tlsCert == "" || s.tlsKey == "") {
			return c, bad(other, "is missing: a certificate needs its key, and a key its certificate")
		}
	}
	if s.tlsCert != "" && len(s.acme.Domains) > 0 {
		return c, app.Fail(app.Usage, "--tls-cert and --acme-domain exclude each other.").Try("bm serve --help")
	}
	logger, err := s.logger()
	c.Logger = logger
	return c, err
}

// isAddress reports whether a server could listen on it.
func isAddress(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	// A name of a service, such as https, is one too.
	_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
	return err == nil
}

// loopback reports whether an address is this machine's alone.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (s *settings) logger() (*slog.Logger, error) {
	asText := false
	switch s.logFormat {
	case "text":
		asText = true
	case "json":
	case "auto":
		file, ok := s.app.IO.Err.(*os.File)
		asText = ok && isatty.IsTerminal(file.Fd())
	default:
		return nil, app.Fail(app.Usage, "--log-format: must be text, json or auto.").Try("bm serve --help")
	}
	if asText {
		return slog.New(slog.NewTextHandler(s.app.IO.Err, nil)), nil
	}
	return slog.New(slog.NewJSONHandler(s.app.IO.Err, nil)), nil
}

func (s *settings) run(ctx context.Context) error {
	c, err := s.config()
	if err != nil {
		return err
	}
	listen := server.Listen{Addr: s.addr, MetricsAddr: s.metricsAddr, CertFile: s.tlsCert, KeyFile: s.tlsKey, ACME: s.acme}
	scheme := "http"
	if s.tlsCert != "" || len(s.acme.Domains) > 0 {
		scheme = "https"
	}
	err = server.Run(ctx, c, listen, func(addr string) {
		c.Logger.Info("serving", slog.String("url", scheme+"://"+asked(s.addr, addr)), slog.String("data_dir", s.dataDir),
			slog.Bool("postgres", s.databaseURL != ""), slog.String("registration", string(c.Registration)))
	})
	return explain(err, s.dataDir, s.databaseURL)
}

// asked is the address as it was asked for, with the port that was got: the
// system answers [::] to who asked for 0.0.0.0.
func asked(wanted, got string) string {
	host, _, err := net.SplitHostPort(wanted)
	_, port, gotErr := net.SplitHostPort(got)
	if err != nil || gotErr != nil || host == "" {
		return got
	}
	return net.JoinHostPort(host, port)
}

// Host serves the backend for the command that makes everything work on one
// machine: on loopback, quietly, with registration open to whoever can reach
// it, which is this machine.
func Host(a *app.App) func(ctx context.Context, dataDir, addr string, ready func(addr string)) error {
	return func(ctx context.Context, dataDir, addr string, ready func(addr string)) error {
		if !loopback(addr) {
			return app.Fail(app.Usage, "bm up serves this machine alone: %q is not a loopback address.", addr).Try("bm serve --addr %s", addr)
		}
		logger := slog.New(slog.NewTextHandler(a.IO.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
		return explain(server.Run(ctx, server.Config{
			Dir: dataDir, Version: a.Version, Registration: server.RegistrationOpen, Logger: logger, Now: time.Now,
		}, server.Listen{Addr: addr}, ready), dataDir, "")
	}
}
