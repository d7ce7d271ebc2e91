package daemon

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bm/daemon/control"
	"bm/server/api"
)

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
