package cli

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"bm/cli/app"
	"bm/cli/output"
)

// Two sign-ins at the same moment leave one key, and not one that nobody has.
func TestSignInsAtOnce(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "", "ls")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if code, _, errs := bm(t, u.home, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com", "--insecure-storage"); code != exitDone {
				t.Errorf("exit %d, %s", code, errs)
			}
		})
	}
	all.Wait()
	server.mu.Lock()
	left := len(server.keys)
	server.mu.Unlock()
	if left != 1 {
		t.Errorf("%d keys are valid", left)
	}
	out, _ := u.bm(exitDone, "", "auth", "token")
	u.bm(exitDone, "", "key", "ls")
	if !strings.HasPrefix(out, "bmk_") {
		t.Errorf("the key: %q", out)
	}
}

// The profile that is signed in is the one that was meant when the command began:
// while it asks for a password, another may be chosen.
func TestAnotherProfileIsChosenMeanwhile(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "", "--profile", "work", "add", "https://work.example/")
	server.meanwhile = map[string]func(){"/auth/login": func() { u.bm(exitDone, "", "auth", "switch", "work") }}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	u.bm(exitDone, "", "--profile", "default", "auth", "status")
	u.bm(exitSignIn, "", "--profile", "work", "auth", "status")
}

// Who gives up in the middle of a sign-in leaves neither a session nor a key.
func TestAnInterruptedSignIn(t *testing.T) {
	noKeyring(t)
	for _, at := range []string{"/api/v1/api-keys", "/workspaces"} {
		server := newFakeServer(t)
		u := user{t, t.TempDir()}
		ctx, interrupt := context.WithCancel(t.Context())
		made := func() {
			interrupt()
			if at == "/workspaces" && len(server.keys) != 1 {
				t.Error("there is no key yet")
			}
		}
		server.meanwhile = map[string]func(){at: made}
		var out bytes.Buffer
		env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data", "BM_INSECURE_STORAGE": "true", "BM_DAEMON_AUTOSTART": "false"}
		a := app.New("test", output.Fixed(strings.NewReader("correct horse battery\n"), &out, &out, time.Now), func(key string) string { return env[key] })
		if code := Run(ctx, a, []string{"auth", "login", "--server", server.URL, "--email", "me@example.com"}); code != exitInterrupted {
			t.Errorf("%s: exit %d: %s", at, code, out.String())
		}
		server.mu.Lock()
		if last := server.seen[len(server.seen)-1]; last != "POST /auth/logout" {
			t.Errorf("%s: the session was left open: the last request was %s", at, last)
		}
		if len(server.keys) != 0 {
			t.Errorf("%s: %d keys are left", at, len(server.keys))
		}
		server.mu.Unlock()
	}
}

