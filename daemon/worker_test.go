package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bm/daemon/control"
	"bm/server/api"
)

// fakeMirror is a profile whose rounds do what the test says.
type fakeMirror struct {
	mu         sync.Mutex
	workspaces []string
	rounds     []string
	round      func(id string) (Result, error)
	events     chan string
	listens    int
	closed     int
}

func (m *fakeMirror) Refresh(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.workspaces), nil
}

func (m *fakeMirror) Round(_ context.Context, id string) (Result, error) {
	m.mu.Lock()
	m.rounds = append(m.rounds, id)
	round := m.round
	m.mu.Unlock()
	if round == nil {
		return Result{}, nil
	}
	return round(id)
}

func (m *fakeMirror) Listen(ctx context.Context, opened func(), poke func(string)) error {
	m.mu.Lock()
	m.listens++
	m.mu.Unlock()
	if m.events == nil {
		return ErrNoEvents
	}
	opened()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case id, ok := <-m.events:
			if !ok {
				return errors.New("the stream broke")
			}
			poke(id)
		}
	}
}

func (m *fakeMirror) Info(context.Context) (control.ProfileInfo, error) {
	return control.ProfileInfo{Server: "https://a.example", Workspaces: []control.WorkspaceInfo{{ID: "a"}, {ID: "b"}}}, nil
}

func (m *fakeMirror) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed++
	return nil
}

// listened is how often events were asked for, released how often it was closed.
func (m *fakeMirror) listened() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listens
}

func (m *fakeMirror) released() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// taken answers the rounds since the last call.
func (m *fakeMirror) taken() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	rounds := m.rounds
	m.rounds = nil
	return rounds
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// start runs a worker over the mirror in the bubble, and stops it at the end.
func start(t *testing.T, m *fakeMirror, open func() (Mirror, error)) *worker {
	t.Helper()
	if open == nil {
		open = func() (Mirror, error) { return m, nil }
	}
	deps := Deps{
		Log:    quietLog(),
		Open:   func(context.Context, string) (Mirror, error) { return open() },
		Jitter: func() float64 { return 1 },
	}.withDefaults()
	w := newWorker(deps, "p", func(control.Event) {})
	ctx, cancel := context.WithCancel(context.Background())
	go w.run(ctx)
	t.Cleanup(func() {
		cancel()
		<-w.gone
	})
	synctest.Wait()
	return w
}

func expect(t *testing.T, m *fakeMirror, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := m.taken(); !slices.Equal(got, want) {
		t.Errorf("%s: rounds %v, want %v", when, got, want)
	}
}

func TestRoundsAtStartAndEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b"}}
		start(t, m, nil)
		expect(t, m, "at start", "a", "b")
		time.Sleep(59 * time.Second)
		expect(t, m, "before the minute is over")
		time.Sleep(2 * time.Second)
		expect(t, m, "after a minute", "a", "b")
		if m.listened() != 1 {
			t.Errorf("asked %d times for events of a server that has none", m.listened())
		}
	})
}

func TestNudgesAndPokes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b"}, events: make(chan string)}
		w := start(t, m, nil)
		expect(t, m, "at start, and for what was missed", "a", "b", "a", "b")
		w.asked <- ask{}
		expect(t, m, "nudge", "a", "b")
		w.asked <- ask{workspace: "b"}
		expect(t, m, "nudge of one", "b")
		m.events <- "a"
		expect(t, m, "poke", "a")
		m.mu.Lock()
		m.workspaces = []string{"a", "b", "c"}
		m.mu.Unlock()
		m.events <- "c"
		expect(t, m, "poke of one that is new", "c")
		w.poked <- ""
		expect(t, m, "poke of all", "a", "b", "c")
	})
}

func TestABrokenStreamIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}, events: make(chan string)}
		w := start(t, m, nil)
		expect(t, m, "at start", "a", "a")
		close(m.events)
		synctest.Wait()
		if w.status().Live {
			t.Error("a broken stream counts as live")
		}
		before := m.listened()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if m.listened() == before {
			t.Error("it was not opened again")
		}
		if m.listened() > before+10 {
			t.Errorf("it was opened %d times in 3 s", m.listened()-before)
		}
	})
}

func TestFailuresWaitLongerAndLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}, round: func(string) (Result, error) { return Result{}, errors.New("no") }}
		w := start(t, m, nil)
		expect(t, m, "at start", "a")
		began := time.Now()
		var at []time.Duration
		for len(at) < 8 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if len(m.taken()) > 0 {
				at = append(at, time.Since(began).Round(time.Second))
			}
		}
		want := []time.Duration{1, 3, 7, 15, 31, 63, 123, 183}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(at, want) {
			t.Errorf("tried again after %v, want %v", at, want)
		}
		// Somebody who asks is not told to wait.
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		expect(t, m, "asked", "a")
		if err := <-done; err == nil {
			t.Error("who asked heard of no failure")
		}
		if next := w.status().Workspaces[0].NextTry; !next.After(time.Now()) {
			t.Errorf("the next try is said to be at %v", next)
		}
	})
}

func TestRetryAfterIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}, round: func(string) (Result, error) {
			return Result{}, &api.Error{Code: api.CodeRateLimited, RetryAfter: 5 * time.Minute}
		}}
		start(t, m, nil)
		expect(t, m, "at start", "a")
		time.Sleep(5*time.Minute - time.Second)
		expect(t, m, "before Retry-After is over, ticks notwithstanding")
		time.Sleep(2 * time.Second)
		expect(t, m, "after it", "a")
	})
}

func TestOneWorkspacesTroubleIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"bad", "good"}, round: func(id string) (Result, error) {
			if id == "bad" {
				return Result{}, errors.New("no")
			}
			return Result{}, nil
		}}
		w := start(t, m, nil)
		m.taken()
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		if err := <-done; err == nil {
			t.Error("a failed round is not reported")
		}
		expect(t, m, "asked", "bad", "good")
		w.asked <- ask{workspace: "good", done: done}
		if err := <-done; err != nil {
			t.Errorf("good: %v", err)
		}
		w.asked <- ask{workspace: "unknown", done: done}
		if err := <-done; err == nil {
			t.Error("a round of an unknown workspace is said to be done")
		}
	})
}

func TestAProfileThatCantBeOpenedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		var locked atomic.Bool
		locked.Store(true)
		w := start(t, m, func() (Mirror, error) {
			if locked.Load() {
				return nil, errors.New("the keyring is locked")
			}
			return m, nil
		})
		if got := w.status().Trouble; got != "the keyring is locked" {
			t.Errorf("trouble %q", got)
		}
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		if err := <-done; err == nil {
			t.Error("who asked heard of no trouble")
		}
		locked.Store(false)
		w.asked <- ask{done: done} // who asks once more hears of what holds now
		if err := <-done; err != nil {
			t.Errorf("it is mended, and who asked heard %v", err)
		}
		expect(t, m, "after it was asked", "a")
	})
}

func TestANudgeTriesAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		var locked atomic.Bool
		locked.Store(true)
		w := start(t, m, func() (Mirror, error) {
			if locked.Load() {
				return nil, errors.New("the keyring is locked")
			}
			return m, nil
		})
		locked.Store(false)
		w.asked <- ask{} // a nudge tries at once
		expect(t, m, "after the nudge", "a")
		if got := w.status().Trouble; got != "" {
			t.Errorf("trouble %q", got)
		}
	})
}

func TestWhereNobodyIsSignedInThereIsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, func() (Mirror, error) { return nil, ErrNotSignedIn })
		d := &Daemon{workers: map[string]*running{"p": {worker: w}}}
		if got := d.status().Profiles; len(got) != 0 {
			t.Errorf("profiles %+v", got)
		}
	})
}

func TestWorkspacesThatGoAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b"}}
		w := start(t, m, nil)
		m.taken()
		m.mu.Lock()
		m.workspaces = []string{"b"}
		m.mu.Unlock()
		w.asked <- ask{}
		expect(t, m, "nudge", "b")
	})
}

func TestStoppingAnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &fakeMirror{workspaces: []string{"a"}}
		m.round = func(string) (Result, error) { <-release; return Result{}, nil }
		deps := Deps{Log: quietLog(), Open: func(context.Context, string) (Mirror, error) { return m, nil }}.withDefaults()
		w := newWorker(deps, "p", func(control.Event) {})
		ctx, cancel := context.WithCancel(context.Background())
		go w.run(ctx)
		synctest.Wait()
		// A round is under way; what is asked now would be the next.
		heard := make(chan error, 1)
		d := &Daemon{deps: deps, workers: map[string]*running{"p": {worker: w, stop: cancel}}, ctx: ctx}
		go func() { heard <- d.sync(context.Background(), control.Request{Profile: "p"}) }()
		synctest.Wait()
		cancel()
		close(release)
		<-w.gone
		if err := <-heard; err == nil {
			t.Error("who waited for a round that never came heard of success")
		}
		if m.released() != 1 {
			t.Errorf("closed %d times", m.released())
		}
	})
}

func TestNewer(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"1.2.3", "1.2.2"}: true, {"1.2.3", "1.2.3"}: false, {"1.10.0", "1.9.9"}: true, {"1.2.3", "1.2.3-rc1"}: true,
		{"1.2.3-rc1", "1.2.3"}: false, {"dev", "1.0.0"}: false, {"1.0.0", "dev"}: false, {"v2.0.0", "1.0.0"}: true, {"1.2", "1.1"}: false,
	} {
		if got := control.Newer(pair[0], pair[1]); got != want {
			t.Errorf("%v: %v", pair, got)
		}
	}
}
