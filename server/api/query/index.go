package query

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"bm/server/api/rules"
)

// FTS5Tokenize is the tokenize option of the FTS5 table. Its ascii tokenizer
// takes every character above U+007F as part of a token; with the signs that
// our tokens can hold added, white space alone separates them.
const FTS5Tokenize = `tokenize="ascii tokenchars '+#@.-_:[]'"`

// The bounds of an index, in tokens. PostgreSQL numbers at most 16,383
// positions, so that what lies beyond could not be part of a phrase there; the
// same bound holds everywhere, for the same answers.
const (
	maxFieldTokens = 2_700  // title, tags and url, each
	maxTokens      = 16_000 // all four fields together
	fieldGap       = 16     // positions between two fields
)

// Document is what of a bookmark is searched by words.
type Document struct {
	Title       string
	Tags        []string
	URL         string
	Description string
}

// Index holds the tokens of a document's fields, separated by spaces: the
// text of the columns of an FTS5 table. The URL's end in the token of its host
// that site: looks for.
type Index struct {
	Title, Tags, URL, Description string
}

// NewIndex tokenizes a document.
func NewIndex(d Document) Index {
	var x Index
	var b indexer
	left := maxTokens
	x.Title = b.field(maxFieldTokens, d.Title)
	left -= b.n
	x.Tags = b.field(maxFieldTokens, d.Tags...)
	left -= b.n
	x.URL = b.field(maxFieldTokens, URLText(d.URL))
	left -= b.n
	x.Description = b.field(left, d.Description)
	if key := HostKey(d.URL); key != "" {
		x.URL += " " + altMark + key
	}
	return x
}

// indexer puts the tokens of fields together, one after the other.
type indexer struct {
	scanner  scanner
	out, alt []byte
	n, limit int
}

// field joins the tokens of texts, at most limit of them; n tells how many
// they are.
func (b *indexer) field(limit int, texts ...string) string {
	b.out, b.alt, b.n, b.limit = b.out[:0], b.alt[:0], 0, limit
	for _, text := range texts {
		if b.plain(text) {
			continue
		}
		if b.scanner.emit == nil {
			b.scanner.emit = b.add
		}
		b.scanner.scan(text)
	}
	if len(b.alt) > 0 {
		b.out = append(append(append(b.out, ' '), altMark...), b.alt...)
	}
	return string(b.out)
}

func (b *indexer) add(t token) {
	switch {
	case b.n >= b.limit:
		return
	case t.alt:
		b.alt = append(append(b.alt, ' '), t.text...)
	default:
		if len(b.out) > 0 {
			b.out = append(b.out, ' ')
		}
		b.out = append(b.out, t.text...)
	}
	b.n++
}

// plain is the short way through a text of ASCII without the signs that a
// word can keep: its tokens are its runs of letters and digits. It is false,
// and has done nothing, for any other text.
func (b *indexer) plain(text string) bool {
	out, n := b.out, b.n
	for i := 0; i < len(text); {
		start := len(out)
		if start > 0 {
			out = append(out, ' ')
		}
		first := len(out)
		for ; i < len(text); i++ {
			c := text[i]
			if c >= utf8.RuneSelf || c == '+' || c == '#' {
				return false
			}
			c = lowerASCII(c)
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				i++
				break
			}
			if len(out)-first < maxToken {
				out = append(out, c)
			}
		}
		if len(out) == first || n >= b.limit {
			out = out[:start]
			continue
		}
		n++
	}
	b.out, b.n = out, n
	return true
}

// ScopeToken is a token for the id of a workspace, which no text of a user
// yields: put into every index and every search, it lets an engine skip what
// other tenants hold.
func ScopeToken(id string) string {
	return altMark + strings.ReplaceAll(id, "-", "")
}

