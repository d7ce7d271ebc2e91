package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// URLKeyVersion is the version of [URLKey]. It is stored beside each key: a
// later normaliser gets a new number, and keys of different versions are
// never compared, so that a new release neither duplicates nor merges
// anything by itself.
const URLKeyVersion = 1

// MaxURLKey is the length in bytes that no key exceeds, so that any engine
// can index it.
const MaxURLKey = 1024

// URLKey is the normalised form by which two URLs are held to be duplicates.
// Of http, https and ftp URLs the case of scheme and host, a default or empty
// port, an empty path, the spelling of percent-encoding and an empty fragment
// do not count, and a host is in its ASCII form (IDNA). Everything else does:
// the order of a query, a trailing slash, tracking parameters. Any other
// string stands for itself, trimmed. A key longer than [MaxURLKey] keeps its
// beginning and ends in a hash of the whole.
//
// The steps are written out here instead of being left to a library because
// keys are stored: they must not change when a dependency does.
func URLKey(raw string) string {
	s := strings.TrimSpace(raw)
	scheme, rest, ok := splitWeb(s)
	if !ok {
		s, _ = Repair(s)
		return boundKey(s)
	}
	rest = dropLineBreaks(rest)
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if strings.HasSuffix(rest, "#") && strings.IndexByte(rest, '#') == len(rest)-1 {
		rest = rest[:len(rest)-1]
	}

	key := make([]byte, 0, len(s)+8)
	key = append(key, scheme...)
	key = append(key, "://"...)
	key = appendAuthority(key, scheme, authority)
	if rest == "" || rest[0] != '/' {
		key = append(key, '/')
	}
	key = appendEscaped(key, rest)
	return boundKey(string(key))
}

// splitWeb splits scheme://rest where the scheme is one whose URLs have a
// host and a path, and the host is not empty.
func splitWeb(s string) (scheme, rest string, ok bool) {
	n := strings.IndexByte(s, ':')
	if n < 0 || n > len("https") || !strings.HasPrefix(s[n:], "://") {
		return "", "", false
	}
	scheme, rest = strings.ToLower(s[:n]), s[n+3:]
	switch scheme {
	case "http", "https", "ftp":
	default:
		return "", "", false
	}
	if rest == "" || strings.IndexByte("/?#:", rest[0]) >= 0 {
		return "", "", false
	}
	return scheme, rest, true
}

// dropLineBreaks removes what every browser removes from within a URL.
func dropLineBreaks(s string) string {
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

func appendAuthority(dst []byte, scheme, authority string) []byte {
	host := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if at > 0 {
			dst = append(appendEscaped(dst, authority[:at]), '@')
		}
		host = authority[at+1:]
	}
	host, port := splitPort(host)
	host = asciiHost(host)
	start := len(dst)
	dst = appendEscaped(dst, host)
	lowerUnescaped(dst[start:])
	port = strings.TrimLeft(port, "0")
	switch {
	case port == "", scheme == "http" && port == "80",
		scheme == "https" && port == "443", scheme == "ftp" && port == "21":
		return dst
	}
	return append(append(dst, ':'), port...)
}

// lowerUnescaped makes letters lower-case, but not those of a percent-encoding.
func lowerUnescaped(host []byte) {
	for i := 0; i < len(host); i++ {
		if host[i] == '%' {
			i += 2
		} else if host[i] >= 'A' && host[i] <= 'Z' {
			host[i] += 'a' - 'A'
		}
	}
}

// asciiHost is a host in lower case and, where IDNA has one, its ASCII form.
func asciiHost(host string) string {
	if !isASCII(host) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			return ascii
		}
	}
	return strings.ToLower(host)
}

// splitPort splits off a port that is all digits, empty included. A host that
// holds another colon, and no brackets around it, is left whole.
func splitPort(host string) (name, port string) {
	n := len(host)
	for n > 0 && host[n-1] >= '0' && host[n-1] <= '9' {
		n--
	}
	if n == 0 || host[n-1] != ':' || !strings.HasSuffix(host[:n-1], "]") && strings.IndexByte(host, ':') != n-1 {
		return host, ""
	}
	return host[:n-1], host[n:]
}

const upperHex = "0123456789ABCDEF"

// appendEscaped appends s with its percent-encoding in one spelling: what
// needs none is plain, what cannot stand in a URL is encoded, hexadecimal
// digits are in upper case. The reserved characters stay as they were, since
// "/" and "%2F" are different things to a server.
func appendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if isUnreserved(c) {
				dst = append(dst, c)
			} else {
				dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
			}
			continue
		}
		if mustEscape(c) {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

func mustEscape(c byte) bool {
	return c <= ' ' || c >= 0x7f || strings.IndexByte("\"%<>\\^`{|}", c) >= 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	default:
		return c - '0'
	}
}

// boundKey keeps a key indexable. The blank before the hash cannot occur in a
// normalised URL, so that no such URL has the key of another.
func boundKey(key string) string {
	if len(key) <= MaxURLKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	mark := " sha256:" + hex.EncodeToString(sum[:])
	keep := MaxURLKey - len(mark)
	for keep > 0 && !utf8.RuneStart(key[keep]) {
		keep--
	}
	return key[:keep] + mark
}

// Scheme is the scheme of an absolute URL in lower case; "" where raw has
// none.
func Scheme(raw string) string {
	n := strings.IndexByte(raw, ':')
	if n <= 0 {
		return ""
	}
	for i := range n {
		c := raw[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		other := raw[i] >= '0' && raw[i] <= '9' || raw[i] == '+' || raw[i] == '-' || raw[i] == '.'
		if !letter && (i == 0 || !other) {
			return ""
		}
	}
	return strings.ToLower(raw[:n])
}

// IsAbsoluteURL reports whether raw is a URL with a scheme, of whatever kind:
// browsers keep javascript:, place:, data: and about: URLs among their
// bookmarks. Of http and https it wants a host.
func IsAbsoluteURL(raw string) bool {
	raw = strings.TrimSpace(raw)
	switch scheme := Scheme(raw); scheme {
	case "":
		return false
	case "http", "https":
		return IsWebURL(raw)
	default:
		return len(raw) > len(scheme)+1
	}
}

// IsWebURL reports whether raw is an http or https URL with a host that a
// browser could look for: the only kind that is ever fetched, or shown as a link.
func IsWebURL(raw string) bool {
	host, port := splitPort(webAuthority(raw))
	return isHost(host) && isPort(port)
}

// Host is the host of an http or https URL, in lower case and in its ASCII
// form, without user and port; "" where raw is none. It is stored in the search
// index, so that it stays what it is for hosts that [IsWebURL] does not take.
func Host(raw string) string {
	host, _ := splitPort(webAuthority(raw))
	if strings.IndexFunc(host, isForbiddenInHost) >= 0 {
		return ""
	}
	return asciiHost(host)
}

// webAuthority is the host of a web URL with its port, as they are written.
func webAuthority(raw string) string {
	scheme, rest, ok := splitWeb(strings.TrimSpace(raw))
	if !ok || scheme == "ftp" {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:]
}

// isHost reports whether host is a name, or an address in its brackets.
func isHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && address.Is6() && strings.HasSuffix(inner, "]")
	}
	return host != "" && !strings.ContainsAny(host, "[]:") && strings.IndexFunc(host, isForbiddenInHost) < 0
}

// isPort reports whether port, all digits or empty, is one that there may be.
func isPort(port string) bool {
	port = strings.TrimLeft(port, "0")
	return len(port) < 5 || len(port) == 5 && port <= "65535"
}

func isForbiddenInHost(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
}
