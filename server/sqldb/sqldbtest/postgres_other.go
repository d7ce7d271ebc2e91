//go:build !unix

package sqldbtest

import (
	"testing"

	"bm/server/api/needtest"
)

// Postgres skips the test: a throwaway cluster needs a Unix.
func Postgres(t testing.TB) string {
	t.Helper()
	needtest.Missing(t, "postgres", "no throwaway cluster on this system")
	return ""
}
