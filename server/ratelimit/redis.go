package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"

	"bm/server/op"
)

const (
	// redisTimeout bounds what counting may add to a request.
	redisTimeout = 250 * time.Millisecond
	// redisRest is how long a Redis that did not answer is left alone.
	redisRest = time.Second
	// redisDial bounds the first connection.
	redisDial = 5 * time.Second
	// redisIdle is after how long a connection that was not used is given up:
	// what lies between may have forgotten it.
	redisIdle = time.Minute
)

// Redis counts in a Redis that several processes share, by its clock. While it
// does not answer, each process counts for itself: what is limited too little
// for a while still answers.
type Redis struct {
	limits Limits
	pool   *redis.Pool
	alone  *Memory
	now    func() time.Time
	logger *slog.Logger
	// rested is when Redis is tried again, in ns since 1970; 0 while it answers.
	rested atomic.Int64
}

// NewRedis connects to a redis://, rediss:// or unix:// URL; now is the clock of
// what is counted in this process meanwhile.
func NewRedis(ctx context.Context, address string, limits Limits, now func() time.Time, logger *slog.Logger) (*Redis, error) {
	where, dial, err := redisDialer(address)
	if err != nil {
		return nil, fmt.Errorf("read the address of Redis: %w", err)
	}
	connections := 10 * runtime.GOMAXPROCS(0)
	r := &Redis{limits: limits, alone: NewMemory(limits, now), now: now, logger: logger, pool: &redis.Pool{
		DialContext: dial, MaxIdle: connections, MaxActive: connections, Wait: true, IdleTimeout: redisIdle,
	}}
	ctx, cancel := context.WithTimeout(ctx, redisDial)
	defer cancel()
	conn, err := r.pool.GetContext(ctx)
	if err == nil {
		_, err = redis.DoContext(conn, ctx, "PING")
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reach Redis at %s: %w", where, err), r.pool.Close())
	}
	return r, nil
}

// redisDialer reads an address: where Redis is, for people, and what connects
// to it. The database is the path or, as some write it, the value db.
func redisDialer(address string) (where string, dial func(context.Context) (redis.Conn, error), err error) {
	u, err := url.Parse(address)
	if err != nil {
		// Why is not told: the parser quotes the password.
		return "", nil, errors.New("it is no URL such as redis://localhost:6379/0; in a password %2F stands for /, and so on")
	}
	options := []redis.DialOption{
		redis.DialReadTimeout(redisTimeout), redis.DialWriteTimeout(redisTimeout), redis.DialTLSHandshakeTimeout(2 * redisTimeout),
	}
	if number := u.Query().Get("db"); number != "" {
		db, err := strconv.Atoi(number)
		if err != nil {
			return "", nil, fmt.Errorf("db=%s is no number", number)
		}
		options = append(options, redis.DialDatabase(db))
	}
	switch {
	case u.Opaque != "":
		return "", nil, errors.New("it has no host")
	case u.Scheme == "redis", u.Scheme == "rediss":
		where = u.Host
		if u.Port() == "" {
			where = net.JoinHostPort(u.Hostname(), "6379")
		}
		return where, func(ctx context.Context) (redis.Conn, error) {
			return redis.DialURLContext(ctx, address, options...)
		}, nil
	case u.Scheme == "unix":
		password, _ := u.User.Password()
		options = append(options, redis.DialUsername(u.User.Username()), redis.DialPassword(password))
		return u.Path, func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "unix", u.Path, options...)
		}, nil
	}
	return "", nil, fmt.Errorf("%s:// is not redis://, rediss:// or unix://", u.Scheme)
}

// Close ends the connections.
func (r *Redis) Close() error {
	if err := r.pool.Close(); err != nil {
		return fmt.Errorf("leave Redis: %w", err)
	}
	return nil
}

