package exchange

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"bm/server/api"
	"bm/server/api/rules"
)

// csvReader reads a table with a bookmark in each row and a header that says
// what its columns are.
type csvReader struct {
	format  Format
	tape    *tape
	rows    *csv.Reader
	columns columns
	width   int // of the header
	line    int // where the next row begins

	out     *outlet
	folders map[folderName]int // the last one of its name, by the folder around it
}

// folderName is what a path leads by.
type folderName struct {
	parent int
	name   string
}

// readCSV reads a table whose header was found by [csvFormat].
func readCSV(src *source, format Format) stream {
	return func(out *outlet) error {
		r := &csvReader{format: format, tape: &tape{src: src.text}, line: 1, out: out, folders: map[folderName]int{}}
		r.rows = csv.NewReader(r.tape)
		r.rows.Comma = delimiter(src.head)
		r.rows.FieldsPerRecord = -1
		r.rows.ReuseRecord = true
		header, err := r.rows.Read()
		if err != nil {
			return r.failed(err)
		}
		r.columns, r.width = columnsOf(header), len(header)
		src.header = bytes.Clone(r.row())
		for {
			if err := r.next(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// row is the text of the row that was read last.
func (r *csvReader) row() []byte {
	text := r.tape.cut(r.rows.InputOffset())
	r.line += countLines(text)
	return text
}

func (r *csvReader) failed(err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		err = parse.Err
	}
	return &SyntaxError{r.format, r.line, err}
}

// next reads a row. One that is no row of the table is a bookmark that cannot be
// read; the next line is read again.
func (r *csvReader) next() error {
	fields, err := r.rows.Read()
	if errors.Is(err, io.EOF) {
		return err
	}
	parse, malformed := errors.AsType[*csv.ParseError](err)
	if err != nil && !malformed {
		return r.failed(err)
	}
	line := r.line
	if malformed {
		line = parse.StartLine
	}
	text := bytes.TrimRight(r.row(), "\r\n")
	line += leadingBreaks(text)
	if malformed {
		if fields = r.leniently(text); fields == nil {
			return r.broken(line, text, "it is no row of the table: "+parse.Err.Error())
		}
	}
	switch {
	case len(fields) > r.width:
		return r.broken(line, text, fmt.Sprintf("the row has %d columns, the header %d: what holds a %q goes into quotes", len(fields), r.width, r.rows.Comma))
	case r.format == OwnCSV && r.columns.get(fields, columnKind) == csvFolder:
		return r.folder(fields, line, text)
	}
	return r.bookmark(fields, line, text)
}

// leadingBreaks are the empty lines before a row, which are none.
func leadingBreaks(text []byte) int {
	return countLines(text[:len(text)-len(bytes.TrimLeft(text, "\r\n"))])
}

// leniently reads a row with a quote where none should be, where it is plain
// what was meant: what is in one line, and has all columns.
func (r *csvReader) leniently(text []byte) []string {
	if bytes.IndexByte(text, '\n') >= 0 {
		return nil
	}
	rows := csv.NewReader(bytes.NewReader(text))
	rows.Comma, rows.LazyQuotes, rows.FieldsPerRecord = r.rows.Comma, true, r.width
	fields, err := rows.Read()
	if err != nil {
		return nil
	}
	return fields
}

// broken hands out a row that is no bookmark.
func (r *csvReader) broken(line int, text []byte, why string) error {
	return r.add(&Entry{Kind: Bookmark, Line: line, Broken: &rules.Issue{Code: api.IssueUnreadable, Message: why}}, text)
}

func (r *csvReader) add(e *Entry, text []byte) error {
	if r.out.keepRaw {
		e.Raw = bytes.Clone(bytes.TrimLeft(text, "\r\n"))
	}
	_, err := r.out.add(e)
	return err
}

// folder reads a row of bm's own tables that stands for a folder. Whatever comes
// behind it by that name is in this one.
func (r *csvReader) folder(fields []string, line int, text []byte) error {
	parent, err := r.path(r.columns.get(fields, columnFolder))
	if err != nil {
		return err
	}
	e := &Entry{Kind: Folder, Parent: parent, Line: line}
	r.columns.fill(e, fields, r.format)
	name := folderName{parent, e.Title}
	if err := r.add(e, text); err != nil {
		return err
	}
	r.folders[name] = len(r.out.orders) - 1
	return nil
}

func (r *csvReader) bookmark(fields []string, line int, text []byte) error {
	parent, err := r.path(r.columns.get(fields, columnFolder))
	if err != nil {
		return err
	}
	e := &Entry{Kind: Bookmark, Parent: parent, Line: line}
	r.columns.fill(e, fields, r.format)
	if e.URL == "" && (r.format != OwnCSV || r.columns.get(fields, columnKind) != csvBookmark) {
		e.Broken = &rules.Issue{Field: "url", Code: api.IssueUnreadable, Message: "the row has no URL"}
	}
	return r.add(e, text)
}

// path is the folder that a path names; what of it there is not yet is made.
func (r *csvReader) path(text string) (int, error) {
	at := Root
	for _, name := range pathOf(text, r.format) {
		number, ok := r.folders[folderName{at, name}]
		if !ok {
			var err error
			if number, err = r.out.add(&Entry{Kind: Folder, Parent: at, Line: r.line, Title: name}); err != nil {
				return at, err
			}
			r.folders[folderName{at, name}] = number
		}
		at = number
	}
	return at, nil
}

// delimiter is what separates columns: a comma, or what spreadsheets put in its
// place.
func delimiter(head []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	best, most := ',', 0
	for _, c := range ",;\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// csvFormat tells a table of bookmarks by its header; "" for what is none.
func csvFormat(head []byte) Format {
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
	if len(line) > 4096 || bytes.IndexByte(line, 0) >= 0 {
		return ""
	}
	rows := csv.NewReader(bytes.NewReader(line))
	rows.Comma = delimiter(head)
	header, err := rows.Read()
	if err != nil {
		return ""
	}
	c := columnsOf(header)
	if _, ok := c.at[columnURL]; !ok {
		return ""
	}
	for i := range header {
		header[i] = strings.ToLower(strings.TrimSpace(header[i]))
	}
	for _, table := range tables {
		if !slices.ContainsFunc(table.columns, func(name string) bool { return !slices.Contains(header, name) }) {
			return table.format
		}
	}
	return CSV
}

// csvTable is a service's table: its columns tell it.
type csvTable struct {
	format  Format
	columns []string
}

var tables = [...]csvTable{
	{OwnCSV, []string{"title", "url", "folder", "created", "type", "extra"}},
	{PocketCSV, []string{"title", "url", "time_added", "tags", "status"}},
	{RaindropCSV, []string{"title", "note", "excerpt", "url", "folder", "tags", "created"}},
	{InstapaperCSV, []string{"url", "title", "selection", "folder"}},
}
