package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bm/server/api/rules"
)

// The bounds of a query. What lies beyond is left out, so that a pasted page
// is still a search and not an error.
const (
	maxQuery  = 8 << 10 // bytes
	maxDepth  = 24      // parentheses within parentheses
	maxParts  = 64      // words and filters
	maxPhrase = 64      // tokens of one word or phrase

	// folderParts is how many parts a folder takes: what it means is a list of
	// all folders below it.
	folderParts = 8
	// prefixParts is how many a beginning takes: an index puts together all that it
	// has of every word that begins so, once for each way to match.
	prefixParts = 4
)

// Parse reads a query. There are no errors: what is not grammar is searched
// as words.
//
//	go sqlite            both words, the last one as a prefix
//	"full text" word*    a phrase, a prefix
//	tag:x #x #"two words"
//	folder:"Dev/Go"      the folder and below; \/ is a slash within a name,
//	                     a leading / begins at the top of the tree
//	site:example.com     the host and those below it
//	is:dead|ok|unknown|archived|untagged|unfiled
//	before:2025-01-31    created before that day (UTC); a month or year will do
//	after:2025-01-31     created on that day or later
//	-word -tag:x -(…)    not
//	a OR b (…)           either; a space binds tighter
func Parse(text string) Query {
	cut := false
	if len(text) > maxQuery {
		n := maxQuery
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text, cut = text[:n], true
	}
	p := parser{text: readable(text)}
	var parts And
	for !p.atEnd() {
		parts = append(parts, p.or(0)...)
		p.accept(')') // one that closes nothing
	}
	if p.last != nil && p.last.Ending == Whole && !endsUnspaced(p.last.Tokens) {
		p.last.Ending = Prefix
	}
	return Query{Root: simplify(parts), Cut: cut || p.cut}
}

// readable is a text without what no engine takes as part of a value.
func readable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, " "), "\x00", " ")
}

type parser struct {
	text  string
	pos   int
	parts int   // of words and filters that were read
	last  *Term // the last plain word that is not negated
	not   int   // within how many negations
	cut   bool  // something was not heeded
}

func (p *parser) skipSpace() {
	for p.pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		p.pos += n
	}
}

func (p *parser) atEnd() bool {
	p.skipSpace()
	return p.pos >= len(p.text)
}

