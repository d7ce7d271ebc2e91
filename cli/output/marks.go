package output

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Span is a part of a text, from byte Start up to byte End.
type Span struct{ Start, End int }

// Marks finds what of a text is marked: in order, and without overlaps.
type Marks func(text string) []Span

// marked sets a text apart, and what is marked of it more so. shown is what of the
// text is written: made safe by safe, and perhaps cut, with an ellipsis.
func (s *Streams) marked(style Style, marks Marks, text, shown string, safe func(string) string) string {
	if !s.color || marks == nil {
		return s.Styled(style, shown)
	}
	spans := marks(text)
	if len(spans) == 0 {
		return s.Styled(style, shown)
	}
	kept := len(shown)
	if whole := safe(text); shown != whole {
		kept = len(strings.TrimSuffix(shown, ellipsis))
	}
	strong := s.profile().String().Bold().Underline() // lipgloss would underline each rune by itself
	if color, ok := styleColors[style]; ok {
		strong = strong.Foreground(s.profile().Color(string(color)))
	}
	var b strings.Builder
	at := 0               // of shown
	read, reached := 0, 0 // of the text, and where in shown that is
	until := func(end int) int {
		// What makes a text safe looks at each character by itself.
		reached += len(safe(text[read:end]))
		read = end
		return min(reached, kept)
	}
	for _, span := range spans {
		if reached >= kept {
			break
		}
		start := clusterStart(shown, until(span.Start))
		end := clusterEnd(shown, until(span.End))
		if start = max(start, at); end <= start {
			continue
		}
		b.WriteString(s.Styled(style, shown[at:start]))
		b.WriteString(strong.Styled(shown[start:end]))
		at = end
	}
	b.WriteString(s.Styled(style, shown[at:]))
	return b.String()
}

const ellipsis = "…"

// clusterStart is the beginning of what is seen as one character around a place
// in a text, and clusterEnd its end: an escape sequence in the middle of it would
// take it apart.
func clusterStart(text string, at int) int {
	for at > 0 && at < len(text) && !parted(text, at) {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}

func clusterEnd(text string, at int) int {
	for at > 0 && at < len(text) && !parted(text, at) {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// parted reports whether two characters that are seen as two meet at a place
// within a text.
func parted(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	switch {
	case before == zeroWidthJoiner, joins(after):
		return false
	case isFlagLetter(before) && isFlagLetter(after):
		return flagLetters(text[:at])%2 == 0
	}
	return true
}

const zeroWidthJoiner = '\u200d'

// joins reports whether a character is seen as part of the one before it.
func joins(r rune) bool {
	switch {
	case r < 0x300:
		return false
	case r == zeroWidthJoiner, r == 0x200c, // joiners
		r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff, // the rest of a syllable of Hangul
		r == 0xff9e, r == 0xff9f, // voicing of half-width kana
		r == 0xe33, r == 0xeb3, // vowels of Thai and Lao
		r >= 0x1f3fb && r <= 0x1f3ff, // skin tones
		r >= 0xe0020 && r <= 0xe007f: // tags behind a flag
		return true
	}
	return unicode.Is(unicode.M, r)
}

// Two of them make one flag.
func isFlagLetter(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// flagLetters counts those at the end of a text.
func flagLetters(text string) (n int) {
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		if !isFlagLetter(r) {
			break
		}
		n++
		text = text[:len(text)-size]
	}
	return n
}

// Around is a text that begins so near to a place in it that the place is seen
// early in a line: at the beginning of a word, where one begins there.
func Around(text string, at int) string {
	const columns = 24
	start := at
	for width := 0; start > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if width += runewidth.RuneWidth(r); width > columns {
			break
		}
		start -= size
	}
	if start == 0 {
		return text
	}
	if space := strings.IndexFunc(text[start:at], unicode.IsSpace); space >= 0 {
		start += space
	}
	for start < at && (isSpaceAt(text, start) || !parted(text, start)) {
		_, size := utf8.DecodeRuneInString(text[start:])
		start += size
	}
	return ellipsis + text[start:]
}

func isSpaceAt(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.IsSpace(r)
}
