package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// streamed is a mirror whose event stream does what the test says.
type streamed struct {
	*fakeMirror
	listen func(ctx context.Context, opened func(), poke func(string)) error
}

func (m *streamed) Listen(ctx context.Context, opened func(), poke func(string)) error {
	return m.listen(ctx, opened, poke)
}

func (m *streamed) open() (Mirror, error) { return m, nil }

// A server whose stream never opens is asked for it less and less often.
func TestAStreamThatNeverOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		m := &streamed{&fakeMirror{workspaces: []string{"a"}}, func(context.Context, func(), func(string)) error {
			tries++
			return errors.New("no stream today")
		}}
		start(t, m.fakeMirror, m.open)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if tries < 10 || tries > 20 {
			t.Errorf("it was asked %d times in ten minutes", tries)
		}
	})
}

// A profile is closed when nothing of it is in use any more, however much its
// server has to tell at that moment.
func TestAStreamEndsBeforeItsProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &streamed{fakeMirror: &fakeMirror{workspaces: []string{"a"}}}
		going := make(chan bool)
		m.round = func(string) (Result, error) {
			<-going
			return Result{}, nil
		}
		early := false
		m.listen = func(ctx context.Context, opened func(), poke func(string)) error {
			opened()
			for range 1000 {
				poke("a")
			}
			<-ctx.Done()
			time.Sleep(time.Second) // until that arrives
			early = m.released() > 0
			return ctx.Err()
		}
		deps := Deps{
			Log:    quietLog(),
			Open:   func(context.Context, string) (Mirror, error) { return m, nil },
			Jitter: func() float64 { return 1 },
		}.withDefaults()
		w := newWorker(deps, "p", nil)
		w.tell = (&hub{}).tell
		ctx, cancel := context.WithCancel(t.Context())
		go w.run(ctx)
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(going)
		<-w.gone
		if early || m.released() != 1 {
			t.Errorf("closed while it was listened to: %v; closed %d times", early, m.released())
		}
	})
}
