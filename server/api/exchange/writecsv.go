package exchange

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"bm/server/api"
)

// WriteCSV writes a table with a row for each folder and each bookmark, a folder
// before what is in it. A folder is named by its path, in which a slash or a
// backslash of a name has a backslash before it; of several of one path, that is
// the one whose row came last.
func WriteCSV(w io.Writer, src Source) error {
	out := csvWriter{csv.NewWriter(w)}
	_ = out.rows.Write([]string{"title", "url", "folder", "tags", "description", "created", "updated", "type", "extra"})
	if err := src.walk(&out); err != nil {
		return err
	}
	out.rows.Flush()
	return out.rows.Error()
}

type csvWriter struct{ rows *csv.Writer }

func (o *csvWriter) openFolder(f *api.Folder, path []string) error {
	return o.row(csvRow{f.Name, "", nil, f.Description, f.CreatedAt, f.UpdatedAt, csvFolder, f.Extra}, path)
}

func (o *csvWriter) closeFolder(*api.Folder, []string) error { return nil }

func (o *csvWriter) bookmark(b *api.Bookmark, path []string) error {
	return o.row(csvRow{b.Title, b.URL, b.Tags, b.Description, b.CreatedAt, b.UpdatedAt, csvBookmark, b.Extra}, path)
}

type csvRow struct {
	title, url       string
	tags             []string
	description      string
	created, updated api.Time
	kind             string
	extra            map[string]string
}

func (o *csvWriter) row(r csvRow, path []string) error {
	tags, exact := joinTags(r.tags, false)
	if strings.HasPrefix(tags, "[") && exact == "" {
		encoded, err := json.Marshal(r.tags)
		if err != nil {
			return fmt.Errorf("encode tags: %w", err)
		}
		exact = string(encoded)
	}
	extra, err := r.encodeExtra()
	if err != nil {
		return err
	}
	return o.rows.Write([]string{
		guarded(r.title), guarded(r.url), guarded(joinPath(path)), guarded(cmp.Or(exact, tags)), guarded(r.description),
		written(r.created), written(r.updated), r.kind, extra,
	})
}

func (r *csvRow) encodeExtra() (string, error) {
	extra := r.extra
	if strings.Contains(r.url, "\r") || strings.TrimSpace(r.url) != r.url {
		extra = map[string]string{exactURL: r.url}
		maps.Copy(extra, r.extra)
	}
	if len(extra) == 0 {
		return "", nil
	}
	text, err := json.Marshal(extra)
	if err != nil {
		return "", fmt.Errorf("encode attributes: %w", err)
	}
	return string(text), nil
}

func written(at api.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.String()
}

// joinPath is the reverse of splitPath.
func joinPath(names []string) string {
	escaped := make([]string, len(names))
	for i, name := range names {
		escaped[i] = pathEscaper.Replace(name)
	}
	return strings.Join(escaped, "/")
}

var pathEscaper = strings.NewReplacer(`\`, `\\`, `/`, `\/`)

// guarded keeps a spreadsheet from taking a text for a formula: one that others
// wrote could send what stands beside it anywhere. An apostrophe before it says
// that it is text.
func guarded(text string) string {
	if isFormula(strings.TrimLeft(text, "'")) {
		return "'" + text
	}
	return text
}

// unguarded is the reverse of guarded.
func unguarded(text string) string {
	if bare := strings.TrimLeft(text, "'"); len(bare) < len(text) && isFormula(bare) {
		return text[1:]
	}
	return text
}

func isFormula(text string) bool {
	return text != "" && strings.IndexByte("=+-@", text[0]) >= 0
}
