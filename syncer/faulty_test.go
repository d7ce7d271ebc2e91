package syncer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

// against is a syncer of a device that talks to another server.
func (d *device) against(remote syncer.Remote, batch int) *syncer.Syncer {
	ids := api.NewIDs(d.w.now, seeded{d.w.rng})
	return syncer.New(syncer.Config{Store: d.store, Remote: remote, Batch: batch, IDs: ids, Pause: d.pause})
}

func (d *device) stands() localstore.Replica {
	d.w.t.Helper()
	r, err := d.store.Replica(d.w.t.Context(), d.n)
	if err != nil {
		d.w.t.Fatal(err)
	}
	return *r
}

// circling answers a push with the request's own cursor, or with one that leads
// back to it.
type circling struct {
	*fakeServer
	other string
}

func (s circling) Push(_ context.Context, _ string, push api.PushRequest) func() (api.PushResponse, error) {
	asked := push
	if push.Cursor == s.other {
		asked.Cursor = *cursorOf(s.epoch, "feed", 0, 0)
	}
	response, err := s.judge(asked)
	response.NextCursor = s.other
	if push.Cursor == s.other || s.other == "" {
		response.NextCursor = asked.Cursor
	}
	return answer(response, err)
}

// A round that went on for ever would be stopped by the test's own time limit.
func TestACursorThatLeadsNowhereHoldsNobody(t *testing.T) {
	for name, other := range map[string]string{"the same": "", "in circles": "e1 feed 0 1"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, 1)
			a := w.replicas[0]
			for i := range 4 {
				a.add(fmt.Sprintf("https://go.dev/%d", i), "Go", "")
			}
			if _, err := a.against(circling{w.server, other}, 1).Round(t.Context(), a.n); err != nil {
				t.Log(err) // it need not come to an end that is good
			}
			w.peace()
		})
	}
}

// stubborn takes no edit, and no cursor where it is to begin anew, so many times.
type stubborn struct {
	*fakeServer
	anew  bool
	asked int
}

const patience = 20

func (s *stubborn) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	if s.anew {
		if s.asked++; s.asked > patience {
			return api.ChangesPage{}, errLine
		}
		return api.ChangesPage{}, s.reset("e0")
	}
	return s.fakeServer.Changes(ctx, w, cursor, limit, wait)
}

func (s *stubborn) Push(_ context.Context, _ string, push api.PushRequest) func() (api.PushResponse, error) {
	if s.asked++; s.asked > patience {
		return answer(api.PushResponse{}, errLine)
	}
	response := api.PushResponse{Head: s.head()}
	for _, op := range push.Ops {
		response.Results = append(response.Results, api.OpResult{OpID: op.OpID, Status: api.OpStale})
	}
	return answer(response, nil)
}

// A round that gets no further ends, and what is left waits for the next.
func TestARoundThatGetsNoFurtherEnds(t *testing.T) {
	w := newWorld(t, 75, 1)
	a := w.replicas[0]
	w.peace()
	a.add("https://go.dev/", "Go", "")
	server := &stubborn{fakeServer: w.server}
	if report, err := a.against(server, 0).Round(t.Context(), a.n); err != nil || report.Waiting != 1 || server.asked >= patience {
		t.Errorf("%+v, %v; asked %d times", report, err, server.asked)
	}
	server = &stubborn{fakeServer: w.server, anew: true}
	if _, err := a.against(server, 0).Round(t.Context(), a.n); api.CodeOf(err) != api.CodeResetRequired || server.asked >= patience {
		t.Errorf("%v; asked %d times", err, server.asked)
	}
	w.peace()
}

// goingBack has a page that is followed by itself.
type goingBack struct{ *fakeServer }

func (s goingBack) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	page, err := s.fakeServer.Changes(ctx, w, cursor, limit, wait)
	if cursor != "" {
		page.Pagination = api.Pagination{HasMore: true, NextCursor: &cursor}
	}
	return page, err
}

func TestPagesThatLeadBackAreAFailureThatIsShown(t *testing.T) {
	w := newWorld(t, 3, 2)
	a, b := w.replicas[0], w.replicas[1]
	for i := range 8 {
		a.add(fmt.Sprintf("https://go.dev/%d", i), "Go", "")
	}
	w.peace()
	a.add("https://go.dev/", "Go", "")
	if _, err := a.sync.Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	if _, err := b.against(goingBack{w.server}, 0).Round(t.Context(), b.n); api.CodeOf(err) != api.CodeInternal {
		t.Errorf("the round: %v", err)
	}
	if r := b.stands(); r.State != localstore.StateFailing || r.Reason == "" {
		t.Errorf("the replica says %q, %q", r.State, r.Reason)
	}
	w.peace()
}

