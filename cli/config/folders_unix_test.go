//go:build unix

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"bm/cli/config"
)

// What is no file, and a folder that is everybody's, are not a user's to close, and
// root's neither: /dev/null and /tmp are needed by others.
func TestWhatIsEverybodysStaysOpen(t *testing.T) {
	dir := t.TempDir()
	pipe, shared := filepath.Join(dir, "pipe"), filepath.Join(dir, "shared")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Mkdir(shared, 0o700)); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{pipe: 0o666, shared: 0o777 | os.ModeSticky} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		mended, err := config.CloseToOthers(path)
		if _, exposed := errors.AsType[*config.Exposed](err); mended || exposed != (path == shared) {
			t.Errorf("%s: mended %v, %v", path, mended, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&(os.ModePerm|os.ModeSticky) != mode {
			t.Errorf("%s is %v now, %v", path, info.Mode(), err)
		}
	}
}
