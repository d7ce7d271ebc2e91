package server

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"bm/server/sqldb"
)

// How often the work beside requests is done.
const (
	flushEvery   = time.Minute
	learnEvery   = 5 * time.Second
	releaseEvery = 5 * time.Minute
	purgeEvery   = time.Hour
)

// startBackground begins the work beside requests, which the returned function
// ends and waits for. The claim is released with it; failed hears of what the
// server cannot go on after.
func (s *Server) startBackground(ctx context.Context, claim *sqldb.Claim, failed chan<- error) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		s.every(ctx, "write when keys were used", flushEvery, s.authenticator.FlushUse)
	})
	running.Go(func() { s.hold(ctx, claim, failed) })
	if s.db.Dialect() == sqldb.Postgres {
		running.Go(func() { s.every(ctx, "have PostgreSQL look at its tables", learnEvery, s.db.Learn) })
	}
	running.Go(func() { s.every(ctx, "give memory back", releaseEvery, s.db.Release) })
	running.Go(func() {
		s.every(ctx, "purge what is kept no longer", purgeEvery, func(ctx context.Context) error {
			_, err := s.Purge(ctx)
			return err
		})
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// claimEvery is how often a claim is asked for that was lost.
const claimEvery = time.Second

// hold keeps the claim on the database: where it was lost with its connection
// it is taken again, and where somebody has the database alone by then, the
// server has to stop.
func (s *Server) hold(ctx context.Context, claim *sqldb.Claim, failed chan<- error) {
	defer func() {
		if err := claim.Release(context.WithoutCancel(ctx)); err != nil {
			s.config.Logger.Warn("the claim on the database did not end well", slog.Any("error", err))
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-claim.Lost():
		}
		again, err := s.db.Claim(ctx, false)
		switch {
		case err == nil:
			_ = claim.Release(context.WithoutCancel(ctx)) // its connection is gone
			claim = again
		case errors.Is(err, sqldb.ErrServing):
			failed <- err
			return
		default:
			select {
			case <-ctx.Done():
				return
			case <-time.After(claimEvery):
			}
		}
	}
}

// every does a work again and again. The first time comes at a random moment,
// so that several servers on one database take turns.
func (s *Server) every(ctx context.Context, what string, period time.Duration, work func(context.Context) error) {
	timer := time.NewTimer(rand.N(period))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := work(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Error("background work failed", slog.String("work", what), slog.Any("error", err))
		}
		timer.Reset(period)
	}
}
