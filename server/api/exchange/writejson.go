package exchange

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"bm/server/api"
)

// WriteJSON writes an [api.ExportDocument] without holding it: bookmarks in
// the order in which they come.
func WriteJSON(w io.Writer, exportedAt api.Time, workspace api.Workspace, folders []api.Folder, bookmarks iter.Seq2[*api.Bookmark, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	o := jsonWriter{out, json.NewEncoder(out)}
	o.enc.SetEscapeHTML(false)
	o.text(`{"version":1,"exportedAt":`)
	_ = o.value(exportedAt)
	o.text(`,"workspace":`)
	_ = o.value(workspace)
	o.text(`,"folders":[` + "\n")
	for i := range folders {
		if i > 0 {
			o.text(",")
		}
		if err := o.value(&folders[i]); err != nil {
			return fmt.Errorf("export a folder: %w", err)
		}
	}
	o.text(`],"bookmarks":[` + "\n")
	first := true
	for b, err := range bookmarks {
		if err != nil {
			return fmt.Errorf("export a bookmark: %w", err)
		}
		if !first {
			o.text(",")
		}
		first = false
		if err := o.value(b); err != nil {
			return fmt.Errorf("export a bookmark: %w", err)
		}
	}
	o.text("]}\n")
	return out.Flush()
}

type jsonWriter struct {
	w   *bufio.Writer
	enc *json.Encoder
}

func (o jsonWriter) text(s string) { _, _ = o.w.WriteString(s) }

// value writes a value and a line feed.
func (o jsonWriter) value(v any) error { return o.enc.Encode(v) }
