package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bm/daemon/control"
)

// Daemon is a running daemon.
type Daemon struct {
	deps    Deps
	started time.Time
	hub     hub
	stop    context.CancelFunc

	mu       sync.Mutex
	workers  map[string]*running
	leaving  map[*running]bool // that were told to end
	holds    int               // callers that asked for quiet
	paused   bool
	ctx      context.Context // of the workers
	finished sync.WaitGroup
}

// running is a worker with the means to end it.
type running struct {
	*worker
	stop context.CancelFunc
}

// Run runs the daemon until ctx ends or somebody asks it to stop. It is
// [ErrRunning] where another one serves the socket.
func Run(ctx context.Context, deps Deps) (err error) {
	deps = deps.withDefaults()
	place, err := occupy(ctx, deps)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.leave()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &Daemon{
		deps: deps, started: deps.Now(), stop: stop, ctx: ctx,
		workers: map[string]*running{}, leaving: map[*running]bool{}, hub: hub{listeners: map[chan control.Event]bool{}},
	}
	deps.Log.Info("daemon started", "version", deps.Version, "socket", deps.Socket)
	var serving sync.WaitGroup
	serving.Go(func() { d.serve(ctx, place.listener) })
	d.watch(ctx)
	place.close()
	d.finished.Wait()
	serving.Wait()
	deps.Log.Info("daemon stopped")
	return nil
}

// watch starts a worker for every profile that appears.
func (d *Daemon) watch(ctx context.Context) {
	for {
		if err := d.discover(); err != nil {
			d.deps.Log.Warn("list the profiles", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.deps.After(tick):
		}
	}
}

func (d *Daemon) discover() error {
	names, err := d.deps.Profiles()
	if err != nil {
		return err
	}
	for _, name := range names {
		d.worker(name)
	}
	return nil
}

// worker is the profile's worker, started where it does not run; nil while
// nothing may run.
func (d *Daemon) worker(profile string) *worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused || d.holds > 0 || d.ctx.Err() != nil {
		return nil
	}
	if r := d.workers[profile]; r != nil {
		return r.worker
	}
	ctx, cancel := context.WithCancel(d.ctx)
	r := &running{worker: newWorker(d.deps, profile, d.hub.tell), stop: cancel}
	d.workers[profile] = r
	d.finished.Go(func() {
		defer cancel()
		r.run(ctx)
	})
	return r.worker
}

// quiet ends every worker and waits until they let go of their files.
func (d *Daemon) quiet(change func()) {
	d.mu.Lock()
	change()
	for _, r := range d.workers {
		d.leaving[r] = true
		r.stop()
	}
	clear(d.workers)
	ending := slices.Collect(maps.Keys(d.leaving)) // another caller may have told some
	d.mu.Unlock()
	for _, r := range ending {
		<-r.gone
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range ending {
		delete(d.leaving, r)
	}
}

// wake undoes what quiet did, and starts the workers anew.
func (d *Daemon) wake(change func()) {
	d.mu.Lock()
	change()
	d.mu.Unlock()
	if err := d.discover(); err != nil {
		d.deps.Log.Warn("list the profiles", "error", err)
	}
}

// nudge makes rounds due without waiting for them.
func (d *Daemon) nudge(request control.Request) error {
	return d.each(request.Profile, func(w *worker) error {
		w.nudge(request.Workspace)
		return nil
	})
}

// sync runs rounds and waits for them.
func (d *Daemon) sync(ctx context.Context, request control.Request) error {
	return d.each(request.Profile, func(w *worker) error {
		err := w.ask(ctx, request.Workspace)
		if errors.Is(err, ErrReplaced) {
			err = w.ask(ctx, request.Workspace) // of the one that stands there now
		}
		return err
	})
}

// each does something with one profile's worker, or with every one.
func (d *Daemon) each(profile string, do func(*worker) error) error {
	var workers []*worker
	if profile != "" {
		w := d.worker(profile)
		for ; w == nil; w = d.worker(profile) {
			if err := d.resting(); err != nil {
				return err
			}
		}
		workers = append(workers, w)
	} else {
		if err := d.resting(); err != nil {
			return err
		}
		d.mu.Lock()
		for _, r := range d.workers {
			workers = append(workers, r.worker)
		}
		d.mu.Unlock()
	}
	errs := make([]error, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() {
			if err := do(w); err != nil {
				errs[i] = fmt.Errorf("profile %s: %w", w.profile, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// resting is why nothing runs; nil where something may.
func (d *Daemon) resting() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.ctx.Err() != nil:
		return errStopped
	case d.paused:
		return errPaused
	case d.holds > 0:
		return errHeld
	}
	return nil
}

var (
	errStopped = errors.New("the daemon is letting go of its files")
	errPaused  = errors.New("the daemon is paused")
	errHeld    = errors.New("another command has the daemon keep still: try again when it is done")
)

// status is everything that is known.
func (d *Daemon) status() *control.DaemonInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	info := &control.DaemonInfo{Started: d.started, Paused: d.paused, Profiles: []control.ProfileInfo{}}
	for _, r := range d.workers {
		if !r.signedOut() {
			info.Profiles = append(info.Profiles, r.status())
		}
	}
	sortProfiles(info.Profiles)
	return info
}
