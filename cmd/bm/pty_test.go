//go:build unix

package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A terminal that answers no query must not hold up any command: libraries
// that ask one for its background wait five seconds for the answer.
func TestATerminalThatAnswersNothing(t *testing.T) {
	dir := t.TempDir()
	program := buildBM(t, dir)
	for _, args := range [][]string{{"version"}, {"ls", "--limit", "20"}, {"add", "https://a.example/"}} {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=", "NO_COLOR=", "BM_PAGER=cat", "BM_DAEMON_AUTOSTART=false",
			"BM_CONFIG_DIR="+filepath.Join(dir, "config"), "BM_DATA_DIR="+filepath.Join(dir, "data"))
		began := time.Now()
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			t.Fatal(err)
		}
		// Reading a terminal whose other end has gone fails, which is its end.
		shown, _ := io.ReadAll(terminal)
		err = cmd.Wait()
		took := time.Since(began)
		if closed := terminal.Close(); closed != nil {
			t.Error(closed)
		}
		if err != nil {
			t.Errorf("bm %s: %v\n%q", strings.Join(args, " "), err, shown)
		}
		if took > 2*time.Second {
			t.Errorf("bm %s took %s on a terminal that answers nothing", strings.Join(args, " "), took)
		}
		// OSC and CSI queries: background colour, cursor position, attributes.
		for _, query := range []string{"\x1b]11;?", "\x1b[6n", "\x1b[c"} {
			if strings.Contains(string(shown), query) {
				t.Errorf("bm %s asks the terminal %q", strings.Join(args, " "), query)
			}
		}
	}
}
