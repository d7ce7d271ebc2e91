package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"bm/server/api"
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

// hearing answers what a daemon is asked, one request after the other.
func hearing(t *testing.T, daemon net.Listener) (after func(command string) control.Request) {
	t.Helper()
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
	return func(command string) control.Request {
		t.Helper()
		select {
		case request := <-heard:
			return request
		case <-time.After(10 * time.Second):
			t.Fatalf("bm %s: nobody told the daemon", command)
			return control.Request{}
		}
	}
}

// upon is an output that has something happen when it is first written to.
type upon struct{ happens func() }

func (u *upon) Write(p []byte) (int, error) {
	u.happens()
	return len(p), nil
}

// What a command has kept before it was cut off is to be sent like anything else.
func TestWhatWasCutOffIsSent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the socket lies elsewhere there")
	}
	noKeyring(t)
	home, daemon := asDaemon(t, newFakeServer(t).URL)
	heard := hearing(t, daemon)
	rejected := filepath.Join(home, "rejected.json")
	text := fmt.Sprintf(`[{"href":"https://long.example/%s"},{"href":"https://short.example/"}]`, strings.Repeat("x", api.MaxURL))
	if err := os.WriteFile(rejected, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const netscape = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n"
	var whole bytes.Buffer
	whole.WriteString(netscape)
	for i := range 10_000 {
		fmt.Fprintf(&whole, "<DT><A HREF=\"https://b.example/%d\">%d</A>\n", i, i)
	}
	env := map[string]string{
		"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "HOME": home, "BM_INSECURE_STORAGE": "true", "BM_DAEMON_AUTOSTART": "false",
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	slow := func() time.Time { at = at.Add(6 * time.Second); return at } // there is progress to tell of
	for _, test := range []struct {
		code int
		args []string
		out  io.Writer
	}{
		{exitInterrupted, []string{"import", "-"}, io.Discard},
		{exitDone, []string{"import", "-"}, io.Discard},
		{exitInterrupted, []string{"undo"}, io.Discard},
		{exitFailed, []string{"import", rejected, "--rejects", "-"}, full{}},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		cutOff := &endless{after: 20_000, cancel: interrupt}
		cutOff.rest.WriteString(netscape)
		in, said := io.Reader(cutOff), io.Writer(io.Discard)
		switch {
		case test.code == exitDone:
			in = &whole
		case test.args[0] == "undo":
			said = &upon{interrupt}
		}
		a := app.New("test", output.Fixed(in, test.out, said, slow), func(key string) string { return env[key] })
		if code := Run(ctx, a, test.args); code != test.code {
			t.Errorf("bm %s: exit %d", strings.Join(test.args, " "), code)
		}
		interrupt()
		if request := heard(test.args[0]); request.Command != control.Nudge {
			t.Errorf("bm %s: the daemon hears %+v", test.args[0], request)
		}
	}
}

// An edit tells the daemon where it is: there may be many workspaces, and each
// that is looked after for nothing costs a request.
func TestAnEditNamesItsWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the socket lies elsewhere there")
	}
	noKeyring(t)
	home, daemon := asDaemon(t, newFakeServer(t).URL)
	heard := hearing(t, daemon)
	u := user{t, home}
	u.bm(exitDone, "", "add", "https://go.dev/")
	id, _ := u.bm(exitDone, "", "workspace", "ls", "--json", "id,isDefault", "--jq", ".[] | select(.isDefault) | .id")
	if request := heard("add"); request.Command != control.Nudge || id == "" || request.Workspace != strings.TrimSpace(id) {
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
