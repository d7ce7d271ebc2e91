package exchange

import (
	"bytes"
	"io"
)

// csvLayout is a table. In bm's own, rows of folders lie before what is in them;
// those of others name a folder in each row.
type csvLayout struct {
	header []byte
	// written are the folders that have their row: another one would be another
	// folder, into which all that follows goes.
	written map[int]bool
}

func (l csvLayout) begin(out io.Writer) { writeLine(out, bytes.TrimSpace(l.header)) }

func (l csvLayout) openFolder(out io.Writer, folder *Entry, _ bool) {
	if folder.Raw != nil && !l.written[folder.Number] {
		l.written[folder.Number] = true
		writeLine(out, folder.Raw)
	}
}

func (csvLayout) bookmark(out io.Writer, e *Entry, _ bool) { writeLine(out, e.Raw) }

func (csvLayout) closeFolder(io.Writer, *Entry) {}

func (csvLayout) end(io.Writer) {}

func writeLine(out io.Writer, line []byte) {
	_, _ = out.Write(line)
	_, _ = io.WriteString(out, "\n")
}

// listLayout is JSON in which bookmarks and folders are lists of their own, and
// refer to each other by ids.
type listLayout struct {
	head    string
	folders string // the key of their list; "" where there are none

	used [][]byte // folders that bookmarks are in, each once
	any  bool     // whether a bookmark was written
}

func (l *listLayout) begin(out io.Writer) { _, _ = io.WriteString(out, l.head) }

func (l *listLayout) openFolder(_ io.Writer, folder *Entry, _ bool) {
	l.used = append(l.used, folder.Raw)
}

func (l *listLayout) bookmark(out io.Writer, e *Entry, _ bool) {
	comma(out, !l.any)
	l.any = true
	_, _ = out.Write(e.Raw)
}

func (*listLayout) closeFolder(io.Writer, *Entry) {}

func (l *listLayout) end(out io.Writer) {
	_, _ = io.WriteString(out, "\n]")
	if l.folders == "" {
		_, _ = io.WriteString(out, "\n")
		return
	}
	_, _ = io.WriteString(out, ",\""+l.folders+"\":[")
	written := map[string]bool{}
	for _, raw := range l.used {
		if !written[string(raw)] {
			comma(out, len(written) == 0)
			_, _ = out.Write(raw)
			written[string(raw)] = true
		}
	}
	_, _ = io.WriteString(out, "\n]}\n")
}

// linkwardenLayout is an account of Linkwarden, in which each collection holds
// its links and names the one around it.
type linkwardenLayout struct {
	open    []*Entry        // the folders that are open, the innermost last
	written map[string]bool // collections, by their text
	within  *Entry          // the one whose links are being written
	links   int             // in it, so far
}

func (l *linkwardenLayout) begin(out io.Writer) {
	l.written = map[string]bool{}
	_, _ = io.WriteString(out, `{"collections":[`)
}

func (l *linkwardenLayout) openFolder(out io.Writer, folder *Entry, _ bool) {
	l.open = append(l.open, folder)
	if !l.written[string(folder.Raw)] {
		l.collection(out, folder)
	}
}

// collection writes a collection as far as its links.
func (l *linkwardenLayout) collection(out io.Writer, folder *Entry) {
	l.closeLinks(out)
	comma(out, len(l.written) == 0)
	l.written[string(folder.Raw)] = true
	l.within, l.links = folder, 0
	_, _ = out.Write(bytes.TrimSuffix(folder.Raw, []byte("}")))
	_, _ = io.WriteString(out, `,"links":[`)
}

func (l *linkwardenLayout) bookmark(out io.Writer, e *Entry, _ bool) {
	if folder := l.open[len(l.open)-1]; folder != l.within {
		l.collection(out, folder) // once more: its links went on behind another's
	}
	comma(out, l.links == 0)
	l.links++
	_, _ = out.Write(e.Raw)
}

func (l *linkwardenLayout) closeFolder(io.Writer, *Entry) { l.open = l.open[:len(l.open)-1] }

func (l *linkwardenLayout) closeLinks(out io.Writer) {
	if l.within != nil {
		_, _ = io.WriteString(out, "]}")
	}
	l.within = nil
}

func (l *linkwardenLayout) end(out io.Writer) {
	l.closeLinks(out)
	_, _ = io.WriteString(out, "\n]}\n")
}
