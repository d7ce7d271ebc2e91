package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"bm/daemon/control"
	"bm/server/api"
)

// worker keeps one profile in step. All its rounds run in one goroutine, one
// after the other.
type worker struct {
	deps    Deps
	profile string
	tell    func(control.Event)

	asked  chan ask
	poked  chan string   // a workspace's id, "" for all
	opened chan struct{} // the event stream is open (again)
	gone   chan struct{} // closed when the worker has ended

	mu      sync.Mutex
	trouble string
	idle    bool // nobody is signed in
	live    bool
	info    control.ProfileInfo
	nextTry map[string]time.Time

	// held is until when the server wants to hear nothing of this profile, and
	// why. The loop alone uses it.
	held    time.Time
	heldFor error
}

// ask asks for rounds, and hears when they are over.
type ask struct {
	workspace string       // "" for all
	done      chan<- error // nil for a nudge
}

// hears tells whoever asked how it ended, once.
func (a *ask) hears(err error) {
	if a.done != nil {
		a.done <- err
		a.done = nil
	}
}

func newWorker(deps Deps, profile string, tell func(control.Event)) *worker {
	return &worker{
		deps: deps, profile: profile, tell: tell,
		asked: make(chan ask), poked: make(chan string, 64), opened: make(chan struct{}, 1), gone: make(chan struct{}),
		nextTry: map[string]time.Time{},
	}
}

// run keeps the profile in step until ctx ends. What goes wrong is trouble of
// this profile alone: it is shown, and tried again.
func (w *worker) run(ctx context.Context) {
	defer close(w.gone)
	log := w.deps.Log.With("profile", w.profile)
	var asked ask // that made this try; it hears what comes of it
	defer func() { asked.hears(errStopped) }()
	for failures := 0; ctx.Err() == nil; failures++ {
		err := w.try(ctx, &asked)
		asked.hears(errors.Join(err, context.Cause(ctx)))
		if ctx.Err() != nil {
			return
		}
		w.setTrouble(err)
		w.hold(err)
		if errors.Is(err, ErrNotSignedIn) {
			failures = 6 // nothing to hurry for
		} else {
			log.Warn("profile in trouble", "error", err)
		}
		for again := w.deps.After(w.deps.backoff(failures, err)); again != nil; {
			select {
			case <-ctx.Done():
				again = nil
			case <-again:
				again = nil
			case a := <-w.asked:
				if w.refuses(&a) {
					continue
				}
				// Who asks wants it tried now: what was wrong may be mended.
				if asked, again = a, nil; asked.done == nil {
					failures = 0
				}
			}
		}
	}
}

// try is mirror; a panic is trouble of this profile alone too.
func (w *worker) try(ctx context.Context, asked *ask) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.deps.Log.Error("a defect stopped the profile", "profile", w.profile, "panic", p, "stack", string(debug.Stack()))
			err = errors.Join(err, fmt.Errorf("a defect in bm stopped this profile: %v", p))
		}
	}()
	return w.mirror(ctx, asked)
}

// hold notes when a server wants to hear nothing for a while. It means the key:
// what it says to one workspace holds for all.
func (w *worker) hold(err error) {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.RetryAfter <= 0 {
		return
	}
	if until := w.deps.Now().Add(e.RetryAfter); until.After(w.held) {
		w.held, w.heldFor = until, err
	}
}

// left is how long the server wants to hear nothing still.
func (w *worker) left() time.Duration { return max(w.held.Sub(w.deps.Now()), 0) }

// refuses answers who asks while the server wants to hear nothing: nobody
// passes that.
func (w *worker) refuses(a *ask) bool {
	if w.left() == 0 {
		return false
	}
	a.hears(w.heldFor)
	return true
}

// mirror opens the profile and keeps it in step until it can't. Once it is open
// the rounds answer who asked for this try.
func (w *worker) mirror(ctx context.Context, asked *ask) (err error) {
	m, err := w.deps.Open(ctx, w.profile)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	defer func() {
		cancel()
		listening.Wait()
		err = errors.Join(err, m.Close())
	}()
	s := &schedule{worker: w, mirror: m, due: map[string]*work{}}
	// Whoever still waits for a round hears why there is none.
	defer func() {
		for _, due := range s.due {
			due.answer(errors.Join(err, context.Cause(ctx)))
		}
	}()
	if err := s.refresh(ctx); err != nil {
		return err
	}
	w.setTrouble(nil)
	s.wanted(*asked)
	asked.done = nil
	listening.Go(func() { w.listen(ctx, m) })
	return s.loop(ctx)
}

