package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Tags is the normal form of a list of tags: each in the form of [Tag], of
// those that differ in case alone the first, in the order given, and no empty
// ones. The result is never nil.
func Tags(in []string) []string {
	out := make([]string, 0, len(in))
	seen := make(map[string]struct{}, len(in))
	for _, raw := range in {
		tag := Tag(raw)
		if tag == "" {
			continue
		}
		key := TagKey(tag)
		if _, dup := seen[key]; dup {
			continue
		}
		seen[key] = struct{}{}
		out = append(out, tag)
	}
	return out
}

// UniteTags is have followed by those of more that it lacks, in normal form.
func UniteTags(have, more []string) []string {
	all := make([]string, 0, len(have)+len(more))
	return Tags(append(append(all, have...), more...))
}

// Tag is the normal form of one tag: trimmed, Unicode NFC, each run of white
// space one space.
func Tag(raw string) string { return norm.NFC.String(foldSpace(raw)) }

// TagKey is what two tags are compared by: equal keys are the same tag.
func TagKey(tag string) string { return foldCase(foldSpace(tag)) }

// NameKey is what names of groups, roles, units and the like are compared by
// where case does not count: trimmed, inner white space and case folded.
func NameKey(s string) string { return foldCase(foldSpace(s)) }

// foldCase is Unicode's canonical caseless form. It is stable: folding what
// was folded changes nothing.
func foldCase(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	// Of Cherokee the folding of x/text swaps the cases: hence the ToLower.
	return norm.NFC.String(strings.ToLower(cases.Fold().String(norm.NFD.String(s))))
}

// foldSpace trims s and makes each run of white space in it one space.
func foldSpace(s string) string {
	s = strings.TrimSpace(s)
	clean := true
	for i, r := range s {
		if unicode.IsSpace(r) && (r != ' ' || s[i-1] == ' ') { // trimmed: i > 0
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
