package api

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"sync"
	"time"
)

// IDs makes UUIDv7 identifiers (RFC 9562) in lower case. Those of one source
// are strictly increasing, so that rows made in the same millisecond still
// sort in the order in which they were made.
type IDs struct {
	now    func() time.Time
	random io.Reader

	mu   sync.Mutex
	last uint64
}

// NewIDs makes a source that reads the clock from now and randomness from
// random. Both are handed in so that a simulation can replay them.
func NewIDs(now func() time.Time, random io.Reader) *IDs {
	return &IDs{now: now, random: random}
}

// New makes one identifier. It panics when the source of randomness fails,
// as crypto/rand does.
func (s *IDs) New() string {
	var raw [16]byte
	if _, err := io.ReadFull(s.random, raw[6:]); err != nil {
		panic("api: the source of randomness failed: " + err.Error())
	}
	// 48 bits of milliseconds and 12 bits that count within one.
	s.mu.Lock()
	stamp := uint64(max(s.now().UnixMilli(), 0)) << 12
	if stamp <= s.last {
		stamp = s.last + 1
	}
	s.last = stamp
	s.mu.Unlock()

	binary.BigEndian.PutUint64(raw[:8], stamp<<4&^0xffff|0x7000|stamp&0xfff)
	raw[8] = raw[8]&0x3f | 0x80
	return formatID(raw)
}

func formatID(raw [16]byte) string {
	var text [36]byte
	hex.Encode(text[0:8], raw[0:4])
	hex.Encode(text[9:13], raw[4:6])
	hex.Encode(text[14:18], raw[6:8])
	hex.Encode(text[19:23], raw[8:10])
	hex.Encode(text[24:36], raw[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// ValidID reports whether text is a UUID of any version in its canonical
// lower-case form, the only form in which bm stores one.
func ValidID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// ValidNewID reports whether a client may choose text as the id of what it
// creates: a UUIDv7 in lower case.
func ValidNewID(text string) bool {
	return ValidID(text) && text[14] == '7' && (text[19] >= '8' && text[19] <= 'b')
}
