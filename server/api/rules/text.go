package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"bm/server/api"
)

// Line is the normal form of a text of one line, such as a title or a name:
// trimmed, and each run of white space that holds a control character (a line
// break, a tab) made one space. Plain spaces inside stay as they were typed.
func Line(s string) string {
	s = strings.TrimSpace(s)
	if strings.IndexFunc(s, isControlSpace) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		n := strings.IndexFunc(s, unicode.IsSpace)
		if n < 0 {
			break
		}
		b.WriteString(s[:n])
		s = s[n:]
		rest := strings.TrimLeftFunc(s, unicode.IsSpace)
		if run := s[:len(s)-len(rest)]; strings.IndexFunc(run, isControlSpace) < 0 {
			b.WriteString(run)
		} else {
			b.WriteByte(' ')
		}
		s = rest
	}
	b.WriteString(s)
	return b.String()
}

// isControlSpace is white space that ends or skips within a line.
func isControlSpace(r rune) bool {
	return r >= '\t' && r <= '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// Text is the normal form of a text of several lines, such as a description:
// trimmed, and every line break made a line feed.
func Text(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return strings.TrimSpace(s)
}

// CheckText reports what keeps s from being stored in field: invalid UTF-8, a
// NUL, or more than maxRunes characters. It is nil where nothing does.
func CheckText(field, s string, maxRunes int) *api.FieldError {
	switch {
	case !utf8.ValidString(s):
		return &api.FieldError{Field: field, Message: "is not valid UTF-8"}
	case strings.IndexByte(s, 0) >= 0:
		return &api.FieldError{Field: field, Message: "holds a NUL character"}
	case len(s) > maxRunes && utf8.RuneCountInString(s) > maxRunes:
		return &api.FieldError{Field: field, Message: atMost(maxRunes, "characters")}
	}
	return nil
}

// Repair makes s storable: each NUL and each run of invalid UTF-8 becomes one
// U+FFFD. The second result tells whether anything had to be replaced.
func Repair(s string) (string, bool) {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s, false
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD"), true
}

// Cut shortens s to maxRunes characters, never within one, and tells whether
// it had to.
func Cut(s string, maxRunes int) (string, bool) {
	if len(s) <= maxRunes {
		return s, false
	}
	n := 0
	for i := range s {
		if n == maxRunes {
			return s[:i], true
		}
		n++
	}
	return s, false
}
