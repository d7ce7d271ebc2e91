package exchange

import (
	"errors"
	"fmt"
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
	// KarakeepJSON is the export of Karakeep, which was called Hoarder before.
	KarakeepJSON Format = "Karakeep JSON"
	// LinkwardenJSON is Linkwarden's export of an account.
	LinkwardenJSON Format = "Linkwarden JSON"
	// OwnCSV is bm's own table, see [WriteCSV].
	OwnCSV Format = "bm CSV"
	// PocketCSV, RaindropCSV and InstapaperCSV are those services' tables.
	PocketCSV     Format = "Pocket CSV"
	RaindropCSV   Format = "Raindrop CSV"
	InstapaperCSV Format = "Instapaper CSV"
	// CSV is any other table with a column for the URL.
	CSV Format = "CSV"
	// XBEL is the XML Bookmark Exchange Language, of KDE and of small browsers.
	XBEL Format = "XBEL"
	// OPML is the format of outlines, and of subscriptions to feeds.
	OPML Format = "OPML"
	// PinboardXML is the older export of Pinboard, and that of Delicious.
	PinboardXML Format = "Pinboard XML"
	// SafariPlist is the property list in which Safari keeps its bookmarks, as XML
	// or binary.
	SafariPlist Format = "Safari bookmarks"
)

// IsHTMLOrJSON reports whether the format is one that a server takes: those are
// HTML and JSON, whoever writes them.
func (f Format) IsHTMLOrJSON() bool {
	switch f {
	case Netscape, JSON, ListJSON, FirefoxJSON, ChromeJSON, PinboardJSON, KarakeepJSON, LinkwardenJSON:
		return true
	}
	return false
}

// ErrUnknownFormat says that a file is in none of the formats.
var ErrUnknownFormat = errors.New("not a bookmark file in a format that bm knows")

// ErrCompressed says that a file has to be decompressed first.
var ErrCompressed = fmt.Errorf("%w: it is compressed", ErrUnknownFormat)

// Option changes what a [Reader] does beside reading.
type Option func(*source)

// KeepRaw has each bookmark keep its text, for [Reader.Rejects].
func KeepRaw(s *source) { s.keepRaw = true }

// Reader reads the entries of a file.
type Reader struct {
	format Format
	next   func() (*Entry, error)
	stop   func()
	source *source
}

// NewReader tells a file's format by its content and begins to read it, from
// where it stands. An empty file is one without entries. A format that cannot
// be read in one go is read twice; of what cannot be, such as a pipe, a copy is
// made for the time. [Reader.Close] ends it all.
func NewReader(file io.Reader, options ...Option) (*Reader, error) {
	src, err := newSource(file)
	if errors.Is(err, errLZ4) || errors.Is(err, errEndsEarly) { // what is compressed, Firefox did
		return nil, &SyntaxError{FirefoxJSON, 1, err}
	}
	if err != nil {
		return nil, err
	}
	for _, option := range options {
		option(src)
	}
	r := &Reader{source: src, stop: func() {}}
	if r.format = detect(src.head); r.format == "" {
		return nil, ErrUnknownFormat
	}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, src.close())
	}
	return r, nil
}

// open begins to read.
func (r *Reader) open() error {
	var stream stream
	switch src := r.source; r.format {
	case Netscape:
		r.next = newHTMLReader(src).read
		return nil
	case JSON:
		j, err := newJSONReader(src)
		r.next = j.read
		return err
	case PinboardJSON, ListJSON:
		j, err := newListReader(src, r.format)
		r.next = j.read
		return err
	case FirefoxJSON:
		stream = readFirefox(src)
	case ChromeJSON:
		stream = readChrome(src)
	case LinkwardenJSON:
		stream = readLinkwarden(src)
	case KarakeepJSON:
		stream = readKarakeep(src)
	case OwnCSV, PocketCSV, RaindropCSV, InstapaperCSV, CSV:
		stream = readCSV(src, r.format)
	case XBEL:
		stream = readXBEL(src)
	case OPML:
		stream = readOPML(src)
	case PinboardXML:
		stream = readPosts(src)
	case SafariPlist:
		stream = readSafari(src)
	}
	r.next, r.stop = stream.pull(r.source.keepRaw)
	return nil
}

// Format is the format that was found.
func (r *Reader) Format() Format { return r.format }

// Next is the next entry; io.EOF after the last, a [*SyntaxError] where the
// file cannot be read on.
func (r *Reader) Next() (*Entry, error) { return r.next() }

// Close ends the reading. The file itself stays open.
func (r *Reader) Close() error {
	r.stop()
	return r.source.close()
}

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
