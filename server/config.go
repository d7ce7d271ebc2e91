package server

import (
	"log/slog"
	"net/netip"
	"time"

	"bm/server/auth"
	"bm/server/ratelimit"
)

// Who hosts a server sees these alone of the packages below it.
type (
	// Limits are requests in the stated windows.
	Limits = ratelimit.Limits
	// Registration says who may make an account.
	Registration = auth.Registration
)

// The values of [Config.Registration].
const (
	RegistrationOpen    = auth.RegistrationOpen
	RegistrationInvited = auth.RegistrationInvited
	RegistrationClosed  = auth.RegistrationClosed
)

// StatedLimits are the limits of the specification.
func StatedLimits() Limits { return ratelimit.Stated() }

// Config is what a server is made of.
type Config struct {
	// Dir holds the embedded database and spooled uploads; DatabaseURL moves
	// the rows to PostgreSQL.
	Dir         string
	DatabaseURL string
	// Version is the program's.
	Version      string
	Registration auth.Registration
	Limits       ratelimit.Limits
	// RedisURL moves the counts of the limits to a Redis, for processes that
	// share a database.
	RedisURL string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the web origins whose pages may call the API.
	CORSOrigins []string
	Logger      *slog.Logger
	Now         func() time.Time
}
