package output

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A program that never ends, and writes nothing, ends where it is interrupted.
func TestAJQProgramThatNeverEnds(t *testing.T) {
	type row struct{ n int }
	for _, list := range []bool{false, true} {
		s := Fixed(strings.NewReader(""), io.Discard, io.Discard, time.Now)
		format := &Format[row]{Fields: []Field[row]{{Name: "n", Get: func(r row) any { return r.n }}}}
		cmd := &cobra.Command{Use: "rows", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
			if list {
				return format.List(s.Out, s, []row{{1}})
			}
			return format.One(s.Out, s, row{1})
		}}
		format.Bind(cmd)
		cmd.SetArgs([]string{"--jq", "def f: f; f"})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		ended := make(chan error, 1)
		go func() { ended <- cmd.ExecuteContext(ctx) }()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("it goes on although it was interrupted")
		}
		cancel()
	}
}

// What is interrupted while a pager shows it stays with the pager: that alone can
// put the terminal back.
func TestAnInterruptedPagerIsWaitedFor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself there")
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "left")
	t.Setenv("LEFT", left)
	s := Fixed(strings.NewReader(""), io.Discard, io.Discard, time.Now).Terminal(80)
	s.getenv = func(name string) string {
		return map[string]string{"PAGER": `cat; sleep 0.2; echo left > "$LEFT"`}[name]
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := s.Page(ctx, func(w io.Writer) error {
		cancel()
		for range 2 { // the second would end this program
			if err := self.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		return ctx.Err()
	})
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("it ended with %v", failed)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("it ended before the pager did: %v", err)
	}
}
