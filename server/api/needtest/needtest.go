// Package needtest is for tests that need what a laptop may lack: a program, a
// right, a folder beside the repository. There they skip; where BM_TEST_REQUIRE
// names the part, as in CI, they fail. Tests alone import it.
package needtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Missing ends a test that lacks a part, such as "postgres".
func Missing(t testing.TB, part, format string, args ...any) {
	t.Helper()
	for name := range strings.SplitSeq(os.Getenv("BM_TEST_REQUIRE"), ",") {
		if strings.TrimSpace(name) == part {
			t.Fatalf(part+" is required here: "+format, args...)
		}
	}
	t.Skipf("without "+part+": "+format, args...)
}

// Beside is the path of something in the folder "shared" beside the repository,
// "" where it is not there.
func Beside(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "shared", filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
