package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Time is an instant of the wire: UTC with milliseconds. Finer parts are cut
// when it is made, so that what was stored, sent and read back compare equal.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// At cuts t to what the wire can carry. The one instant that a column of 0
// stands for, the beginning of 1970, is taken a millisecond later: 0 means "no
// value" there.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.UnixMicro() == 0 {
		t = t.Add(time.Millisecond)
	}
	return Time{t}
}

// FromMicros is the instant of a database column; 0 is "no value".
func FromMicros(micros int64) Time {
	if micros == 0 {
		return Time{}
	}
	return At(time.UnixMicro(micros))
}

// Micros is the instant as a database column holds it; 0 for the zero time.
func (t Time) Micros() int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func (t Time) String() string { return t.UTC().Format(timeLayout) }

// AppendJSON appends the quoted instant.
func (t Time) AppendJSON(dst []byte) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, timeLayout)
	return append(dst, '"')
}

// MarshalJSON writes the quoted instant, whatever its fraction.
func (t Time) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// UnmarshalJSON accepts any RFC 3339 date-time between the years 1 and 9999;
// null and "" are the zero time.
func (t *Time) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" || text == `""` {
		*t = Time{}
		return nil
	}
	unquoted, err := strconv.Unquote(text)
	if err != nil {
		return fmt.Errorf("a date-time is a string such as %q", "2025-01-31T12:00:00.000Z")
	}
	parsed, err := ParseTime(unquoted)
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// ParseTime reads an RFC 3339 date-time.
func ParseTime(text string) (Time, error) {
	parsed, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	if err != nil || parsed.UTC().Year() < 1 || parsed.UTC().Year() > 9999 {
		return Time{}, fmt.Errorf("not an RFC 3339 date-time such as %q", "2025-01-31T12:00:00.000Z")
	}
	return At(parsed), nil
}
