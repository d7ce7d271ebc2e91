package exchange

import (
	"bufio"
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bm/server/api"
)

// Source is what an export writes. Folders are in memory, in any order;
// bookmarks are asked for folder by folder, so that they need not be.
type Source struct {
	Folders []api.Folder
	// Bookmarks are those right in the folder, by ascending sortOrder, then
	// createdAt, then id; of "" those in no folder. An error ends the export.
	Bookmarks func(folderID string) iter.Seq2[*api.Bookmark, error]
}

// WriteHTML writes the format of Netscape's browsers, which every browser and
// service reads. A folder whose parent is not among the folders is written at
// the top. What the format has no place for stands in attributes that others
// skip and our reader knows, see [htmlReader].
func WriteHTML(w io.Writer, src Source) error {
	out := htmlWriter{bufio.NewWriterSize(w, 64<<10), exportOrder{src, childFolders(src.Folders)}}
	out.text(htmlHead)
	if err := out.list("", 0); err != nil {
		return err
	}
	return out.w.Flush()
}

// htmlHead is what the format begins with.
const htmlHead = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
`

// childFolders sorts folders by parent and order. Those whose parent is not
// there, and one of each circle, are at the top.
func childFolders(folders []api.Folder) map[string][]*api.Folder {
	parents := make(map[string]string, len(folders))
	for i := range folders {
		parents[folders[i].ID] = folders[i].ParentID
	}
	// reaches follows the parents of a folder to the top; a folder of a
	// circle that none of those before it cut is cut off from its parent.
	safe := make(map[string]bool, len(folders))
	reaches := func(id string) bool {
		seen := map[string]bool{}
		for at := id; ; {
			if at == "" || safe[at] {
				break
			}
			if seen[at] {
				return false
			}
			seen[at] = true
			parent, ok := parents[at]
			if !ok {
				break
			}
			at = parent
		}
		maps.Copy(safe, seen)
		return true
	}
	children := make(map[string][]*api.Folder, len(folders))
	for i := range folders {
		f := &folders[i]
		if _, ok := parents[f.ParentID]; !ok || !reaches(f.ID) {
			parents[f.ID] = ""
		}
		parent := parents[f.ID]
		children[parent] = append(children[parent], f)
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b *api.Folder) int {
			return cmp.Or(cmp.Compare(a.SortOrder, b.SortOrder), a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
		})
	}
	return children
}

type htmlWriter struct {
	w *bufio.Writer
	exportOrder
}

// list writes what is in a folder.
func (o *htmlWriter) list(folderID string, depth int) error {
	o.indent(depth)
	o.text("<DL><p>\n")
	err := o.each(folderID,
		func(f *api.Folder) error { return o.folder(f, depth+1) },
		func(b *api.Bookmark) { o.bookmark(b, depth+1) })
	if err != nil {
		return err
	}
	o.indent(depth)
	_, err = o.w.WriteString("</DL><p>\n") // a bufio.Writer keeps its first error
	return err
}

func (o *htmlWriter) folder(f *api.Folder, depth int) error {
	o.indent(depth)
	o.text("<DT><H3")
	o.dates(f.CreatedAt, f.UpdatedAt)
	o.extra(f.Extra)
	o.text(">")
	o.escaped(f.Name)
	o.text("</H3>\n")
	o.description(f.Description, f.Extra, depth)
	return o.list(f.ID, depth)
}

func (o *htmlWriter) bookmark(b *api.Bookmark, depth int) {
	o.indent(depth)
	o.text("<DT><A")
	o.attribute("HREF", b.URL)
	o.dates(b.CreatedAt, b.UpdatedAt)
	_, private := b.Extra["PRIVATE"]
	tags, exact := joinTags(b.Tags, private)
	// LABELS among the extra attributes would else be taken for the tags.
	if _, labels := b.Extra["LABELS"]; tags != "" || labels {
		o.attribute("TAGS", tags)
	}
	if exact != "" {
		o.attribute("TAGS_JSON", exact)
	}
	o.extra(b.Extra)
	o.text(">")
	o.escaped(b.Title)
	o.text("</A>\n")
	o.description(b.Description, b.Extra, depth)
}

// description writes a DD; an empty one too where an attribute would else be
// taken for the description.
func (o *htmlWriter) description(text string, extra map[string]string, depth int) {
	if _, attribute := extra["DESCRIPTION"]; text == "" && !attribute {
		return
	}
	o.indent(depth)
	o.text("<DD>")
	o.escaped(text)
	o.text("\n")
}

// dates writes when something was made and changed, in seconds, as the format
// wants it, with the milliseconds beside it, and as a written date where
// seconds would be taken for another unit.
func (o *htmlWriter) dates(created, updated api.Time) {
	if !created.IsZero() {
		seconds := created.Unix()
		switch ms := created.UnixMilli(); {
		case seconds <= 0 || seconds >= firstMilli:
			o.attribute("ADD_DATE", created.String())
		case ms%1000 != 0:
			o.attribute("ADD_DATE", strconv.FormatInt(seconds, 10))
			o.attribute("ADD_DATE_MS", strconv.FormatInt(ms, 10))
		default:
			o.attribute("ADD_DATE", strconv.FormatInt(seconds, 10))
		}
	}
	if seconds := updated.Unix(); !updated.IsZero() && seconds > 0 {
		o.attribute("LAST_MODIFIED", strconv.FormatInt(seconds, 10))
	}
}

func (o *htmlWriter) extra(extra map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		o.attribute(name, extra[name])
	}
}

func (o *htmlWriter) indent(depth int) {
	for range depth {
		o.text("    ")
	}
}

func (o *htmlWriter) attribute(name, value string) {
	o.text(" ")
	o.text(name)
	o.text(`="`)
	o.escaped(value)
	o.text(`"`)
}

// escaper writes what stands in a text or an attribute. A carriage return is
// escaped since readers take a plain one for a line feed.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r", "&#13;")

func (o *htmlWriter) escaped(s string) { _, _ = escaper.WriteString(o.w, s) }

// text writes s as it is. The writer keeps its first error for [WriteHTML] to
// see when it flushes.
func (o *htmlWriter) text(s string) { _, _ = o.w.WriteString(s) }
