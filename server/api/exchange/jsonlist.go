package exchange

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// newListReader reads an array of bookmarks: Pinboard's export, or a list as
// bm's own API and command line give it.
func newListReader(src *source, format Format) (*jsonReader, error) {
	j := openJSON(src.text, format, src.keepRaw)
	if _, err := j.dec.Token(); err != nil { // the bracket that was seen
		return nil, fmt.Errorf("read %s: %w", format, err)
	}
	j.within, j.list = true, true
	return j, nil
}

// maybe is a text that is false where there is none, as PHP writes it.
type maybe string

func (m *maybe) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		return nil
	}
	return json.Unmarshal(data, (*string)(m))
}

// pinboardPost is a bookmark of Pinboard's export.
type pinboardPost struct {
	Href        string   `json:"href"`
	Description maybe    `json:"description"`
	Extended    maybe    `json:"extended"`
	Time        jsonDate `json:"time"`
	Shared      string   `json:"shared"`
	ToRead      string   `json:"toread"`
	Tags        string   `json:"tags"`
}

// entry is the post, with the attributes of Pinboard's HTML export.
func (p *pinboardPost) entry(e *Entry) {
	e.URL, e.Title, e.Description, e.Tags = p.Href, string(p.Description), string(p.Extended), strings.Fields(p.Tags)
	e.setDates(p.Time, jsonDate{})
	for name, on := range map[string]string{"PRIVATE": yesNo(p.Shared, "no"), "TOREAD": yesNo(p.ToRead, "yes")} {
		if on != "" {
			addExtra(e, name, on)
		}
	}
}

// yesNo is 1 where value is yes, 0 where it is something else, "" for nothing.
func yesNo(value, yes string) string {
	if value == "" {
		return ""
	}
	on := 0
	if value == yes {
		on = 1
	}
	return strconv.Itoa(on)
}
