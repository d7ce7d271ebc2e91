package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
)

// fakeServer answers the few operations that signing in needs, and can be told
// to refuse. What the real one does is tested by the scripts.
type fakeServer struct {
	*httptest.Server
	t *testing.T

	mu   sync.Mutex
	keys map[string]string // secret by id
	seen []string
	down bool
	made int    // keys
	name string // of the workspace
	// meanwhile is what happens while a path is asked for, once.
	meanwhile map[string]func()
}

const (
	tenantID    = "01890a5d-ac96-774b-bcce-b302099a8001"
	workspaceID = "01890a5d-ac96-774b-bcce-b302099a8002"
	session     = "session-token"
)

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{t: t, keys: map[string]string{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, r.Method+" "+r.URL.Path)
	if happens := f.meanwhile[r.URL.Path]; happens != nil {
		delete(f.meanwhile, r.URL.Path)
		happens()
	}
	if f.down {
		f.answer(w, 503, api.Errorf(api.CodeUnavailable, "shutting down").Envelope())
		return
	}
	me := api.AccountProfile{Email: "me@example.com", AccountID: "a", ActiveTenantID: tenantID, TenantID: tenantID, OrganizationName: "Mine"}
	signedIn := r.Header.Get("Authorization") == "Bearer "+session
	for _, key := range f.keys {
		signedIn = signedIn || r.Header.Get("Authorization") == "Bearer "+key
	}
	public := r.URL.Path == "/.well-known/bm" || r.URL.Path == "/auth/login" || r.URL.Path == "/auth/register"
	if !signedIn && !public {
		f.answer(w, 401, api.Errorf(api.CodeUnauthorized, "the key is not accepted").Envelope())
		return
	}
	switch path := r.URL.Path; {
	case path == "/.well-known/bm":
		f.answer(w, 200, api.ServerInfo{Name: "bm", Version: "1", NoticeVersion: "7", Extensions: []string{api.ExtChanges}})
	case path == "/auth/login" || path == "/auth/register":
		var in api.Login
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Password.Reveal() != "correct horse battery" {
			f.answer(w, 401, api.Errorf(api.CodeUnauthorized, "wrong").Envelope())
			return
		}
		f.answer(w, 200, map[string]any{"accessToken": session, "tokenType": "Bearer", "expiresIn": 900, "refreshToken": "r", "account": me})
	case path == "/auth/logout":
		w.WriteHeader(204)
	case path == "/api/v1/me":
		f.answer(w, 200, me)
	case path == "/workspaces":
		f.answer(w, 200, []api.Workspace{{ID: workspaceID, TenantID: tenantID, Name: cmp.Or(f.name, "Default"), Slug: "default", IsDefault: true}})
	case path == "/api/v1/api-keys" && r.Method == http.MethodPost:
		var in api.APIKeyCreate
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.NoticeVersion != "7" {
			f.answer(w, 400, api.Invalid("noticeVersion", "7 is wanted").Envelope())
			return
		}
		id := fmt.Sprintf("01890a5d-ac96-774b-bcce-b302099a81%02d", f.made)
		f.made++
		f.keys[id] = "bmk_" + id
		f.answer(w, 201, map[string]any{"metadata": api.APIKeyMetadata{ID: id, Label: in.Label.Value, Status: api.KeyActive}, "apiKey": f.keys[id]})
	case path == "/api/v1/api-keys":
		list := []api.APIKeyMetadata{}
		for id := range f.keys {
			list = append(list, api.APIKeyMetadata{ID: id, Label: "bm on here", Status: api.KeyActive, CreatedAt: api.At(time.Unix(1, 0))})
		}
		f.answer(w, 200, list)
	case strings.HasSuffix(path, "/revoke"):
		delete(f.keys, strings.Split(path, "/")[4])
		w.WriteHeader(204)
	case strings.HasSuffix(path, "/rotate"):
		id := strings.Split(path, "/")[4]
		f.keys[id] += "x"
		f.answer(w, 200, map[string]any{"metadata": api.APIKeyMetadata{ID: id}, "apiKey": f.keys[id]})
	default:
		f.answer(w, 404, api.Errorf(api.CodeNotFound, "no such thing").Envelope())
	}
}

