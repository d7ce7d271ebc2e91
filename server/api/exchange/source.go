package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// source is a file that is read, as text.
type source struct {
	text *bufio.Reader
	head []byte // its beginning
	// own is the file itself, where it is the same text from start on and can be
	// read from any point; nil where it isn't, such as a pipe.
	own   randomAccess
	start int64
	// header is the first row of a table, once it was read.
	header []byte
	// keepRaw has entries keep their text.
	keepRaw bool
	spooled *os.File // nil if there is none
}

// randomAccess is what an [os.File] is, unless it is a pipe.
type randomAccess interface {
	io.ReaderAt
	io.Seeker
}

// newSource begins to read a file from where it stands.
func newSource(r io.Reader) (*source, error) {
	s := &source{}
	if own, ok := r.(randomAccess); ok {
		if start, err := own.Seek(0, io.SeekCurrent); err == nil {
			s.own, s.start = own, start
		}
	}
	var before int64
	var err error
	s.text, s.head, before, err = decode(r)
	if s.start += before; before < 0 {
		s.own = nil
	}
	return s, err
}

// twice is the text of a file that has to be read more than once, and its
// length. What cannot be read again, such as a pipe, is written down first.
// Nothing of the text may have been read.
func (s *source) twice() (text io.ReaderAt, size int64, err error) {
	if s.own != nil {
		end, err := s.own.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, 0, fmt.Errorf("look for the end of the file: %w", err)
		}
		return io.NewSectionReader(s.own, s.start, end-s.start), end - s.start, nil
	}
	if s.spooled == nil {
		if s.spooled, err = os.CreateTemp("", "bm-import-*"); err != nil {
			return nil, 0, fmt.Errorf("keep the file for a second reading: %w", err)
		}
	}
	if size, err = io.Copy(s.spooled, s.text); err != nil {
		return nil, 0, fmt.Errorf("keep the file for a second reading: %w", err)
	}
	return s.spooled, size, nil
}

// walker is one that goes through the source as a tree.
func (s *source) walker(format Format) (treeWalker, error) {
	text, size, err := s.twice()
	return treeWalker{format: format, file: text, end: size, childKey: "children"}, err
}

// close takes away what was written down.
func (s *source) close() error {
	if s.spooled == nil {
		return nil
	}
	file := s.spooled
	s.spooled = nil
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
