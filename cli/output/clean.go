package output

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text safe to show: what could move the cursor, change the
// terminal, or make a line read other than it is written, becomes visible.
// A line break or tab becomes a space, so that one value stays on one line.
func Clean(text string) string {
	if isClean(text) {
		return text
	}
	return clean(text, false)
}

// CleanText is [Clean] for text of several lines: line breaks and tabs stay.
func CleanText(text string) string {
	if isClean(text) {
		return text
	}
	return clean(text, true)
}

func isClean(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == 0x7f || c >= utf8.RuneSelf {
			return !strings.ContainsFunc(text, unsafe) && utf8.ValidString(text)
		}
	}
	return true
}

func clean(text string, lines bool) string {
	var b strings.Builder
	b.Grow(len(text) + 8)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\n' || r == '\t':
			if lines {
				b.WriteRune(r)
			} else {
				b.WriteByte(' ')
			}
		case r == '\r':
			if !lines {
				b.WriteByte(' ')
			}
		case r < ' ':
			b.WriteRune(0x2400 + r) // its picture: ␛ for ESC
		case r == 0x7f:
			b.WriteRune('␡')
		case r == 0x2028 || r == 0x2029:
			b.WriteByte(' ')
		case unsafe(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafe are control characters, C1 among them (0x9b begins an escape sequence
// on some terminals), and those that turn the direction of writing.
func unsafe(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return true
	case r < 0x2000:
		return r == 0x61c || r == 0x200e
	case r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return unicode.Is(unicode.Cs, r)
}

// Sentence is a text that begins with a capital letter and ends with
// a full stop; the name of the program stays as it is typed.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	if c := text[0]; c >= 'a' && c <= 'z' && !strings.HasPrefix(text, "bm ") {
		text = string(c-'a'+'A') + text[1:]
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?:\n") && !strings.Contains(text, "\n") {
		text += "."
	}
	return text
}
