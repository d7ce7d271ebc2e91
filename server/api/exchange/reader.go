package exchange

import (
	"bytes"
	"encoding/json"
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
	// ListJSON is an array of bookmarks, as bm's API and command line list
	// them. Their folders are not known.
	ListJSON Format = "list of bookmarks"
	// FirefoxJSON is Firefox's backup.
	FirefoxJSON Format = "Firefox backup"
	// ChromeJSON is the file in which Chrome and its relatives keep bookmarks.
	ChromeJSON Format = "Chrome bookmarks"
	// PinboardJSON is Pinboard's export.
	PinboardJSON Format = "Pinboard JSON"
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
	if looksLikeHTML(head) || len(bytes.TrimSpace(head)) == 0 {
		return &Reader{Netscape, newHTMLReader(text).read}, nil
	}
	format := jsonFormat(head)
	var next interface{ read() (*Entry, error) }
	switch format {
	case JSON:
		next, err = newJSONReader(text)
	case FirefoxJSON:
		next, err = newFirefoxReader(text)
	case ChromeJSON:
		next, err = newChromeReader(text)
	case PinboardJSON, ListJSON:
		next, err = newListReader(text, format)
	default:
		err = ErrUnknownFormat
	}
	if err != nil {
		return nil, err
	}
	return &Reader{format, next.read}, nil
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

// jsonFormat tells JSON files apart by the first keys of the first object; ""
// for what is no JSON that bm knows.
func jsonFormat(head []byte) Format {
	dec := json.NewDecoder(bytes.NewReader(head))
	open, err := dec.Token()
	list := open == json.Delim('[')
	if list {
		open, err = dec.Token()
		if open == json.Delim(']') {
			return ListJSON // an empty list
		}
	}
	if err != nil || open != json.Delim('{') {
		return ""
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return ""
		}
		switch {
		case list && key == "href":
			return PinboardJSON
		case list && key == "workspaceId", list && key == "url":
			return ListJSON
		case list:
		case key == "roots":
			return ChromeJSON
		case key == "children", key == "typeCode", key == "guid":
			return FirefoxJSON
		case key == "version", key == "exportedAt", key == "folders", key == "bookmarks":
			return JSON
		}
		if key == json.Delim('}') || skipValue(dec) != nil {
			return ""
		}
	}
}

// skipValue reads a value of which nothing is wanted, without holding it.
func skipValue(dec *json.Decoder) error {
	for depth := 0; ; {
		token, err := dec.Token()
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
