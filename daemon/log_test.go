package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// A log that could not be rotated once is written to all the same, and rotated
// when that can be again.
func TestLogSurvivesAFailedRotation(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	l.max = 10
	obstacle := l.Path() + ".1"
	if err := os.MkdirAll(filepath.Join(obstacle, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path()+".2", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(l.Path()+".3", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"123456789\n", "in its way\n"} {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, name := range []string{".1", ".2", ".3"} {
		if err := os.RemoveAll(l.Path() + name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Write([]byte("all is well\n")); err != nil {
		t.Fatal(err)
	}
	now, _ := os.ReadFile(l.Path())
	before, _ := os.ReadFile(l.Path() + ".1")
	if string(now) != "all is well\n" || string(before) != "123456789\nin its way\n" {
		t.Errorf("the log holds %q, the one before %q", now, before)
	}
}