// confused answers with a bookmark's id for a folder too, and all of it twice.
type confused struct{ *fakeServer }

func (s confused) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	page, err := s.fakeServer.Changes(ctx, w, cursor, limit, wait)
	for _, c := range page.Data {
		page.Data = append(page.Data, c)
		if c.Type == api.TypeBookmark {
			page.Data = append(page.Data, api.Change{Type: api.TypeFolder, ID: c.ID, Rev: c.Rev + 1, Folder: &api.Folder{ID: c.ID, Name: "also"}})
		}
	}
	return page, err
}

func TestAConfusedServerIsNoPanic(t *testing.T) {
	w := newWorld(t, 8, 2)
	a, b := w.replicas[0], w.replicas[1]
	id := a.add("https://go.dev/", "Go", "")
	w.peace()
	a.title(id, "changed")
	if _, err := a.sync.Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	_, err := b.against(confused{w.server}, 0).Round(t.Context(), b.n)
	if r := b.stands(); err == nil || r.State == localstore.StateLive || r.Reason == "" {
		t.Errorf("%v; the replica says %q, %q", err, r.State, r.Reason)
	}
	if got := b.get(id).Title; got != "changed" {
		t.Errorf("title %q", got)
	}
}

// doubling sends each change twice.
type doubling struct{ *fakeServer }

func (s doubling) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	page, err := s.fakeServer.Changes(ctx, w, cursor, limit, wait)
	page.Data = append(page.Data, page.Data...)
	return page, err
}

func TestWhatComesTwiceIsTakenOnce(t *testing.T) {
	w := newWorld(t, 8, 2)
	a, b := w.replicas[0], w.replicas[1]
	a.add("https://go.dev/", "Go", a.mkdir("Dev"))
	if _, err := a.sync.Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	if _, err := b.against(doubling{w.server}, 0).Round(t.Context(), b.n); err != nil {
		t.Fatal(err)
	}
	w.peace()
}

// narrow takes requests of so many ops, as a proxy does that bounds a body.
type narrow struct {
	*fakeServer
	most    int
	refused *int
}

func (s narrow) Push(ctx context.Context, w string, push api.PushRequest) func() (api.PushResponse, error) {
	if len(push.Ops) > s.most {
		*s.refused++
		return answer(api.PushResponse{}, api.Errorf(api.CodePayloadTooLarge, "the server answered 413"))
	}
	return s.fakeServer.Push(ctx, w, push)
}

func TestWhatIsTooLargeAtOnceGoesInParts(t *testing.T) {
	w := newWorld(t, 11, 1)
	a := w.replicas[0]
	w.peace()
	for i := range 20 {
		a.add(fmt.Sprintf("https://x.example/%d", i), "x", "")
	}
	refused := 0
	report, err := a.against(narrow{w.server, 2, &refused}, 0).Round(t.Context(), a.n)
	if err != nil || report.Pushed != 20 || report.Waiting != 0 || refused > 6 {
		t.Errorf("%+v, %v; %d requests were too large", report, err, refused)
	}
	w.peace()
}

func TestAnOpThatNeverFitsIsParked(t *testing.T) {
	w := newWorld(t, 12, 1)
	a := w.replicas[0]
	w.peace()
	a.add("https://x.example/", "x", "")
	a.add("https://y.example/", "y", "")
	refused := 0
	if _, err := a.against(narrow{w.server, 0, &refused}, 0).Round(t.Context(), a.n); err != nil {
		t.Fatal(err)
	}
	parked, err := a.store.Parked(t.Context(), a.n)
	if err != nil || len(parked) != 2 || parked[0].Code != api.CodePayloadTooLarge {
		t.Errorf("parked %+v, %v", parked, err)
	}
}

