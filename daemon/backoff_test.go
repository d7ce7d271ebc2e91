package daemon

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bm/server/api"
)

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
