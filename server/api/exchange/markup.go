package exchange

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"

	"golang.org/x/net/html"
)

// markup reads XML as it is really written. The tokenizer is that of HTML: it
// knows the entities of both, defines none, asks for no DTD, holds no more than a
// single tag, and a bare ampersand or a control character is no end to it, where a
// strict parser gives up on the whole file. Names are told in small letters and
// without their prefix, since few programs agree on either.
//
// What comes out is balanced: an end tag closes what was left open within its
// element, one that closes nothing is passed over, and at the end of the file all
// that is still open is closed before it is said that the file ends too early.
type markup struct {
	format Format
	z      *html.Tokenizer
	line   int    // where the token begins
	at     int64  // where it begins, in bytes
	lines  int    // how many it spans
	size   int64  // how long it is
	name   []byte // of the element that was opened or closed

	names   []byte // of the open elements, one behind the other
	ends    []int  // where each ends within names
	closing int    // how many of them end here
	tail    []byte // what closes the last of these in the file
	implied bool   // that nothing does
	err     error  // behind them
	again   bool   // what was opened is found once more
	// breaks tells of an element that ends a text, or what else is no place for
	// it; nil where nothing does.
	breaks func(name []byte) bool
	held   []byte // the text that is read

	keepRaw bool
	token   []byte // as it stands in the file
	record  bool
	raw     []byte // the tokens of the element that is recorded
	before  int    // how many bytes of them come before the token
}

// piece is what [markup.next] found.
type piece uint8

const (
	opens piece = iota + 1
	closes
	holds // some text
)

const (
	// maxOpen is how many elements are followed into each other: a folder of a
	// property list takes two.
	maxOpen = 2*maxDepth + 16
	// maxName is how much of a name is looked at.
	maxName = 64
	// maxUnclosed is how many elements one end tag may close.
	maxUnclosed = 16
)

func newMarkup(format Format, r io.Reader, keepRaw bool) *markup {
	m := &markup{format: format, z: html.NewTokenizer(r), line: 1, keepRaw: keepRaw}
	m.z.SetMaxBuf(maxTag)
	m.z.AllowCDATA(true)
	return m
}

// next finds the next piece; io.EOF behind the last.
func (m *markup) next() (piece, error) {
	if m.again {
		m.again = false
		return opens, nil
	}
	for m.closing == 0 {
		if m.err != nil {
			return 0, m.err
		}
		switch m.read() {
		case html.ErrorToken:
			m.end()
		case html.StartTagToken:
			return m.open(false)
		case html.SelfClosingTagToken:
			return m.open(true)
		case html.EndTagToken:
			m.closing = m.closedBy(m.nameOf(m.z.Raw()[2:]))
			m.tail, m.implied = m.token, false
		case html.TextToken:
			m.keepText()
			return holds, nil
		case html.CommentToken, html.DoctypeToken:
			m.keep([]byte("<!---->")) // it may stand within a word, and be left open
		}
	}
	return m.close(), nil
}

// read reads a token.
func (m *markup) read() html.TokenType {
	m.at += m.size
	m.line += m.lines
	kind := m.z.Next()
	raw := m.z.Raw()
	m.size, m.lines = int64(len(raw)), countLines(raw)
	if m.keepRaw { // reading a tag writes into it
		m.token = append(m.token[:0], raw...)
	}
	return kind
}

// end notes why there is no more, behind the end of all that is open.
func (m *markup) end() {
	m.err = m.z.Err()
	early := errors.Is(m.err, io.EOF) && len(m.ends) > 0
	switch {
	case early:
		m.err = errEndsEarly
	case errors.Is(m.err, html.ErrBufferExceeded):
		m.err = errTooLong
	}
	if early || !errors.Is(m.err, io.EOF) {
		m.err = &SyntaxError{m.format, m.line, m.err}
	}
	m.closing, m.implied = len(m.ends), true
}

func (m *markup) open(empty bool) (piece, error) {
	// A title that speaks of <script> must not swallow what follows.
	m.z.NextIsNotRawText()
	if len(m.ends) == maxOpen {
		m.err = &SyntaxError{m.format, m.line, errTooDeep}
		return 0, m.err
	}
	m.names = append(m.names, m.nameOf(m.z.Raw()[1:])...)
	m.ends = append(m.ends, len(m.names))
	m.keep(m.token)
	if empty {
		m.closing, m.tail, m.implied = 1, nil, false
	}
	return opens, nil
}

// close closes the innermost element.
func (m *markup) close() piece {
	last := len(m.ends) - 1
	start := m.start(last)
	m.name = append(m.name[:0], m.names[start:]...)
	m.names, m.ends = m.names[:start], m.ends[:last]
	m.closing--
	switch {
	case m.closing == 0 && !m.implied:
		m.keep(m.tail)
	case m.record:
		m.keep([]byte("</" + string(m.name) + ">"))
	}
	return closes
}

// start is where the name of an open element begins.
func (m *markup) start(i int) int {
	if i == 0 {
		return 0
	}
	return m.ends[i-1]
}

