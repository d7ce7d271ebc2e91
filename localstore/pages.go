package localstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// pages are the pages of a database's file as they lie there: where what leads
// to a page is damaged, the page may be sound. The format is SQLite's, of
// https://sqlite.org/fileformat2.html; the numbers of its paragraphs are given.
type pages struct {
	file *os.File
	log  *os.File // nil where there is none
	size int
	n    int
	// newer is where in the log the newest committed content of a page is.
	newer map[int]int64
}

// defaultPageSize is that of every file that this package makes.
const defaultPageSize = 4096

// openPages opens a file with its log, neither of which need be sound.
func openPages(path string) (p *pages, err error) {
	p = &pages{size: defaultPageSize, newer: map[int]int64{}}
	if p.file, err = os.Open(path); err != nil {
		return nil, err
	}
	info, err := p.file.Stat()
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.n = int(info.Size()) / p.size
	p.log, err = os.Open(path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.readLog()
	return p, nil
}

func (p *pages) close() error {
	err := p.file.Close()
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}

// readLog finds what the log committed, up to the first frame that is not of it
// any more (4.2 to 4.5).
func (p *pages) readLog() {
	const headerSize, frameHeader = 32, 24
	header := make([]byte, headerSize)
	if _, err := p.log.ReadAt(header, 0); err != nil {
		return
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if header[3]&1 == 1 {
		order = binary.BigEndian
	}
	if binary.BigEndian.Uint32(header)&^1 != 0x377f0682 || int(binary.BigEndian.Uint32(header[8:])) != p.size {
		return
	}
	var sum logSum
	if sum.add(order, header[:24]); !sum.is(header[24:]) {
		return
	}
	waiting := map[int]int64{}
	frame := make([]byte, frameHeader+p.size)
	for at := int64(headerSize); ; at += int64(len(frame)) {
		if _, err := p.log.ReadAt(frame, at); err != nil || string(frame[8:16]) != string(header[16:24]) {
			return
		}
		sum.add(order, frame[:8])
		if sum.add(order, frame[frameHeader:]); !sum.is(frame[16:]) {
			return
		}
		waiting[int(binary.BigEndian.Uint32(frame))] = at + frameHeader
		if committed := int(binary.BigEndian.Uint32(frame[4:])); committed > 0 {
			p.n = max(p.n, committed)
			for page, where := range waiting {
				p.newer[page] = where
			}
			clear(waiting)
		}
	}
}

// logSum is the log's checksum (4.4).
type logSum [2]uint32

func (s *logSum) add(order binary.ByteOrder, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
}

func (s *logSum) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == s[0] && binary.BigEndian.Uint32(b[4:]) == s[1]
}

// page reads a page; the first is 1.
func (p *pages) page(n int) ([]byte, error) {
	content := make([]byte, p.size)
	if at, ok := p.newer[n]; ok {
		_, err := p.log.ReadAt(content, at)
		return content, err
	}
	got, err := p.file.ReadAt(content, int64(n-1)*int64(p.size))
	if got > 0 && errors.Is(err, io.EOF) {
		err = nil // the file ends within it: what is there may be whole
	}
	return content, err
}

// unused are the pages whose content is of the past: those that no table reaches
// or, where that can't be told, those of the free list (1.5).
func (p *pages) unused(roots map[int]string) map[int]bool {
	if unreached := p.unreached(roots); unreached != nil {
		return unreached
	}
	free := map[int]bool{}
	first, err := p.page(1)
	if err != nil || string(first[:15]) != "SQLite format 3" {
		return free
	}
	for trunk := int(binary.BigEndian.Uint32(first[32:])); trunk > 1 && trunk <= p.n && !free[trunk]; {
		free[trunk] = true
		page, err := p.page(trunk)
		if err != nil {
			break
		}
		leaves := int(binary.BigEndian.Uint32(page[4:]))
		for i := range min(leaves, p.size/4-2) {
			free[int(binary.BigEndian.Uint32(page[8+4*i:]))] = true
		}
		trunk = int(binary.BigEndian.Uint32(page))
	}
	return free
}

// rows calls fn for each row that can be read of tables that have row numbers.
// What is no row is passed over: on the way is whatever the file holds.
func (p *pages) rows(roots map[int]string, fn func(n int64, values []any) error) error {
	unused := p.unused(roots)
	const leafOfTable = 13
	for n := 2; n <= p.n; n++ {
		page, err := p.page(n)
		if err != nil || unused[n] || page[0] != leafOfTable {
			continue
		}
		cells := int(binary.BigEndian.Uint16(page[3:]))
		for i := range min(cells, (p.size-8)/2) {
			at := int(binary.BigEndian.Uint16(page[8+2*i:]))
			number, values, err := p.cell(page, at)
			if err != nil {
				continue
			}
			if err := fn(number, values); err != nil {
				return err
			}
		}
	}
	return nil
}

var errNoRow = errors.New("this is no row")

// cell is a row of a table's leaf (1.6, "B-tree Cell Format").
func (p *pages) cell(page []byte, at int) (number int64, values []any, err error) {
	if at < 8 || at >= len(page) {
		return 0, nil, errNoRow
	}
	rest := page[at:]
	length, rest, err := varint(rest)
	if err != nil {
		return 0, nil, err
	}
	number, rest, err = varint(rest)
	if err != nil || length <= 0 || length > maxRow {
		return 0, nil, errNoRow
	}
	payload, err := p.payload(rest, int(length))
	if err != nil {
		return 0, nil, err
	}
	values, err = record(payload)
	return number, values, err
}

// maxRow bounds what is taken for a row; ours are smaller by far.
const maxRow = 16 << 20

// payload is a cell's content with what overflows into other pages (1.6,
// "Cell Payload Overflow Pages").
func (p *pages) payload(b []byte, length int) ([]byte, error) {
	most := p.size - 35
	if length <= most {
		if len(b) < length {
			return nil, errNoRow
		}
		return b[:length], nil
	}
	least := (p.size-12)*32/255 - 23
	local := least + (length-least)%(p.size-4)
	if local > most {
		local = least
	}
	if len(b) < local+4 {
		return nil, errNoRow
	}
	payload := append([]byte(nil), b[:local]...)
	next := int(binary.BigEndian.Uint32(b[local:]))
	for len(payload) < length {
		if next < 2 || next > p.n {
			return nil, errNoRow
		}
		page, err := p.page(next)
		if err != nil {
			return nil, err
		}
		payload = append(payload, page[4:min(len(page), 4+length-len(payload))]...)
		next = int(binary.BigEndian.Uint32(page))
	}
	return payload, nil
}

// record is a row's values: nil, int64, float64, string or []byte (2.1).
func record(b []byte) ([]any, error) {
	size, rest, err := varint(b)
	own := int64(len(b) - len(rest)) // of the number itself
	if err != nil || size < own || size > int64(len(b)) {
		return nil, errNoRow
	}
	types, body := rest[:size-own], b[size:]
	var values []any
	for len(types) > 0 {
		var kind int64
		if kind, types, err = varint(types); err != nil {
			return nil, err
		}
		width, ok := widthOf(kind)
		if !ok || width > len(body) {
			return nil, errNoRow
		}
		values = append(values, valueOf(kind, body[:width]))
		body = body[width:]
	}
	return values, nil
}

func widthOf(kind int64) (int, bool) {
	fixed := [...]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0}
	switch {
	case kind < 0, kind == 10, kind == 11, kind > 2*maxRow:
		return 0, false
	case kind < int64(len(fixed)):
		return fixed[kind], true
	}
	return int(kind-12) / 2, true
}

func valueOf(kind int64, b []byte) any {
	switch {
	case kind == 0:
		return nil
	case kind == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	case kind == 8, kind == 9:
		return kind - 8
	case kind < 7:
		n := int64(int8(b[0])) // the sign is in the first byte
		for _, next := range b[1:] {
			n = n<<8 | int64(next)
		}
		return n
	case kind%2 == 1:
		return string(b)
	}
	return append([]byte(nil), b...)
}

// varint is an integer of up to nine bytes (1.6), and what is behind it.
func varint(b []byte) (int64, []byte, error) {
	var n uint64
	for i := range 9 {
		if i >= len(b) {
			return 0, nil, fmt.Errorf("%w: it ends in a number", errNoRow)
		}
		if i == 8 {
			return int64(n<<8 | uint64(b[i])), b[9:], nil
		}
		if n = n<<7 | uint64(b[i]&0x7f); b[i] < 0x80 {
			return int64(n), b[i+1:], nil
		}
	}
	return 0, nil, errNoRow
}
