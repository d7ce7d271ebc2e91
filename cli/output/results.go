package output

import (
	"errors"
	"io"
	"io/fs"
)

// Unprinted is the failure to write a result to the standard output, as
// opposed to one to keep something: what the command did is done all the same.
type Unprinted struct{ Err error }

func (e *Unprinted) Error() string { return "print the result: " + e.Err.Error() }

func (e *Unprinted) Unwrap() error { return e.Err }

// Cause is why it failed, without the name of the stream.
func (e *Unprinted) Cause() error {
	if at, ok := errors.AsType[*fs.PathError](e.Err); ok {
		return at.Err
	}
	return e.Err
}

// results are a standard output whose failures can be told from others.
type results struct{ to io.Writer }

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	if err != nil {
		err = &Unprinted{err}
	}
	return n, err
}
