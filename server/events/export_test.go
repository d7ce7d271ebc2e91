package events

import "bm/server/access"

// Publish tells who subscribes.
func (h *Hub) Publish(scope access.Scope, rev int64) { h.publish(scope, rev) }

// Remembered is how many revs the hub holds for those who subscribe, beside what
// they have yet to take.
func (h *Hub) Remembered() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tenants {
		n += len(t.told)
	}
	return n
}
