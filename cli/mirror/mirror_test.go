package mirror_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/credentials"
	"bm/cli/mirror"
	"bm/cli/output"
	"bm/daemon"
	"bm/localstore"
	"bm/server/api"
)

const tenant = "01890a5d-ac96-774b-bcce-b302099a8001"

// origin is a server with two workspaces and one key.
type origin struct {
	*httptest.Server
	key     atomic.Value
	asked   atomic.Bool  // for its workspaces
	refused atomic.Int32 // requests with another key
	events  bool
	tenant  string
	gone    bool // the first workspace is
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{events: true, tenant: tenant}
	o.key.Store("bmk_first")
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, body any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			if err := json.NewEncoder(w).Encode(body); err != nil {
				t.Error(err)
			}
		}
		switch {
		case r.URL.Path == "/.well-known/bm":
			info := api.ServerInfo{Extensions: []string{api.ExtChanges}}
			if o.events {
				info.Extensions = append(info.Extensions, api.ExtEvents)
			}
			answer(200, info)
		case r.Header.Get("Authorization") != "Bearer "+o.key.Load().(string):
			o.refused.Add(1)
			answer(401, api.Errorf(api.CodeUnauthorized, "no").Envelope())
		case r.URL.Path == "/workspaces":
			o.asked.Store(true)
			workspaces := []api.Workspace{
				{ID: "01890a5d-ac96-774b-bcce-b302099a8002", TenantID: o.tenant, Name: "One", Slug: "one", IsDefault: true},
				{ID: "01890a5d-ac96-774b-bcce-b302099a8003", TenantID: o.tenant, Name: "Two", Slug: "two"},
			}
			if o.gone {
				workspaces = workspaces[1:]
			}
			answer(200, workspaces)
		case r.URL.Path == "/me/events":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": hello\n\ndata: {\"workspaceId\":\"w\",\"rev\":1}\n\n")
		default:
			answer(404, api.Errorf(api.CodeNotFound, "no such thing").Envelope())
		}
	}))
	t.Cleanup(o.Close)
	return o
}

// signedIn is an app whose profile is signed in to the server.
func signedIn(t *testing.T, server string) *app.App {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "no-bus"))
	home := t.TempDir()
	env := map[string]string{"HOME": home, "BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data"}
	var out bytes.Buffer
	a := app.New("test", output.Fixed(strings.NewReader(""), &out, &out, time.Now), func(key string) string { return env[key] })
	if server == "" {
		return a
	}
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(config.Account{Server: server, TenantID: tenant}, config.Chosen{}); err != nil {
		t.Fatal(err)
	}
	keep(t, a, "bmk_first")
	return a
}

func keep(t *testing.T, a *app.App, key api.Secret) {
	t.Helper()
	keys, err := a.Keys()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Set(credentials.Name(config.DefaultProfile, tenant), key, true); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, a *app.App) *mirror.Profile {
	t.Helper()
	p, err := mirror.Open(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func states(t *testing.T, p *mirror.Profile) string {
	t.Helper()
	replicas, err := p.Store().Replicas(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range replicas {
		list = append(list, r.Name+" "+string(r.State))
	}
	return strings.Join(list, ", ")
}

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

// withToken is the app with a server and a token of its environment's own.
func withToken(a *app.App, server, token string) *app.App {
	var out bytes.Buffer
	return app.New("test", output.Fixed(strings.NewReader(""), &out, &out, time.Now), func(key string) string {
		switch key {
		case "BM_SERVER":
			return server
		case "BM_TOKEN":
			return token
		}
		return a.Getenv(key)
	})
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
