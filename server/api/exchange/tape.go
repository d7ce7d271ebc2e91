package exchange

import "io"

// tape keeps what was read through it of the entry that is being read, for
// [KeepRaw], and keeps a single entry from taking all of the memory.
type tape struct {
	src  io.Reader
	kept []byte
	from int64 // the offset of what is kept
}

func (t *tape) Read(p []byte) (int, error) {
	if len(t.kept) > maxTag {
		return 0, errTooLong
	}
	n, err := t.src.Read(p)
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// cut is the text up to an offset, which is forgotten; it stands until the next
// is read.
func (t *tape) cut(to int64) []byte {
	n := to - t.from
	text := t.kept[:n]
	t.kept, t.from = t.kept[n:], to
	return text
}
