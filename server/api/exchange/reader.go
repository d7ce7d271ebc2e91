package exchange

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// Format is a format of bookmark files.
type Format string

// The formats.
const (
	// Netscape is the HTML that every browser exports.
	Netscape Format = "bookmarks HTML"
	// JSON is bm's own export, [api.ExportDocument].
	JSON Format = "bm JSON"
)

// ErrUnknownFormat says that a file is in none of the formats.
var ErrUnknownFormat = errors.New("not a bookmark file in a format that bm knows")

// Reader reads the entries of a file.
type Reader struct {
	format Format
	next   func() (*Entry, error)
}

// NewReader tells a file's format by its content and begins to read it. An
// empty file is one without entries.
func NewReader(r io.Reader) (*Reader, error) {
	text, head, err := decode(r)
	if err != nil {
		return nil, err
	}
	switch {
	case looksLikeHTML(head), len(bytes.TrimSpace(head)) == 0:
		return &Reader{Netscape, newHTMLReader(text).read}, nil
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		reader, err := newJSONReader(text)
		if err != nil {
			return nil, err
		}
		return &Reader{JSON, reader.read}, nil
	}
	return nil, ErrUnknownFormat
}

// Format is the format that was found.
func (r *Reader) Format() Format { return r.format }

// Next is the next entry; io.EOF after the last, a [*SyntaxError] where the
// file cannot be read on.
func (r *Reader) Next() (*Entry, error) { return r.next() }

// All are the entries up to the end or the first error.
func (r *Reader) All() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for {
			e, err := r.next()
			if errors.Is(err, io.EOF) || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// looksLikeHTML reports whether a file begins with a tag and holds some tag of
// a list of links. What is XML is none, whatever its tags.
func looksLikeHTML(head []byte) bool {
	text := bytes.ToLower(bytes.TrimSpace(head))
	if !bytes.HasPrefix(text, []byte("<")) {
		return false
	}
	if bytes.Contains(text[:min(len(text), 512)], []byte("netscape-bookmark-file")) {
		return true
	}
	for _, xml := range [...]string{"<?xml", "<opml", "<xbel", "<posts", "<plist", "<rss", "<feed"} {
		if bytes.HasPrefix(text, []byte(xml)) && !bytes.Contains(text, []byte("<html")) {
			return false
		}
	}
	for _, tag := range [...]string{"<dl", "<dt", "<h3", "<a "} {
		if bytes.Contains(text, []byte(tag)) {
			return true
		}
	}
	return false
}
