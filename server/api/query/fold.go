package query

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// appendFolded appends what the character at the beginning of s is searched
// as: without case, accents and compatibility forms, special Latin letters as
// the letters that people without them type. Nothing is appended for a
// character that does not count, such as a combining accent. It returns how
// many bytes of s were read.
func appendFolded(dst []byte, s string) ([]byte, int) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r < utf8.RuneSelf:
		return append(dst, lowerASCII(byte(r))), size
	case r == utf8.RuneError && size <= 1:
		return append(dst, ' '), size
	case composesWithNext(r, s[size:]):
		// Decomposed Hangul and kana: composed, as everyone else writes them.
		size = norm.NFKC.NextBoundaryInString(s, true)
		for _, part := range norm.NFKC.String(s[:size]) {
			dst = appendBase(dst, part)
		}
		return dst, size
	case isSelfFolded(r):
		return append(dst, s[:size]...), size
	}
	decomposed := norm.NFKD.PropertiesString(s).Decomposition()
	if decomposed == nil {
		return appendBase(dst, r), size
	}
	for len(decomposed) > 0 {
		part, n := utf8.DecodeRune(decomposed)
		dst = appendBase(dst, part)
		decomposed = decomposed[n:]
	}
	return dst, size
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// composesWithNext reports whether r and what follows are one character that
// was written in parts.
func composesWithNext(r rune, rest string) bool {
	jamo := r >= 0x1100 && r <= 0x11ff || r >= 0xac00 && r <= 0xd7a3
	kana := r >= 0x3041 && r <= 0x30ff || r >= 0xff66 && r <= 0xff9f
	if !jamo && !kana || rest == "" || rest[0] < utf8.RuneSelf {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return next >= 0x1160 && next <= 0x11ff || next == 0x3099 || next == 0x309a ||
		next == 0xff9e || next == 0xff9f
}

// isSelfFolded is a shortcut for the scripts without case and accents that
// hold most of the characters there are. Kana keep their voicing marks and
// Hangul its syllables, which NFKD would take apart; single letters of Hangul
// (ㅋㅋ) stay single.
func isSelfFolded(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 || r >= 0x3041 && r <= 0x30fc ||
		r >= 0x3131 && r <= 0x318e || r >= 0xffa0 && r <= 0xffdc
}

// appendBase appends a decomposed character, folded.
func appendBase(dst []byte, r rune) []byte {
	if isAccent(r) {
		return dst
	}
	r = unicode.ToLower(r)
	if r < utf8.RuneSelf {
		return append(dst, byte(r))
	}
	if to := foldedLetter(r); to != "" {
		return append(dst, to...)
	}
	switch {
	case r >= 0x0660 && r <= 0x0669: // Arabic-Indic digits
		return append(dst, byte('0'+r-0x0660))
	case r >= 0x06f0 && r <= 0x06f9:
		return append(dst, byte('0'+r-0x06f0))
	}
	return utf8.AppendRune(dst, r)
}

// isAccent reports marks that readers add and leave out at will: accents of
// Latin, Greek and Cyrillic, the vowel points of Hebrew and Arabic, Arabic's
// tatweel, and the characters that only choose a glyph. The vowel signs of
// other scripts are letters in all but name and stay.
func isAccent(r rune) bool {
	switch {
	case r < 0x300:
		return r == 0xad // soft hyphen
	case r <= 0x36f, r >= 0x483 && r <= 0x489, r >= 0x591 && r <= 0x5c7 && unicode.Is(unicode.Mn, r):
		return true
	case r >= 0x610 && r <= 0x61a, r == 0x640, r >= 0x64b && r <= 0x65f, r == 0x670,
		r >= 0x6d6 && r <= 0x6ed && unicode.Is(unicode.Mn, r):
		return true
	case r >= 0x1ab0 && r <= 0x1aff, r >= 0x1dc0 && r <= 0x1dff, r >= 0x20d0 && r <= 0x20ff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x2064, r == 0xfeff:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xfe20 && r <= 0xfe2f, r >= 0x1f3fb && r <= 0x1f3ff, r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return false
}

// foldedLetter is the table of lower-case letters that Unicode does not
// decompose, though those who search type something simpler.
func foldedLetter(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ', 'ǽ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ø', 'ɵ', 'ɔ':
		return "o"
	case 'ł', 'ƚ', 'ɫ':
		return "l"
	case 'đ', 'ð', 'ɖ', 'ɗ':
		return "d"
	case 'þ':
		return "th"
	case 'ı', 'ɨ':
		return "i"
	case 'ħ':
		return "h"
	case 'ŧ', 'ƭ', 'ʈ':
		return "t"
	case 'ŋ', 'ɲ', 'ƞ':
		return "n"
	case 'ĸ', 'ƙ':
		return "k"
	case 'ƒ':
		return "f"
	case 'ƀ', 'ɓ':
		return "b"
	case 'ƈ':
		return "c"
	case 'ɠ', 'ǥ':
		return "g"
	case 'ə', 'ǝ', 'ɛ':
		return "e"
	case 'ƥ':
		return "p"
	case 'ʋ':
		return "v"
	case 'ƴ':
		return "y"
	case 'ƶ', 'ʒ':
		return "z"
	case 'ʉ':
		return "u"
	case 'ς':
		return "σ"
	case 'ґ':
		return "г"
	case 'ى', 'ی': // alef maksura, Persian yeh
		return "ي"
	case 'ک': // Persian kaf
		return "ك"
	case 'ة': // teh marbuta
		return "ه"
	}
	return ""
}
