package exchange

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// Firefox keeps its backups compressed: a mark, the length of the text in four
// bytes, least first, and one block of LZ4. A block is a row of sequences, each
// some literal bytes and then a copy of what stood at most 64 KiB before.
const mozLZ4Mark = "mozLz40\x00"

const (
	lz4Window   = 64 << 10
	lz4MinMatch = 4
)

var errLZ4 = errors.New("the compressed text is damaged")

func isMozLZ4(head []byte) bool { return bytes.HasPrefix(head, []byte(mozLZ4Mark)) }

// mozLZ4 reads the text of such a file, and holds no more of it than what may be
// copied from.
type mozLZ4 struct {
	src  *bufio.Reader
	left int64 // of the text, as the file says
	err  error // what comes behind out

	out    []byte // what was read last, and before it what may be copied from
	unread int    // where in out the reader is

	next     func() error // what of a sequence comes next
	token    byte
	due      int // how many literals, or bytes to copy, are still to come
	distance int // how far back they are copied from
}

func newMozLZ4(src *bufio.Reader) *mozLZ4 {
	m := &mozLZ4{src: src, out: make([]byte, 0, 4*lz4Window)}
	var head [len(mozLZ4Mark) + 4]byte
	if _, err := io.ReadFull(src, head[:]); err != nil {
		m.err = errEndsEarly
	}
	m.left = int64(binary.LittleEndian.Uint32(head[len(mozLZ4Mark):]))
	m.next = m.begin
	return m
}

func (m *mozLZ4) Read(p []byte) (int, error) {
	for m.unread == len(m.out) {
		if m.err != nil {
			return 0, m.err
		}
		m.fill()
	}
	n := copy(p, m.out[m.unread:])
	m.unread += n
	return n, nil
}

// fill reads some more of the text.
func (m *mozLZ4) fill() {
	if len(m.out) > 2*lz4Window {
		m.out = m.out[:copy(m.out, m.out[len(m.out)-lz4Window:])]
		m.unread = len(m.out)
	}
	before := len(m.out)
	if m.err = m.next(); m.err == nil {
		if m.left -= int64(len(m.out) - before); m.left < 0 {
			m.err = errLZ4
		}
	}
}

// begin reads a sequence's token.
func (m *mozLZ4) begin() (err error) {
	if m.token, err = m.src.ReadByte(); err != nil {
		return errEndsEarly
	}
	m.due, err = m.length(int(m.token >> 4))
	m.next = m.literals
	return err
}

// length is a length of four bits, with the bytes that follow where these are
// all set.
func (m *mozLZ4) length(bits int) (int, error) {
	for more := bits == 15; more; {
		b, err := m.src.ReadByte()
		if err != nil {
			return 0, errEndsEarly
		}
		if bits += int(b); int64(bits) > m.left {
			return 0, errLZ4
		}
		more = b == 255
	}
	return bits, nil
}

// literals reads what is not copied. Behind those of the last sequence the text
// is at its end.
func (m *mozLZ4) literals() error {
	at := len(m.out)
	m.out = m.out[:at+min(m.due, cap(m.out)-at)]
	n, err := io.ReadFull(m.src, m.out[at:])
	m.out = m.out[:at+n]
	if err != nil {
		return errEndsEarly
	}
	if m.due -= n; m.due > 0 {
		return nil
	}
	m.next = m.offset
	return nil
}

// offset reads how far back a copy begins, and its length.
func (m *mozLZ4) offset() error {
	var distance [2]byte
	switch _, err := io.ReadFull(m.src, distance[:]); {
	case errors.Is(err, io.EOF) && m.left == 0:
		return io.EOF
	case err != nil:
		return errEndsEarly
	}
	m.distance = int(binary.LittleEndian.Uint16(distance[:]))
	if m.distance == 0 || m.distance > len(m.out) {
		return errLZ4
	}
	length, err := m.length(int(m.token & 15))
	m.due = length + lz4MinMatch
	m.next = m.copied
	return err
}

// copied copies, byte by byte: a copy may go on into itself.
func (m *mozLZ4) copied() error {
	for room := cap(m.out) - len(m.out); m.due > 0 && room > 0; room-- {
		m.out = append(m.out, m.out[len(m.out)-m.distance])
		m.due--
	}
	if m.due == 0 {
		m.next = m.begin
	}
	return nil
}
