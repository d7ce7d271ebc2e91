package daemon

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"bm/daemon/control"
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

// closing ends each event stream at once.
type closing struct{ *fakeMirror }

func (m closing) Listen(_ context.Context, opened func(), _ func(string)) error {
	m.mu.Lock()
	m.listens++
	m.mu.Unlock()
	opened()
	return errors.New("the proxy closed it")
}
