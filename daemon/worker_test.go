package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	away       error // why the server does not say which there are
	rounds     []string
	round      func(id string) (Result, error)
	events     chan string
	listens    int
	closed     int
	refreshed  int
}

func (m *fakeMirror) Refresh(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refreshed++
	return slices.Clone(m.workspaces), m.away
}

// asked is how often the server was asked for the workspaces.
func (m *fakeMirror) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refreshed
}

// leaves has the server answer nobody, or with nil everybody again.
func (m *fakeMirror) leaves(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = err
	m.round = func(string) (Result, error) { return Result{}, err }
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
		w := start(t, m, nil)
		expect(t, m, "at start", "a", "b")
		time.Sleep(59 * time.Second)
		expect(t, m, "before the minute is over")
		time.Sleep(2 * time.Second)
		expect(t, m, "after a minute", "a", "b")
		m.mu.Lock()
		m.workspaces = []string{"b", "c"}
		m.mu.Unlock()
		time.Sleep(time.Minute)
		if got := m.taken(); !slices.Contains(got, "c") {
			t.Errorf("after another one with one that is new: rounds %v", got)
		}
		time.Sleep(time.Minute)
		expect(t, m, "after a third", "b", "c")
		// Who asks for one that is none any more hears that.
		done := make(chan error, 1)
		w.asked <- ask{workspace: "a", done: done}
		synctest.Wait()
		select {
		case err := <-done:
			if err == nil {
				t.Error("one that is gone was synced")
			}
		default:
			t.Error("who asked for one that is gone waits for ever")
		}
		if m.listened() != 1 {
			t.Errorf("asked %d times for events of a server that has none", m.listened())
		}
	})
}

func TestNudgesAndPokes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b"}, events: make(chan string)}
		w := start(t, m, nil)
		// At the start, and for what was missed until the stream was open; where
		// that is open before the turn of b, one round of b does for both.
		if got := m.taken(); !slices.Contains(got, "a") || !slices.Contains(got, "b") || len(got) > 4 {
			t.Errorf("at start: rounds %v", got)
		}
		w.nudge("")
		expect(t, m, "nudge", "a", "b")
		before := m.asked()
		w.nudge("b")
		expect(t, m, "nudge of one", "b")
		if m.asked() != before {
			t.Error("an edit of one that is known has the server list all that there are")
		}
		m.events <- "a"
		expect(t, m, "poke", "a")
		m.mu.Lock()
		m.workspaces = []string{"a", "b", "c"}
		m.mu.Unlock()
		m.events <- "c"
		expect(t, m, "poke of one that is new", "c")
		w.poked <- ""
		expect(t, m, "poke of all", "a", "b", "c")
		m.mu.Lock()
		m.workspaces = append(m.workspaces, "d")
		m.mu.Unlock()
		w.nudge("d")
		expect(t, m, "nudge of one that is new", "d")
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

// Everybody who waits hears, and of all that they wait for.
func TestWhoWaitsHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b"}}
		w := start(t, m, nil)
		going := make(chan bool)
		m.mu.Lock()
		m.round = func(id string) (Result, error) {
			<-going
			if id == "b" {
				return Result{}, errors.New("no")
			}
			return Result{}, nil
		}
		m.mu.Unlock()
		w.nudge("a")
		synctest.Wait()   // that round is under way: what is asked for waits for the next
		const askers = 20 // every other one asks for all
		answers := make([]chan error, askers)
		for i := range answers {
			answers[i] = make(chan error, 1)
			asking := ask{workspace: "a", done: answers[i]}
			if i%2 == 1 {
				asking.workspace = ""
			}
			go func() { w.asked <- asking }()
		}
		synctest.Wait()
		close(going)
		synctest.Wait()
		for i, answer := range answers {
			select {
			case err := <-answer:
				if (err != nil) != (i%2 == 1) {
					t.Errorf("asker %d hears %v", i, err)
				}
			default:
				t.Errorf("asker %d waits for ever", i)
			}
		}
	})
}

// Edits of several workspaces while a round is under way are all heeded.
func TestNudgesOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b", "c"}}
		w := start(t, m, nil)
		m.taken()
		going := make(chan bool)
		m.mu.Lock()
		m.round = func(string) (Result, error) {
			<-going
			return Result{}, nil
		}
		m.mu.Unlock()
		w.nudge("a")
		synctest.Wait()
		w.nudge("b")
		w.nudge("c")
		close(going)
		expect(t, m, "after all", "a", "b", "c")
	})
}