// admit counts a request in all its scopes, or in none where one of them is
// used up, and returns Redis' time in ms and what was counted before. A key is
// the start of its window, what was counted in it and in the one before. The
// arithmetic is that of usage, to the last bit.
var admit = redis.NewScript(-1, `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer, full = {now}, false
for i, key in ipairs(KEYS) do
	local limit, window = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
	local start = math.floor(now / window)
	local had = redis.call('HMGET', key, 's', 'c', 'p')
	local current, previous = 0, 0
	if tonumber(had[1]) == start then
		current, previous = tonumber(had[2]), tonumber(had[3])
	elseif tonumber(had[1]) == start - 1 then
		previous = tonumber(had[2])
	end
	local share = 1 - ((now % window) * 1000000) / (window * 1000000)
	if math.floor(previous * share) + current >= limit then full = true end
	answer[2 * i], answer[2 * i + 1] = current, previous
end
if not full then
	for i, key in ipairs(KEYS) do
		local window = tonumber(ARGV[2 * i])
		redis.call('HSET', key, 's', math.floor(now / window), 'c', answer[2 * i] + 1, 'p', answer[2 * i + 1])
		redis.call('PEXPIRE', key, 2 * window)
	end
end
return answer`)

// Admit counts the request in every scope that it falls in, or in none where
// one of them is used up.
func (r *Redis) Admit(ctx context.Context, request op.RateRequest) (op.RateVerdict, error) {
	var buffer [maxScopes]scope
	scopes := r.limits.scopes(request, buffer[:0])
	if len(scopes) == 0 {
		return judge(nil, nil, r.now()), nil
	}
	if request.Class == op.RateHealth { // is about this process alone
		return r.alone.Admit(ctx, request)
	}
	rested := r.rested.Load()
	if rested != 0 {
		// One request at a time tries whether it answers again.
		now := r.now()
		next := now.Add(redisRest).UnixNano()
		// One that is further away is of a clock that was set back.
		if rested > now.UnixNano() && rested <= next || !r.rested.CompareAndSwap(rested, next) {
			return r.alone.Admit(ctx, request)
		}
		rested = next
	}
	counted, now, err := r.count(ctx, scopes)
	if err != nil {
		if ctx.Err() != nil {
			return op.RateVerdict{}, fmt.Errorf("count a request: %w", ctx.Err())
		}
		if r.rested.Swap(r.now().Add(redisRest).UnixNano()) == 0 {
			r.logger.Warn("no answer from Redis: requests are counted in this process alone", "error", err)
		}
		return r.alone.Admit(ctx, request)
	}
	if rested != 0 && r.rested.CompareAndSwap(rested, 0) {
		r.logger.Info("an answer from Redis again")
	}
	return judge(scopes, counted, now), nil
}

// Failed and Doubts are about this process's own work alone: what it looks up
// costs its database, and a question to Redis would cost as much.
func (r *Redis) Failed(ip netip.Addr) { r.alone.Failed(ip) }

// Doubts is how long none of the address is looked up.
func (r *Redis) Doubts(ip netip.Addr) time.Duration { return r.alone.Doubts(ip) }

func (r *Redis) count(ctx context.Context, scopes []scope) ([]counts, time.Time, error) {
	args := make([]any, 0, 1+3*len(scopes))
	args = append(args, len(scopes))
	for _, s := range scopes {
		args = append(args, s.key.redis())
	}
	for _, s := range scopes {
		args = append(args, s.limit, s.window.Milliseconds())
	}
	answer, err := r.admit(ctx, args)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(answer) != 1+2*len(scopes) {
		return nil, time.Time{}, errors.New("the script answered something else")
	}
	counted := make([]counts, len(scopes))
	for i := range counted {
		counted[i] = counts{answer[1+2*i], answer[2+2*i]}
	}
	return counted, time.UnixMilli(answer[0]).UTC(), nil
}

// admit runs the script. A connection that was closed while nobody used it, as
// all are where Redis was started anew, is no sign that Redis does not answer.
func (r *Redis) admit(ctx context.Context, args []any) (answer []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*redisTimeout)
	defer cancel()
	for range r.pool.MaxIdle + 1 {
		conn, err := r.pool.GetContext(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller says what it means
		}
		answer, err = redis.Int64s(admit.DoContext(ctx, conn, args...))
		_ = conn.Close() // it goes back, or is broken already
		if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			return answer, err //nolint:wrapcheck // the caller says what it means
		}
	}
	return nil, errors.New("it closes every connection")
}

// redis is the key's name there.
func (k key) redis() string {
	name := "bm:rate:" + strconv.Itoa(int(k.kind)) + ":"
	if k.id != "" {
		return name + k.id
	}
	return name + k.ip.String()
}
