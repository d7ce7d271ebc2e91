package query

import "strings"

// Enclosed is a query as a text that means the same wherever it stands among
// others: whatever a parenthesis or a quote of it lacks is added or left out.
func Enclosed(text string) string {
	p := parser{text: readable(text)}
	var b strings.Builder
	b.WriteByte('(')
	depth := 0
	for p.pos < len(p.text) {
		start := p.pos
		c := p.text[start]
		p.pos++
		switch c {
		case '"':
			p.pos = start
			if _, closed := p.quoted(); closed {
				b.WriteString(p.text[start:p.pos])
				continue
			}
			p.pos++
			c = ' '
		case '(':
			depth++
		case ')':
			if depth == 0 {
				b.WriteString(") ") // what comes behind it is read by itself
				c = '('
				break
			}
			depth--
		}
		b.WriteByte(c)
	}
	b.WriteString(strings.Repeat(")", depth+1))
	return b.String()
}
