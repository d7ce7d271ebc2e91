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
	if !fitsXML(folder.Title) { // as in our own export: by its name a folder is found again
		exact := xmlText.Replace(quoteForXML(folder.Title))
		_, _ = io.WriteString(out, `<info><metadata owner="`+xbelOwner+`"><title json="yes">`+exact+"</title></metadata></info>\n")
	}
}

func (xbelLayout) bookmark(out io.Writer, e *Entry, _ bool) { writeLine(out, e.Raw) }

func (xbelLayout) closeFolder(out io.Writer, _ *Entry) { _, _ = io.WriteString(out, "</folder>\n") }

func (xbelLayout) end(out io.Writer) { _, _ = io.WriteString(out, "</xbel>\n") }

// opmlLayout is that of OPML.
type opmlLayout struct{}

func (opmlLayout) begin(out io.Writer) {
	_, _ = io.WriteString(out, xmlHead+"<opml version=\"2.0\">\n<head><title>Bookmarks</title></head>\n<body>\n")
}

func (opmlLayout) openFolder(out io.Writer, folder *Entry, _ bool) {
	name, in := replaceForXML(folder.Title), "text"
	if label, link := readMarkedUp(name); label != name || link != "" {
		in = "title" // where nothing is read into it
	}
	_, _ = io.WriteString(out, "<outline "+in+`="`)
	_, _ = xmlAttribute.WriteString(out, name)
	_, _ = io.WriteString(out, "\">\n")
}

func (opmlLayout) bookmark(out io.Writer, e *Entry, _ bool) { writeLine(out, e.Raw) }

func (opmlLayout) closeFolder(out io.Writer, _ *Entry) { _, _ = io.WriteString(out, "</outline>\n") }

func (opmlLayout) end(out io.Writer) { _, _ = io.WriteString(out, "</body>\n</opml>\n") }

// postsLayout is that of Pinboard and Delicious, which know no folders.
type postsLayout struct{}

func (postsLayout) begin(out io.Writer) { _, _ = io.WriteString(out, xmlHead+"<posts>\n") }

func (postsLayout) openFolder(io.Writer, *Entry, bool) {}

func (postsLayout) bookmark(out io.Writer, e *Entry, _ bool) { writeLine(out, e.Raw) }

func (postsLayout) closeFolder(io.Writer, *Entry) {}

func (postsLayout) end(out io.Writer) { _, _ = io.WriteString(out, "</posts>\n") }

// plistLayout is that of Safari's property list, in XML whatever it came in.
type plistLayout struct{}

const (
	plistHead = xmlHead + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
`
	plistFolder   = "<dict>\n<key>WebBookmarkType</key><string>" + safariList + "</string>\n"
	plistChildren = "<key>Children</key>\n<array>\n"
)

func (plistLayout) begin(out io.Writer) {
	_, _ = io.WriteString(out, plistHead+plistFolder+plistChildren)
}

func (plistLayout) openFolder(out io.Writer, folder *Entry, _ bool) {
	_, _ = io.WriteString(out, plistFolder+"<key>Title</key><string>")
	xmlHeld(out, folder.Title)
	_, _ = io.WriteString(out, "</string>\n"+plistChildren)
}

func (plistLayout) bookmark(out io.Writer, e *Entry, _ bool) { writeLine(out, e.Raw) }

func (plistLayout) closeFolder(out io.Writer, _ *Entry) {
	_, _ = io.WriteString(out, "</array>\n</dict>\n")
}

func (plistLayout) end(out io.Writer) { _, _ = io.WriteString(out, "</array>\n</dict>\n</plist>\n") }
