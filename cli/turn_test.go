package cli

import (
	"context"
	"crypto/rand"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
)

// Who has to wait for another command that changes many bookmarks is told so, and
// comes to its turn.
func TestAWaitIsTold(t *testing.T) {
	home := t.TempDir()
	if code, _, errs := bm(t, home, "", "add", "https://a.example"); code != exitDone {
		t.Fatal(errs)
	}
	other, err := localstore.Open(t.Context(), localstore.Options{
		Path: filepath.Join(home, "data", "profiles", "default", "replica.db"), Now: time.Now, IDs: api.NewIDs(time.Now, rand.Reader),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	replica, err := other.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const export = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF=\"https://c.example/\">C</A>\n</DL><p>\n"
	for _, command := range []string{"add https://b.example", "undo", "import -"} {
		t.Run(command, func(t *testing.T) {
			begun, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			go func() {
				ended <- other.Edit(context.Background(), replica.N, "a long one", func(*localstore.Editor) error {
					close(begun)
					<-release
					return nil
				})
			}()
			<-begun
			end := sync.OnceFunc(func() { close(release) })
			errs := &listener{heard: "Waiting for another bm command", then: end}
			env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "BM_DAEMON_AUTOSTART": "false"}
			a := app.New("test", output.Fixed(strings.NewReader(export), io.Discard, errs, time.Now), func(key string) string { return env[key] })
			if code := Run(t.Context(), a, strings.Fields(command)); code != exitDone {
				t.Errorf("exit %d: %s", code, errs.String())
			}
			if end(); !strings.Contains(errs.String(), "Waiting for") {
				t.Errorf("nothing was told:\n%s", errs.String())
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	if _, log, _ := bm(t, home, "", "log", "--json", "command", "--jq", ".[].command"); log != "import -\nadd https://b.example\nadd https://a.example\n" {
		t.Errorf("it did:\n%s", log)
	}
}
