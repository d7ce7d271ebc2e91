package syncing

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
)

// How often a round that takes long is looked at, by what it has brought or sent,
// whoever runs it: for a bar, and for a line elsewhere. Each look counts what
// there is, beside the round.
const (
	lookForBar  = time.Second
	lookForLine = 5 * time.Second
)

// watched runs a round and shows how far it is.
func watched(ctx context.Context, a *app.App, round func() error) error {
	store, err := a.Store(ctx)
	if err != nil {
		return err
	}
	account, err := a.SignedIn()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { look(ctx, store, a.IO, account.Server) })
	defer looking.Wait()
	defer cancel()
	return round()
}

// look shows how far a round is until ctx ends, and that it goes on where there is
// nothing to count: a server may take a minute to be given up. What can't be read now
// is read the next time: the round says what is wrong.
func look(ctx context.Context, store *localstore.Store, streams *output.Streams, server string) {
	w := watching{waiting: streams.Await()}
	began := streams.Now()
	if first, err := measure(ctx, store); err == nil {
		w.before = first
	}
	every := lookForLine
	if streams.ErrTTY {
		every = lookForBar
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	defer w.end()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now, err := measure(ctx, store); err == nil {
			w.show(streams, now)
		}
		if w.bar == nil {
			w.waiting.Show(fmt.Sprintf("Syncing with %s, for %s", server, streams.Now().Sub(began).Round(time.Second)))
		}
	}
}

// stand is how much a profile holds, and how much of it the server lacks.
type stand struct {
	receiving         bool
	bookmarks, unsent int
}

func measure(ctx context.Context, store *localstore.Store) (stand, error) {
	replicas, err := store.Replicas(ctx)
	if err != nil {
		return stand{}, err
	}
	var s stand
	for _, r := range replicas {
		if r.RemoteID == "" || r.State == localstore.StateFrozen {
			continue
		}
		counts, err := store.Counts(ctx, r.N)
		if err != nil {
			return stand{}, err
		}
		s.receiving = s.receiving || r.State == localstore.StateBootstrapping
		s.bookmarks += counts.Bookmarks
		s.unsent += max(0, counts.Unsent-counts.Parked)
	}
	return s, nil
}

// watching is what is shown of a round: first what comes, then what goes.
type watching struct {
	before  stand
	sending bool
	bar     *output.Progress
	waiting *output.Waiting // shown until there is a bar
}

func (w *watching) show(streams *output.Streams, now stand) {
	came, sent := now.bookmarks-w.before.bookmarks, w.before.unsent-now.unsent
	switch {
	case now.receiving && came > 0 && !w.sending:
		if w.bar == nil {
			w.waiting.End()
			w.bar = streams.Begin("Receiving", "bookmarks", 0)
		}
		w.bar.Set(came)
	case sent > 0:
		if !w.sending {
			w.end()
			w.sending, w.bar = true, streams.Begin("Sending", "changes", w.before.unsent)
		}
		w.bar.Set(sent)
	default:
		w.before.unsent = max(w.before.unsent, now.unsent) // edits meanwhile
	}
}

func (w *watching) end() {
	w.waiting.End()
	if w.bar != nil {
		w.bar.End()
	}
}
