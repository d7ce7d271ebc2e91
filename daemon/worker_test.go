package daemon

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bm/daemon/control"
)

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
