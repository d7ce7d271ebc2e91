package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"bm/server/api"
	"bm/server/api/rules"
)

// jsonReader reads bm's own export as a stream. Folders are held, since a
// parent may stand behind its children; bookmarks are not: where the file was
// rewritten so that they come first, it is read twice.
type jsonReader struct {
	format  Format
	dec     *json.Decoder
	lines   *lineCounter
	keepRaw bool

	queue   []*Entry
	numbers map[string]int // of the folders, by id
	pass    pass
	found   bool // whether there was anything of a bookmark file
	within  bool // the array of bookmarks
	list    bool // that array is the whole file
	entries int  // bookmarks so far
	err     error
}

// pass says what of a file is read in this reading.
type pass uint8

const (
	everything pass = iota
	foldersAlone
	bookmarksAlone
)

var errNewer = errors.New("the file's format is newer than this program")

type jsonFolder struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	ParentID    string            `json:"parentId"`
	SortOrder   int64             `json:"sortOrder"`
	CreatedAt   jsonDate          `json:"createdAt"`
	UpdatedAt   jsonDate          `json:"updatedAt"`
	Extra       map[string]string `json:"extra"`
}

type jsonBookmark struct {
	URL             string            `json:"url"`
	Title           string            `json:"title"`
	Description     string            `json:"description"`
	Tags            []string          `json:"tags"`
	FolderID        string            `json:"folderId"`
	SortOrder       int64             `json:"sortOrder"`
	CreatedAt       jsonDate          `json:"createdAt"`
	UpdatedAt       jsonDate          `json:"updatedAt"`
	SnapshotEnabled bool              `json:"snapshotEnabled"`
	ReaderExcerpt   string            `json:"readerExcerpt"`
	VideoEmbedURL   string            `json:"videoEmbedUrl"`
	Extra           map[string]string `json:"extra"`
}

// jsonDate is a date, written or counted. One that cannot be read does not
// spoil the entry.
type jsonDate struct {
	at  time.Time
	bad bool
}

func (d *jsonDate) UnmarshalJSON(data []byte) error {
	text := string(data)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	} else if text == "null" {
		text = ""
	}
	at, ok := parseDate(text)
	*d = jsonDate{at, !ok}
	return nil
}

func openJSON(r io.Reader, format Format, keepRaw bool) *jsonReader {
	j := &jsonReader{format: format, keepRaw: keepRaw, lines: &lineCounter{src: r, line: 1}}
	j.dec = json.NewDecoder(j.lines)
	j.lines.position = j.dec.InputOffset
	return j
}

// newJSONReader reads up to where it is sure of the format.
func newJSONReader(src *source) (*jsonReader, error) {
	if foldersComeFirst(src.head) {
		return openJSON(src.text, JSON, src.keepRaw).begin()
	}
	text, size, err := src.twice()
	if err != nil {
		return nil, err
	}
	first := openJSON(io.NewSectionReader(text, 0, size), JSON, src.keepRaw)
	first.pass = foldersAlone
	if _, err := first.begin(); err != nil {
		return nil, err
	}
	for first.err == nil {
		first.step()
	}
	j := openJSON(io.NewSectionReader(text, 0, size), JSON, src.keepRaw)
	j.pass, j.numbers, j.queue = bookmarksAlone, first.numbers, first.queue
	return j.begin()
}

// foldersComeFirst reports whether a file is sure to have its folders before
// its bookmarks.
func foldersComeFirst(head []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(head))
	for {
		switch token, err := dec.Token(); {
		case err != nil, token == "bookmarks", token == json.Delim('}'):
			return false
		case token == "folders":
			return true
		case token != json.Delim('{') && skipValue(dec) != nil:
			return false
		}
	}
}

// begin reads up to where it is sure of the format.
func (j *jsonReader) begin() (*jsonReader, error) {
	if _, err := j.dec.Token(); err != nil { // the brace that was seen
		return nil, ErrUnknownFormat
	}
	for !j.found && j.err == nil {
		j.step()
	}
	switch {
	case j.found:
		return j, nil
	case errors.Is(j.err, errNewer):
		return nil, j.err
	}
	return nil, ErrUnknownFormat
}

func (j *jsonReader) read() (*Entry, error) {
	for len(j.queue) == 0 {
		if j.err != nil {
			return nil, j.err
		}
		j.step()
	}
	e := j.queue[0]
	j.queue = j.queue[1:]
	return e, nil
}

// step reads one bookmark, or one key of the document.
func (j *jsonReader) step() {
	var err error
	if j.within {
		err = j.bookmark()
	} else {
		err = j.key()
	}
	if err == nil {
		return
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errEndsEarly
	}
	j.err = &SyntaxError{j.format, j.lines.at(j.dec.InputOffset()), err}
}