func (f *fakeServer) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		f.t.Error(err)
	}
}

// user runs command lines in one home, without a keyring and a daemon.
type user struct {
	t    *testing.T
	home string
}

func (u user) bm(want int, input string, args ...string) (out, errs string) {
	u.t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{
		"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data", "HOME": u.home,
		"BM_INSECURE_STORAGE": "true", "BM_DAEMON_AUTOSTART": "false",
	}
	a := app.New("test", output.Fixed(strings.NewReader(input), &stdout, &stderr, time.Now), func(key string) string { return env[key] })
	if code := Run(context.Background(), a, args); code != want {
		u.t.Fatalf("bm %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

func noKeyring(t *testing.T) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "no-bus"))
}

func TestSignInAndOut(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "", "add", "https://a.example/", "--title", "made before")

	_, errs := u.bm(exitSignIn, "wrong password\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	if !strings.Contains(errs, "does not know this e-mail address and password") {
		t.Errorf("a wrong password: %q", errs)
	}
	_, errs = u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	if !strings.Contains(errs, "Signed in to") || !strings.Contains(errs, "which only you can read") {
		t.Errorf("login says %q", errs)
	}
	info, err := os.Stat(filepath.Join(u.home, "config", "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of keys: %v, %v", info, err)
	}
	if last := server.seen[len(server.seen)-1]; last != "POST /auth/logout" {
		t.Errorf("the session was left open: the last request was %s", last)
	}
	if len(server.keys) != 1 {
		t.Errorf("the server has %d keys", len(server.keys))
	}

	// What was made before the sign-in came along.
	out, _ := u.bm(exitDone, "", "ls", "--json", "title,unsent")
	if !strings.Contains(out, "made before") || !strings.Contains(out, `"unsent":true`) {
		t.Errorf("after the sign-in: %s", out)
	}
	out, _ = u.bm(exitDone, "", "workspace", "ls", "--json", "name,unsent,inUse")
	if !strings.Contains(out, `"name":"Default","unsent":1,"inUse":true`) {
		t.Errorf("workspaces: %s", out)
	}
	out, _ = u.bm(exitDone, "", "auth", "status")
	for _, want := range []string{"me@example.com", "not protected by a keyring", "signed in"} {
		if !strings.Contains(out, want) {
			t.Errorf("status lacks %q: %s", want, out)
		}
	}
	if out, _ = u.bm(exitDone, "", "auth", "token"); !strings.HasPrefix(out, "bmk_") {
		t.Errorf("token: %s", out)
	}
	if out, _ = u.bm(exitDone, "", "key", "ls"); !strings.Contains(out, "this machine") {
		t.Errorf("keys: %s", out)
	}
	// Whose key and which workspace it is remains to be read on a narrow terminal.
	for width, want := range map[int]string{
		80: "01890a5d-ac96-774b  bm on here  active  organization", 40: "01890a5d-ac96-774b  bm on here  active\n", 24: "bm on here  active",
	} {
		if out, errs := bmShown(t, u.home, width, "key", "ls", "--insecure-storage"); !strings.Contains(out, "\n"+want) {
			t.Errorf("%d columns: %q", width, out+errs)
		}
		if out, errs := bmShown(t, u.home, width, "workspace", "ls"); !strings.Contains(out, "*  Default") {
			t.Errorf("%d columns: %q", width, out+errs)
		}
	}
	for _, asked := range []struct{ args, question string }{
		{"key rotate", "Give this machine's key a new secret? [y/N] "},
		{"key rotate 01890a5d", "Give the key 01890a5d a new secret? Whoever has the old one is locked out. [y/N] "},
	} {
		if _, errs := bmShown(t, u.home, 80, append(strings.Fields(asked.args), "--insecure-storage")...); !strings.HasPrefix(errs, asked.question) {
			t.Errorf("%s: it asks %q", asked.args, errs)
		}
	}
	u.bm(exitDone, "", "key", "rotate", "--yes")
	u.bm(exitDone, "", "key", "ls")
	if out, _ = u.bm(exitDone, "", "key", "create", "--label", "x", "--expires", "90d"); !strings.HasPrefix(out, "bmk_") {
		t.Errorf("create: %s", out)
	}
	for _, when := range []string{"soon", "0d", "-3d", "9xd", "1.5d", "99999999d"} {
		u.bm(exitUsage, "", "key", "create", "--expires", when)
	}
	u.bm(exitNotFound, "", "key", "revoke", "x")
	if out, _ = u.bm(exitDone, "", "api", "GET", "/api/v1/me", "--jq", ".email"); out != "me@example.com\n" {
		t.Errorf("api: %q", out)
	}
	u.bm(exitNotFound, "", "api", "GET", "/nowhere")
	u.bm(exitConflict, "", "auth", "login", "--server", "https://other.example")

	u.bm(exitDone, "", "auth", "logout")
	if len(server.keys) != 1 { // the one made by key create
		t.Errorf("after the sign-out the server has %d keys", len(server.keys))
	}
	u.bm(exitSignIn, "", "auth", "status")
	if out, _ = u.bm(exitDone, "", "ls", "--count"); out != "1\n" {
		t.Errorf("after the sign-out there are %s bookmarks", out)
	}
}