// A server that can't be asked for a while is asked by nobody, and a profile that
// nobody is signed in to is looked at once a minute from the start.
func TestWhatCantBeOpenedIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		why := &api.Error{Code: api.CodeRateLimited, RetryAfter: 5 * time.Minute}
		w := start(t, nil, func() (Mirror, error) {
			tries++
			return nil, why
		})
		time.Sleep(time.Minute)
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		if err := <-done; !errors.Is(err, why) || tries != 1 {
			t.Errorf("who asks hears %v after %d tries", err, tries)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		start(t, nil, func() (Mirror, error) {
			tries++
			return nil, ErrNotSignedIn
		})
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		if tries != 10 {
			t.Errorf("signed out it is looked at %d times in ten minutes", tries)
		}
	})
}

func TestBackoff(t *testing.T) {
	d := Deps{Jitter: func() float64 { return 0.5 }}
	limited := fmt.Errorf("round: %w", &api.Error{Code: api.CodeRateLimited, RetryAfter: 20 * time.Second})
	for _, c := range []struct {
		failures int
		err      error
		want     time.Duration
	}{
		{0, nil, 500 * time.Millisecond},
		{3, nil, 4 * time.Second},
		{6, nil, 30 * time.Second},
		{1000, nil, 30 * time.Second},
		{0, limited, 20 * time.Second},
		{1000, limited, 30 * time.Second},
	} {
		if got := d.backoff(c.failures, c.err); got != c.want {
			t.Errorf("after %d failures, %v: %v, want %v", c.failures, c.err, got, c.want)
		}
	}
}

func TestASuccessEndsTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := true
		m := &fakeMirror{workspaces: []string{"a"}, round: func(string) (Result, error) {
			if fails {
				return Result{}, errors.New("no")
			}
			return Result{}, nil
		}}
		w := start(t, m, nil)
		time.Sleep(20 * time.Second) // waits of 1, 2, 4, 8 and 16 seconds
		synctest.Wait()
		fails = false
		w.nudge("")
		synctest.Wait()
		fails = true
		w.nudge("")
		synctest.Wait()
		m.taken()
		time.Sleep(time.Second)
		expect(t, m, "a second after the first failure since", "a")
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
		w.nudge("") // a nudge tries at once
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
		w.nudge("")
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

// An edit, or whoever asks, tries at once what failed before; news from the
// server wait for their turn.
func TestAnEditTriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		var back atomic.Bool
		m.round = func(string) (Result, error) {
			if !back.Load() {
				return Result{}, errors.New("offline")
			}
			return Result{}, nil
		}
		w := start(t, m, nil)
		time.Sleep(10 * time.Minute) // it waits a minute between two tries now
		synctest.Wait()
		m.taken()
		w.poked <- "a"
		expect(t, m, "a poke within the wait")
		back.Store(true)
		w.nudge("") // the nudge of an edit
		expect(t, m, "an edit right after the network came back", "a")
	})
}

// While the server is away a profile is opened once, however much is edited, and
// however long that takes. Of many edits one a second has it tried.
func TestEditsWhileTheServerIsAwayCostNextToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		m.leaves(errors.New("nobody answers"))
		opens := 0
		w := start(t, m, func() (Mirror, error) { opens++; return m, nil })
		expect(t, m, "at start", "a")
		time.Sleep(10 * time.Minute) // it waits a minute between two tries now
		synctest.Wait()
		m.taken()
		w.nudge("")
		expect(t, m, "the first edit", "a")
		before := m.asked()
		for range 1000 {
			w.nudge("")
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if tries := len(m.taken()); tries < 9 || tries > 11 {
			t.Errorf("1,000 edits in ten seconds had it tried %d times", tries)
		}
		if n := m.asked() - before; n > 0 {
			t.Errorf("and had it asked %d times which workspaces there are", n)
		}
		if trouble := w.status().Trouble; opens != 1 || m.released() != 0 || trouble != "nobody answers" {
			t.Errorf("opened %d times, closed %d times, trouble %q", opens, m.released(), trouble)
		}
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		if err := <-done; err == nil || err.Error() != "nobody answers" {
			t.Errorf("who asks hears %v", err)
		}
		m.leaves(nil)
		m.mu.Lock()
		m.workspaces = []string{"a", "b"}
		m.mu.Unlock()
		time.Sleep(2 * time.Second)
		m.taken()
		w.nudge("")
		expect(t, m, "an edit when it is back, and what is new since", "a", "b")
		if trouble := w.status().Trouble; trouble != "" {
			t.Errorf("it is back, and the trouble is %q", trouble)
		}
	})
}

