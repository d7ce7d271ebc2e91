package rules

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"bm/server/api"
)

// MaxInteger is the largest integer that every reader of JSON keeps exact.
const MaxInteger = 1<<53 - 1

// CheckBookmark reports everything that keeps in from being stored through
// REST, one entry a field ("url", "tags[3]", "extra.NAME"). A field that is
// absent or that clears is never at fault.
func CheckBookmark(in *api.BookmarkInput) []api.FieldError {
	var c checker
	c.newID("id", in.ID)
	c.url("url", in.URL)
	c.text("title", in.Title, api.MaxTitle)
	c.text("description", in.Description, api.MaxDescription)
	c.tags("tags", in.Tags)
	c.id("folderId", in.FolderID)
	c.integer("sortOrder", in.SortOrder)
	c.text("noticeVersion", in.NoticeVersion, api.MaxNoticeVersion)
	c.text("readerExcerpt", in.ReaderExcerpt, api.MaxReaderExcerpt)
	c.link("videoEmbedUrl", in.VideoEmbedURL)
	c.extra("extra", in.Extra)
	return c.found
}

// CheckFolder reports everything that keeps in from being stored through
// REST. On create a name is required; on update it cannot be cleared.
func CheckFolder(in *api.FolderInput, create bool) []api.FieldError {
	var c checker
	c.newID("id", in.ID)
	if (create || in.Name.Set) && strings.TrimSpace(in.Name.Value) == "" {
		c.add("name", "is required")
	}
	c.text("name", in.Name, api.MaxFolderName)
	c.text("description", in.Description, api.MaxNote)
	c.id("parentId", in.ParentID)
	c.integer("sortOrder", in.SortOrder)
	c.extra("extra", in.Extra)
	return c.found
}

// CheckLink reports what is wrong with a field that holds a link which
// clients may follow or embed: http or https, at most 2048 characters.
func CheckLink(field, s string) *api.FieldError {
	if e := CheckText(field, s, api.MaxLink); e != nil {
		return e
	}
	if s != "" && !IsWebURL(s) {
		return &api.FieldError{Field: field, Message: "is not an http or https URL"}
	}
	return nil
}

// checker collects what is wrong with the fields of one input.
type checker struct{ found []api.FieldError }

func (c *checker) add(field, format string, args ...any) {
	c.found = append(c.found, api.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) addError(e *api.FieldError) bool {
	if e != nil {
		c.found = append(c.found, *e)
	}
	return e != nil
}

func (c *checker) text(field string, v api.Optional[string], maxRunes int) {
	if v.Set {
		c.addError(CheckText(field, v.Value, maxRunes))
	}
}

func (c *checker) link(field string, v api.Optional[string]) {
	if v.Set {
		c.addError(CheckLink(field, v.Value))
	}
}

func (c *checker) newID(field string, v api.Optional[string]) {
	if v.Set && v.Value != "" && !api.ValidNewID(v.Value) {
		c.add(field, "is not a UUIDv7 in lower case")
	}
}

func (c *checker) id(field string, v api.Optional[string]) {
	if v.Set && v.Value != "" && !api.ValidID(v.Value) {
		c.add(field, "names nothing here")
	}
}

func (c *checker) integer(field string, v api.Optional[int64]) {
	if v.Set && (v.Value > MaxInteger || v.Value < -MaxInteger) {
		c.add(field, "is not between -2^53 and 2^53")
	}
}

func (c *checker) url(field string, v api.Optional[string]) {
	switch {
	case !v.Set || v.Value == "":
	case len(v.Value) > api.MaxURL:
		c.add(field, "%s", atMost(api.MaxURL, "bytes"))
	case c.addError(CheckText(field, v.Value, api.MaxURL)):
	case !IsAbsoluteURL(v.Value):
		c.add(field, "is not an absolute URL")
	}
}

func (c *checker) tags(field string, v api.Optional[[]string]) {
	if len(v.Value) > api.MaxTags {
		c.add(field, "%s", atMost(api.MaxTags, "tags"))
		return
	}
	for i, tag := range v.Value {
		if e := CheckText(fmt.Sprintf("%s[%d]", field, i), tag, len(tag)); c.addError(e) {
			continue
		}
		if utf8.RuneCountInString(Tag(tag)) > api.MaxTag {
			c.add(fmt.Sprintf("%s[%d]", field, i), "%s", atMost(api.MaxTag, "characters"))
		}
	}
}

func (c *checker) extra(field string, v api.Optional[map[string]string]) {
	size := 0
	for name, value := range v.Value {
		size += len(name) + len(value)
		if !ValidExtraName(name) {
			// The name itself is not repeated: it can be anything at all.
			c.add(field, "holds a name that is not allowed")
			return
		}
		if c.addError(CheckText(field+"."+name, value, len(value))) {
			return
		}
	}
	if size > api.MaxExtra {
		c.add(field, "%s", atMost(api.MaxExtra, "bytes"))
	}
}

// ValidExtraName reports whether name may stand in the extra attributes of a
// bookmark or folder: the letters of an attribute's name, none that a browser
// would act upon, no icon, and none that has a field of its own.
func ValidExtraName(name string) bool {
	if name == "" || len(name) > 32 || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	switch name {
	case "HREF", "ICON", "ADD_DATE", "ADD_DATE_MS", "LAST_MODIFIED", "TAGS", "TAGS_JSON":
		return false
	}
	return !strings.HasPrefix(name, "ON")
}

func atMost(n int, what string) string {
	return fmt.Sprintf("is longer than the limit of %d %s", n, what)
}
