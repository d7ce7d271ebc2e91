//go:build unix

package places_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"bm/localstore/places"
	"bm/localstore/places/placestest"
)

// Whoever made a folder may have put a pipe into it where a log belongs.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-journal"} {
		path := filepath.Join(t.TempDir(), "places.sqlite")
		if suffix != "" {
			if err := placestest.Make(t.Context(), path, placestest.Profile{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(path+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := places.Copy(t.Context(), path, t.TempDir()); !errors.Is(err, places.ErrForeign) {
			t.Errorf("%s: %v", suffix, err)
		}
	}
}
