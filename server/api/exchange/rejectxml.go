package exchange

import "io"

// xmlHeld writes a text as an element may hold it.
func xmlHeld(out io.Writer, s string) { _, _ = xmlText.WriteString(out, replaceForXML(s)) }

// xbelLayout is that of XBEL. Its prefixes are those that entries of desktops use.
type xbelLayout struct{}

func (xbelLayout) begin(out io.Writer) {
	_, _ = io.WriteString(out, xmlHead+`<!DOCTYPE xbel>
<xbel version="1.0" xmlns:bookmark="http://www.freedesktop.org/standards/desktop-bookmarks"`+
		` xmlns:mime="http://www.freedesktop.org/standards/shared-mime-info" xmlns:kdepriv="http://www.kde.org/kdepriv">
`)
}

func (xbelLayout) openFolder(out io.Writer, folder *Entry, _ bool) {
	_, _ = io.WriteString(out, "<folder>\n<title>")
	xmlHeld(out, folder.Title)
	_, _ = io.WriteString(out, "</title>\n")
}

func (xbelLayout) bookmark(out io.Writer, e *Entry, _ bool) { writeLine(out, e.Raw) }

func (xbelLayout) closeFolder(out io.Writer, _ *Entry) { _, _ = io.WriteString(out, "</folder>\n") }

func (xbelLayout) end(out io.Writer) { _, _ = io.WriteString(out, "</xbel>\n") }

func writeLine(out io.Writer, text []byte) {
	_, _ = out.Write(text)
	_, _ = io.WriteString(out, "\n")
}
