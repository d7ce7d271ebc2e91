package syncer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"bm/server/api"
)

// attentive notes what is on its way: a request is until its answer is taken.
type attentive struct {
	*fakeServer
	open   int
	away   map[string]bool               // rows with an op that is on its way
	twice  []string                      // those of which another one was sent meanwhile
	judged func(n int) (speechless bool) // after each request; whether its answer says nothing
	n      int
}

func (s *attentive) Push(_ context.Context, _ string, push api.PushRequest) func() (api.PushResponse, error) {
	if s.away == nil {
		s.away = map[string]bool{}
	}
	for _, op := range push.Ops {
		if s.away[op.ID] {
			s.twice = append(s.twice, op.ID)
		}
		s.away[op.ID] = true
	}
	s.open++
	response, err := s.judge(push)
	s.n++
	if s.judged != nil && s.judged(s.n) {
		response.Results = nil
	}
	return func() (api.PushResponse, error) {
		s.open--
		for _, op := range push.Ops {
			delete(s.away, op.ID)
		}
		return response, err
	}
}

// What is deleted while an edit of it is on its way is deleted when that has
// arrived.
func TestOfARowOneOpIsOnItsWay(t *testing.T) {
	w := newWorld(t, 71, 1)
	a := w.replicas[0]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.title(id, "edited")
	server := &attentive{fakeServer: w.server, judged: func(n int) bool {
		if n == 1 {
			a.rm(id)
		}
		return false
	}}
	report, err := a.against(server, 0).Round(t.Context(), a.n)
	if err != nil || report.Stale != 0 || len(server.twice) > 0 || !w.server.rows[id].Deleted {
		t.Errorf("%+v, %v; at once: %q", report, err, server.twice)
	}
	w.peace()
}

// slow answers the second page when nobody waits for it any more.
type slow struct {
	*fakeServer
	asked int
	open  atomic.Int32
}

func (s *slow) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	s.open.Add(1)
	defer s.open.Add(-1)
	if s.asked++; s.asked == 1 {
		page, err := s.fakeServer.Changes(ctx, w, cursor, limit, wait)
		page.Data[0].Bookmark = nil // which can't be read
		return page, err
	}
	<-ctx.Done()
	time.Sleep(200 * time.Millisecond) // until that arrives
	return api.ChangesPage{}, ctx.Err()
}

// A pull that fails leaves no request behind, and waits for no answer that is of
// no use.
func TestNoPageOutlivesItsRound(t *testing.T) {
	w := newWorld(t, 73, 2)
	a, b := w.replicas[0], w.replicas[1]
	for i := range 4 {
		a.add(fmt.Sprintf("https://%d.example/", i), "x", "")
	}
	a.round1()
	server := &slow{fakeServer: w.server}
	if _, err := b.against(server, 0).Round(t.Context(), b.n); err == nil {
		t.Error("what can't be read was taken in")
	}
	if open := server.open.Load(); open > 0 {
		t.Errorf("%d requests are under way still", open)
	}
	w.peace()
}

// A page has to say where the next begins.
func TestAPageWithoutAnEndIsAFailure(t *testing.T) {
	w := newWorld(t, 74, 1)
	a := w.replicas[0]
	endless := tampered{w.server, func(p *api.ChangesPage) { p.Pagination.NextCursor = nil }}
	if _, err := a.against(endless, 0).Round(t.Context(), a.n); api.CodeOf(err) != api.CodeInternal {
		t.Errorf("round: %v", err)
	}
	w.peace()
}

// A round that fails leaves no request behind.
func TestNoRequestOutlivesItsRound(t *testing.T) {
	w := newWorld(t, 72, 1)
	a := w.replicas[0]
	for _, url := range []string{"https://1.example/", "https://2.example/", "https://3.example/"} {
		a.add(url, "x", "")
	}
	server := &attentive{fakeServer: w.server, judged: func(n int) bool { return n == 1 }}
	if _, err := a.against(server, 1).Round(t.Context(), a.n); err == nil || server.n != 2 {
		t.Fatalf("%v after %d requests", err, server.n)
	}
	if server.open > 0 {
		t.Errorf("%d requests are under way still", server.open)
	}
	w.peace()
}
