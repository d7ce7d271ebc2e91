package exchange

import (
	"bufio"
	"bytes"
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
	// file is the file itself wherever it can be read again, as what begin says
	// it stood at; its text may be another.
	file  randomAccess
	begin int64
	// keepRaw has entries keep their text.
	keepRaw bool
	spooled *os.File // nil if there is none
	// nameless says that the spooled file goes by itself when it is closed.
	nameless bool
	length   int64 // of what is spooled
}

// randomAccess is what an [os.File] is, unless it is a pipe.
type randomAccess interface {
	io.Reader
	io.ReaderAt
	io.Seeker
}

// newSource begins to read a file from where it stands.
func newSource(r io.Reader) (*source, error) {
	s := &source{}
	if own, ok := r.(randomAccess); ok {
		if start, err := own.Seek(0, io.SeekCurrent); err == nil {
			s.own, s.start = own, start
			s.file, s.begin = own, start
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
	if s.spooled != nil {
		return s.spooled, s.length, nil
	}
	if s.spooled, err = os.CreateTemp("", "bm-import-*"); err != nil {
		return nil, 0, fmt.Errorf("keep the file for a second reading: %w", err)
	}
	// Where the system lets go of a name at once, nothing is left behind by
	// whatever ends this process.
	s.nameless = os.Remove(s.spooled.Name()) == nil
	if s.length, err = io.Copy(s.spooled, s.text); err != nil {
		return nil, 0, fmt.Errorf("keep the file for a second reading: %w", err)
	}
	return s.spooled, s.length, nil
}

// mentions reports whether a word is anywhere in the text, of which nothing is
// read by that. Of a pipe a copy is made.
func (s *source) mentions(word string) (bool, error) {
	if s.file == nil {
		file, size, err := s.twice()
		if err != nil {
			return false, err
		}
		s.text.Reset(io.NewSectionReader(file, 0, size))
		return holdsWord(io.NewSectionReader(file, 0, size), []byte(word))
	}
	at, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, fmt.Errorf("look where the file stands: %w", err)
	}
	if _, err := s.file.Seek(s.begin, io.SeekStart); err != nil {
		return false, fmt.Errorf("begin the file again: %w", err)
	}
	text, _, _, err := decode(s.file)
	if err != nil {
		return false, err
	}
	found, err := holdsWord(text, []byte(word))
	if _, back := s.file.Seek(at, io.SeekStart); back != nil {
		err = errors.Join(err, fmt.Errorf("go back in the file: %w", back))
	}
	return found, err
}

func holdsWord(text io.Reader, word []byte) (bool, error) {
	block := make([]byte, sniffLen)
	for kept := 0; ; {
		n, err := io.ReadFull(text, block[kept:])
		switch {
		case bytes.Contains(block[:kept+n], word):
			return true, nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("read the file: %w", err)
		}
		kept = copy(block, block[len(block)-len(word)+1:])
	}
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
	err := file.Close()
	if !s.nameless {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}
