package app

import "strings"

// TagList is a flag that takes tags: separated by commas, and as often as it is
// given. A comma within a tag is written \,.
type TagList []string

// TagsUsage is what the help says of a [TagList] behind its purpose.
const TagsUsage = `, separated by commas; a comma within a tag is written \,`

// Set adds the tags of one flag.
func (t *TagList) Set(text string) error {
	*t = append(*t, SplitTags(text)...)
	return nil
}

// String is the flag as it would be typed.
func (t *TagList) String() string {
	quoted := make([]string, len(*t))
	for i, tag := range *t {
		quoted[i] = QuoteTag(tag)
	}
	return strings.Join(quoted, ",")
}

// Type tells the completion that the flag may be given again.
func (t *TagList) Type() string { return "tagArray" }

// SplitTags splits a list of tags at its commas, but not at \,.
func SplitTags(text string) []string {
	var tags []string
	var tag strings.Builder
	end := func() {
		if name := strings.TrimSpace(tag.String()); name != "" {
			tags = append(tags, name)
		}
		tag.Reset()
	}
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], `\,`):
			i++
			tag.WriteByte(',')
		case text[i] == ',':
			end()
		default:
			tag.WriteByte(text[i])
		}
	}
	end()
	return tags
}

// cutTags cuts a list of tags that is being typed before its last one.
func cutTags(typed string) (done, last string) {
	at := 0
	for i := 0; i < len(typed); i++ {
		switch {
		case strings.HasPrefix(typed[i:], `\,`):
			i++
		case typed[i] == ',':
			at = i + 1
		}
	}
	return typed[:at], strings.ReplaceAll(typed[at:], `\,`, ",")
}

// QuoteTag is a tag as [SplitTags] reads it back.
func QuoteTag(tag string) string { return strings.ReplaceAll(tag, ",", `\,`) }
