package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
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

// What is written as it is, such as an export, is shown safely on a terminal and
// goes whole anywhere else.
func TestWhatIsWrittenWholeDoesNotCommandTheTerminal(t *testing.T) {
	const title = "\x1b]0;owned\a\u009b2J\u202e"
	home := t.TempDir()
	rejected := filepath.Join(home, "rejected.json")
	text, err := json.Marshal([]map[string]string{{"href": "https://long.example/" + strings.Repeat("x", api.MaxURL), "description": title}})
	if err == nil {
		err = os.WriteFile(rejected, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	bm(t, home, "", "add", "https://a.example/", "--title", title)
	for _, line := range []string{"export", "export -", "export --format json", "import " + rejected + " --rejects -"} {
		out, errs := bmShown(t, home, 80, strings.Fields(line)...)
		if !strings.Contains(out, "owned") || strings.Contains(out+errs, "\x1b]") || strings.ContainsAny(out+errs, "\u009b\u202e") {
			t.Errorf("bm %s shows %q", line, out+errs)
		}
	}
	if _, out, _ := bm(t, home, "", "export"); !strings.Contains(out, title) {
		t.Errorf("in a pipe: %q", out)
	}
}
