package output

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Fill breaks the paragraphs of a text into lines of at most so many columns. What
// is set in stays as it is: it is meant to be copied.
func Fill(text string, width int) string {
	var lines, words []string
	end := func() {
		lines = append(lines, broken(words, width)...)
		words = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			end()
			lines = append(lines, line)
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	end()
	return strings.Join(lines, "\n")
}

// broken puts words on lines. One that is wider than a line has its own.
func broken(words []string, width int) []string {
	var lines []string
	for _, word := range words {
		if last := len(lines) - 1; last >= 0 && runewidth.StringWidth(lines[last]+" "+word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
