package exchange

import (
	"encoding/json"
	"slices"
	"strings"
)

// splitTags reads the TAGS of an anchor. Commas separate; without any, bars
// do; and without those spaces, but only in files of the services whose tags
// never held one (they mark each entry as private or not): elsewhere a space
// is part of a tag.
func splitTags(value string, spaced bool) []string {
	var tags []string
	switch {
	case strings.IndexByte(value, ',') >= 0:
		tags = strings.Split(value, ",")
	case strings.IndexByte(value, '|') >= 0:
		tags = strings.Split(value, "|")
	case spaced:
		return strings.Fields(value)
	default:
		tags = []string{value}
	}
	out := tags[:0]
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" {
			out = append(out, tag)
		}
	}
	return slices.Clip(out)
}

// joinTags is the reverse of splitTags. Where a tag holds what others take for
// a separator, exact holds the tags once more, as JSON, for our own reader.
func joinTags(tags []string, spaced bool) (value, exact string) {
	value = strings.Join(tags, ",")
	if slices.Equal(splitTags(value, spaced), tags) {
		return value, ""
	}
	encoded, err := json.Marshal(tags)
	if err != nil {
		return value, "" // strings always encode
	}
	return value, string(encoded)
}

// readExactTags reads what joinTags wrote for us; nil where it is nothing of
// the kind.
func readExactTags(value string) []string {
	var tags []string
	if err := json.Unmarshal([]byte(value), &tags); err != nil {
		return nil
	}
	return tags
}
