package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf16"
)

// A binary property list is a heap of objects that name each other by number. At
// its end stands a table of where each of them begins, and behind that, in 32
// bytes, how wide the table's offsets and the numbers are, how many objects there
// are, which of them is the outermost, and where the table is. An object begins
// with a byte: its kind, and its length, or 15 where that follows as an object of
// its own. All numbers are written with the greatest byte first.
const (
	binaryPlistMark    = "bplist0"
	binaryPlistTrailer = 32
)

// The kinds of objects.
const (
	plistSimple  = 0x0 // nothing, false and true
	plistInteger = 0x1
	plistReal    = 0x2
	plistDate    = 0x3
	plistData    = 0x4
	plistASCII   = 0x5
	plistUTF16   = 0x6
	plistArray   = 0xa
	plistDict    = 0xd
)

var (
	errPlist      = errors.New("the binary property list is damaged")
	errPlistTwice = errors.New("the binary property list is damaged: it holds a folder within itself, or twice")
	errPlistMuch  = errors.New("the binary property list is damaged: its objects name each other far too often")
)

func isBinaryPlist(head []byte) bool { return bytes.HasPrefix(head, []byte(binaryPlistMark)) }

// binaryPlist reads objects where they stand: nothing of the file is held but a
// few of its pages.
type binaryPlist struct {
	file    io.ReaderAt
	size    int64
	objects uint64
	table   int64 // where the offsets are
	wide    int   // bytes of an offset
	narrow  int   // bytes of an object's number
	left    int64 // bytes that may still be read
	keys    map[uint64]string
	pages   [plistPages]plistPage
	buf     []byte
}

// plistPage is a piece of the file. The table of offsets and the objects are far
// from each other, and each is read a few bytes at a time.
type plistPage struct {
	at   int64 // -1 where none was read
	data []byte
}

const (
	plistPages    = 32
	plistPageSize = 4 << 10
	// maxPlistKeys is how many texts are kept that stand for keys.
	maxPlistKeys = 256
)

// openBinaryPlist gives the list and its outermost object.
func openBinaryPlist(file io.ReaderAt, size int64) (p *binaryPlist, top uint64, err error) {
	p = &binaryPlist{file: file, size: size, keys: map[uint64]string{}}
	for i := range p.pages {
		p.pages[i].at = -1
	}
	// Whatever is read more than once in a real file, such as a key, is short. One
	// that was made for the purpose could name a megabyte from every bookmark.
	p.left = 64*size + 1<<20
	if size < int64(len(binaryPlistMark)+1+binaryPlistTrailer) {
		return nil, 0, errEndsEarly
	}
	trailer, err := p.read(size-binaryPlistTrailer, binaryPlistTrailer)
	if err != nil {
		return nil, 0, err
	}
	p.wide, p.narrow = int(trailer[6]), int(trailer[7])
	p.objects, top = binary.BigEndian.Uint64(trailer[8:]), binary.BigEndian.Uint64(trailer[16:])
	table := binary.BigEndian.Uint64(trailer[24:])
	end := uint64(size) - binaryPlistTrailer
	if p.wide < 1 || p.wide > 8 || p.narrow < 1 || p.narrow > 8 || table > end || p.objects > (end-table)/uint64(p.wide) {
		return nil, 0, fmt.Errorf("%w, or the file ends too early", errPlist)
	}
	p.table = int64(table)
	return p, top, nil
}

// read gives so many bytes of the file, until the next ones are asked for.
func (p *binaryPlist) read(at int64, n int) ([]byte, error) {
	if at < 0 || n < 0 || int64(n) > p.size || at > p.size-int64(n) {
		return nil, errPlist
	}
	if p.left -= int64(n); p.left < 0 {
		return nil, errPlistMuch
	}
	p.buf = p.buf[:0]
	for n > 0 {
		page, err := p.page(at / plistPageSize)
		if err != nil {
			return nil, err
		}
		page = page[at%plistPageSize:]
		page = page[:min(len(page), n)]
		p.buf = append(p.buf, page...)
		at += int64(len(page))
		n -= len(page)
	}
	return p.buf, nil
}

