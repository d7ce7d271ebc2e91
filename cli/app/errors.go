package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bm/cli/credentials"
	"bm/cli/output"
)

// Kind is what sort of failure a command ended with; the root turns it into an
// exit code.
type Kind int

// The kinds of failure.
const (
	Failed Kind = iota
	Usage
	NotFound
	SignIn
	Conflict
	Partly
	Offline
	Brake
	Interrupted
)

// Error is a failure as a person is told of it: what happened, to which thing,
// and what to type next.
type Error struct {
	Kind    Kind
	Message string
	// Next is what to type next, or what else to do; "" where there is
	// nothing to say.
	Next string
	// Quiet is set where everything was said already.
	Quiet bool
	Err   error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Fail makes an error for a person.
func Fail(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// NoFile says that a file that was asked for is not there.
func NoFile(name string, why error) *Error {
	if name == "" {
		return Fail(Usage, "The name of a file is wanted, and this one is empty.")
	}
	return Fail(NotFound, "There is no file %s.", output.Clean(name)).Because(why)
}

// NoFolder says that the folder which a file was to be written into is not there;
// nil where it is.
func NoFolder(file string) *Error {
	folder := filepath.Dir(file)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return Fail(NotFound, "There is no folder %s to write %s into.", output.Clean(folder), output.Clean(filepath.Base(file))).
		Try("mkdir -p %s", Typed(folder))
}

// Unchanged says that a command was interrupted before it changed anything.
func Unchanged(why error) *Error {
	return Fail(Interrupted, "Interrupted. Nothing was changed.").Because(why)
}

// Half says that a command failed behind what it had done already, which stays done:
// done begins the sentence.
func Half(done string, why error) *Error {
	reason := strings.TrimRight(Plain(why), ".")
	switch {
	case errors.Is(why, context.Canceled):
		return Fail(Interrupted, "Interrupted. %s.", done).Because(why)
	case DiskFull(why):
		reason = "the disk is full"
	case errors.Is(why, credentials.ErrNoKeyring):
		reason = credentials.Explain(why)
	}
	return Fail(Failed, "%s: %s.", done, reason).Because(why)
}

// Try adds what to type next.
func (e *Error) Try(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

// Because keeps the error behind.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}
