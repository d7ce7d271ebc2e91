package daemon

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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
