package mirror_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

func TestAServerThatIsAwayIsNoted(t *testing.T) {
	o := newOrigin(t)
	p := open(t, signedIn(t, o.URL))
	if _, err := p.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	o.Close()
	if _, err := p.Refresh(context.Background()); err == nil {
		t.Fatal("a server that is away answered")
	}
	if got := states(t, p); got != "One offline, Two offline" {
		t.Errorf("replicas: %s", got)
	}
}

// That it was reached and does not answer as it should is not that it is away.
func TestAServerThatFailsIsNotAway(t *testing.T) {
	o := newOrigin(t)
	var failing *api.Error
	asked := 0
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failing == nil {
			o.Config.Handler.ServeHTTP(w, r)
			return
		}
		asked++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(failing.Code.Status())
		if err := json.NewEncoder(w).Encode(failing.Envelope()); err != nil {
			t.Error(err)
		}
	}))
	defer front.Close()
	p := open(t, signedIn(t, front.URL))
	if _, err := p.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[api.Code]string{
		api.CodeInternal: "failing", api.CodeRateLimited: "failing", api.CodeUnavailable: "offline", api.CodeUnauthorized: "auth_required",
	} {
		failing, asked = api.Errorf(code, "as it says"), 0
		ids, err := p.Refresh(context.Background())
		if err == nil {
			t.Fatal("it answered")
		}
		if again := asked > 1; again != (code == api.CodeUnauthorized) {
			t.Errorf("%s: it was asked %d times", code, asked)
		}
		if goesOn := len(ids) > 0; goesOn != (want == "offline") {
			t.Errorf("%s: it goes on with %q", code, ids)
		}
		replicas, err := p.Store().Replicas(context.Background())
		if err != nil || string(replicas[0].State) != want || replicas[0].Reason != "as it says" {
			t.Errorf("%s: %+v, %v", code, replicas[0], err)
		}
	}
}

// What is this machine's own trouble says nothing of how the server stands.
func TestTroubleHereIsNotTheServers(t *testing.T) {
	p := open(t, signedIn(t, newOrigin(t).URL))
	if _, err := p.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if ids, err := p.Refresh(ctx); !errors.Is(err, context.Canceled) || len(ids) > 0 {
		t.Errorf("%q, %v", ids, err)
	}
	if got := states(t, p); got != "One bootstrapping, Two bootstrapping" {
		t.Errorf("states: %s", got)
	}
}

// What stands on this machine alone is no part of it, and what was taken away stays
// so until the server says otherwise.
func TestWhatTheServerHasNoSayIn(t *testing.T) {
	ctx := t.Context()
	o := newOrigin(t)
	p := open(t, signedIn(t, o.URL))
	if _, err := p.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Store().Local(ctx); err != nil {
		t.Fatal(err)
	}
	if info, err := p.Info(ctx); err != nil || len(info.Workspaces) != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	replicas, err := p.Store().Replicas(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range replicas {
		if r.Name == "Two" {
			err = p.Store().SetState(ctx, r.N, localstore.StateFrozen, "taken away")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	if ids, err := p.Refresh(ctx); err == nil || len(ids) != 2 {
		t.Errorf("of a server that is away: %q, %v", ids, err)
	}
	if got := states(t, p); !strings.Contains(got, " local") || !strings.Contains(got, "One offline, Two frozen") {
		t.Errorf("states: %s", got)
	}
}

// Neither a portal's page nor a server without the feed says that a workspace
// is gone.
func TestOnlyTheServersOwnWordFreezes(t *testing.T) {
	ctx := context.Background()
	o := newOrigin(t)
	portal := false
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if portal {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<html>Please accept the terms.</html>")
			return
		}
		o.Config.Handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	p := open(t, signedIn(t, front.URL))
	ids, err := p.Refresh(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, portal = range []bool{true, false} {
		if _, err := p.Round(ctx, ids[0]); err == nil {
			t.Error("there was something to pull")
		}
		if got := states(t, p); !strings.HasPrefix(got, "One offline") {
			t.Errorf("portal %v: %s", portal, got)
		}
	}
	o.gone = true
	if _, err := p.Round(ctx, ids[0]); err == nil {
		t.Error("there was something to pull")
	}
	if got := states(t, p); !strings.HasPrefix(got, "One frozen") {
		t.Errorf("gone: %s", got)
	}
}

// Where nobody answers, those that are known go on being tried, without the profile
// being opened anew for it.
func TestWhatIsKnownOfAServerThatIsAway(t *testing.T) {
	o := newOrigin(t)
	p := open(t, signedIn(t, o.URL))
	if ids, err := p.Refresh(t.Context()); err != nil || len(ids) != 2 {
		t.Fatalf("%q, %v", ids, err)
	}
	o.Close()
	ids, err := p.Refresh(t.Context())
	if err == nil || len(ids) != 2 {
		t.Errorf("%q, %v", ids, err)
	}
	if got := states(t, p); got != "One offline, Two offline" {
		t.Errorf("states: %s", got)
	}
}
