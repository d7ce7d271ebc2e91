package exchange

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// sniffLen is how much of a file is looked at to tell what it is.
const sniffLen = 64 << 10

// decode gives the file as UTF-8, whatever it is written in, together with
// its beginning, and how many bytes come before it where the text is the file's
// own, -1 where it is not. UTF-16 is known by its byte order mark or its zeros.
// Of the rest nobody can be believed, a META least of all, so that each line
// speaks for itself: what is valid UTF-8 is UTF-8, other lines are in the
// encoding that META names, or else in windows-1252.
func decode(r io.Reader) (text *bufio.Reader, head []byte, before int64, err error) {
	raw := bufio.NewReaderSize(r, sniffLen)
	if head, err = peek(raw); err != nil {
		return nil, nil, -1, err
	}
	switch {
	case isCompressed(head):
		return nil, nil, -1, ErrCompressed
	case isMozLZ4(head):
		raw = bufio.NewReaderSize(newMozLZ4(raw), sniffLen)
		head, err = peek(raw)
		return raw, head, -1, err
	case isBinaryPlist(head):
		return raw, head, 0, nil
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		n, _ := raw.Discard(3)
		if head, err = peek(raw); err != nil {
			return nil, nil, -1, err
		}
		before = int64(n)
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), len(head) > 1 && head[0] != 0 && head[1] == 0:
		return decoded(raw, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM))
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), len(head) > 1 && head[0] == 0 && head[1] != 0:
		return decoded(raw, unicode.UTF16(unicode.BigEndian, unicode.UseBOM))
	}
	if text := bytes.TrimLeft(head, " \t\r\n"); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return raw, head, before, nil // JSON is UTF-8
	}
	other, isUTF8 := declared(head)
	fixed := bufio.NewReaderSize(&lineDecoder{src: raw, other: other, utf8: isUTF8}, sniffLen)
	head, err = peek(fixed)
	return fixed, head, -1, err
}

func decoded(raw io.Reader, from encoding.Encoding) (*bufio.Reader, []byte, int64, error) {
	r := bufio.NewReaderSize(transform.NewReader(raw, from.NewDecoder()), sniffLen)
	head, err := peek(r)
	return r, head, -1, err
}

// isCompressed reports whether a file is one of gzip, zip, zstd, xz or bzip2.
func isCompressed(head []byte) bool {
	for _, mark := range [...]string{"\x1f\x8b", "PK\x03\x04", "\x28\xb5\x2f\xfd", "\xfd7zXZ", "BZh"} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return true
		}
	}
	return false
}

// peek is the beginning of the file, all of it if it is short.
func peek(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(sniffLen)
	if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return head, err
}

// declared is the encoding that a META names, or what XML begins with, and
// whether that is UTF-8; windows-1252 stands in for it, and where none is named,
// since the lines that it is asked about are not in UTF-8.
func declared(head []byte) (other encoding.Encoding, isUTF8 bool) {
	head = bytes.ToLower(head[:min(len(head), 4096)])
	declaration, _, _ := bytes.Cut(head, []byte(">"))
	_, name, found := bytes.Cut(declaration, []byte("encoding="))
	if !found || !bytes.HasPrefix(head, []byte("<?xml")) {
		_, name, found = bytes.Cut(head, []byte("charset="))
	}
	if !found {
		return charmap.Windows1252, false
	}
	name = bytes.TrimLeft(name, `"' `)
	if end := bytes.IndexAny(name, "\"'> ;/\t\r\n"); end >= 0 {
		name = name[:end]
	}
	enc, err := htmlindex.Get(string(name))
	if err != nil {
		return charmap.Windows1252, false
	}
	switch name, _ := htmlindex.Name(enc); name {
	case "utf-8":
		return charmap.Windows1252, true
	case "utf-16le", "utf-16be", "replacement":
		return charmap.Windows1252, false
	}
	return enc, false
}

// lineDecoder makes valid UTF-8 of lines that are not.
type lineDecoder struct {
	src   *bufio.Reader
	other encoding.Encoding
	utf8  bool   // the file says that it is UTF-8
	out   []byte // decoded, not yet read
	buf   []byte
}

func (d *lineDecoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		block, err := d.block()
		if len(block) == 0 {
			return 0, err
		}
		d.out = block
		if !utf8.Valid(block) {
			d.out = d.decodeLines(block)
		}
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// block is some whole lines of the file, or a part of a very long one that
// does not end within a character.
func (d *lineDecoder) block() ([]byte, error) {
	const size = 32 << 10
	if d.buf == nil {
		d.buf = make([]byte, 0, size)
	}
	head, err := d.src.Peek(size)
	if len(head) == 0 {
		return nil, err
	}
	n := len(head)
	if err == nil { // not at the end: more of the last line follows
		if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
			n = i + 1
		} else if i := lastRuneStart(head); i > 0 {
			n = i
		}
	}
	d.buf = append(d.buf[:0], head[:n]...)
	_, _ = d.src.Discard(n)
	return d.buf, nil
}

// lastRuneStart is where the last, perhaps unfinished, character begins.
func lastRuneStart(p []byte) int {
	for i := len(p) - 1; i > len(p)-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(p[i]) {
			return i
		}
	}
	return len(p)
}

func (d *lineDecoder) decodeLines(block []byte) []byte {
	out := make([]byte, 0, 2*len(block))
	for line := range bytes.Lines(block) {
		if utf8.Valid(line) || isBrokenUTF8(line, d.utf8) {
			out = append(out, line...)
			continue
		}
		fixed, err := d.other.NewDecoder().Bytes(line)
		if err != nil || bytes.ContainsRune(fixed, utf8.RuneError) {
			fixed, err = charmap.Windows1252.NewDecoder().Bytes(line)
		}
		if err != nil {
			fixed = line
		}
		out = append(out, fixed...)
	}
	return out
}

// isBrokenUTF8 reports whether a line that is not valid is UTF-8 all the
// same, as where a service cut a text within a character: what characters
// above ASCII there are, are mostly whole ones, or one is, where the file says
// that it is UTF-8.
func isBrokenUTF8(line []byte, said bool) bool {
	whole, broken := 0, 0
	for i := 0; i < len(line); {
		if line[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && n == 1 {
			broken++
		} else {
			whole++
		}
		i += n
	}
	return whole > broken || said && whole > 0
}