// closedBy is how many elements the end tag of a name closes.
func (m *markup) closedBy(name []byte) int {
	for n := 1; n <= min(len(m.ends), maxUnclosed); n++ {
		i := len(m.ends) - n
		if bytes.Equal(m.names[m.start(i):m.ends[i]], name) {
			return n
		}
	}
	return 0
}

// nameOf is the name that a tag begins with; it stands until the next one is
// asked for.
func (m *markup) nameOf(tag []byte) []byte {
	m.name = m.name[:0]
	for _, c := range tag[:min(len(tag), 2*maxName)] {
		switch {
		case c == ':':
			m.name = m.name[:0]
			continue
		case c <= ' ' || c == '/' || c == '>':
			return m.name
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		if len(m.name) < maxName {
			m.name = append(m.name, c)
		}
	}
	return m.name
}

// attributes are those of the element that was opened, to be asked for once.
func (m *markup) attributes() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for more := true; more; {
			var name, value []byte
			name, value, more = m.z.TagAttr()
			if bytes.HasPrefix(name, []byte("xmlns")) {
				continue
			}
			if _, local, found := bytes.Cut(name, []byte(":")); found {
				name = local
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

// What a section begins and ends with in which markup is none.
const (
	sectionStart = "<![CDATA["
	sectionEnd   = "]]>"
)

func isSection(token []byte) bool { return bytes.HasPrefix(token, []byte(sectionStart)) }

// isClosed reports whether a section has its end, as the last of a file may not.
func isClosed(section []byte) bool {
	return bytes.HasSuffix(section[len(sectionStart):], []byte(sectionEnd))
}

// text is that of the piece that was found.
func (m *markup) text() []byte {
	raw := m.z.Raw()
	if !isSection(raw) {
		return m.z.Text()
	}
	data := raw[len(sectionStart):]
	if isClosed(raw) {
		data = data[:len(data)-len(sectionEnd)]
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

// content is the text of the element that was opened, up to its end; of one
// that is longer than any that can be stored, its beginning.
func (m *markup) content() (string, error) {
	m.held = m.held[:0]
	for depth := 1; depth > 0; {
		found, err := m.next()
		switch {
		case err != nil:
			return "", err
		case found == opens && m.interrupted(depth):
			return string(m.held), nil
		case found == opens:
			depth++
		case found == closes:
			depth--
		case len(m.held) < maxText:
			more := m.text()
			m.held = append(m.held, more[:min(len(more), maxText)]...)
		}
	}
	return string(m.held), nil
}

// skip passes over the element that was opened.
func (m *markup) skip() error {
	for depth := 1; depth > 0; {
		found, err := m.next()
		switch {
		case err != nil:
			return err
		case found == opens && m.interrupted(depth):
			return nil
		case found == opens:
			depth++
		case found == closes:
			depth--
		}
	}
	return nil
}

// rawTag is the tag that was just opened as an element without content; nil
// where no text is kept.
func (m *markup) rawTag() []byte {
	if !m.keepRaw {
		return nil
	}
	raw := bytes.Clone(m.token)
	if m.closing == 0 {
		raw = append(append(append(raw, "</"...), m.name...), '>')
	}
	return raw
}

// startRaw begins to record the element that was just opened, where texts are
// kept.
func (m *markup) startRaw() {
	if m.record = m.keepRaw; m.record {
		m.raw = append(m.raw[:0], m.token...)
	}
}

// keep records a token.
func (m *markup) keep(token []byte) {
	if m.before = len(m.raw); m.record && len(m.raw) < maxTag {
		m.raw = append(m.raw, token...)
	}
}

// keepText records a token of text: so that what follows it there is read as it is
// here, wherever the file may end.
func (m *markup) keepText() {
	switch {
	case !m.record:
	case !isSection(m.token):
		m.keep(bytes.ReplaceAll(m.token, []byte("<"), []byte("&lt;")))
	case isClosed(m.token):
		m.keep(m.token)
	default:
		m.keep(append(m.token, sectionEnd...))
	}
}

// endRaw ends the record of an element, behind its end.
func (m *markup) endRaw() []byte {
	if !m.record {
		return nil
	}
	m.record = false
	return bytes.Clone(m.raw)
}

// cutRaw ends the record of an element, before the token.
func (m *markup) cutRaw() []byte {
	if !m.record {
		return nil
	}
	m.record = false
	return bytes.Clone(m.raw[:m.before])
}

// endOuter ends the element around the one that was just opened: it should have
// ended before that, but nothing closed it.
func (m *markup) endOuter() {
	last := len(m.ends) - 1
	start, end := m.start(last-1), m.ends[last-1]
	if m.record {
		tag := "</" + string(m.names[start:end]) + ">"
		m.raw = slices.Insert(m.raw, m.before, []byte(tag)...)
		m.before += len(tag)
	}
	m.names = append(m.names[:start], m.names[end:]...)
	m.ends = append(m.ends[:last-1], len(m.names))
}

// unread has the element that was just opened found once more.
func (m *markup) unread() { m.again = true }

// interrupted reports whether what was just opened cannot lie in the so many
// elements around it, and ends these.
func (m *markup) interrupted(depth int) bool {
	if m.breaks == nil || !m.breaks(m.name) {
		return false
	}
	for range depth {
		m.endOuter()
	}
	m.unread()
	return true
}
