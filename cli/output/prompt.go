package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNoTerminal says that a question could not be asked.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

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
	if _, err := fmt.Fprint(s.Err, Clean(question)+": "); err != nil {
		return "", err
	}
	secret, err := s.passwd()
	fmt.Fprintln(s.Err)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return string(secret), nil
}

func (s *Streams) ask(question string) (string, error) {
	if _, err := fmt.Fprint(s.Err, CleanText(question)); err != nil {
		return "", err
	}
	return s.ReadLine()
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
