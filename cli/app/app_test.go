package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

func TestPickReplica(t *testing.T) {
	all := []localstore.Replica{
		{N: 1, RemoteID: "01890a5d-ac96-774b-bcce-b302099a8001", Name: "Work", Slug: "work"},
		{N: 2, RemoteID: "01890a5d-ac96-774b-bcce-b302099a8002", Name: "work", Slug: "work-2"},
		{N: 3, RemoteID: "02890a5d-ac96-774b-bcce-b302099a8003", Name: "Ideen", Slug: "ideen"},
	}
	for ref, want := range map[string]int64{
		"01890a5d-ac96-774b-bcce-b302099a8002": 2, "work": 1, "work-2": 2, "IDEEN": 3, "0289": 3,
	} {
		if r, err := app.PickReplica(all, ref); err != nil || r.N != want {
			t.Errorf("%q: %v, %v", ref, r, err)
		}
	}
	for ref, want := range map[string]app.Kind{"WORK": app.Usage, "0189": app.Usage, "028": app.NotFound, "nope": app.NotFound} {
		_, err := app.PickReplica(all, ref)
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != want {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func newApp(t *testing.T, env map[string]string) *app.App {
	t.Helper()
	home := t.TempDir()
	env["HOME"], env["BM_CONFIG_DIR"], env["BM_DATA_DIR"] = home, home+"/config", home+"/data"
	var out bytes.Buffer
	a := app.New("test", output.Fixed(strings.NewReader(""), &out, &out, time.Now), func(key string) string { return env[key] })
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// A key that was kept for one server must not go to another that somebody
// names.
func TestTheKeyGoesToItsOwnServerAlone(t *testing.T) {
	env := map[string]string{"BM_INSECURE_STORAGE": "true"}
	a := newApp(t, env)
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(config.Account{Server: "https://own.example", TenantID: "t"}, config.Chosen{}); err != nil {
		t.Fatal(err)
	}
	env["BM_SERVER"] = "https://other.example"
	a.Reload()
	_, err = a.Client(context.Background())
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.SignIn {
		t.Errorf("another server: %v", err)
	}
	// A token that comes with the server is meant for it.
	env["BM_TOKEN"] = "bmk_x"
	b := newApp(t, env)
	if _, err := b.Client(context.Background()); err != nil {
		t.Errorf("with BM_TOKEN: %v", err)
	}
}

func TestATokenIsOneProfilesOwn(t *testing.T) {
	a := newApp(t, map[string]string{"BM_TOKEN": "bmk_x", "BM_SERVER": "https://own.example", "BM_WORKSPACE": "w"})
	of, err := a.ForProfile("other")
	if err != nil {
		t.Fatal(err)
	}
	c, err := of.Config()
	if err != nil {
		t.Fatal(err)
	}
	if of.Getenv("BM_TOKEN") != "" || c.Get(config.Server) != "" || c.Get(config.Workspace) != "" || c.ProfileName() != "other" {
		t.Errorf("the other profile has the token %q and %+v", of.Getenv("BM_TOKEN"), c.Values())
	}
}

func TestConfirmWithoutATerminalRefuses(t *testing.T) {
	a := newApp(t, map[string]string{})
	if err := a.Confirm(true, "?"); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	if e, ok := errors.AsType[*app.Error](a.Confirm(false, "?")); !ok || e.Kind != app.Usage {
		t.Errorf("nobody to ask: %v", e)
	}
}

// A key may reach no default workspace: what was kept before goes somewhere.
func TestWhatWasLocalGoesAlongWithoutADefaultWorkspace(t *testing.T) {
	ctx := context.Background()
	a := newApp(t, map[string]string{})
	store, replica, err := a.Replica(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Edit(ctx, replica.N, "add", func(ed *localstore.Editor) error {
		_, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some("https://mine.example/")})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list := []api.Workspace{{ID: "w2", TenantID: "t", Name: "Team"}, {ID: "w3", TenantID: "t", Name: "Other"}}
	for range 2 {
		if err := app.Mirror(ctx, store, "default", list); err != nil {
			t.Fatal(err)
		}
	}
	_, replica, err = a.Replica(ctx)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := store.Counts(ctx, replica.N)
	if replica.Name != "Team" || counts.Bookmarks != 1 || err != nil {
		t.Errorf("%q holds %d bookmarks, %v", replica.Name, counts.Bookmarks, err)
	}
}

// A local copy of an older bm stays as it is while another process syncs it.
func TestACopyThatIsSyncedIsNotMigrated(t *testing.T) {
	env := map[string]string{}
	a := newApp(t, env)
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	store, err := a.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", store.Path())
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`DROP INDEX journal_undone; PRAGMA user_version = 2`)
	if err := errors.Join(err, db.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	other := flock.New(app.SyncLock(c))
	if taken, err := other.TryLock(); !taken || err != nil {
		t.Fatal(taken, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = a.Store(ctx)
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Conflict {
		t.Errorf("while another has it: %v", err)
	}
	// Whoever has the lock is the one who may; who waits meanwhile has nothing left
	// to do, and goes on.
	waited := make(chan error, 1)
	waiting := newApp(t, env)
	env["BM_CONFIG_DIR"], env["BM_DATA_DIR"] = c.Folders.Config, c.Folders.Data
	go func() {
		_, err := waiting.Store(t.Context())
		waited <- err
	}()
	if _, err := a.StoreLocked(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-waited:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("who waited for the lock waits on")
	}
	if err := other.Unlock(); err != nil {
		t.Error(err)
	}
}
