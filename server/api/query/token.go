package query

import (
	"unicode"
	"unicode/utf8"
)

// maxToken bounds a token in bytes. What is longer is cut, in the index and in
// a query alike; PostgreSQL takes no lexeme above 2 KiB.
const maxToken = 128

// Tokens splits text into what it can be found by, folded as in
// [appendFolded]:
//
//   - a run of letters and digits is one token; "foo_bar", "node.js" and
//     "v1.2.3" are several, which a query for them asks for in a row;
//   - "c++", "c++17", "c#" and "notepad++" keep their signs, and the bare word
//     is added at the end;
//   - scripts written without spaces (Chinese, Japanese, Thai …) and Korean
//     become overlapping pairs of characters, so that any part of a text of
//     two characters is found, and the last character is added at the end, so
//     that one is found too;
//   - each emoji is a token.
//
// What is added at the end follows [altMark], so that no phrase runs across.
func Tokens(text string) []string {
	var main, alt []string
	scan(text, func(t token) {
		if t.alt {
			alt = append(alt, string(t.text))
		} else {
			main = append(main, string(t.text))
		}
	})
	if len(alt) > 0 {
		main = append(append(main, altMark), alt...)
	}
	return main
}

// altMark is the token between a text's tokens and those added to them. The
// tokenizer never makes it of any text.
const altMark = "@"

// token is one token of a text, at text[start:end] of it. Its bytes are good
// during the call alone. alt marks an addition to the tokens in a row.
type token struct {
	text       []byte
	start, end int
	alt        bool
}

// class is what a folded character is to the tokenizer.
type class uint8

const (
	classBreak    class = iota // ends a token
	classWord                  // part of a word
	classUnspaced              // of a script written without spaces
	classSymbol                // a token of its own
)

// scanner is the state within a text.
type scanner struct {
	emit func(token)

	word             []byte // the word being read, folded
	wordFrom, wordTo int

	prev             []byte // the last unspaced character
	prevFrom, prevTo int
	run              int // how many of them in a row

	pair   []byte
	folded []byte
}

// scan hands each token of text to emit.
func scan(text string, emit func(token)) {
	s := scanner{emit: emit}
	s.scan(text)
}

func (s *scanner) scan(text string) {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) {
			i = s.ascii(text, i, c)
			continue
		}
		folded, size := appendFolded(s.folded[:0], text[i:])
		s.folded = folded
		end := i + size
		if len(folded) == 0 && len(s.word) > 0 && s.wordTo == i {
			s.wordTo = end // an accent belongs to the letter before it
		}
		for len(folded) > 0 {
			r, n := utf8.DecodeRune(folded)
			s.char(folded[:n], classOf(r), i, end)
			folded = folded[n:]
		}
		if text[i] == '+' || text[i] == '#' {
			end = s.sign(text, i)
		}
		i = end
	}
	s.endWord()
	s.endRun()
}

// ascii is the short way through most texts.
func (s *scanner) ascii(text string, i int, c byte) int {
	c = lowerASCII(c)
	switch {
	case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		if s.run > 0 {
			s.endRun()
		}
		if len(s.word) == 0 {
			s.wordFrom = i
		}
		s.word = append(s.word, c)
		s.wordTo = i + 1
	case c == '+' || c == '#':
		return s.sign(text, i)
	default:
		s.endWord()
		s.endRun()
	}
	return i + 1
}

// sign decides whether a run of + or # belongs to the word before it: "c++",
// "c++17" and "c#" yes, "a+b" and "page#part" no. It returns the index after
// the run.
func (s *scanner) sign(text string, i int) int {
	end := i + 1
	for end < len(text) && text[end] == text[i] {
		end++
	}
	if len(s.word) == 0 || s.wordTo != i || end-i > 3 {
		s.endWord()
		s.endRun()
		return end
	}
	glued := text[i] == '+' && end-i == 2
	if end < len(text) && !glued {
		next, _ := appendFolded(nil, text[end:])
		r, _ := utf8.DecodeRune(next)
		if len(next) > 0 && classOf(r) == classWord {
			s.endWord()
			return end
		}
	}
	bare := append([]byte(nil), s.word...)
	from, to := s.wordFrom, s.wordTo
	s.word = append(s.word, text[i:end]...)
	s.wordTo = end
	s.endWord()
	s.emitCut(bare, from, to, true)
	return end
}

// char takes one folded character of text[start:end].
func (s *scanner) char(folded []byte, c class, start, end int) {
	switch c {
	case classWord:
		s.endRun()
		if len(s.word) == 0 {
			s.wordFrom = start
		}
		s.word = append(s.word, folded...)
		s.wordTo = end
	case classUnspaced:
		s.endWord()
		if s.run > 0 {
			s.pair = append(append(s.pair[:0], s.prev...), folded...)
			s.emit(token{text: s.pair, start: s.prevFrom, end: end})
		}
		s.prev = append(s.prev[:0], folded...)
		s.prevFrom, s.prevTo = start, end
		s.run++
	case classSymbol:
		s.endWord()
		s.endRun()
		s.emit(token{text: folded, start: start, end: end})
	case classBreak:
		if folded[0] != '+' && folded[0] != '#' { // left to sign
			s.endWord()
		}
		s.endRun()
	}
}

func (s *scanner) endWord() {
	if len(s.word) > 0 {
		s.emitCut(s.word, s.wordFrom, s.wordTo, false)
		s.word = s.word[:0]
	}
}

// endRun emits the last character of a run by itself, the only one otherwise
// that no pair begins with.
func (s *scanner) endRun() {
	if s.run > 0 {
		s.emit(token{text: s.prev, start: s.prevFrom, end: s.prevTo, alt: s.run > 1})
		s.run = 0
	}
}

func (s *scanner) emitCut(text []byte, from, to int, alt bool) {
	if len(text) > maxToken {
		n := maxToken
		for !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	s.emit(token{text: text, start: from, end: to, alt: alt})
}

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return classWord
		}
		return classBreak
	case isUnspaced(r):
		return classUnspaced
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
		return classWord
	case r >= 0x2190 && unicode.Is(unicode.So, r):
		return classSymbol
	}
	return classBreak
}

// isUnspaced reports the scripts that do not put spaces between words, and
// Hangul, whose words carry their particles with them.
func isUnspaced(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3, r == 0x30fc:
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Bopomofo)
}