func TestSignInWithAKey(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	server.keys["k"] = "bmk_given"
	u := user{t, t.TempDir()}
	u.bm(exitSignIn, "bmk_other\n", "auth", "login", "--server", server.URL, "--with-token")
	u.bm(exitUsage, "", "auth", "login", "--server", server.URL, "--with-token")
	u.bm(exitDone, "bmk_given\n", "auth", "login", "--server", server.URL, "--with-token")
	u.bm(exitDone, "", "auth", "status")
	// Nobody but its maker revokes a key that was handed in.
	u.bm(exitDone, "", "auth", "logout")
	if len(server.keys) != 1 {
		t.Error("the key was revoked")
	}
}

// A key of the environment leaves none behind that was handed in before it.
func TestATokenInPlaceOfAKeyThatWasHandedIn(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	server.keys["k"], server.keys["l"] = "bmk_given", "bmk_other"
	u := user{t, t.TempDir()}
	login := []string{"auth", "login", "--server", server.URL, "--with-token"}
	u.bm(exitDone, "bmk_given\n", login...)
	env := map[string]string{"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data", "BM_TOKEN": "bmk_other", "BM_DAEMON_AUTOSTART": "false"}
	var errs bytes.Buffer
	a := app.New("test", output.Fixed(strings.NewReader(""), &errs, &errs, time.Now), func(key string) string { return env[key] })
	if code := Run(t.Context(), a, login[:len(login)-1]); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if kept, err := os.ReadFile(u.home + "/config/keys.json"); err == nil {
		t.Errorf("kept: %s", kept)
	}
}

func TestSignOutOffline(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "register", "--server", server.URL, "--email", "me@example.com")
	server.down = true
	u.bm(exitOffline, "", "key", "ls")
	u.bm(exitOffline, "", "auth", "logout")
	u.bm(exitDone, "", "auth", "logout", "--local", "--forget", "--yes")
	if out, _ := u.bm(exitDone, "", "workspace", "ls", "--json", "state"); out != `[{"state":"local"}]`+"\n" {
		t.Errorf("what is left: %s", out)
	}
}

// An edit that the server lacks is not thrown away by signing out.
func TestForgetKeepsUnsentEdits(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	u.bm(exitDone, "", "add", "https://a.example/")
	u.bm(exitBrake, "", "auth", "logout", "--forget")
	u.bm(exitDone, "", "auth", "status") // nothing was undone
	u.bm(exitDone, "", "auth", "logout", "--forget", "--force")
	if out, _ := u.bm(exitDone, "", "ls", "--count"); out != "0\n" {
		t.Errorf("%s bookmarks are left", out)
	}
}