// That the server has gone is found out by the first edit, and is trouble of the
// whole profile.
func TestAServerThatLeavesIsTroubleOfTheProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b"}}
		w := start(t, m, nil)
		expect(t, m, "at start", "a", "b")
		m.leaves(errors.New("nobody answers"))
		w.nudge("b")
		expect(t, m, "an edit", "b")
		if trouble := w.status().Trouble; trouble != "nobody answers" {
			t.Errorf("trouble %q", trouble)
		}
	})
}

// The event stream opens: the network is there again, and nothing waits any more.
func TestANetworkThatIsBackIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}, events: make(chan string)}
		m.leaves(errors.New("nobody answers"))
		w := start(t, m, nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		m.taken()
		m.leaves(nil)
		w.opened <- struct{}{}
		synctest.Wait()
		if got := m.taken(); !slices.Contains(got, "a") {
			t.Error("it waits still")
		}
	})
}

// A profile that can't be opened is tried as often as a workspace is that can't be
// reached: with one edit after the other once a second, and for no edit later than
// it would have been without.
func TestEditsOfAProfileThatCantBeOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opens atomic.Int64
		w := start(t, nil, func() (Mirror, error) {
			opens.Add(1)
			return nil, errors.New("the keyring is locked")
		})
		time.Sleep(10 * time.Minute) // it waits a minute between two tries now
		synctest.Wait()
		opens.Store(0)
		for range 1000 {
			w.nudge("")
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if n := opens.Load(); n < 9 || n > 11 {
			t.Errorf("1,000 edits in ten seconds had it opened %d times", n)
		}
		opens.Store(0)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if opens.Load() == 0 {
			t.Error("after an edit it waits a minute still")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var opens atomic.Int64
		w := newWorker(Deps{
			Log: quietLog(), Jitter: func() float64 { return 0.2 },
			Open: func(context.Context, string) (Mirror, error) {
				opens.Add(1)
				return nil, errors.New("the keyring is locked")
			},
		}.withDefaults(), "p", func(control.Event) {})
		ctx, cancel := context.WithCancel(t.Context())
		defer func() {
			cancel()
			<-w.gone
		}()
		go w.run(ctx)
		synctest.Wait()
		w.nudge("") // has it tried at once, and again in a part of a second
		synctest.Wait()
		before := opens.Load()
		w.nudge("")
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if opens.Load() == before {
			t.Error("an edit put the next try off")
		}
	})
}

// That a server is away is learnt once, and not of each workspace anew.
func TestAServerThatIsAwayIsAskedOnceWhichThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b", "c"}}
		m.leaves(errors.New("nobody answers"))
		start(t, m, nil)
		expect(t, m, "at start", "a", "b", "c")
		if n := m.asked(); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}, round: func(string) (Result, error) { return Result{}, errors.New("no") }}
		start(t, m, nil)
		before := m.asked()
		time.Sleep(50 * time.Second) // several failures, and no minute's tick
		synctest.Wait()
		if n := len(m.taken()); n < 4 || m.asked() != before {
			t.Errorf("%d failures of one workspace had it asked %d times", n, m.asked()-before)
		}
	})
}

// A server that is away for maintenance says until when.
func TestAServerThatIsAwayIsLeftAloneForAsLongAsItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}, away: &api.Error{Code: api.CodeUnavailable, RetryAfter: 5 * time.Minute}}
		w := start(t, m, nil)
		w.nudge("a")
		time.Sleep(5*time.Minute - time.Second)
		expect(t, m, "within the time that it asked for")
		m.leaves(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(m.taken()) == 0 {
			t.Error("it is left alone for longer than that")
		}
	})
}

// Who has a profile opened whose server is away hears of it at once.
func TestWhoAsksWhereTheServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		m.leaves(errors.New("nobody answers"))
		locked := true
		w := start(t, m, func() (Mirror, error) {
			if locked {
				return nil, errors.New("the keyring is locked")
			}
			return m, nil
		})
		locked = false
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		select {
		case err := <-done:
			if err == nil || err.Error() != "nobody answers" {
				t.Errorf("it hears %v", err)
			}
		case <-time.After(time.Hour):
			t.Error("it hears nothing")
		}
	})
}

