package syncer_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

func TestStatesOfAReplica(t *testing.T) {
	w := newWorld(t, 8, 1)
	a := w.replicas[0]
	w.peace()
	for _, c := range []struct {
		err  error
		want localstore.ReplicaState
	}{
		{api.Errorf(api.CodeUnauthorized, "sign in"), localstore.StateAuthRequired},
		{api.Errorf(api.CodeForbidden, "no more"), localstore.StateFrozen},
		{api.Errorf(api.CodeGone, "deleted"), localstore.StateFrozen},
		{api.Errorf(api.CodeUnavailable, "later"), localstore.StateOffline},
		{api.Errorf(api.CodeRateLimited, "not so fast"), localstore.StateFailing},
		{api.Errorf(api.CodeInternal, "internal error"), localstore.StateFailing},
		{api.Errorf(api.CodeValidation, "the cursor is none"), localstore.StateFailing},
		{errLine, localstore.StateOffline},
		{nil, localstore.StateLive},
	} {
		a.refused = c.err
		_, err := a.sync.Round(t.Context(), a.n)
		if !errors.Is(err, c.err) {
			t.Errorf("%v became %v", c.err, err)
		}
		r, err := a.store.Replica(t.Context(), a.n)
		if err != nil || r.State != c.want {
			t.Errorf("after %v: state %q, want %q; %v", c.err, r.State, c.want, err)
		}
		edit := a.store.Edit(t.Context(), a.n, "test", func(*localstore.Editor) error { return nil })
		if frozen := api.CodeOf(edit) == api.CodeForbidden; frozen != (c.want == localstore.StateFrozen) {
			t.Errorf("after %v: edit %v", c.err, edit)
		}
		a.refused = nil
		w.peace()
	}
}

// A disk that is full is no network that is down.
func TestTroubleHereIsNotTheServers(t *testing.T) {
	w := newWorld(t, 8, 1)
	a := w.replicas[0]
	w.peace()
	w.server.page = 1000
	w.fill(1000)
	defer a.waits()()
	full := errors.New("the disk is full")
	failing := syncer.New(syncer.Config{
		Store: a.store, Remote: a, IDs: api.NewIDs(w.now, rand.Reader), Pause: func(context.Context, time.Duration) error { return fmt.Errorf("commit: %w", full) },
	})
	if _, err := failing.Round(t.Context(), a.n); !errors.Is(err, full) {
		t.Fatalf("round: %v", err)
	}
	// What was being done then means nothing to who reads it.
	if r := a.stands(); r.State != localstore.StateFailing || r.Reason != "the disk is full" {
		t.Errorf("%q, %q", r.State, r.Reason)
	}
	w.peace()
	// Who was in the way, and a file that says itself what is wrong, are none either.
	for _, own := range []error{localstore.ErrBusy, localstore.ErrDamaged, localstore.ErrReadOnly} {
		w.fill(1000)
		end := a.waits()
		hindered := syncer.New(syncer.Config{
			Store: a.store, Remote: a, IDs: api.NewIDs(w.now, rand.Reader), Pause: func(context.Context, time.Duration) error { return own },
		})
		if _, err := hindered.Round(t.Context(), a.n); !errors.Is(err, own) {
			t.Fatalf("round: %v", err)
		}
		end()
		if r := a.stands(); r.State != localstore.StateLive {
			t.Errorf("%v: %q, %q", own, r.State, r.Reason)
		}
		if report := a.round1(); report.Compared != nil {
			t.Errorf("%v: what was not taken in is not simply pulled again: %+v", own, report)
		}
		w.peace()
	}
}

// ended is a round that somebody ends while it asks the server.
type ended struct {
	*device
	end context.CancelFunc
}

func (s ended) Changes(ctx context.Context, _, _ string, _ int, _ time.Duration) (api.ChangesPage, error) {
	s.end()
	return api.ChangesPage{}, ctx.Err()
}

func TestARoundThatIsEndedSaysNothingOfTheServer(t *testing.T) {
	w := newWorld(t, 9, 1)
	a := w.replicas[0]
	w.peace()
	for range 8 {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := a.against(ended{a, cancel}, 0).Round(ctx, a.n); !errors.Is(err, context.Canceled) {
			t.Fatalf("round: %v", err)
		}
		if r := a.stands(); r.State != localstore.StateLive {
			t.Fatalf("%q, %q", r.State, r.Reason)
		}
	}
}

// What was taken away stays so until the server says otherwise: that nobody
// answers is no reason to take edits that nobody will ever get.
func TestFrozenStaysFrozenWhateverElseGoesWrong(t *testing.T) {
	w := newWorld(t, 8, 1)
	a := w.replicas[0]
	w.peace()
	for _, refused := range []error{
		api.Errorf(api.CodeGone, "the workspace was deleted"), errLine,
		api.Errorf(api.CodeUnauthorized, "sign in"), api.Errorf(api.CodeUnavailable, "later"),
	} {
		a.refused = refused
		if _, err := a.sync.Round(t.Context(), a.n); !errors.Is(err, refused) {
			t.Fatalf("round: %v", err)
		}
		if r := a.stands(); r.State != localstore.StateFrozen || r.Reason != "the workspace was deleted" {
			t.Errorf("after %v: %q, %q", refused, r.State, r.Reason)
		}
	}
	a.refused = nil
	w.peace()
	if r := a.stands(); r.State != localstore.StateLive || r.Reason != "" {
		t.Errorf("given back: %q, %q", r.State, r.Reason)
	}
}

// readOnly lets nobody push, as a server does for who may only read.
type readOnly struct{ *device }

func (readOnly) Push(context.Context, string, api.PushRequest) func() (api.PushResponse, error) {
	return answer(api.PushResponse{}, api.Errorf(api.CodeForbidden, "you may only read"))
}

func TestWhoMayOnlyReadGoesOnReading(t *testing.T) {
	w := newWorld(t, 8, 2)
	a, b := w.replicas[0], w.replicas[1]
	w.peace()
	mine := a.add("https://mine.example/", "mine", "")
	reading := a.against(readOnly{a}, 0)
	var theirs string
	for i := range 2 { // the second begins with what the first had sent
		theirs = b.add(fmt.Sprintf("https://theirs.example/%d", i), "theirs", "")
		if _, err := b.sync.Round(t.Context(), b.n); err != nil {
			t.Fatal(err)
		}
		if _, err := reading.Round(t.Context(), a.n); api.CodeOf(err) != api.CodeForbidden {
			t.Fatalf("round %d: %v", i, err)
		}
		if got := a.get(theirs).Title; got != "theirs" {
			t.Errorf("round %d brought %q", i, got)
		}
		if r := a.stands(); r.State != localstore.StateFrozen || r.Reason != "you may only read" {
			t.Errorf("round %d: %q, %q", i, r.State, r.Reason)
		}
	}
	w.peace() // access is given back
	if w.server.rows[mine] == nil {
		t.Error("what was kept did not arrive")
	}
}
