package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// Page runs write on the output, through the user's pager where there is one
// and the output is a terminal. A pager that is left early is no failure. An
// interrupt ends what writes; the pager, for which it is a key like any other, ends
// when the user leaves it, since it alone can put the terminal back.
func (s *Streams) Page(ctx context.Context, write func(io.Writer) error) error {
	program := s.pager()
	if !s.OutTTY || program == "" {
		return write(s.Out)
	}
	if missing := missingPager(program); missing != "" {
		fmt.Fprintf(s.Err, "There is no pager %s here.\n", Clean(missing))
		return write(s.Out)
	}
	defer outlive()()
	cmd := pagerCommand(context.WithoutCancel(ctx), program)
	cmd.Stdout, cmd.Stderr = s.Out, s.Err
	if own, ok := s.Out.(*results); ok {
		cmd.Stdout = own.to // the terminal itself: a pager wants to be on one
	}
	// Quit at once where everything fits; let colours through.
	cmd.Env = append(os.Environ(), "LESS=FRX", "LV=-c")
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return write(s.Out)
	}
	if err := cmd.Start(); err != nil {
		return write(s.Out) // the list matters more than the pager
	}
	failed := write(pipe)
	closed := pipe.Close()
	waited := cmd.Wait()
	exit, ended := errors.AsType[*exec.ExitError](waited)
	if ended && (exit.ExitCode() == notFound || exit.ExitCode() == notRun) {
		return write(s.Out) // the shell has said why
	}
	if failed != nil && !errors.Is(failed, syscall.EPIPE) && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	if closed != nil && !errors.Is(closed, os.ErrClosed) {
		return closed
	}
	if ended {
		return nil
	}
	return waited
}

// outlive keeps interrupts from ending this program, also a second one, for which
// nobody else may listen any more, until it is undone.
func outlive() (undo func()) {
	unheeded := make(chan os.Signal, 1)
	signal.Notify(unheeded, os.Interrupt)
	return func() { signal.Stop(unheeded) }
}

// What a shell ends with where it could not run a program.
const (
	notRun   = 126
	notFound = 127
)

// missingPager is the pager's program where there surely is none of that name:
// a shell would only say so, and the list be lost.
func missingPager(program string) string {
	name := strings.Fields(program)[0]
	if strings.ContainsAny(name, "=$`'\"\\~(){}<>|&;*?[") {
		return "" // what it is only a shell can tell
	}
	if _, err := exec.LookPath(name); err != nil {
		return name
	}
	return ""
}

// The pager is the user's own setting, and may have arguments.
func pagerCommand(ctx context.Context, program string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := strings.Fields(program)
		return exec.CommandContext(ctx, words[0], words[1:]...)
	}
	return exec.CommandContext(ctx, "/bin/sh", "-c", program)
}
