package exchange

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"

	"bm/server/api"
	"bm/server/api/rules"
)

// The bounds of what is held of one entry. A text may be longer than what can
// be stored, so that the cut is noticed; a tag holds an icon at worst.
const (
	maxTag  = 32 << 20
	maxText = 8 * api.MaxDescription
)

// htmlReader reads the format that Netscape's browsers began and nobody ever
// wrote down, as it is really written: tags in any case, hardly any of them
// closed, and in an order that only what comes next explains.
type htmlReader struct {
	z    *html.Tokenizer
	line int // where the token being read begins
	name [8]byte

	queue   []*Entry // read, not yet handed out
	err     error    // after the queue
	pending *Entry   // a bookmark or folder whose texts may still go on
	attrs   attributes

	into target // what text belongs to now
	text []byte
	link *inlineLink // an open link within a description

	heading string // the last one that is no folder's

	openList
	lists   []openList // what was open before each open DL
	deeper  int        // how many more DL are open than lists may hold
	folders int        // so far
	entries int        // bookmarks so far

	sawDT bool // since the last entry
	hasDT bool // anywhere

	keepRaw bool
	token   []byte // as it stands in the file
	raw     []byte // the tokens of the pending bookmark
}

// target is what the text that is read belongs to.
type target uint8

const (
	intoNothing target = iota
	intoTitle
	intoDescription
	intoHeading
)

// openList is the folder whose entries are read.
type openList struct {
	folder int   // its number
	order  int64 // the last one given within it
}

// inlineLink is a link within a description.
type inlineLink struct {
	href string
	at   int // where its text begins
}

func newHTMLReader(src *source) *htmlReader {
	h := &htmlReader{line: 1, keepRaw: src.keepRaw}
	h.tokenize(src.text)
	return h
}

func (h *htmlReader) tokenize(r io.Reader) {
	h.z = html.NewTokenizer(r)
	h.z.SetMaxBuf(maxTag)
}

// read hands out the next entry.
func (h *htmlReader) read() (*Entry, error) {
	for len(h.queue) == 0 {
		if h.err != nil {
			return nil, h.err
		}
		h.step()
	}
	e := h.queue[0]
	h.queue = append(h.queue[:0], h.queue[1:]...) // one or two at most
	return e, nil
}

// step reads one token.
func (h *htmlReader) step() {
	kind := h.z.Next()
	if kind == html.ErrorToken {
		h.err = h.z.Err()
		h.cutOff(h.z.Raw())
		if errors.Is(h.err, html.ErrBufferExceeded) {
			h.err = errTooLong
		}
		if !errors.Is(h.err, io.EOF) {
			h.err = &SyntaxError{Netscape, h.line, h.err}
		}
		return
	}
	if h.keepRaw {
		h.token = append(h.token[:0], h.z.Raw()...)
	}
	h.take(kind)
	if h.keepRaw && h.pending != nil && h.pending.Kind == Bookmark && len(h.raw) < maxTag {
		h.raw = append(h.raw, h.token...)
	}
}

