package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/daemon/control"
)

// A sync that is left while the daemon does the work was interrupted, and the
// daemon goes on: that the connection is closed is nobody's trouble.
func TestInterruptedSyncOfTheDaemon(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the socket lies elsewhere there")
	}
	noKeyring(t)
	server := newFakeServer(t)
	home, daemon := asDaemon(t, server.URL)
	interrupt := func() {}
	go func() {
		for {
			conn, err := daemon.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 4096)
			switch n, err := conn.Read(request); {
			case err != nil:
			case !strings.Contains(string(request[:n]), `"status"`):
				interrupt() // and it never answers
			default:
				_, _ = conn.Write([]byte("{}\n")) // the command that asks has no use for a failure
			}
		}
	}()
	env := map[string]string{
		"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "HOME": home, "BM_INSECURE_STORAGE": "true", "BM_DAEMON_AUTOSTART": "false",
	}
	for _, test := range [][2]string{
		{"sync", "bm: Interrupted. The daemon goes on with it.\n  try: bm sync status"},
		{"daemon pause", "bm: Interrupted."},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		interrupt = cancel
		var stderr bytes.Buffer
		a := app.New("test", output.Fixed(strings.NewReader(""), &bytes.Buffer{}, &stderr, time.Now), func(key string) string { return env[key] })
		if code := Run(ctx, a, strings.Fields(test[0])); code != exitInterrupted {
			t.Errorf("%s: exit %d", test[0], code)
		}
		if !strings.HasPrefix(stderr.String(), test[1]) {
			t.Errorf("%s: says %q", test[0], stderr.String())
		}
		cancel()
	}
}

// asDaemon is a home that is signed in to a server, and the socket of its daemon.
func asDaemon(t *testing.T, server string) (home string, daemon net.Listener) {
	t.Helper()
	home, err := os.MkdirTemp("", "bm") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	u := user{t, home}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server, "--email", "me@example.com")
	if err := os.MkdirAll(filepath.Join(home, "data", "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	daemon, err = (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(home, "data", "run", "daemon.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Close() }) // there is nobody left to answer
	return home, daemon
}

// An edit tells the daemon where it is: there may be many workspaces, and each
// that is looked after for nothing costs a request.
func TestAnEditNamesItsWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the socket lies elsewhere there")
	}
	noKeyring(t)
	home, daemon := asDaemon(t, newFakeServer(t).URL)
	heard := make(chan control.Request, 8)
	go func() {
		for {
			conn, err := daemon.Accept()
			if err != nil {
				return
			}
			var request control.Request
			if json.NewDecoder(conn).Decode(&request) == nil {
				heard <- request
			}
			_, _ = conn.Write([]byte("{}\n")) // an edit has no use for a failure
			_ = conn.Close()
		}
	}()
	u := user{t, home}
	u.bm(exitDone, "", "add", "https://go.dev/")
	id, _ := u.bm(exitDone, "", "workspace", "ls", "--json", "id,isDefault", "--jq", ".[] | select(.isDefault) | .id")
	if request := <-heard; request.Command != control.Nudge || id == "" || request.Workspace != strings.TrimSpace(id) {
		t.Errorf("the daemon hears %+v, want a nudge of %q", request, id)
	}
}

// An export that was left says what there is of it: nothing.
func TestInterruptedExport(t *testing.T) {
	home := t.TempDir()
	bm(t, home, "", "add", "https://a.example/")
	for file, want := range map[string]string{
		filepath.Join(home, "out.html"): "was not written",
		"-":                             "is not all that there is",
	} {
		ctx, cancel := context.WithCancel(context.Background())
		env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "HOME": home}
		var stderr bytes.Buffer
		a := app.New("test", output.Fixed(strings.NewReader(""), &bytes.Buffer{}, &stderr, time.Now), func(key string) string { return env[key] })
		if _, _, err := a.Replica(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		if code := Run(ctx, a, []string{"export", file}); code != exitInterrupted || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit %d, %q", file, code, stderr.String())
		}
		if left, err := filepath.Glob(filepath.Join(home, "*out.html")); err != nil || len(left) > 0 {
			t.Errorf("%s: leaves %v, %v", file, left, err)
		}
	}
}
