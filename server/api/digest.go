package api

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Digest sums a hash of every live row's id and rev, modulo 2⁶⁴. Being a sum
// it is kept up by adding what came and subtracting what went, in any order.
type Digest uint64

// RowHash is the first 8 bytes, big-endian, of SHA-256(id ":" decimal rev).
func RowHash(id string, rev int64) Digest {
	var buf [64]byte
	text := append(buf[:0], id...)
	text = append(text, ':')
	text = strconv.AppendInt(text, rev, 10)
	sum := sha256.Sum256(text)
	return Digest(binary.BigEndian.Uint64(sum[:8]))
}

// Add counts a row in.
func (d Digest) Add(id string, rev int64) Digest { return d + RowHash(id, rev) }

// Remove counts a row out.
func (d Digest) Remove(id string, rev int64) Digest { return d - RowHash(id, rev) }

// String is the wire form: 16 hexadecimal digits.
func (d Digest) String() string { return fmt.Sprintf("%016x", uint64(d)) }

// ParseDigest reads the wire form.
func ParseDigest(text string) (Digest, error) {
	if len(text) != 16 {
		return 0, fmt.Errorf("a digest has 16 hexadecimal digits, not %d", len(text))
	}
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parse digest: %w", err)
	}
	return Digest(n), nil
}
