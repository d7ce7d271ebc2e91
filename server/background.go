package server

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// How often the work beside requests is done.
const (
	flushEvery   = time.Minute
	releaseEvery = 5 * time.Minute
	purgeEvery   = time.Hour
)

// startBackground begins the work beside requests, which the returned function
// ends and waits for.
func (s *Server) startBackground(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		s.every(ctx, "write when keys were used", flushEvery, s.authenticator.FlushUse)
	})
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