// page is a piece of the file.
func (p *binaryPlist) page(number int64) ([]byte, error) {
	kept := &p.pages[number%plistPages]
	if kept.at == number {
		return kept.data, nil
	}
	at := number * plistPageSize
	if kept.data == nil {
		kept.data = make([]byte, plistPageSize)
	}
	kept.data = kept.data[:min(plistPageSize, p.size-at)]
	if _, err := p.file.ReadAt(kept.data, at); err != nil {
		kept.at = -1
		return nil, fmt.Errorf("read the file: %w", err)
	}
	kept.at = number
	return kept.data, nil
}

// number is one of so many bytes.
func (p *binaryPlist) number(at int64, wide int) (uint64, error) {
	data, err := p.read(at, wide)
	if err != nil {
		return 0, err
	}
	n := uint64(0)
	for _, b := range data {
		n = n<<8 | uint64(b)
	}
	return n, nil
}

// plistObject is an object of which no more than its beginning was read.
type plistObject struct {
	kind  byte
	count int   // of bytes, characters or members
	at    int64 // where its contents begin
}

// object looks at the object of a number.
func (p *binaryPlist) object(number uint64) (o plistObject, err error) {
	if number >= p.objects {
		return o, errPlist
	}
	at, err := p.number(p.table+int64(number)*int64(p.wide), p.wide)
	if err != nil {
		return o, err
	}
	if at >= uint64(p.table) {
		return o, errPlist
	}
	mark, err := p.number(int64(at), 1)
	if err != nil {
		return o, err
	}
	o = plistObject{byte(mark >> 4), int(mark & 15), int64(at) + 1}
	if o.count < 15 || o.kind < plistData {
		return o, nil
	}
	length, err := p.number(o.at, 1)
	if err != nil || length>>4 != plistInteger || length&15 > 3 {
		return o, errors.Join(err, errPlist)
	}
	wide := 1 << (length & 15)
	count, err := p.number(o.at+1, wide)
	if err == nil && count > uint64(p.size) {
		err = errPlist
	}
	o.count, o.at = int(count), o.at+1+int64(wide)
	return o, err
}

// text is a text, or the beginning of one that is longer than any that can be
// stored; "" of what is none.
func (p *binaryPlist) text(o plistObject) (string, error) {
	switch o.kind {
	case plistASCII:
		data, err := p.read(o.at, min(o.count, maxText))
		return string(data), err
	case plistUTF16:
		data, err := p.read(o.at, 2*min(o.count, maxText/2))
		if err != nil {
			return "", err
		}
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(data[2*i:])
		}
		return string(utf16.Decode(units)), nil
	}
	return "", nil
}

// plistEpoch is when property lists begin to count seconds.
var plistEpoch = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// date is a date as it is written in XML; of one that no calendar has, something
// that is none.
func (p *binaryPlist) date(o plistObject) (string, error) {
	data, err := p.read(o.at, 8)
	if err != nil {
		return "", err
	}
	seconds := math.Float64frombits(binary.BigEndian.Uint64(data))
	if math.IsNaN(seconds) || math.Abs(seconds) > maxSeconds {
		return fmt.Sprint(seconds), nil
	}
	whole, part := math.Modf(seconds)
	at := time.Unix(plistEpoch.Unix()+int64(whole), int64(part*1e9)).UTC()
	return at.Format("2006-01-02T15:04:05.999Z"), nil
}

// member is the number of an array's i-th member, or of a dictionary's i-th key.
func (p *binaryPlist) member(o plistObject, i int) (uint64, error) {
	return p.number(o.at+int64(i)*int64(p.narrow), p.narrow)
}

// value is the number of a dictionary's i-th value.
func (p *binaryPlist) value(o plistObject, i int) (uint64, error) {
	return p.member(o, o.count+i)
}

// key is the i-th key of a dictionary. Every bookmark has the same ones.
func (p *binaryPlist) key(o plistObject, i int) (string, error) {
	number, err := p.member(o, i)
	if err != nil {
		return "", err
	}
	if key, ok := p.keys[number]; ok {
		return key, nil
	}
	named, err := p.object(number)
	if err != nil {
		return "", err
	}
	named.count = min(named.count, maxName)
	key, err := p.text(named)
	if err == nil && len(p.keys) < maxPlistKeys {
		p.keys[number] = key
	}
	return key, err
}
