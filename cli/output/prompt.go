package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// What became of a question that has no answer.
var (
	// ErrNoTerminal says that it could not be asked.
	ErrNoTerminal = errors.New("there is no terminal to ask on")
	// ErrNoAnswer says that the input ended instead.
	ErrNoAnswer = errors.New("there was no answer")
	// ErrInterrupted says that the program was told to end instead.
	ErrInterrupted = errors.New("interrupted at a question")
)

// lineReader keeps what was read beyond a line for the next question.
type lineReader struct{ *bufio.Reader }

// CanAsk reports whether somebody can answer a question.
func (s *Streams) CanAsk() bool { return s.InTTY && s.ErrTTY }

// Confirm asks a question that is answered with yes or no; anything but yes is
// no. Where nobody can answer it is [ErrNoTerminal].
func (s *Streams) Confirm(question string) (bool, error) {
	if !s.CanAsk() {
		return false, ErrNoTerminal
	}
	answer, err := s.ask(question + " [y/N] ")
	if err != nil {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// Ask asks for a line of text.
func (s *Streams) Ask(question string) (string, error) {
	if !s.CanAsk() {
		return "", ErrNoTerminal
	}
	return s.ask(question + ": ")
}

// AskPassword asks for a secret, which is not shown.
func (s *Streams) AskPassword(question string) (string, error) {
	if !s.CanAsk() || s.passwd == nil {
		return "", ErrNoTerminal
	}
	restore := s.keepMode()
	secret, err := answer(s, Clean(question)+": ", s.passwd)
	if errors.Is(err, ErrInterrupted) {
		restore() // it is being read still, without an echo
	}
	fmt.Fprintln(s.Err)
	if errors.Is(err, io.EOF) {
		err = ErrNoAnswer
	}
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return string(secret), nil
}

func (s *Streams) ask(question string) (string, error) {
	line, err := answer(s, CleanText(question), s.ReadLine)
	if err != nil {
		fmt.Fprintln(s.Err) // what follows begins a line
	}
	if errors.Is(err, io.EOF) {
		err = ErrNoAnswer
	}
	return line, err
}

// answer asks and reads an answer, and gives up where the program is told to
// end: a signal that is taken for a context does not end what waits for a key.
func answer[T any](s *Streams, question string, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	var none T
	if _, err := fmt.Fprint(s.Err, question); err != nil {
		return none, err
	}
	answered := make(chan result, 1)
	go func() {
		value, err := read()
		answered <- result{value, err}
	}()
	select {
	case r := <-answered:
		return r.value, r.err
	case <-signals:
		return none, ErrInterrupted
	}
}

// maxLine bounds a line of input: a URL, a password, an answer.
const maxLine = 256 << 10

// ReadLine reads one line of the input, without its end. At the end of the
// input it is io.EOF.
func (s *Streams) ReadLine() (string, error) {
	if s.fetched == nil {
		s.fetched = &lineReader{bufio.NewReaderSize(s.In, 4096)}
	}
	var line []byte
	for {
		part, prefix, err := s.fetched.ReadLine()
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				break
			}
			return "", err
		}
		if line = append(line, part...); len(line) > maxLine {
			return "", fmt.Errorf("a line of the input is longer than %d bytes", maxLine)
		}
		if !prefix {
			break
		}
	}
	return string(line), nil
}
