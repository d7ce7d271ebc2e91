package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"bm/server/op"
)

const (
	// redisTimeout bounds what counting may add to a request.
	redisTimeout = 250 * time.Millisecond
	// redisRest is how long a Redis that did not answer is left alone.
	redisRest = time.Second
	// redisDial bounds the first connection.
	redisDial = 5 * time.Second
)

// Redis counts in a Redis that several processes share, by its clock. While it
// does not answer, each process counts for itself: what is limited too little
// for a while still answers.
type Redis struct {
	limits Limits
	client *redis.Client
	alone  *Memory
	now    func() time.Time
	logger *slog.Logger
	// rested is when Redis is tried again, in ns since 1970; 0 while it answers.
	rested atomic.Int64
}

// NewRedis connects to a redis:// or rediss:// URL; now is the clock of what is
// counted in this process meanwhile.
func NewRedis(ctx context.Context, address string, limits Limits, now func() time.Time, logger *slog.Logger) (*Redis, error) {
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("read the address of Redis: %w", withoutURL(err))
	}
	redis.SetLogger(silent{}) // what it would print is in the errors
	options.ReadTimeout, options.WriteTimeout, options.MaxRetries = redisTimeout, redisTimeout, -1
	r := &Redis{limits: limits, client: redis.NewClient(options), alone: NewMemory(limits, now), now: now, logger: logger}
	ctx, cancel := context.WithTimeout(ctx, redisDial)
	defer cancel()
	if err := r.client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("reach Redis at %s: %w", options.Addr, err), r.client.Close())
	}
	return r, nil
}

// withoutURL keeps a password out of a message.
func withoutURL(err error) error {
	if parse, ok := errors.AsType[*url.Error](err); ok {
		return parse.Err
	}
	return err
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Close ends the connections.
func (r *Redis) Close() error {
	if err := r.client.Close(); err != nil {
		return fmt.Errorf("leave Redis: %w", err)
	}
	return nil
}

// admit counts a request in all its scopes, or in none where one of them is
// used up, and returns Redis' time in ms and what was counted before. A key is
// the start of its window, what was counted in it and in the one before. The
// arithmetic is that of usage, to the last bit.
var admit = redis.NewScript(`
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
	keys := make([]string, len(scopes))
	args := make([]any, 0, 2*len(scopes))
	for i, s := range scopes {
		keys[i] = s.key.redis()
		args = append(args, s.limit, s.window.Milliseconds())
	}
	ctx, cancel := context.WithTimeout(ctx, 2*redisTimeout)
	defer cancel()
	answer, err := admit.Run(ctx, r.client, keys, args...).Int64Slice()
	if err != nil {
		return nil, time.Time{}, err //nolint:wrapcheck // the caller says what it means
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

// redis is the key's name there.
func (k key) redis() string {
	name := "bm:rate:" + strconv.Itoa(int(k.kind)) + ":"
	if k.id != "" {
		return name + k.id
	}
	return name + k.ip.String()
}