// TSVector is the document as the text of a PostgreSQL tsvector, to be cast
// with $n::tsvector: every token with its position, the fields weighted A to
// D, scope (of [ScopeToken], or "") without a position.
func (x Index) TSVector(scope string) string {
	out := make([]byte, 0, 2*(len(x.Title)+len(x.Tags)+len(x.URL)+len(x.Description))+len(scope)+16)
	if scope != "" {
		out = append(append(append(out, '\''), scope...), '\'')
	}
	position := 1
	for i, field := range [...]string{x.Title, x.Tags, x.URL, x.Description} {
		for field != "" {
			var tok string
			tok, field, _ = strings.Cut(field, " ")
			if tok != altMark {
				if len(out) > 0 {
					out = append(out, ' ')
				}
				out = append(append(append(out, '\''), tok...), "':"...)
				out = append(strconv.AppendInt(out, int64(position), 10), "ABCD"[i])
			}
			position++
		}
		position += fieldGap
	}
	return string(out)
}

// URLText is what of a URL is searched as words: without the scheme that
// nearly all have, percent-encoding undone, an internationalised host as it is
// read.
func URLText(raw string) string {
	var first string // mostly all that there is
	var b strings.Builder
	readURL(raw, func(part string, _, _ int) {
		switch {
		case b.Len() > 0:
			b.WriteString(part)
		case first == "":
			first = part
		default:
			b.WriteString(first)
			b.WriteString(part)
		}
	})
	if b.Len() > 0 {
		return b.String()
	}
	return first
}

// readURL hands each what a URL is searched as, part by part, and which bytes of
// it each part is written as.
func readURL(raw string, each func(part string, from, to int)) {
	s := trimWebScheme(raw)
	trimmed := strings.TrimSpace(raw)
	at := strings.Index(raw, trimmed) + len(trimmed) - len(s)
	if len(s) > 4 && strings.Contains(strings.ToLower(s), "xn--") {
		end := strings.IndexAny(s, "/?#:")
		if end < 0 {
			end = len(s)
		}
		if host, err := idna.Display.ToUnicode(s[:end]); err == nil && host != s[:end] {
			each(host, at, at+end)
			s, at = s[end:], at+end
		}
	}
	readPercent(s, func(part string, from, to int) { each(part, at+from, at+to) })
}

// readPercent undoes percent-encoding where it is valid, and leaves the rest.
func readPercent(s string, each func(part string, from, to int)) {
	for at := 0; at < len(s); {
		n := strings.IndexByte(s[at:], '%')
		if n < 0 {
			n = len(s) - at
		}
		if n > 0 {
			each(s[at:at+n], at, at+n)
			at += n
			continue
		}
		end, part := at+1, "%"
		if at+3 <= len(s) {
			if c, err := strconv.ParseUint(s[at+1:at+3], 16, 8); err == nil {
				end, part = at+3, string([]byte{byte(c)})
			}
		}
		each(part, at, end)
		at = end
	}
}

// unescape undoes percent-encoding where it is valid and leaves the rest.
func unescape(s string) string {
	var b strings.Builder
	readPercent(s, func(part string, _, _ int) { b.WriteString(part) })
	return b.String()
}

func trimWebScheme(s string) string {
	s = strings.TrimSpace(s)
	for _, scheme := range [...]string{"https://", "http://"} {
		if len(s) >= len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			return s[len(scheme):]
		}
	}
	return s
}

// HostKey is the host of a web URL with its labels reversed, each ended by a
// dot ("com.example.www."), so that a host and all below it begin alike. It is
// "" where there is none.
func HostKey(raw string) string {
	host := strings.Trim(rules.Host(raw), ".")
	if host == "" || len(host) > maxHost || strings.IndexFunc(host, isForeignToHost) >= 0 {
		return ""
	}
	return reverseLabels(host)
}

const maxHost = 253

func isForeignToHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_:[]", r)
}

func reverseLabels(host string) string {
	out := make([]byte, 0, len(host)+1)
	for {
		dot := strings.LastIndexByte(host, '.')
		out = append(append(out, host[dot+1:]...), '.')
		if dot < 0 {
			return string(out)
		}
		host = host[:dot]
	}
}
