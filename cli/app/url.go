package app

import (
	"fmt"
	"strings"
	"unicode"

	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/rules"
)

// URLFault says what keeps a text that somebody typed, at such a place, from
// being a URL; "" where nothing does. What comes in a file is not judged by it:
// an import keeps any string.
func URLFault(text, where string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "An empty argument is no URL."
	case len(text) > api.MaxURL:
		return fmt.Sprintf("A URL of %d bytes%s is longer than the limit of %d.", len(text), where, api.MaxURL)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Sprintf("%q%s holds a line break or a control character: it is no URL.", text, where)
	case !rules.IsAbsoluteURL(text):
		return fmt.Sprintf("%q%s is no URL.", output.Clean(text), where)
	}
	return ""
}

// CompleteURL adds the scheme that people leave out when they type.
func CompleteURL(text string) string {
	if rules.IsAbsoluteURL(text) && !looksLikeHostPort(text) {
		return text
	}
	host, _, _ := strings.Cut(text, "/")
	name, _, _ := strings.Cut(host, ":")
	if strings.ContainsAny(host, " \t@") || !strings.Contains(name, ".") && name != "localhost" {
		return text
	}
	return "https://" + text
}

// looksLikeHostPort tells go.dev:443/x, whose scheme would be go.dev, from
// mailto:x.
func looksLikeHostPort(text string) bool {
	name, rest, found := strings.Cut(text, ":")
	return found && (strings.Contains(name, ".") || name == "localhost") && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}