func (p *parser) accept(c byte) bool {
	p.skipSpace()
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// acceptOr reads the word OR.
func (p *parser) acceptOr() bool {
	p.skipSpace()
	rest := p.text[p.pos:]
	if !strings.HasPrefix(rest, "OR") {
		return false
	}
	if next, _ := utf8.DecodeRuneInString(rest[2:]); rest != "OR" && !unicode.IsSpace(next) && next != '(' && next != ')' && next != '"' {
		return false
	}
	p.pos += 2
	return true
}

// or reads alternatives up to the end or a closing parenthesis. An OR with
// nothing on one side is a word like any other.
func (p *parser) or(depth int) And {
	var done Or
	current := p.and(depth)
	for p.acceptOr() {
		last := p.last
		next := p.and(depth)
		if len(current) == 0 || len(next) == 0 {
			if word := p.term("or"); word != nil {
				current = append(current, word)
				if p.last == last && p.not == 0 {
					p.last = word
				}
			}
			current = append(current, next...)
			continue
		}
		done = append(done, simplify(current))
		current = next
	}
	if len(done) == 0 {
		return current
	}
	return And{append(done, simplify(current))}
}

// and reads parts up to an OR, the end or a closing parenthesis.
func (p *parser) and(depth int) And {
	var parts And
	for !p.atEnd() && p.peek() != ')' {
		at := p.pos
		if p.acceptOr() {
			p.pos = at
			return parts
		}
		if part := p.part(depth); part != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// part reads one part; nil where there is nothing in it to search for.
func (p *parser) part(depth int) Node {
	switch p.peek() {
	case '-':
		return p.negated(depth)
	case '(':
		p.pos++
		if depth >= maxDepth {
			p.cut = true
			return nil
		}
		part := simplify(p.or(depth + 1))
		p.accept(')')
		return part
	case '"':
		return p.phrase()
	case '#':
		return p.hash()
	}
	return p.bare()
}

// negated reads what a dash stands before. A dash before nothing, and several
// of them, as of a command's --flag, say nothing.
func (p *parser) negated(depth int) Node {
	start := p.pos
	for p.peek() == '-' {
		p.pos++
	}
	if next := p.peek(); next == 0 || next == ')' || startsSpace(p.text[p.pos:]) {
		return nil
	}
	if p.pos-start > 1 {
		return p.part(depth)
	}
	p.not++
	part := p.part(depth)
	p.not--
	if part == nil {
		return nil
	}
	return Not{part}
}

func startsSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// quoted reads a text in double quotes, in which \" is a quote. Without a
// closing quote it reads nothing.
func (p *parser) quoted() (string, bool) {
	var b strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\\' && i+1 < len(p.text) && p.text[i+1] == '"':
			b.WriteByte('"')
			i++
		case c == '"':
			p.pos = i + 1
			return b.String(), true
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// run reads up to a space, a parenthesis or a quote.
func (p *parser) run() string {
	rest := p.text[p.pos:]
	n := strings.IndexFunc(rest, func(r rune) bool {
		return unicode.IsSpace(r) || r == '(' || r == ')' || r == '"'
	})
	if n < 0 {
		n = len(rest)
	}
	p.pos += n
	return rest[:n]
}

func (p *parser) phrase() Node {
	text, ok := p.quoted()
	if !ok {
		p.pos++ // a quote that nothing closes
		return nil
	}
	term := p.term(text)
	if term == nil {
		return nil
	}
	if p.peek() == '*' {
		p.pos++
		return p.beginning(term)
	}
	return term
}

// hash reads #x.
func (p *parser) hash() Node {
	start := p.pos
	p.pos++
	if value, ok := p.value(); ok {
		if key := rules.TagKey(value); key != "" && strings.Trim(key, "#") != "" {
			return p.filter(Tag{Key: key})
		}
	}
	p.pos = start
	return p.plain(p.runAtLeastOne())
}

// value reads what stands after a colon or a hash.
func (p *parser) value() (string, bool) {
	if p.peek() == '"' {
		return p.quoted()
	}
	value := p.run()
	return value, value != ""
}

func (p *parser) runAtLeastOne() string {
	text := p.run()
	if text == "" && p.pos < len(p.text) {
		p.pos++
	}
	return text
}

// bare reads a filter or a word.
func (p *parser) bare() Node {
	start := p.pos
	rest := p.text[start:]
	if n := strings.IndexByte(rest, ':'); n > 0 && n <= len("folder") {
		p.pos += n + 1
		if value, ok := p.value(); ok {
			if node := p.field(strings.ToLower(rest[:n]), value); node != nil {
				return node
			}
		}
		p.pos = start
	}
	return p.plain(p.runAtLeastOne())
}

// plain makes a term of a word as it was typed.
func (p *parser) plain(text string) Node {
	text, star := strings.CutSuffix(text, "*")
	term := p.word(text)
	if term == nil {
		return nil
	}
	if star && p.beginning(term) == nil {
		return nil
	}
	if p.not == 0 {
		p.last = term
	}
	return term
}

// beginning has a term match words that begin like it; nil where there is no room
// for that.
func (p *parser) beginning(term *Term) Node {
	if term.Ending != Part && !p.room(prefixParts-1) {
		return nil
	}
	term.Ending = max(term.Ending, Prefix)
	return term
}

func (p *parser) word(text string) *Term {
	if bare := trimWebScheme(text); len(bare) < len(text) {
		text = URLText(text)
	}
	return p.term(text)
}

// term makes a term of a text; nil where there is nothing in it to search for.
func (p *parser) term(text string) *Term {
	tokens := Tokens(text)
	if n := slices.Index(tokens, altMark); n >= 0 {
		tokens = tokens[:n]
	}
	if len(tokens) == 0 || !p.room(1) {
		return nil
	}
	p.cut = p.cut || len(tokens) > maxPhrase
	term := &Term{Tokens: tokens[:min(len(tokens), maxPhrase)]}
	if last := term.Tokens[len(term.Tokens)-1]; endsUnspaced(term.Tokens) && utf8.RuneCountInString(last) == 1 {
		if !p.room(prefixParts - 1) {
			return nil
		}
		term.Ending = Part
	}
	return term
}

// room reports whether there is room for what takes so many parts.
func (p *parser) room(size int) bool {
	p.parts += size
	p.cut = p.cut || p.parts > maxParts
	return p.parts <= maxParts
}

func endsUnspaced(tokens []string) bool {
	r, _ := utf8.DecodeRuneInString(tokens[len(tokens)-1])
	return isUnspaced(r)
}

// simplify is the node that parts mean: nil for none, the one, or all, with
// groups within groups made one.
func simplify(parts And) Node {
	flat := make(And, 0, len(parts))
	for _, part := range parts {
		switch part := part.(type) {
		case nil:
		case And:
			flat = append(flat, part...)
		default:
			flat = append(flat, part)
		}
	}
	switch len(flat) {
	case 0:
		return nil
	case 1:
		return flat[0]
	}
	return flat
}
