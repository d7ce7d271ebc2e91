package exchange

import (
	"encoding/json"
	"io"
)

// htmlLayout is that of Netscape's format.
type htmlLayout struct{}

func (htmlLayout) begin(out io.Writer) {
	_, _ = io.WriteString(out, htmlHead+"<DL><p>\n")
}

func (htmlLayout) openFolder(out io.Writer, folder *Entry, _ bool) {
	_, _ = io.WriteString(out, "<DT><H3>")
	_, _ = escaper.WriteString(out, folder.Title)
	_, _ = io.WriteString(out, "</H3>\n<DL><p>\n")
}

func (htmlLayout) bookmark(out io.Writer, e *Entry, _ bool) {
	_, _ = io.WriteString(out, "<DT>")
	_, _ = out.Write(e.Raw)
	_, _ = io.WriteString(out, "\n")
}

func (htmlLayout) closeFolder(out io.Writer, _ *Entry) { _, _ = io.WriteString(out, "</DL><p>\n") }

func (htmlLayout) end(out io.Writer) { _, _ = io.WriteString(out, "</DL><p>\n") }

// jsonTree is what the trees of browsers have in common.
type jsonTree struct{}

func (jsonTree) bookmark(out io.Writer, e *Entry, first bool) {
	comma(out, first)
	_, _ = out.Write(e.Raw)
}

func (jsonTree) closeFolder(out io.Writer, _ *Entry) { _, _ = io.WriteString(out, "\n]}") }

func comma(out io.Writer, first bool) {
	if !first {
		_, _ = io.WriteString(out, ",")
	}
	_, _ = io.WriteString(out, "\n")
}

// openNode writes an object and begins its children.
func openNode(out io.Writer, node any) {
	text, err := json.Marshal(node)
	if err != nil {
		return // texts always encode
	}
	_, _ = out.Write(text[:len(text)-1])
	_, _ = io.WriteString(out, `,"children":[`)
}

// firefoxLayout is that of Firefox's backup. All of it lies in the menu, which is
// the top of an import: the other places are folders there, of the same names.
type firefoxLayout struct{ jsonTree }

func (firefoxLayout) begin(out io.Writer) {
	openNode(out, firefoxHead{Type: firefoxFolder, Root: firefoxRoot})
	_, _ = io.WriteString(out, "\n")
	openNode(out, firefoxHead{Type: firefoxFolder, Root: firefoxMenu})
}

type firefoxHead struct {
	Type  string `json:"type"`
	Root  string `json:"root,omitempty"`
	Title string `json:"title"`
}

func (firefoxLayout) openFolder(out io.Writer, folder *Entry, first bool) {
	comma(out, first)
	openNode(out, firefoxHead{Type: firefoxFolder, Title: folder.Title})
}

func (firefoxLayout) end(out io.Writer) { _, _ = io.WriteString(out, "\n]}\n]}\n") }

// chromeLayout is that of Chrome's file. All of it lies in "other", which is the
// top of an import.
type chromeLayout struct{ jsonTree }

type chromeHead struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func (chromeLayout) begin(out io.Writer) {
	_, _ = io.WriteString(out, `{"roots":{"`+chromeOther+`":`)
	openNode(out, chromeHead{Type: "folder"})
}

func (chromeLayout) openFolder(out io.Writer, folder *Entry, first bool) {
	comma(out, first)
	openNode(out, chromeHead{Type: "folder", Name: folder.Title})
}

func (chromeLayout) end(out io.Writer) { _, _ = io.WriteString(out, "\n]}}}\n") }