// An edit takes no longer for what the daemon is at.
func TestANudgeWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		m := &fakeMirror{workspaces: []string{"a"}, round: func(string) (Result, error) { <-hangs; return Result{}, nil }}
		w := start(t, m, nil)
		d := &Daemon{deps: w.deps, workers: map[string]*running{"p": {worker: w}}, ctx: t.Context()}
		began := time.Now()
		for range 100 {
			if err := d.nudge(control.Request{Profile: "p"}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("100 nudges during a round took %v", took)
		}
		m.taken()
		close(hangs)
		expect(t, m, "when the round is over", "a")
	})
}

// What a server says to one workspace holds for all of the key's, and for
// everybody: nobody asks again before.
func TestRetryAfterHoldsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b", "c"}}
		var free atomic.Bool
		m.round = func(string) (Result, error) {
			if !free.Load() {
				return Result{}, &api.Error{Code: api.CodeRateLimited, RetryAfter: 30 * time.Second}
			}
			return Result{}, nil
		}
		w := start(t, m, nil)
		expect(t, m, "the first round", "a")
		free.Store(true)
		for range 5 {
			done := make(chan error, 1)
			w.asked <- ask{done: done}
			if err := <-done; api.CodeOf(err) != api.CodeRateLimited {
				t.Errorf("bm sync hears %v", err)
			}
			w.nudge("")
		}
		time.Sleep(29 * time.Second)
		expect(t, m, "within the time that the server asked for")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := m.taken(); len(got) != 3 {
			t.Errorf("after it: %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var opens atomic.Int64
		w := start(t, nil, func() (Mirror, error) {
			opens.Add(1)
			return nil, &api.Error{Code: api.CodeRateLimited, RetryAfter: 10 * time.Minute}
		})
		for range 20 {
			w.nudge("")
			synctest.Wait()
		}
		if n := opens.Load(); n != 1 {
			t.Errorf("the profile was opened %d times", n)
		}
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if n := opens.Load(); n != 2 {
			t.Errorf("then %d times", n)
		}
	})
}

// closing ends each event stream at once.
type closing struct{ *fakeMirror }

func (m closing) Listen(_ context.Context, opened func(), _ func(string)) error {
	m.mu.Lock()
	m.listens++
	m.mu.Unlock()
	opened()
	return errors.New("the proxy closed it")
}

func TestAStreamThatEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		start(t, m, func() (Mirror, error) { return closing{m}, nil })
		m.taken()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if rounds, listens := len(m.taken()), m.listened(); listens > 30 || rounds > 40 {
			t.Errorf("in ten idle minutes %d streams and %d rounds", listens, rounds)
		}
	})
}

// A defect is trouble of its profile, which is tried again.
func TestAPanicIsTroubleOfOneProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a"}}
		var mended atomic.Bool
		m.round = func(string) (Result, error) {
			if !mended.Load() {
				panic("on purpose")
			}
			return Result{}, nil
		}
		w := start(t, m, nil)
		if trouble := w.status().Trouble; !strings.Contains(trouble, "a defect in bm") {
			t.Errorf("trouble: %q", trouble)
		}
		mended.Store(true)
		m.taken()
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if m.released() != 1 {
			t.Errorf("closed %d times", m.released())
		}
	})
}

// Who waits for a round that a defect ends hears of it, and so does who waits for
// one that there will not be.
func TestAPanicIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMirror{workspaces: []string{"a", "b"}}
		var spoilt atomic.Bool
		begun := make(chan struct{})
		m.round = func(id string) (Result, error) {
			if spoilt.Load() {
				<-begun
				panic("on purpose")
			}
			return Result{}, nil
		}
		w := start(t, m, nil)
		spoilt.Store(true)
		done := make(chan error, 1)
		w.asked <- ask{done: done}
		close(begun)
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "a defect in bm") {
				t.Errorf("it hears %v", err)
			}
		case <-time.After(time.Hour):
			t.Error("it hears nothing")
		}
		spoilt.Store(false)
	})
}

// A log that could not be rotated once is written to all the same, and rotated
// when that can be again.
func TestLogSurvivesAFailedRotation(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	l.max = 10
	obstacle := l.Path() + ".1"
	if err := os.MkdirAll(filepath.Join(obstacle, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path()+".2", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(l.Path()+".3", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"123456789\n", "in its way\n"} {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, name := range []string{".1", ".2", ".3"} {
		if err := os.RemoveAll(l.Path() + name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Write([]byte("all is well\n")); err != nil {
		t.Fatal(err)
	}
	now, _ := os.ReadFile(l.Path())
	before, _ := os.ReadFile(l.Path() + ".1")
	if string(now) != "all is well\n" || string(before) != "123456789\nin its way\n" {
		t.Errorf("the log holds %q, the one before %q", now, before)
	}
}
