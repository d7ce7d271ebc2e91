package exchange

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// The borders between the units in which programs count, told apart by size:
// each leaves room for dates up to the year 2338.
const (
	firstMilli   = 100_000_000_000         // seconds until the year 5138
	firstMicro   = 100_000_000_000_000     // milliseconds until the year 5138
	firstWindows = 11_644_473_600_000_000  // µs since 1601, at the year 1970
	firstNano    = 100_000_000_000_000_000 // µs since 1601 until the year 4769
	windowsShift = firstWindows            // µs between 1601 and 1970
	maxSeconds   = 253_402_300_799         // the end of the year 9999
)

// layouts are the written dates that were seen in exports.
var layouts = [...]string{
	time.RFC3339Nano,
	"02/Jan/2006:15:04:05 -0700",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999 -0700 MST",
	"2006-01-02 15:04:05.999999999",
	time.DateOnly,
	time.RFC1123Z,
	time.RFC1123,
	time.RFC850,
	time.ANSIC,
	time.UnixDate,
	"Mon, 2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05 -0700",
	"Mon, 2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 06 15:04:05 MST",
	"Mon, 2 Jan 06 15:04:05 -0700",
	"Jan 2, 2006",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"2006-01",
	"2 Jan 2006",
}

// parseDate reads a date in any of the units that browsers and services count
// in (seconds, milli-, micro- and nanoseconds since 1970, microseconds since
// 1601) or write. It is the zero time where the text says that there is none;
// ok is false where it says something that is no date.
func parseDate[Text string | []byte](text Text) (at time.Time, ok bool) {
	if n, ok := parseDigits(text); ok {
		return time.Unix(n, 0).UTC(), true
	}
	return parseAnyDate(strings.TrimSpace(string(text)))
}

// parseDigits is the short way through most dates: seconds, and nothing else.
func parseDigits[Text string | []byte](text Text) (n int64, ok bool) {
	if len(text) < 6 || len(text) > 10 {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = 10*n + int64(text[i]-'0')
	}
	return n, n > 0
}

func parseAnyDate(text string) (at time.Time, ok bool) {
	whole, fraction, decimal := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return parseWritten(text)
	}
	switch {
	case n == 0:
		return time.Time{}, true
	case n < 0:
		return time.Time{}, false
	case n < firstMilli:
		at = time.Unix(n, 0)
		if decimal {
			part, err := strconv.ParseFloat("0."+fraction, 64)
			if err != nil || part < 0 || part >= 1 {
				return time.Time{}, false
			}
			at = at.Add(time.Duration(math.Round(part * 1e9)))
		}
	case n < firstMicro:
		at = time.UnixMilli(n)
	case n < firstWindows:
		at = time.UnixMicro(n)
	case n < firstNano:
		at = time.UnixMicro(n - windowsShift)
	default:
		at = time.Unix(0, n)
	}
	return at.UTC(), true
}

func parseWritten(text string) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), at.Unix() <= maxSeconds && at.UTC().Year() > 0
		}
	}
	return time.Time{}, false
}
