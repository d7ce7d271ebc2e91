package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bm/server/api"
)

// treeReader hands out what a browser keeps as one tree. Such a file has to
// be read whole: a folder's name can stand behind what is in it.
type treeReader struct {
	queue   []*Entry
	orders  []int64 // the last order given within each folder
	entries int
}

func (t *treeReader) read() (*Entry, error) {
	if len(t.queue) == 0 {
		return nil, io.EOF
	}
	e := t.queue[0]
	t.queue = t.queue[1:]
	return e, nil
}

// add puts an entry behind the others of its parent; it gives a folder's
// number.
func (t *treeReader) add(e *Entry) int {
	if t.orders == nil {
		t.orders = make([]int64, 1)
	}
	t.orders[e.Parent] += api.SortGap
	e.Index, e.Order = t.entries, t.orders[e.Parent]
	switch e.Kind {
	case Folder:
		e.Number = len(t.orders)
		t.orders = append(t.orders, 0)
	case Bookmark:
		t.entries++
	}
	t.queue = append(t.queue, e)
	return e.Number
}

// decodeTree reads a whole file.
func decodeTree(r io.Reader, format Format, into any) error {
	lines := &lineCounter{src: &bounded{src: r}, line: 1}
	dec := json.NewDecoder(lines)
	err := dec.Decode(into)
	if err == nil {
		return nil
	}
	at := lines.read
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the file ends too early: %w", err)
	}
	return &SyntaxError{format, lines.at(at), err}
}
