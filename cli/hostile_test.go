package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
)

// Whatever a server calls its keys, and however it begins an answer, none of it
// commands the terminal.
func TestAServerDoesNotCommandTheTerminal(t *testing.T) {
	noKeyring(t)
	const title = "\x1b]0;owned\a"
	fake := newFakeServer(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/status":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(conn, "HTTP/1.1 200 %s\r\nContent-Length: 2\r\nX-Name: %s\r\nConnection: close\r\n\r\n{}", title, "plain")
			_ = conn.Close() // all is said
		case strings.HasPrefix(r.URL.Path, "/api/v1/api-keys") && r.Method == http.MethodPost && strings.Contains(r.Header.Get("Authorization"), "bmk_"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"metadata":{"id":"\u001b]0;owned\u0007"},"apiKey":"\u001b]0;owned\u0007"}`)
		default:
			fake.Config.Handler.ServeHTTP(w, r)
		}
	}))
	defer front.Close()
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", front.URL, "--email", "me@example.com")
	env := map[string]string{
		"BM_CONFIG_DIR": u.home + "/config", "BM_DATA_DIR": u.home + "/data", "HOME": u.home, "BM_INSECURE_STORAGE": "true", "BM_DAEMON_AUTOSTART": "false",
		"BM_WORKSPACE": title,
	}
	for _, line := range []string{
		"key create --label x --tenant", "key rotate 01890a5d-ac96-774b-bcce-b302099a8057 --yes", "key rotate --yes", "auth token", "api GET /status --include", "config get workspace",
	} {
		var out, errs bytes.Buffer
		a := app.New("test", output.Fixed(strings.NewReader(""), &out, &errs, time.Now).Terminal(80), func(key string) string { return env[key] })
		Run(context.Background(), a, strings.Fields(line))
		if shown := out.String() + errs.String(); strings.Contains(shown, title) || shown == "" {
			t.Errorf("bm %s: %q", line, shown)
		}
	}
}
