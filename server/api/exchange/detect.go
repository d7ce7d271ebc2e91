package exchange

import (
	"bytes"
	"encoding/json"
)

// detect tells a format by the beginning of a file; "" for what is none.
func detect(head []byte) Format {
	if format := xmlFormat(head); format != "" {
		return format
	}
	switch {
	case looksLikeHTML(head), len(bytes.TrimSpace(head)) == 0:
		return Netscape
	}
	if format := jsonFormat(head); format != "" {
		return format
	}
	return csvFormat(head)
}

// looksLikeHTML reports whether a file begins with a tag and holds some tag of
// a list of links. What is XML is none, whatever its tags.
func looksLikeHTML(head []byte) bool {
	text := bytes.ToLower(bytes.TrimSpace(head))
	if !bytes.HasPrefix(text, []byte("<")) {
		return false
	}
	if bytes.Contains(text[:min(len(text), 512)], []byte("netscape-bookmark-file")) {
		return true
	}
	for _, xml := range [...]string{"<?xml", "<opml", "<xbel", "<posts", "<plist", "<rss", "<feed"} {
		if bytes.HasPrefix(text, []byte(xml)) && !bytes.Contains(text, []byte("<html")) {
			return false
		}
	}
	for _, tag := range [...]string{"<dl", "<dt", "<h3", "<a "} {
		if bytes.Contains(text, []byte(tag)) {
			return true
		}
	}
	return false
}

// jsonFormat tells JSON files apart by the first keys of the first object; ""
// for what is no JSON that bm knows.
func jsonFormat(head []byte) Format {
	dec := json.NewDecoder(bytes.NewReader(head))
	open, err := dec.Token()
	list := open == json.Delim('[')
	if list {
		open, err = dec.Token()
		if open == json.Delim(']') {
			return ListJSON // an empty list
		}
	}
	if err != nil || open != json.Delim('{') {
		return ""
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return ""
		}
		switch {
		case list && key == "href":
			return PinboardJSON
		case list && key == "workspaceId", list && key == "url":
			return ListJSON
		case list:
		case key == "roots":
			return ChromeJSON
		case key == "children", key == "typeCode", key == "guid":
			return FirefoxJSON
		case key == "lists":
			return KarakeepJSON
		case key == "collections":
			return LinkwardenJSON
		case key == "bookmarks" && isKarakeep(dec):
			return KarakeepJSON
		case key == "version", key == "exportedAt", key == "folders", key == "bookmarks":
			return JSON
		}
		if key == json.Delim('}') || skipValue(dec) != nil {
			return ""
		}
	}
}

// isKarakeep reports whether the bookmarks that come next are Karakeep's: what
// they hold lies in an object of its own.
func isKarakeep(dec *json.Decoder) bool {
	for _, opening := range "[{" {
		if token, err := dec.Token(); err != nil || token != json.Delim(opening) {
			return false
		}
	}
	for {
		key, err := dec.Token()
		if err != nil || key == json.Delim('}') {
			return false
		}
		if key == "content" {
			return true
		}
		if skipValue(dec) != nil {
			return false
		}
	}
}