// whileSomebodySignsIn runs a command that cannot wait for long, and answers with its
// exit code and what it said.
func (u user) whileSomebodySignsIn(args ...string) (code int, said string) {
	u.t.Helper()
	other := flock.New(u.home + "/config/signin.lock")
	if err := other.Lock(); err != nil {
		u.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(u.t.Context(), 300*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data"}
	a := app.New("test", output.Fixed(strings.NewReader(""), &out, &out, time.Now), func(key string) string { return env[key] })
	code = Run(ctx, a, args)
	if err := other.Unlock(); err != nil {
		u.t.Fatal(err)
	}
	return code, out.String()
}

// Who signs out while somebody signs in waits: it would take the new key away,
// and leave it valid.
func TestASignOutDuringASignIn(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	if code, said := u.whileSomebodySignsIn("auth", "logout"); code == exitDone || len(server.keys) != 1 {
		t.Errorf("exit %d, %d keys: %s", code, len(server.keys), said)
	}
	u.bm(exitDone, "", "auth", "logout")
	if len(server.keys) != 0 {
		t.Errorf("%d keys are left", len(server.keys))
	}
}

// So does who gives the key a new secret: it would be kept in the place of the key
// that a sign-in made.
func TestANewSecretDuringASignIn(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	code, said := u.whileSomebodySignsIn("key", "rotate", "--yes")
	server.mu.Lock()
	rotated := slices.ContainsFunc(server.seen, func(seen string) bool { return strings.HasSuffix(seen, "/rotate") })
	server.mu.Unlock()
	if code == exitDone || rotated {
		t.Errorf("exit %d, rotated: %v: %s", code, rotated, said)
	}
	u.bm(exitDone, "", "key", "rotate", "--yes")
	u.bm(exitDone, "", "auth", "status")
}

// Whoever waits while another gives the key a new secret goes on with that one: the old
// one has stopped, which is no reason to sign in again.
func TestTwoNewSecretsAtOnce(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	asked := doing{func() { u.bm(exitDone, "", "key", "rotate", "--yes") }}
	env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data", "HOME": u.home, "BM_INSECURE_STORAGE": "true", "BM_DAEMON_AUTOSTART": "false"}
	var said bytes.Buffer
	a := app.New("test", output.Fixed(asked, io.Discard, &said, time.Now).Terminal(80), func(key string) string { return env[key] })
	if code := Run(t.Context(), a, []string{"key", "rotate"}); code != exitDone {
		t.Errorf("exit %d, %s", code, said.String())
	}
	u.bm(exitDone, "", "key", "ls")
}

// What goes from this machine is asked about, whoever is signed in.
func TestForgettingAsks(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	for _, test := range []struct{ profile, question string }{
		{"default", "Sign out, and remove 0 bookmarks from this machine? [y/N] "},
		{"work", "Sign out, and remove the profile work with 0 bookmarks from this machine? [y/N] "},
	} {
		u.bm(exitDone, "correct horse battery\n", "auth", "login", "--profile", test.profile, "--server", server.URL, "--email", "me@example.com")
		if _, errs := bmShown(t, u.home, 80, "auth", "logout", "--forget", "--profile", test.profile); !strings.HasPrefix(errs, test.question) {
			t.Errorf("%s: it asks %q", test.profile, errs)
		}
		u.bm(exitDone, "", "auth", "status", "--profile", test.profile)
	}
}

// doing does something as soon as it is read, and says yes.
type doing struct{ something func() }

func (d doing) Read(p []byte) (int, error) {
	d.something()
	return copy(p, "y\n"), nil
}

// What is edited while somebody thinks about the question, or waits for the server, is
// not removed with the rest.
func TestAnEditWhileAProfileIsForgotten(t *testing.T) {
	noKeyring(t)
	for _, during := range []string{"the question", "the revocation"} {
		for _, profile := range []string{"default", "work"} {
			server := newFakeServer(t)
			u := user{t, t.TempDir()}
			u.bm(exitDone, "correct horse battery\n", "auth", "login", "--profile", profile, "--server", server.URL, "--email", "me@example.com")
			edit := func() { u.bm(exitDone, "", "add", "https://a.example/", "--profile", profile) }
			asked := doing{func() {}}
			if during == "the question" {
				asked.something = edit
			} else {
				for id := range server.keys {
					server.meanwhile = map[string]func(){"/api/v1/api-keys/" + id + "/revoke": edit}
				}
			}
			env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data", "HOME": u.home, "BM_INSECURE_STORAGE": "true", "BM_DAEMON_AUTOSTART": "false"}
			var said bytes.Buffer
			a := app.New("test", output.Fixed(asked, io.Discard, &said, time.Now).Terminal(80), func(key string) string { return env[key] })
			if code := Run(t.Context(), a, []string{"auth", "logout", "--forget", "--profile", profile}); code != exitBrake || !strings.Contains(said.String(), "The server lacks 1 edit of") {
				t.Errorf("%s, %s: exit %d, %s", during, profile, code, said.String())
			}
			if out, _ := u.bm(exitDone, "", "ls", "--count", "--profile", profile); out != "1\n" {
				t.Errorf("%s, %s: %s bookmarks are left", during, profile, out)
			}
			if kept := len(server.keys); during == "the question" && kept != 1 {
				t.Errorf("%s, %s: signed out all the same", during, profile)
			}
		}
	}
}

// Nor is a workspace deleted then: its copy, which can't be sent any more, would be all
// that holds the edit.
func TestAnEditWhileAWorkspaceIsDeleted(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	asked := doing{func() { u.bm(exitDone, "", "add", "https://a.example/") }}
	env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data", "HOME": u.home, "BM_DAEMON_AUTOSTART": "false"}
	var said bytes.Buffer
	a := app.New("test", output.Fixed(asked, io.Discard, &said, time.Now).Terminal(80), func(key string) string { return env[key] })
	if code := Run(t.Context(), a, []string{"workspace", "rm", "default"}); code != exitBrake || !strings.Contains(said.String(), "The server lacks 1 edit of") {
		t.Errorf("exit %d, %s", code, said.String())
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if slices.ContainsFunc(server.seen, func(seen string) bool { return strings.HasPrefix(seen, "DELETE ") }) {
		t.Errorf("the server was asked for %q", server.seen)
	}
}

// Where nobody can be kept, nothing is said of another sign-in.
func TestASignInThatCanNotBeKept(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	if err := os.MkdirAll(u.home+"/config/signin.lock", 0o700); err != nil {
		t.Fatal(err)
	}
	_, errs := u.bm(exitFailed, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	if !strings.HasPrefix(errs, "bm: Can't keep who is signed in: ") || !strings.Contains(errs, "/signin.lock: ") || len(server.keys) != 0 {
		t.Errorf("%d keys are left, and it says %q", len(server.keys), errs)
	}
}

// A profile whose copy can't be made is not signed in with a key that ended.
func TestASignInWithoutACopy(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	if err := os.MkdirAll(u.home+"/data", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.home+"/data/profiles", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs := u.bm(exitFailed, "correct horse battery\n", "auth", "login", "--profile", "new", "--server", server.URL, "--email", "me@example.com")
	if !strings.Contains(errs, "/data/profiles") {
		t.Errorf("which file is in the way: %q", errs)
	}
	if len(server.keys) != 0 {
		t.Errorf("%d keys are left", len(server.keys))
	}
	for _, left := range []string{"/config/keys.json", "/config/profiles/new.toml"} {
		if _, err := os.Stat(u.home + left); err == nil {
			t.Errorf("%s is left", left)
		}
	}
}

// A sign-in whose copy can't be written has not been: whoever was signed in before
// is so still, with the key that was kept, and there is no other.
func TestASignInThatDoesNotGetThrough(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "", "add", "https://local.example/")
	do := func(statement string) {
		t.Helper()
		db, err := sql.Open("sqlite", u.home+"/data/profiles/default/replica.db")
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(statement)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	const password = "correct horse battery\n"
	login := []string{"auth", "login", "--server", server.URL, "--email", "me@example.com"}
	const refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON replica BEGIN SELECT RAISE(ABORT, 'no'); END"

	do(refuse)
	u.bm(exitFailed, password, login...)
	if _, errs := u.bm(exitSignIn, "", "auth", "status"); !strings.Contains(errs, `Profile "default" has no server.`) || len(server.keys) != 0 {
		t.Errorf("%d keys are left, and it says %q", len(server.keys), errs)
	}
	if kept, err := os.ReadFile(u.home + "/config/keys.json"); err == nil && strings.Contains(string(kept), "bmk_") {
		t.Errorf("a key that has ended is kept: %s", kept)
	}

	do("DROP TRIGGER refuse")
	u.bm(exitDone, password, login...)
	key, _ := u.bm(exitDone, "", "auth", "token")
	do(refuse)
	server.name = "Renamed"
	u.bm(exitFailed, password, login...)
	u.bm(exitDone, "", "auth", "status")
	if again, _ := u.bm(exitDone, "", "auth", "token"); again != key || len(server.keys) != 1 {
		t.Errorf("%d keys are left, and the kept one is %q, which was %q", len(server.keys), again, key)
	}
	do("DROP TRIGGER refuse")
	u.bm(exitDone, password, login...)
	if len(server.keys) != 1 {
		t.Errorf("%d keys are left", len(server.keys))
	}
}

// A new key that nobody could read is not left valid.
func TestAKeyThatCanNotBePrinted(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	var errs bytes.Buffer
	env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data"}
	a := app.New("test", output.Fixed(strings.NewReader(""), full{}, &errs, time.Now), func(key string) string { return env[key] })
	code := Run(t.Context(), a, []string{"key", "create", "--tenant"})
	if code != exitFailed || !strings.Contains(errs.String(), "The key could not be printed, and is revoked.") || len(server.keys) != 1 {
		t.Errorf("exit %d, %d keys: %s", code, len(server.keys), errs.String())
	}

	// One with another secret has to get it once more: nobody has the one that holds.
	server.keys["01890a5d-ac96-774b-bcce-b302099a8199"] = "bmk_another"
	errs.Reset()
	code = Run(t.Context(), a, []string{"key", "rotate", "01890a5d-ac96-774b-bcce-b302099a8199", "--yes"})
	if code != exitFailed || !strings.Contains(errs.String(), "The new secret could not be printed, and the old one has stopped.\n  try: bm key rotate 01890a5d-ac96-774b-bcce-b302099a8199 ") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}

// Who gives up while a key is made or gets another secret has it all the same, or
// nobody has: what the server did can't be asked for again.
func TestAnInterruptedKey(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data"}
	interrupted := func(out io.Writer, at string, args ...string) {
		t.Helper()
		ctx, interrupt := context.WithCancel(t.Context())
		server.mu.Lock()
		server.meanwhile = map[string]func(){at: interrupt}
		server.mu.Unlock()
		a := app.New("test", output.Fixed(strings.NewReader(""), out, io.Discard, time.Now), func(key string) string { return env[key] })
		Run(ctx, a, args)
		if ctx.Err() == nil {
			t.Fatalf("bm %s asked for no %s", strings.Join(args, " "), at)
		}
	}
	const made = "/api/v1/api-keys"
	var out bytes.Buffer
	interrupted(&out, made, "key", "create", "--tenant")
	if len(server.keys) != 2 || !strings.HasPrefix(out.String(), "bmk_") {
		t.Errorf("%d keys, and %q", len(server.keys), out.String())
	}
	interrupted(full{}, made, "key", "create", "--tenant")
	if len(server.keys) != 2 {
		t.Errorf("%d keys: one is nobody's", len(server.keys))
	}
	var own []struct{ ID string }
	listed, _ := u.bm(exitDone, "", "key", "ls", "--json", "id")
	if err := json.Unmarshal([]byte(listed), &own); err != nil {
		t.Fatal(err)
	}
	for _, key := range own {
		interrupted(io.Discard, made+"/"+key.ID+"/rotate", "key", "rotate", key.ID, "--yes")
	}
	u.bm(exitDone, "", "key", "ls")
}
