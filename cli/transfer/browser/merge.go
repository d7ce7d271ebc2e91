package browser

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
)

// chromeFile is one of Chrome's files, which can be read in any order.
type chromeFile struct {
	io.ReaderAt
	roots
}

// merge is the first file with what the second holds at the end of each root, as
// Chrome shows what is on this machine alone and what is in the account. Neither
// is held in memory.
func merge(one, two *chromeFile) (io.Reader, error) {
	m := &merging{first: one, second: two}
	for _, into := range one.list {
		if more, found := two.find(into.name); found && more.some {
			m.until(into.children.to)
			m.insert(into.some, "", more.children)
		}
	}
	m.until(one.end)
	for _, more := range two.list {
		if _, found := one.find(more.name); more.some && !found {
			name, err := json.Marshal(more.name)
			if err != nil {
				return nil, err
			}
			m.insert(one.some, string(name)+":", more.whole)
			one.some = true
		}
	}
	m.until(math.MaxInt64)
	return io.MultiReader(m.parts...), nil
}

// merging puts parts of two files together.
type merging struct {
	first, second io.ReaderAt
	done          int64 // of the first
	parts         []io.Reader
}

func (m *merging) until(to int64) {
	m.parts = append(m.parts, io.NewSectionReader(m.first, m.done, to-m.done))
	m.done = to
}

// insert puts a part of the second file behind what is there already.
func (m *merging) insert(behind bool, before string, part section) {
	if behind {
		before = "," + before
	}
	m.parts = append(m.parts, strings.NewReader(before), io.NewSectionReader(m.second, part.from, part.to-part.from))
}

// section is a part of a file, from a byte up to another.
type section struct{ from, to int64 }

// root is where a root of the tree stands in a file.
type root struct {
	name     string
	whole    section
	children section // within their brackets
	some     bool    // there are children
}

// roots is where all of them stand.
type roots struct {
	list []root
	end  int64 // of the object that holds them
	some bool  // it holds anything
}

func (r *roots) find(name string) (root, bool) {
	for _, is := range r.list {
		if is.name == name {
			return is, true
		}
	}
	return root{}, false
}

var errNoRoots = errors.New("there are no bookmarks of Chrome in it")

// findRoots finds the roots that have a list of children.
func findRoots(file io.Reader) (roots, error) {
	s := &scanner{json.NewDecoder(file)}
	found := roots{end: -1}
	err := s.object(func(key string) error {
		if key != "roots" {
			return s.skip()
		}
		err := s.object(func(name string) error {
			found.some = true
			r, listed, err := s.root(name)
			if listed {
				found.list = append(found.list, r)
			}
			return err
		})
		found.end = s.InputOffset() - 1
		return err
	})
	switch {
	case err == nil && found.end < 0:
		err = errNoRoots
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return found, err
}

// scanner reads JSON without holding what it reads.
type scanner struct{ *json.Decoder }

// object calls take behind each key of an object.
func (s *scanner) object(take func(key string) error) error {
	if open, err := s.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(err, errNoRoots)
	}
	return s.rest(take)
}

// rest is [scanner.object] behind its brace.
func (s *scanner) rest(take func(key string) error) error {
	for s.More() {
		key, err := s.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // the decoder takes nothing else for a key
		if err := take(name); err != nil {
			return err
		}
	}
	_, err := s.Token()
	return err
}

// root reads a root, and reports whether it is one: something else may stand
// beside them.
func (s *scanner) root(name string) (r root, listed bool, err error) {
	r.name = name
	open, err := s.Token()
	switch {
	case err != nil:
		return r, false, err
	case open == json.Delim('['):
		return r, false, s.close(1)
	case open != json.Delim('{'):
		return r, false, nil
	}
	r.whole.from = s.InputOffset() - 1
	err = s.rest(func(key string) error {
		if key != "children" {
			return s.skip()
		}
		open, err := s.Token()
		if err != nil || open != json.Delim('[') {
			return errors.Join(err, errNoRoots)
		}
		listed = true
		r.children.from, r.some = s.InputOffset(), s.More()
		err = s.close(1)
		r.children.to = s.InputOffset() - 1
		return err
	})
	r.whole.to = s.InputOffset()
	return r, listed, err
}

// skip reads a value.
func (s *scanner) skip() error { return s.close(0) }

// close reads until so many brackets are closed, or a value where none is open.
func (s *scanner) close(depth int) error {
	for {
		token, err := s.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
