package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/mirror"
	"bm/daemon"
	"bm/server/api"
)

func TestOnlyWhatIsSignedInAndOnlyOnce(t *testing.T) {
	if _, err := mirror.Open(context.Background(), signedIn(t, "")); !errors.Is(err, daemon.ErrNotSignedIn) {
		t.Errorf("without a server: %v", err)
	}
	a := signedIn(t, newOrigin(t).URL)
	open(t, a)
	other, err := a.ForProfile(config.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mirror.Open(context.Background(), other); !errors.Is(err, mirror.ErrBusy) {
		t.Errorf("twice: %v", err)
	}
}

func TestRefreshMirrorsWhatTheAccountReaches(t *testing.T) {
	p := open(t, signedIn(t, newOrigin(t).URL))
	ids, err := p.Refresh(context.Background())
	if err != nil || len(ids) != 2 {
		t.Fatalf("%v, %v", ids, err)
	}
	if got := states(t, p); got != "One bootstrapping, Two bootstrapping" {
		t.Errorf("replicas: %s", got)
	}
	info, err := p.Info(context.Background())
	if err != nil || len(info.Workspaces) != 2 || info.Workspaces[1].Name != "Two" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestAKeyThatWasRotatedElsewhereIsReadAgain(t *testing.T) {
	o := newOrigin(t)
	a := signedIn(t, o.URL)
	p := open(t, a)
	if _, err := p.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	o.key.Store("bmk_second")
	if _, err := p.Refresh(context.Background()); api.CodeOf(err) != api.CodeUnauthorized {
		t.Errorf("with the old key: %v", err)
	}
	if got := states(t, p); got != "One auth_required, Two auth_required" {
		t.Errorf("replicas: %s", got)
	}
	keep(t, a, "bmk_second")
	before := o.refused.Load()
	if _, err := p.Refresh(context.Background()); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	if again := o.refused.Load() - before; again > 0 {
		t.Errorf("the old key was tried %d times more", again)
	}
}

// A keyring that can't be read any more takes nothing from who has the key.
func TestALockedKeyringEndsNothing(t *testing.T) {
	a := signedIn(t, newOrigin(t).URL)
	p := open(t, a)
	if _, err := p.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(c.Folders.Config, "keys.json")); err != nil {
		t.Fatal(err)
	}
	if ids, err := p.Refresh(t.Context()); err != nil || len(ids) != 2 {
		t.Errorf("%q, %v", ids, err)
	}
}

// A token alone says nothing of an organization.
func TestATokenAloneIsEnough(t *testing.T) {
	o := newOrigin(t)
	p := open(t, withToken(signedIn(t, ""), o.URL, "bmk_first"))
	if ids, err := p.Refresh(t.Context()); err != nil || len(ids) != 2 {
		t.Errorf("%q, %v", ids, err)
	}
}

// What could not be opened is free for the next try.
func TestAProfileThatCouldNotBeOpenedIsLetGoOf(t *testing.T) {
	a := signedIn(t, newOrigin(t).URL)
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	path := c.Folders.Replica(config.DefaultProfile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("no database"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := mirror.Open(t.Context(), a); err == nil || errors.Is(err, mirror.ErrBusy) {
		t.Fatalf("what is no database: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	of, err := a.ForProfile(config.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	open(t, of)
}

// A stream that says what is none of its words is not left open.
func TestAStreamThatIsNoneIsClosed(t *testing.T) {
	o := newOrigin(t)
	left := make(chan bool)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/me/events" {
			o.Config.Handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: not JSON\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
		close(left)
	}))
	defer front.Close()
	p := open(t, signedIn(t, front.URL))
	if err := p.Listen(t.Context(), func() {}, func(string) {}); err == nil {
		t.Error("it was understood")
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		front.CloseClientConnections()
		t.Error("it is open still")
	}
}

func TestListen(t *testing.T) {
	o := newOrigin(t)
	p := open(t, signedIn(t, o.URL))
	opened, poked := 0, ""
	err := p.Listen(context.Background(), func() { opened++ }, func(id string) { poked += id })
	if err == nil || opened != 1 || poked != "w" {
		t.Errorf("%v, opened %d times, poked %q", err, opened, poked)
	}
	plain := newOrigin(t)
	plain.events = false
	p = open(t, signedIn(t, plain.URL))
	if err := p.Listen(context.Background(), func() {}, func(string) {}); !errors.Is(err, daemon.ErrNoEvents) {
		t.Errorf("a server without events: %v", err)
	}
}

// An account names another server's token only for the command it was set for.
func TestAnotherServerIsNoPartOfTheCopy(t *testing.T) {
	ctx := context.Background()
	o, other := newOrigin(t), newOrigin(t)
	other.key.Store("bmk_other")
	a := signedIn(t, o.URL)
	p, err := mirror.Open(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	of := withToken(a, other.URL, "bmk_other")
	refused := func(when string, of *app.App) {
		t.Helper()
		p, err := mirror.Open(ctx, of)
		if err == nil {
			_, err = p.Refresh(ctx)
			err = errors.Join(err, p.Close())
		}
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Conflict || !strings.Contains(e.Message, other.URL) {
			t.Errorf("%s: %v", when, err)
		}
	}
	refused("signed in", of)
	daemons, err := of.ForProfile(config.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	refused("in a daemon that was started with the token", daemons)
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(config.Account{Server: o.URL}, config.Chosen{}); err != nil {
		t.Fatal(err)
	}
	refused("signed out", withToken(a, other.URL, "bmk_other"))
	if left := openBelow(t, c.Folders.ProfileData(config.DefaultProfile)); len(left) > 0 {
		t.Errorf("what was refused keeps open %q", left)
	}
	if other.asked.Load() {
		t.Error("the other server was asked for its workspaces")
	}
}

// openBelow are the files below a folder that this process has open, where the
// system tells.
func openBelow(t *testing.T, dir string) []string {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var below []string
	for _, fd := range all {
		if file, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(file, dir) {
			below = append(below, file)
		}
	}
	return below
}

func TestAnotherOrganizationsKeyMirrorsNothing(t *testing.T) {
	o := newOrigin(t)
	o.tenant = "01890a5d-ac96-774b-bcce-b302099a80ff"
	p := open(t, signedIn(t, o.URL))
	_, err := p.Refresh(context.Background())
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Conflict {
		t.Errorf("%v", err)
	}
	if got := states(t, p); got != "" {
		t.Errorf("replicas: %s", got)
	}
}

// The daemon has the profile open while somebody signs it out.
func TestASignOutHoldsForWhatIsOpen(t *testing.T) {
	ctx := context.Background()
	a := signedIn(t, newOrigin(t).URL)
	of, err := a.ForProfile(config.DefaultProfile)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, of)
	if _, err := p.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	replicas, err := p.Store().Replicas(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range replicas {
		if err := p.Store().Forget(ctx, r.N, false); err != nil {
			t.Fatal(err)
		}
	}
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	account := c.Account()
	if err := c.Save(config.Account{Server: account.Server}, config.Chosen{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Refresh(ctx); !errors.Is(err, daemon.ErrNotSignedIn) {
		t.Errorf("signed out: %v", err)
	}
	other := account
	other.TenantID = "01890a5d-ac96-774b-bcce-b302099a80ff"
	elsewhere := account
	elsewhere.Server = newOrigin(t).URL
	for _, of := range []config.Account{other, elsewhere} {
		if err := c.Save(of, config.Chosen{}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Refresh(ctx); err == nil {
			t.Errorf("it went on as another account: %+v", of)
		}
	}
	if got := states(t, p); got != "" {
		t.Errorf("it was mirrored again: %s", got)
	}
}
