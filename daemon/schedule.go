package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"bm/daemon/control"
)

// work is what is due of a workspace.
type work struct {
	now      bool // due at once
	at       time.Time
	failures int
	hurried  time.Time // when an edit has it tried, or had, although the last try had failed
	waiting  []chan<- error
}

// schedule is what one opened profile has to do, and when.
type schedule struct {
	*worker
	mirror  Mirror
	due     map[string]*work
	order   []string
	recheck bool // the list of workspaces may have changed
	// replaced is set once nothing is left to do but to open the profile anew.
	replaced error
	away     error // the server did not say which there are; nil where it did
}

// refresh learns which workspaces there are, and makes all of them due. Where the
// server can't be reached, the profile stays open with those that are known: each
// edit has them tried, and what is open need not be opened for it.
func (s *schedule) refresh(ctx context.Context) error {
	ids, err := s.mirror.Refresh(ctx)
	if err != nil && len(ids) == 0 {
		return err
	}
	if err != nil {
		if s.hold(err); s.away == nil {
			s.deps.Log.Warn("server away", "profile", s.profile, "error", err)
		}
		for _, w := range s.due {
			w.answer(err)
		}
	}
	s.away = err
	s.setTrouble(err)
	for _, id := range ids {
		if s.due[id] == nil {
			s.due[id] = &work{now: true}
		}
	}
	for id, w := range s.due {
		if !slices.Contains(ids, id) {
			w.answer(nil)
			delete(s.due, id)
		}
	}
	s.order = ids
	return s.describe(ctx)
}

func (s *schedule) loop(ctx context.Context) error {
	ticks := s.deps.After(tick)
	for {
		id, wait := s.next()
		wait = max(wait, s.left())
		if id != "" && wait == 0 {
			s.round(ctx, id)
			if ctx.Err() != nil {
				return nil
			}
			if s.replaced != nil {
				return s.replaced
			}
			// Look for news without waiting before the next one.
			wait = 0
		}
		var timer <-chan time.Time
		if id != "" {
			timer = s.deps.After(max(wait, 0))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-timer:
		case <-ticks:
			ticks = s.deps.After(tick)
			s.recheck = true
			s.news()
		case <-s.opened:
			s.all(ask{}) // what happened while it was closed was missed, and it answers
		case id := <-s.poked:
			switch {
			case id == "":
				s.news()
			case s.due[id] == nil:
				s.recheck = true
			default:
				s.due[id].now = true
			}
		case <-s.nudged:
			for _, workspace := range s.nudges() {
				// A round finds out just as well that the server is back.
				s.recheck = s.recheck || s.due[workspace] == nil && s.away == nil
				s.wanted(ask{workspace: workspace})
			}
		case a := <-s.asked:
			s.recheck = s.recheck || a.workspace == "" || s.away != nil
			s.refuses(&a)
			s.wanted(a)
		}
		if s.recheck && s.left() == 0 {
			s.recheck = false
			if err := s.refresh(ctx); err != nil {
				return err
			}
		}
	}
}

// next is the workspace whose round is due first, and how long until then;
// "" for none.
func (s *schedule) next() (id string, wait time.Duration) {
	now := s.deps.Now()
	for _, candidate := range s.order {
		w := s.due[candidate]
		switch {
		case w.now && w.at.IsZero():
			return candidate, 0
		case w.now || !w.at.IsZero():
			if left := w.at.Sub(now); id == "" || left < wait {
				id, wait = candidate, left
			}
		}
	}
	return id, wait
}

// news makes a round of every workspace due, after what a failure has it wait.
func (s *schedule) news() {
	for _, id := range s.order {
		s.due[id].now = true
	}
}

// want makes a round due that somebody asks for, who may have mended what made
// the last one fail: its wait is over. One edit after the other has it tried no more
// often than the shortest wait is long.
func (s *schedule) want(id string, a ask) {
	w := s.due[id]
	if w == nil {
		if a.done != nil {
			a.done <- errors.New("this workspace is not mirrored here")
		}
		return
	}
	w.now = true
	if a.done != nil {
		w.waiting = append(w.waiting, a.done)
	} else if now := s.deps.Now(); w.failures > 0 {
		if next := w.hurried.Add(backoffBase); now.Before(next) {
			if next.Before(w.at) {
				w.at, w.hurried = next, next
			}
			return
		}
		w.hurried = now
	}
	w.at = time.Time{}
}

// wanted makes due what somebody asked for.
func (s *schedule) wanted(a ask) {
	if a.workspace == "" {
		s.all(a)
	} else {
		s.want(a.workspace, a)
	}
}

// all makes a round of every workspace due. Who waits for all of them hears
// once, of the first that failed or when the last is done.
func (s *schedule) all(a ask) {
	if a.done != nil {
		single := make(chan error, len(s.order))
		go gather(single, len(s.order), a.done)
		a.done = single
	}
	for _, id := range s.order {
		s.want(id, a)
	}
}

func gather(each <-chan error, n int, done chan<- error) {
	var errs []error
	for range n {
		if err := <-each; err != nil {
			errs = append(errs, err)
		}
	}
	done <- errors.Join(errs...)
}

func (w *work) answer(err error) {
	for _, done := range w.waiting {
		done <- err
	}
	w.waiting = nil
}

// round runs one round, and decides when the next is due.
func (s *schedule) round(ctx context.Context, id string) {
	w := s.due[id]
	w.now, w.at = false, time.Time{}
	result, err := s.mirror.Round(ctx, id)
	event := control.Event{Profile: s.profile, Workspace: id, Kind: control.RoundDone, Pulled: result.Pulled, Pushed: result.Pushed}
	switch {
	case ctx.Err() != nil:
		// Stopped in the middle: the next start carries on.
	case err != nil:
		if errors.Is(err, ErrReplaced) {
			s.replaced = err
		}
		s.hold(err)
		wait := s.deps.backoff(w.failures, err)
		// The server may be away from all of them, which is the profile's trouble.
		s.recheck = s.recheck || w.failures == 0 && s.away == nil
		w.failures++
		w.now, w.at = true, s.deps.Now().Add(wait)
		event.Kind, event.Message = control.RoundFailed, err.Error()
		s.deps.Log.Warn("round failed", "profile", s.profile, "workspace", id, "error", err, "again_in", wait)
	default:
		w.failures = 0
		s.recheck = s.recheck || s.away != nil // it is back
		if result.Pulled+result.Pushed > 0 {
			s.deps.Log.Info("round", "profile", s.profile, "workspace", id, "pulled", result.Pulled, "pushed", result.Pushed)
		}
		if result.Note != "" {
			s.deps.Log.Warn("round noted", "profile", s.profile, "workspace", id, "note", result.Note)
		}
	}
	s.mu.Lock()
	s.nextTry[id] = w.at
	s.mu.Unlock()
	if described := s.describe(ctx); err == nil && ctx.Err() == nil && described != nil {
		s.deps.Log.Warn("describe the profile", "profile", s.profile, "error", described)
	}
	s.tell(event)
	w.answer(err)
}

// describe keeps what "bm daemon status" shows.
func (s *schedule) describe(ctx context.Context) error {
	info, err := s.mirror.Info(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = info
	return nil
}
