package daemon

import (
	"cmp"
	"slices"
	"sync"

	"bm/daemon/control"
)

// hub hands events to whoever listens. A listener that is too slow misses
// some: each is only a hint to look.
type hub struct {
	mu        sync.Mutex
	listeners map[chan control.Event]bool
}

func (h *hub) tell(e control.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for listener := range h.listeners {
		select {
		case listener <- e:
		default:
		}
	}
}

func (h *hub) join() chan control.Event {
	listener := make(chan control.Event, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[listener] = true
	return listener
}

func (h *hub) leave(listener chan control.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, listener)
}

func sortProfiles(list []control.ProfileInfo) {
	slices.SortFunc(list, func(a, b control.ProfileInfo) int { return cmp.Compare(a.Name, b.Name) })
}