func (j *jsonReader) key() error {
	token, err := j.dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('}'):
		j.err = io.EOF
		return nil
	case "version":
		var version int
		if err := j.dec.Decode(&version); err != nil {
			return fmt.Errorf("read the version: %w", err)
		}
		if version > 1 {
			return fmt.Errorf("version %d: %w", version, errNewer)
		}
		return nil
	case "folders":
		open, err := j.dec.Token()
		if open != json.Delim('[') {
			return errors.Join(err, skipOpened(j.dec, open))
		}
		if j.found = true; j.pass == bookmarksAlone {
			return skipOpened(j.dec, open)
		}
		return j.readFolders()
	case "bookmarks":
		open, err := j.dec.Token()
		if open != json.Delim('[') {
			return errors.Join(err, skipOpened(j.dec, open))
		}
		if j.found = true; j.pass == foldersAlone {
			return skipOpened(j.dec, open)
		}
		j.within = true
		return nil
	}
	return skipValue(j.dec)
}

// unmarshal reads one element, unless it is longer than one can be.
func unmarshal(raw json.RawMessage, into any) error {
	if len(raw) > maxElement {
		return errTooMuch
	}
	return json.Unmarshal(raw, into)
}

// element reads the next element of an array, with the line that it begins
// in; ok is false after the last.
func (j *jsonReader) element() (raw json.RawMessage, line int, ok bool, err error) {
	if !j.dec.More() {
		_, err := j.dec.Token()
		return nil, 0, false, err
	}
	if err := j.dec.Decode(&raw); err != nil {
		return nil, 0, false, err
	}
	return raw, j.lines.at(j.dec.InputOffset() - int64(len(raw))), true, nil
}

func (j *jsonReader) bookmark() error {
	raw, line, ok, err := j.element()
	if err != nil {
		return err
	}
	if !ok {
		j.within = false
		if j.list {
			j.err = io.EOF
		}
		return nil
	}
	e := &Entry{Kind: Bookmark, Index: j.entries, Line: line}
	j.entries++
	if j.format == PinboardJSON {
		var p pinboardPost
		e.ofJSON(raw, unmarshal(raw, &p), j.keepRaw)
		p.entry(e)
		e.Order = int64(j.entries) * api.SortGap
		j.queue = append(j.queue, e)
		return nil
	}
	var b jsonBookmark
	e.ofJSON(raw, unmarshal(raw, &b), j.keepRaw)
	e.URL, e.Title, e.Description, e.Tags, e.Order = b.URL, b.Title, b.Description, b.Tags, b.SortOrder
	e.SnapshotEnabled, e.ReaderExcerpt, e.VideoEmbedURL, e.Extra = b.SnapshotEnabled, b.ReaderExcerpt, b.VideoEmbedURL, b.Extra
	e.setDates(b.CreatedAt, b.UpdatedAt)
	if j.format == ListJSON { // of several folders, whose orders say nothing about each other
		e.Order = int64(j.entries) * api.SortGap
	}
	e.Parent = j.numbers[b.FolderID]
	j.queue = append(j.queue, e)
	return nil
}

// setDates takes over what could be read of an entry's dates.
func (e *Entry) setDates(created, updated jsonDate) {
	e.CreatedAt, e.ModifiedAt = created.at, updated.at
	if created.bad {
		e.Issues = append(e.Issues, unreadableDate)
	}
}

// ofJSON notes what is to be said of any bookmark that a value stands for: where
// its fields could not all be read, it is broken.
func (e *Entry) ofJSON(raw []byte, unread error, keep bool) {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](unread); ok && wrong.Field != "" {
		e.Broken = &rules.Issue{Field: wrong.Field, Code: api.IssueUnreadable, Message: fmt.Sprintf("%q can't be read: it is of the kind %s", wrong.Field, wrong.Value)}
	} else if raw == nil || unread != nil || string(raw) == "null" { // which decodes into anything
		e.Broken = &rules.Issue{Code: api.IssueUnreadable, Message: "the entry is not a bookmark"}
	}
	if keep {
		e.Raw = bytes.Clone(raw)
	}
	e.noteUTF8(raw)
}

// noteUTF8 notes what decoding JSON replaces without a word.
func (e *Entry) noteUTF8(raw []byte) {
	if !utf8.Valid(raw) {
		e.Issues = append(e.Issues, rules.Issue{
			Code: api.IssueTextRepaired, Message: "characters that are not valid UTF-8 were replaced",
		})
	}
}
