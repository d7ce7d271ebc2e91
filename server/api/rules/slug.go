package rules

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxSlug is the length at which [Slug] cuts.
const MaxSlug = 64

// Slug makes the short name that stands in URLs from a name: lower-case ASCII
// letters and digits, anything else a dash; "" where nothing is left, as of a
// name in Chinese, so that the caller can choose its own.
func Slug(name string) string {
	var b strings.Builder
	dash := false
	for _, r := range norm.NFKD.String(name) {
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		r = unicode.ToLower(r)
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			dash = b.Len() > 0
			continue
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
		if b.Len() >= MaxSlug {
			break
		}
	}
	return strings.TrimRight(b.String()[:min(b.Len(), MaxSlug)], "-")
}

// ValidSlug reports whether a client may choose s as a slug.
func ValidSlug(s string) bool {
	if s == "" || len(s) > MaxSlug || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
