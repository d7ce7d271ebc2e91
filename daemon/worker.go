package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	nudged chan struct{} // there are nudges
	poked  chan string   // a workspace's id, "" for all
	opened chan struct{} // the event stream is open (again)
	gone   chan struct{} // closed when the worker has ended

	mu      sync.Mutex
	trouble string
	idle    bool // nobody is signed in
	live    bool
	info    control.ProfileInfo
	nextTry map[string]time.Time
	edited  map[string]bool // workspaces that nudges are about, "" for all

	// held is until when the server wants to hear nothing of this profile, and
	// why. The loop alone uses it.
	held    time.Time
	heldFor error
}

// ask asks for rounds, and hears when they are over.
type ask struct {
	workspace string       // "" for all
	done      chan<- error // nil where nobody waits
}

// ask runs rounds of a workspace, of all where it is "", and waits for them.
func (w *worker) ask(ctx context.Context, workspace string) error {
	done := make(chan error, 1)
	select {
	case w.asked <- ask{workspace: workspace, done: done}:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.gone:
		return errStopped
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
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
		asked: make(chan ask), nudged: make(chan struct{}, 1), poked: make(chan string, 64), opened: make(chan struct{}, 1), gone: make(chan struct{}),
		nextTry: map[string]time.Time{}, edited: map[string]bool{},
	}
}

// nudge makes rounds of a workspace due, of all where it is "". It waits for
// nothing: an edit does not take longer for what the worker is at.
func (w *worker) nudge(workspace string) {
	w.mu.Lock()
	w.edited[workspace] = true
	w.mu.Unlock()
	select {
	case w.nudged <- struct{}{}:
	default: // it is to look already
	}
}

// nudges are the workspaces that were edited since the last call.
func (w *worker) nudges() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	workspaces := slices.Sorted(maps.Keys(w.edited))
	clear(w.edited)
	return workspaces
}

// run keeps the profile in step until ctx ends. What goes wrong is trouble of
// this profile alone: it is shown, and tried again.
func (w *worker) run(ctx context.Context) {
	defer close(w.gone)
	log := w.deps.Log.With("profile", w.profile)
	var asked ask         // that made this try; it hears what comes of it
	var hurried time.Time // when a nudge has it tried, or had
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
		wait := w.deps.backoff(failures, err)
		due := w.deps.Now().Add(wait)
		for again := w.deps.After(wait); again != nil; {
			select {
			case <-ctx.Done():
				again = nil
			case <-again:
				again = nil
			case <-w.nudged:
				if w.left() > 0 {
					continue
				}
				// As in [schedule.want].
				failures = 0
				switch now, next := w.deps.Now(), hurried.Add(backoffBase); {
				case !now.Before(next):
					again, hurried = nil, now
				case next.Before(due):
					again, due, hurried = w.deps.After(next.Sub(now)), next, next
				}
			case a := <-w.asked:
				if w.refuses(&a) {
					continue
				}
				// Who asks wants it tried now: what was wrong may be mended.
				asked, again = a, nil
			}
		}
	}
}

// try is mirror; a panic is trouble of this profile alone too.
func (w *worker) try(ctx context.Context, asked *ask) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.deps.Log.Error("a defect stopped the profile", "profile", w.profile, "panic", p, "stack", string(debug.Stack()))
			err = errors.Join(err, fmt.Errorf("%w: %v", errDefect, p))
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

var errDefect = errors.New("a defect in bm stopped this profile")

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
	panicked := errDefect
	defer func() {
		for _, due := range s.due {
			due.answer(errors.Join(err, panicked, context.Cause(ctx)))
		}
	}()
	err = s.refresh(ctx)
	if err == nil {
		if s.away != nil {
			asked.hears(s.away)
		} else if asked.done != nil {
			s.wanted(*asked)
			asked.done = nil
		}
		listening.Go(func() { w.listen(ctx, m) })
		err = s.loop(ctx)
	}
	panicked = nil
	return err
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