func TestARefusedEditThatIsNoneAnyMoreIsForgotten(t *testing.T) {
	refuse := func(api.Op) *api.EnvelopeError { return &api.EnvelopeError{Code: api.CodeForbidden, Message: "no"} }
	parked := func(t *testing.T, a *device) {
		t.Helper()
		if n, err := a.store.Parked(t.Context(), a.n); err != nil || len(n) != 1 {
			t.Fatalf("parked %+v, %v; want one to begin with", n, err)
		}
	}
	gone := func(t *testing.T, a *device) {
		t.Helper()
		a.add("https://unsent.example/", "unsent", "")
		counts, err := a.store.Counts(t.Context(), a.n)
		if err != nil || counts.Parked != 0 || counts.Unsent != 1 {
			t.Errorf("%d refused of %d unsent, %v", counts.Parked, counts.Unsent, err)
		}
		if n, err := a.store.Parked(t.Context(), a.n); err != nil || len(n) != 0 {
			t.Errorf("still refused: %+v, %v", n, err)
		}
	}
	t.Run("deleted again", func(t *testing.T) {
		w := newWorld(t, 5, 1)
		a := w.replicas[0]
		w.server.refuse = refuse
		id := a.add("https://refused.example/", "refused", "")
		w.rounds()
		parked(t, a)
		a.must(func(ed *localstore.Editor) error {
			_, err := ed.DeleteBookmarks(id)
			return err
		})
		gone(t, a) // before a round too
		w.server.refuse = nil
		w.peace()
	})
	t.Run("undone", func(t *testing.T) {
		w := newWorld(t, 6, 1)
		a := w.replicas[0]
		id := a.add("https://go.dev/", "Go", "")
		w.peace()
		w.server.refuse = refuse
		a.title(id, "refused")
		w.rounds()
		parked(t, a)
		if _, err := a.store.Undo(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.server.refuse = nil
		w.rounds()
		gone(t, a)
		// The refusal does not come back with the same edit.
		a.title(id, "refused")
		w.peace()
		if got := w.server.rows[id].Bookmark.Title; got != "refused" {
			t.Errorf("the server has %q", got)
		}
	})
	t.Run("made elsewhere", func(t *testing.T) {
		w := newWorld(t, 7, 2)
		a, b := w.replicas[0], w.replicas[1]
		id := a.add("https://go.dev/", "Go", "")
		w.peace()
		w.server.refuse = refuse
		a.title(id, "both")
		w.rounds()
		parked(t, a)
		w.server.refuse = nil
		b.title(id, "both")
		w.rounds()
		gone(t, a)
	})
}

// sealed gives out cursors that it knows again, as the real server does.
type sealed struct{ *device }

func (s sealed) known(field, cursor string) error {
	if cursor != "" && cursor[0] != 'e' {
		return api.Invalid(field, "is not one that this feed gave out")
	}
	return nil
}

func (s sealed) Changes(ctx context.Context, w, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	if err := s.known("query.cursor", cursor); err != nil {
		return api.ChangesPage{}, err
	}
	return s.device.Changes(ctx, w, cursor, limit, wait)
}

func (s sealed) Push(ctx context.Context, w string, push api.PushRequest) func() (api.PushResponse, error) {
	if err := s.known("body.cursor", push.Cursor); err != nil {
		return answer(api.PushResponse{}, err)
	}
	if !strings.HasPrefix(push.Cursor, push.Epoch+" ") {
		return answer(api.PushResponse{}, api.Invalid("body.epoch", "is not the cursor's"))
	}
	return s.device.Push(ctx, w, push)
}

// A cursor that the server does not know, of another workspace or damaged, is no
// reason to fail for ever.
func TestACursorThatNobodyGaveOutBeginsAnew(t *testing.T) {
	sent := func(spoil func(*localstore.Flight)) func(*localstore.SyncTx) error {
		return func(tx *localstore.SyncTx) error {
			flights, err := tx.InFlight()
			if err != nil || len(flights) != 1 {
				return fmt.Errorf("%d in flight, %w", len(flights), err)
			}
			if err := tx.Land(flights); err != nil {
				return err
			}
			spoil(&flights[0])
			return tx.Launch(flights)
		}
	}
	for what, spoil := range map[string]func(tx *localstore.SyncTx) error{
		"to pull from": func(tx *localstore.SyncTx) error {
			tx.Replica().Cursor, tx.Replica().Whole = "garbage", "garbage"
			return nil
		},
		"of what was sent":               sent(func(f *localstore.Flight) { f.Cursor = "garbage" }),
		"of what was sent, in its epoch": sent(func(f *localstore.Flight) { f.Epoch = "garbage" }),
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 13, 2)
			a := w.replicas[0]
			a.add("https://go.dev/", "Go", "")
			w.peace()
			id := a.add("https://unsent.example/", "unsent", "")
			if _, err := a.against(deadLine{a}, 0).Round(t.Context(), a.n); err == nil {
				t.Fatal("it was sent")
			}
			if err := a.store.Sync(t.Context(), a.n, spoil); err != nil {
				t.Fatal(err)
			}
			report, err := a.against(sealed{a}, 0).Round(t.Context(), a.n)
			if err != nil || report.Compared == nil || report.Compared.Defect || w.server.rows[id] == nil {
				t.Errorf("%+v, %v", report, err)
			}
			w.peace()
		})
	}
}
