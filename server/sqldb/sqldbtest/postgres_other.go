//go:build !unix

package sqldbtest

import "testing"

// Postgres skips the test: a throwaway cluster needs a Unix.
func Postgres(t testing.TB) string {
	t.Helper()
	t.Skip("no throwaway PostgreSQL on this system")
	return ""
}
