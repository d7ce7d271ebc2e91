package exchange

import (
	"io"
	"slices"
)

// lineCounter tells the line of an offset in what was read through it, and
// keeps a single value from taking all of the memory.
type lineCounter struct {
	src      io.Reader
	position func() int64 // how far the reader of this has got; nil where it holds all
	read     int64
	line     int
	breaks   []int64 // offsets of line breaks from line on
}

// maxBreaks bounds what is kept of a file of line breaks.
const maxBreaks = 4_000_000

func (c *lineCounter) Read(p []byte) (int, error) {
	if c.position != nil && c.read-c.position() > maxTag {
		return 0, errTooLong
	}
	n, err := c.src.Read(p)
	for i, b := range p[:n] {
		if b == '\n' && len(c.breaks) < maxBreaks { // behind so many, lines are told too low
			c.breaks = append(c.breaks, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// at is the line of an offset that is not before the last one asked for.
func (c *lineCounter) at(offset int64) int {
	n, _ := slices.BinarySearch(c.breaks, offset)
	c.line += n
	c.breaks = append(c.breaks[:0], c.breaks[n:]...)
	return c.line
}