// take reads what a token means.
func (h *htmlReader) take(kind html.TokenType) {
	lines := countLines(h.z.Raw())
	switch kind {
	case html.TextToken:
		if h.into != intoNothing {
			h.addText(h.z.Text())
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		// A title that speaks of <script> must not swallow what follows.
		h.z.NextIsNotRawText()
		h.start(tagName(h.z.Raw(), &h.name))
	case html.EndTagToken:
		h.end(tagName(h.z.Raw(), &h.name))
	case html.CommentToken:
		if !h.comment(h.z.Raw()) {
			lines = 0
		}
	}
	h.line += lines
}

// cutOff ends the last entry. Where the file ends within the tag of a bookmark,
// that is one more, which cannot be read: it is said, not passed over.
func (h *htmlReader) cutOff(rest []byte) {
	bookmark := len(rest) > 1 && rest[1] != '/' && string(tagName(rest, &h.name)) == "a" && !h.isInline()
	h.flush()
	if bookmark && errors.Is(h.err, io.EOF) {
		h.queue = append(h.queue, &Entry{
			Kind: Bookmark, Index: h.entries, Line: h.line, Parent: h.folder, Order: h.nextOrder(),
			Broken: &rules.Issue{Code: api.IssueUnreadable, Message: "the file ends within this entry"},
			Raw:    h.kept(rest),
		})
	}
}

// kept is a text that an entry keeps, if it does.
func (h *htmlReader) kept(text []byte) []byte {
	if !h.keepRaw {
		return nil
	}
	return bytes.Clone(bytes.TrimSpace(text))
}

// isInline reports whether an anchor would be a link within a description, as
// opposed to a bookmark.
func (h *htmlReader) isInline() bool {
	return h.into == intoDescription && !h.sawDT && h.hasDT
}

// comment skips a comment. One that is never closed is none, and it says so: it
// would take the rest of the file with it. Since nothing closes any other one in
// the rest either, none of them opens.
func (h *htmlReader) comment(raw []byte) bool {
	open := bytes.HasPrefix(raw, []byte(commentStart)) && !bytes.HasSuffix(raw, []byte("-->")) &&
		!bytes.HasSuffix(raw, []byte("--!>")) && len(raw) > len("<!--->")
	if open {
		h.tokenize(bytes.NewReader(withoutOpenings(raw)))
		h.token = h.token[:0] // it comes again
	}
	return !open
}

const commentStart = "<!--"

// withoutOpenings leaves out what begins a comment, and also what would begin one
// only then: of a file that has many of those, each would be another reading.
func withoutOpenings(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, c := range text {
		out = bytes.TrimSuffix(append(out, c), []byte(commentStart))
	}
	return out
}

// tagName is the lower-case name of a tag, as far as into holds it: none that
// matters is longer. The tokenizer's own would be copied for every tag.
func tagName(raw []byte, into *[8]byte) []byte {
	raw = bytes.TrimPrefix(raw[1:], []byte("/"))
	name := into[:0]
	for _, c := range raw {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != ':' || len(name) == cap(name) {
			break
		}
		name = append(name, c)
	}
	return name
}

func (h *htmlReader) start(tag []byte) {
	switch string(tag) {
	case "a":
		if h.isInline() {
			h.startLink()
			return
		}
		h.open(Bookmark)
	case "h1":
		h.flush()
		h.into, h.text = intoHeading, h.text[:0]
	case "h2", "h3", "h4", "h5", "h6":
		h.open(Folder)
	case "dt":
		h.flush()
		h.sawDT, h.hasDT = true, true
	case "dd":
		h.startDescription()
	case "dl":
		h.startList()
	case "hr":
		h.flush()
		h.queue = append(h.queue, &Entry{
			Kind: Separator, Index: h.entries, Line: h.line, Parent: h.folder, Order: h.nextOrder(),
		})
	case "br", "p", "div", "li", "tr":
		h.addBreak()
	}
}

func (h *htmlReader) end(tag []byte) {
	switch string(tag) {
	case "a":
		if h.link != nil {
			h.endLink()
		} else if h.into == intoTitle {
			h.endText()
		}
	case "h1", "h2", "h3", "h4", "h5", "h6", "dt":
		if h.into == intoTitle || h.into == intoHeading {
			h.endText()
		}
	case "dl":
		h.flush()
		if h.deeper > 0 {
			h.deeper--
		} else if n := len(h.lists); n > 0 {
			h.leaveList(h.lists[n-1])
			h.lists = h.lists[:n-1]
		}
	case "dd":
		h.endText()
	case "p", "div", "li", "tr":
		h.addBreak()
	}
}

// open begins a bookmark or folder.
func (h *htmlReader) open(kind Kind) {
	h.flush()
	h.pending = &Entry{Kind: kind, Index: h.entries, Line: h.line, Parent: h.folder, Order: h.nextOrder()}
	if kind == Folder {
		h.folders++
		h.pending.Number = h.folders
	} else {
		h.entries++
	}
	h.attrs.read(h.z, h.pending)
	h.into, h.text, h.raw = intoTitle, h.text[:0], h.raw[:0]
	h.sawDT = false
}

// startList enters a DL: that of the folder before it, or one of nobody's,
// which leaves everything in the folder that is open.
func (h *htmlReader) startList() {
	into := h.openList
	if h.pending != nil && h.pending.Kind == Folder {
		into = openList{folder: h.pending.Number}
	}
	h.flush()
	if len(h.lists) >= maxLists {
		h.deeper++ // no tree is as deep: what is in it stays in the folder that is open
		return
	}
	h.lists = append(h.lists, h.openList)
	h.openList = into
}

// leaveList goes back to what was open before a DL: another folder, or the same
// one, which has gone on meanwhile.
func (h *htmlReader) leaveList(before openList) {
	if before.folder != h.folder {
		h.openList = before
	}
}

// maxLists is how deep a file's lists are followed.
const maxLists = 100 * api.MaxTreeDepth

func (h *htmlReader) startDescription() {
	h.endText()
	if h.pending == nil {
		return
	}
	h.attrs.hasDD = true
	h.into, h.text = intoDescription, append(h.text[:0], h.pending.Description...)
	if len(h.text) > 0 {
		h.text = append(h.text, '\n')
	}
	h.sawDT = false
}

// flush ends the pending entry.
func (h *htmlReader) flush() {
	h.endText()
	if h.pending != nil {
		h.attrs.apply(h.pending, h.heading)
		if h.pending.Kind == Bookmark {
			h.pending.Raw = h.kept(h.raw)
		}
		h.queue = append(h.queue, h.pending)
		h.pending = nil
	}
}

// endText gives the text that was read to the entry that it is of.
func (h *htmlReader) endText() {
	if h.link != nil {
		h.endLink()
	}
	switch h.into {
	case intoTitle:
		h.pending.Title = rules.Line(string(h.text))
	case intoDescription:
		h.pending.Description = rules.Text(string(h.text))
	case intoHeading:
		h.heading = rules.Line(string(h.text))
	}
	h.into = intoNothing
}

func (h *htmlReader) addText(text []byte) {
	if len(h.text) < maxText {
		h.text = append(h.text, text[:min(len(text), maxText)]...)
	}
}

// addBreak is what a tag that begins a line leaves in a text.
func (h *htmlReader) addBreak() {
	switch {
	case h.into == intoTitle:
		h.text = append(h.text, ' ')
	case h.into == intoDescription && len(h.text) > 0 && h.text[len(h.text)-1] != '\n':
		h.text = append(h.text, '\n')
	}
}

func (h *htmlReader) startLink() {
	if h.link != nil {
		h.endLink()
	}
	h.link = &inlineLink{at: len(h.text)}
	for more := true; more; {
		var key, value []byte
		key, value, more = h.z.TagAttr()
		if string(key) == "href" && h.link.href == "" {
			h.link.href = string(value)
		}
	}
}

// endLink leaves in the description where the link leads, unless its text
// says so.
func (h *htmlReader) endLink() {
	shown := strings.TrimSpace(string(h.text[min(h.link.at, len(h.text)):]))
	switch href := strings.TrimSpace(h.link.href); {
	case href == "" || href == shown:
	case shown == "":
		h.addText([]byte(href))
	default:
		h.addText([]byte(" (" + href + ")"))
	}
	h.link = nil
}

func (h *htmlReader) nextOrder() int64 {
	h.order += api.SortGap
	return h.order
}

func countLines(raw []byte) int {
	n := bytes.Count(raw, []byte{'\n'})
	if bytes.IndexByte(raw, '\r') >= 0 {
		n += bytes.Count(raw, []byte{'\r'}) - bytes.Count(raw, []byte("\r\n"))
	}
	return n
}

// errTooLong is what the tokenizer says of a tag or text above its bound.
var errTooLong = errors.New("a tag or a text is longer than 32 MiB")
