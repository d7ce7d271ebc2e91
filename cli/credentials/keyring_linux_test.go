package credentials

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bm/server/api/needtest"
)

// TestGnomeKeyring talks to a real gnome-keyring, in a dbus session and a home
// of the test's own. It runs itself anew inside that session.
func TestGnomeKeyring(t *testing.T) {
	if os.Getenv("BM_TEST_KEYRING_SESSION") != "" {
		inKeyringSession(t)
		return
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			needtest.Missing(t, "keyring", "%v", err)
		}
	}
	home := t.TempDir()
	script := `printf test | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$0" -test.run='^TestGnomeKeyring$' -test.v`
	cmd := exec.Command("dbus-run-session", "--", "sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(),
		"HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_RUNTIME_DIR="+home, "XDG_CONFIG_HOME="+home,
		"GNOME_KEYRING_CONTROL=", "BM_TEST_KEYRING_SESSION=1")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if !strings.Contains(string(output), "--- PASS: TestGnomeKeyring") {
		t.Fatalf("it did not run inside the session:\n%s", output)
	}
}

func inKeyringSession(t *testing.T) {
	k := New(filepath.Join(t.TempDir(), "keys.json"), "")
	if err := k.Probe(); err != nil {
		t.Fatal(err)
	}
	name := Name("default", "01890a5d-ac96-774b-bcce-b302099a8057")
	if _, _, err := k.Get(name); !errors.Is(err, ErrNotFound) {
		t.Fatalf("before it was kept: %v", err)
	}
	for _, want := range []Secret{"bmk_first", "bmk_Ünïcode\nand a line break"} {
		if source, err := k.Set(name, want, false); err != nil || source != FromKeyring {
			t.Fatalf("keep: %v, %v", source, err)
		}
		got, source, err := k.Get(name)
		if err != nil || got != want || source != FromKeyring {
			t.Fatalf("found %q in %v, %v", got.Reveal(), source, err)
		}
	}
	if _, _, err := k.Get(Name("default", "")); !errors.Is(err, ErrNotFound) {
		t.Errorf("another name finds it: %v", err)
	}
	if err := k.Delete(name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Get(name); !errors.Is(err, ErrNotFound) {
		t.Errorf("after delete: %v", err)
	}
}
