package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"bm/server/api"
)

// Issue says what was changed about an entry so that it could be stored, or
// why it could not be. Code is one of the api.Issue… constants.
type Issue struct {
	Field   string
	Code    string
	Message string
}

// CutBookmark makes in storable for an import or the change feed, in normal
// form, and notes each change: text is repaired, what is too long is cut, a
// URL that is not absolute is kept. The one thing that cannot be mended is an
// overlong URL, since a cut one leads elsewhere: then the second result says
// so, and the entry must not be stored.
func CutBookmark(in *api.BookmarkInput) ([]Issue, *Issue) {
	var c cutter
	c.repair("url", &in.URL.Value)
	c.repair("title", &in.Title.Value)
	c.repair("description", &in.Description.Value)
	c.repair("readerExcerpt", &in.ReaderExcerpt.Value)
	c.repairTags(in.Tags.Value)
	c.extra(&in.Extra)
	NormalizeBookmark(in)

	url := in.URL.Value
	if len(url) > api.MaxURL {
		return nil, &Issue{"url", api.IssueURLTooLong, "the URL " + atMost(api.MaxURL, "bytes") + " and was not stored"}
	}
	if url != "" && !IsAbsoluteURL(url) {
		c.note("url", api.IssueURLNotAbsolute, "the URL is not absolute and was kept as it is")
	}
	c.cut("title", &in.Title.Value, api.MaxTitle, api.IssueTitleCut)
	c.cut("description", &in.Description.Value, api.MaxDescription, api.IssueDescriptionCut)
	c.cut("readerExcerpt", &in.ReaderExcerpt.Value, api.MaxReaderExcerpt, api.IssueDescriptionCut)
	c.tags(&in.Tags)
	if video := in.VideoEmbedURL.Value; CheckLink("videoEmbedUrl", video) != nil {
		in.VideoEmbedURL = api.Optional[string]{}
		c.note("videoEmbedUrl", api.IssueExtraDropped, "the video link is not an http or https URL within the limit")
	}
	in.SortOrder.Value = clampInteger(in.SortOrder.Value)
	return c.issues, nil
}

// CutFolder makes in storable for an import or the change feed, in normal
// form, and notes each change. A name that is empty becomes
// [api.Untitled], so that nothing cannot be mended.
func CutFolder(in *api.FolderInput) []Issue {
	var c cutter
	c.repair("name", &in.Name.Value)
	c.repair("description", &in.Description.Value)
	c.extra(&in.Extra)
	NormalizeFolder(in)
	c.cut("name", &in.Name.Value, api.MaxFolderName, api.IssueTitleCut)
	c.cut("description", &in.Description.Value, api.MaxNote, api.IssueDescriptionCut)
	if in.Name.Set && in.Name.Value == "" {
		in.Name = api.Some(api.Untitled)
	}
	in.SortOrder.Value = clampInteger(in.SortOrder.Value)
	return c.issues
}

type cutter struct{ issues []Issue }

func (c *cutter) note(field, code, message string) {
	c.issues = append(c.issues, Issue{field, code, message})
}

func (c *cutter) repair(field string, s *string) {
	fixed, changed := Repair(*s)
	if changed {
		*s = fixed
		c.note(field, api.IssueTextRepaired, "characters of the "+field+" that cannot be stored were replaced")
	}
}

func (c *cutter) repairTags(tags []string) {
	noted := false
	for i, tag := range tags {
		fixed, changed := Repair(tag)
		tags[i] = fixed
		if changed && !noted {
			c.note("tags", api.IssueTextRepaired, "characters of the tags that cannot be stored were replaced")
			noted = true
		}
	}
}

func (c *cutter) cut(field string, s *string, maxRunes int, code string) {
	if short, was := Cut(*s, maxRunes); was {
		*s = strings.TrimRightFunc(short, unicode.IsSpace)
		c.note(field, code, fmt.Sprintf("the %s was cut to %d characters", field, maxRunes))
	}
}

// tags cuts each tag, which can make two equal, and then their number.
func (c *cutter) tags(v *api.Optional[[]string]) {
	cut := false
	for i, tag := range v.Value {
		if short, was := Cut(tag, api.MaxTag); was {
			v.Value[i], cut = short, true
		}
	}
	if cut {
		v.Value = Tags(v.Value)
	}
	if len(v.Value) > api.MaxTags {
		v.Value, cut = v.Value[:api.MaxTags], true
	}
	if cut {
		c.note("tags", api.IssueTagsCut, fmt.Sprintf("the tags were cut to the limits: %d tags of %d characters", api.MaxTags, api.MaxTag))
	}
}

// extra drops the attributes whose names are not allowed, and of the others,
// in the order of their names, those that do not fit any more.
func (c *cutter) extra(v *api.Optional[map[string]string]) {
	if len(v.Value) == 0 {
		return
	}
	kept := make(map[string]string, len(v.Value))
	size, dropped, repaired := 0, 0, false
	for _, name := range slices.Sorted(maps.Keys(v.Value)) {
		value, changed := Repair(v.Value[name])
		repaired = repaired || changed
		if !ValidExtraName(name) || size+len(name)+len(value) > api.MaxExtra {
			dropped++
			continue
		}
		size += len(name) + len(value)
		kept[name] = value
	}
	v.Value = kept
	if repaired {
		c.note("extra", api.IssueTextRepaired, "characters of the attributes that cannot be stored were replaced")
	}
	if dropped > 0 {
		c.note("extra", api.IssueExtraDropped, fmt.Sprintf("%d attributes over the limit were dropped", dropped))
	}
}

func clampInteger(n int64) int64 { return max(-MaxInteger, min(n, MaxInteger)) }
