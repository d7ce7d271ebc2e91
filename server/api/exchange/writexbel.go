package exchange

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"bm/server/api"
)

// WriteXBEL writes XBEL 1.0, the format of KDE and of many a small browser. A
// folder whose parent is not among the folders is written at the top. What XBEL
// has no place for stands in metadata of our own, see [xbelOwner].
func WriteXBEL(w io.Writer, src Source) error {
	o := xbelWriter{bufio.NewWriterSize(w, 64<<10)}
	o.text(xbelHead)
	if err := src.walk(&o); err != nil {
		return err
	}
	o.text("</xbel>\n")
	return o.w.Flush()
}

// xbelHead is what the format begins with.
const xbelHead = xmlHead + `<!DOCTYPE xbel>
<xbel version="1.0">
`

// xmlHead is what each of our files in XML begins with.
const xmlHead = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

type xbelWriter struct{ w *bufio.Writer }

func (o *xbelWriter) openFolder(f *api.Folder, path []string) error {
	depth := len(path) + 1
	o.indent(depth)
	o.text("<folder")
	o.date("added", f.CreatedAt)
	folded := "no"
	if _, ok := f.Extra["FOLDED"]; ok {
		folded = "yes"
	}
	o.attribute("folded", folded)
	o.text(">\n")
	o.details(xbelDetails{title: f.Name, desc: f.Description, extra: f.Extra}, depth+1)
	return nil
}

func (o *xbelWriter) closeFolder(_ *api.Folder, path []string) error {
	o.indent(len(path) + 1)
	_, err := o.w.WriteString("</folder>\n") // a bufio.Writer keeps its first error
	return err
}

func (o *xbelWriter) bookmark(b *api.Bookmark, path []string) error {
	depth := len(path) + 1
	o.indent(depth)
	o.text("<bookmark")
	o.attribute("href", b.URL)
	o.date("added", b.CreatedAt)
	o.date("modified", b.UpdatedAt)
	if at, ok := parseDate(b.Extra["LAST_VISIT"]); ok && !at.IsZero() {
		o.date("visited", api.At(at))
	}
	o.text(">\n")
	o.details(xbelDetails{b.URL, b.Title, b.Description, b.Tags, b.Extra}, depth+1)
	o.indent(depth)
	o.text("</bookmark>\n")
	return nil
}

// xbelDetails is what the elements of a folder or bookmark say.
type xbelDetails struct {
	url, title, desc string
	tags             []string
	extra            map[string]string
}

func (o *xbelWriter) details(d xbelDetails, depth int) {
	o.element("title", d.title, depth)
	o.metadata(d, depth)
	if d.desc != "" {
		o.element("desc", d.desc, depth)
	}
}

// metadata writes what XBEL has no place for, if there is any.
func (o *xbelWriter) metadata(d xbelDetails, depth int) {
	exact := [...][2]string{{"url", d.url}, {"title", d.title}, {"desc", d.desc}}
	plain := !slices.ContainsFunc(exact[:], func(field [2]string) bool { return !fitsXML(field[1]) })
	if plain && len(d.tags) == 0 && len(d.extra) == 0 {
		return
	}
	o.indent(depth)
	o.text(`<info><metadata owner="` + xbelOwner + `">` + "\n")
	for _, field := range exact {
		if !fitsXML(field[1]) {
			o.ours(field[0], "", field[1], depth+1)
		}
	}
	for _, tag := range d.tags {
		o.ours("tag", "", tag, depth+1)
	}
	for _, name := range slices.Sorted(maps.Keys(d.extra)) {
		o.ours("extra", name, d.extra[name], depth+1)
	}
	o.indent(depth)
	o.text("</metadata></info>\n")
}

// ours writes an element of our own metadata.
func (o *xbelWriter) ours(element, name, text string, depth int) {
	o.indent(depth)
	o.text("<" + element)
	if name != "" {
		o.attribute("name", name)
	}
	if !fitsXML(text) {
		o.attribute("json", "yes")
		text = quoteForXML(text)
	}
	o.text(">")
	o.escaped(text)
	o.text("</" + element + ">\n")
}

func (o *xbelWriter) element(name, text string, depth int) {
	o.indent(depth)
	o.text("<" + name + ">")
	o.escaped(text)
	o.text("</" + name + ">\n")
}

// date writes a date, to the millisecond where it has some.
func (o *xbelWriter) date(name string, at api.Time) {
	if !at.IsZero() {
		o.attribute(name, at.UTC().Format("2006-01-02T15:04:05.999Z"))
	}
}

func (o *xbelWriter) indent(depth int) {
	for range depth {
		o.text("  ")
	}
}

func (o *xbelWriter) attribute(name, value string) {
	o.text(" ")
	o.text(name)
	o.text(`="`)
	_, _ = xmlAttribute.WriteString(o.w, replaceForXML(value))
	o.text(`"`)
}

func (o *xbelWriter) escaped(s string) { _, _ = xmlText.WriteString(o.w, replaceForXML(s)) }

// text writes s as it is. The writer keeps its first error for [WriteXBEL] to see
// when it flushes.
func (o *xbelWriter) text(s string) { _, _ = o.w.WriteString(s) }

// What stands in a text, and in an attribute, where a parser would make a space of
// what breaks a line.
var (
	xmlText      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;")
	xmlAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r", "&#13;", "\n", "&#10;", "\t", "&#9;")
)

// fitsXML reports whether XML can hold a text: it has no way to write most control
// characters, nor two that are none.
func fitsXML(s string) bool {
	for i := range len(s) {
		// Of the characters from 0x80 on, those two alone begin with these bytes.
		if c := s[i]; c < ' ' && isForeignToXML(rune(c)) || c == 0xbf && i > 0 && s[i-1] == 0xef && i+1 < len(s) && s[i+1] >= 0xbe {
			return false
		}
	}
	return true
}

func isForeignToXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
}

// replaceForXML has the sign of a character that is not known for each that XML
// cannot hold.
func replaceForXML(s string) string {
	if fitsXML(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isForeignToXML(r) {
			return '\ufffd'
		}
		return r
	}, s)
}

// quoteForXML is a text as JSON, in characters that XML can hold.
func quoteForXML(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		return fmt.Sprintf("%q", "") // strings always encode
	}
	return strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`).Replace(string(quoted))
}