// lasting is how long an event stream has to have been open for the next to be
// opened without a wait: a proxy may end each one at once.
const lasting = time.Minute

// listen keeps the event stream open.
func (w *worker) listen(ctx context.Context, m Mirror) {
	for failures := 0; ctx.Err() == nil; failures++ {
		var since time.Time
		err := m.Listen(ctx, func() {
			since = w.deps.Now()
			w.setLive(true)
			select {
			case w.opened <- struct{}{}:
			default:
			}
		}, func(workspace string) {
			select {
			case w.poked <- workspace:
			case <-ctx.Done():
			}
		})
		w.setLive(false)
		if errors.Is(err, ErrNoEvents) || ctx.Err() != nil {
			return // the minute's tick has to do
		}
		if !since.IsZero() && w.deps.Now().Sub(since) >= lasting {
			failures = 0
		}
		select {
		case <-ctx.Done():
		case <-w.deps.After(w.deps.backoff(failures, err)):
		}
	}
}

// work is what is due of a workspace.
type work struct {
	now      bool // due at once
	at       time.Time
	failures int
	waiting  []chan<- error
}

// schedule is what one opened profile has to do, and when.
type schedule struct {
	*worker
	mirror  Mirror
	due     map[string]*work
	order   []string
	recheck bool // the list of workspaces may have changed
}

// refresh learns which workspaces there are, and makes all of them due.
func (s *schedule) refresh(ctx context.Context) error {
	ids, err := s.mirror.Refresh(ctx)
	if err != nil {
		return err
	}
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
			s.news() // what happened while it was closed was missed
		case id := <-s.poked:
			switch {
			case id == "":
				s.news()
			case s.due[id] == nil:
				s.recheck = true
			default:
				s.due[id].now = true
			}
		case a := <-s.asked:
			s.recheck = s.recheck || a.workspace == ""
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
// the last one fail: its wait is over.
func (s *schedule) want(id string, a ask) {
	w := s.due[id]
	if w == nil {
		if a.done != nil {
			a.done <- errors.New("this workspace is not mirrored here")
		}
		return
	}
	w.now, w.at = true, time.Time{}
	if a.done != nil {
		w.waiting = append(w.waiting, a.done)
	}
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
	waiting := w.waiting
	w.now, w.at, w.waiting = false, time.Time{}, nil
	result, err := s.mirror.Round(ctx, id)
	event := control.Event{Profile: s.profile, Workspace: id, Kind: control.RoundDone, Pulled: result.Pulled, Pushed: result.Pushed}
	switch {
	case ctx.Err() != nil:
		// Stopped in the middle: the next start carries on.
	case err != nil:
		s.hold(err)
		wait := s.deps.backoff(w.failures, err)
		w.failures++
		w.now, w.at = true, s.deps.Now().Add(wait)
		event.Kind, event.Message = control.RoundFailed, err.Error()
		s.deps.Log.Warn("round failed", "profile", s.profile, "workspace", id, "error", err, "again_in", wait)
	default:
		w.failures = 0
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
	for _, done := range waiting {
		done <- err
	}
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

func (w *worker) setTrouble(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble, w.idle = "", errors.Is(err, ErrNotSignedIn)
	if err != nil {
		w.trouble = err.Error()
	}
}

func (w *worker) setLive(live bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live = live
}

// signedOut reports whether there is nothing to keep in step.
func (w *worker) signedOut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idle
}

// status is what is known of the profile.
func (w *worker) status() control.ProfileInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	info := w.info
	info.Name, info.Trouble, info.Live = w.profile, w.trouble, w.live
	info.Workspaces = slices.Clone(info.Workspaces)
	for i := range info.Workspaces {
		info.Workspaces[i].NextTry = w.nextTry[info.Workspaces[i].ID]
	}
	return info
}
