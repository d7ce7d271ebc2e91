package cli_test

import (
	"os"
	"testing"
)

// TestMain ends what a command starts as its daemon: that is this very program,
// which would run every test again, each with a daemon of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "daemon" {
		os.Exit(1)
	}
	os.Exit(m.Run())
}
