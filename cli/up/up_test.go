package up

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
)

const tenant = "01890a5d-ac96-774b-bcce-b302099a8001"

// backend is a server that keeps one account over its restarts.
type backend struct {
	t *testing.T

	mu       sync.Mutex
	password string
	email    string
	key      string
	calls    []string
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, r.URL.Path)
	answer := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			b.t.Error(err)
		}
	}
	me := api.AccountProfile{Email: b.email, ActiveTenantID: tenant}
	session := map[string]any{"accessToken": "session", "refreshToken": "r", "account": me}
	var in struct{ Email, Password string }
	switch r.URL.Path {
	case "/.well-known/bm":
		answer(200, api.ServerInfo{Name: "bm", NoticeVersion: "1"})
	case "/auth/register":
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || b.password != "" || len(in.Password) < api.MinPassword {
			answer(409, api.Errorf(api.CodeConflict, "taken").Envelope())
			return
		}
		b.email, b.password = in.Email, in.Password
		me.Email = in.Email
		session["account"] = me
		answer(201, session)
	case "/auth/login":
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Password != b.password || in.Email != b.email {
			answer(401, api.Errorf(api.CodeUnauthorized, "wrong").Envelope())
			return
		}
		answer(200, session)
	case "/api/v1/api-keys":
		b.key = "bmk_made"
		answer(201, map[string]any{"metadata": api.APIKeyMetadata{ID: "k"}, "apiKey": b.key})
	case "/auth/logout":
		w.WriteHeader(204)
	case "/api/v1/me", "/workspaces":
		if token := r.Header.Get("Authorization"); token != "Bearer "+b.key || b.key == "" {
			answer(401, api.Errorf(api.CodeUnauthorized, "no").Envelope())
		} else if r.URL.Path == "/workspaces" {
			answer(200, []api.Workspace{{ID: "01890a5d-ac96-774b-bcce-b302099a8002", TenantID: tenant, Name: "Default", Slug: "default", IsDefault: true}})
		} else {
			answer(200, me)
		}
	default:
		answer(404, api.Errorf(api.CodeNotFound, "no such thing").Envelope())
	}
}

// host serves the backend until ctx ends.
func (b *backend) host(ctx context.Context, _, addr string, ready func(string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: b, ReadHeaderTimeout: time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	ready(listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// untilUp runs bm up until it says that it is up, then ends it as Ctrl-C does.
func untilUp(t *testing.T, home, addr string, host Host) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said := &watched{word: "Ctrl-C ends it.", seen: cancel}
	env := map[string]string{"HOME": home, "BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data"}
	a := app.New("test", output.Fixed(strings.NewReader(""), said, said, time.Now), func(key string) string { return env[key] })
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := run(ctx, &options{app: a, host: host, addr: addr}); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return said.String()
}

// watched calls seen when a word was written.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	word string
	seen func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if strings.Contains(w.text.String(), w.word) {
		w.seen()
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestUpTwice(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "no-bus"))
	// The address has to be the same twice, and free now.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	b := &backend{t: t}
	home := t.TempDir()
	first := untilUp(t, home, addr, b.host)
	for _, want := range []string{"bm is up: http://" + addr, ".localhost", "which only you can read", "bm add"} {
		if !strings.Contains(first, want) {
			t.Errorf("it does not say %q:\n%s", want, first)
		}
	}
	if strings.Contains(first, b.password) || strings.Contains(first, b.key) {
		t.Errorf("it shows a secret:\n%s", first)
	}

	b.calls = nil
	untilUp(t, home, addr, b.host)
	if calls := strings.Join(b.calls, " "); strings.Contains(calls, "/auth/") {
		t.Errorf("the second time it signed in again: %s", calls)
	}

	// The key is gone: the password that is kept makes another.
	b.key = "bmk_other"
	b.calls = nil
	untilUp(t, home, addr, b.host)
	if calls := strings.Join(b.calls, " "); !strings.Contains(calls, "/auth/login") || strings.Contains(calls, "/auth/register") {
		t.Errorf("with a key that is not accepted: %s", calls)
	}
}

func TestAddressIsPlain(t *testing.T) {
	for in, want := range map[string]string{"Ann.Smith": "annsmith", "--x--": "x", "漢字": "me", "": "me", "a b@c": "abc"} {
		if got := plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
