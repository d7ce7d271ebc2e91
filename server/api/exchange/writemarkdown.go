package exchange

import (
	"bufio"
	"io"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// WriteMarkdown writes a list for people to read, folders as lists within it:
// titles that are links, with their tags, and descriptions below. What is no web
// page is shown, and no link. Nothing reads it back.
func WriteMarkdown(w io.Writer, src Source) error {
	out := markdownWriter{bufio.NewWriterSize(w, 64<<10)}
	out.text("# Bookmarks\n\n")
	if err := src.walk(&out); err != nil {
		return err
	}
	return out.w.Flush()
}

type markdownWriter struct{ w *bufio.Writer }

func (o *markdownWriter) openFolder(f *api.Folder, path []string) error {
	o.item(len(path))
	o.text("**")
	o.escaped(f.Name)
	o.text("**\n")
	o.paragraph(f.Description, len(path))
	return nil
}

func (o *markdownWriter) closeFolder(*api.Folder, []string) error { return nil }

func (o *markdownWriter) bookmark(b *api.Bookmark, path []string) error {
	o.item(len(path))
	switch {
	case rules.IsWebURL(b.URL):
		o.text("[")
		o.escaped(b.Title)
		o.text("](<" + markdownURL.Replace(strings.TrimSpace(b.URL)) + ">)")
	case b.URL == "":
		o.escaped(b.Title)
	default:
		o.escaped(b.Title)
		o.text(" ")
		o.code(b.URL)
	}
	for _, tag := range b.Tags {
		o.text(" ")
		o.code(tag)
	}
	o.text("\n")
	o.paragraph(b.Description, len(path))
	return nil
}

// item begins one of a list so deep.
func (o *markdownWriter) item(depth int) {
	o.indent(depth)
	o.text("- ")
}

// paragraph writes a text below an item, its lines as they are.
func (o *markdownWriter) paragraph(text string, depth int) {
	if text == "" {
		return
	}
	o.text("\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			o.indent(depth + 1)
			o.escaped(line)
			if i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
				o.text(`\`) // the line ends here
			}
		}
		o.text("\n")
	}
	o.text("\n")
}

// code writes what is no prose. A fence is longer than any row of backticks in it.
func (o *markdownWriter) code(text string) {
	text = rules.Line(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		pad = " "
	}
	o.text(fence + pad + text + pad + fence)
}

// markdownEscaper has what means something in Markdown stand for itself. HTML in
// a text would be taken for HTML.
var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `>`, `\>`, `&`, `&amp;`, `|`, `\|`, `~`, `\~`,
)

// markdownURL encodes what would end a link's address.
var markdownURL = strings.NewReplacer(`<`, "%3C", `>`, "%3E", "\n", "", "\r", "", "\t", "", `\`, "%5C")

// escaped writes a text that begins a line, or may: there, more means something.
func (o *markdownWriter) escaped(s string) {
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if n < len(s) && (n == 0 && strings.IndexByte("#+-=", s[0]) >= 0 || n > 0 && strings.IndexByte(".)", s[n]) >= 0) {
		o.text(s[:n] + `\` + s[n:n+1])
		s = s[n+1:]
	}
	_, _ = markdownEscaper.WriteString(o.w, s)
}

func (o *markdownWriter) indent(depth int) {
	for range depth {
		o.text("  ")
	}
}

// text writes s as it is. The writer keeps its first error until it is flushed.
func (o *markdownWriter) text(s string) { _, _ = o.w.WriteString(s) }
