package exchange

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// A browser keeps its bookmarks as one JSON tree, in which a folder's name may
// stand behind all that is in it: Chrome writes keys in the order of the
// alphabet. So that such a file is not held, it is read twice: once for its
// folders alone, and then for everything.

// treeNode is an object of a tree, or what stands in the place of one.
type treeNode struct {
	// at is where it begins, by which it is known in every reading.
	at   int64
	line int
	// depth is how many nodes are around it.
	depth int
	// index is the place that it says it has among its siblings.
	index int64
	// folder says that it has a list of children, which count so many;
	// unsorted that these do not lie in the order of their indices.
	folder   bool
	children int
	unsorted bool
	last     int64 // the index of the last child so far
	size     int64 // in bytes, once it was read
}

// treeWalker goes through the nodes of a tree, children before their parents.
type treeWalker struct {
	format Format
	file   io.ReaderAt
	end    int64 // of the file
	// childKey is what the list of a node's children is called.
	childKey string

	dec   *json.Decoder
	lines *lineCounter
	base  int64 // of what the decoder reads, within the file

	// enter is asked before the children of a node are read; false skips them.
	// nil wants all.
	enter func(n treeNode) (bool, error)
	// leave is told of each node behind it, and of the object without its
	// children, which stands until it returns; that is nil for what is no object.
	leave func(n treeNode, flat []byte) error

	open []treeNode // the nodes around the one that is read
	flat []byte     // of the open nodes, one behind the other
	raw  json.RawMessage
}

// maxDepth is how deep a tree is followed: far deeper than one may be.
const maxDepth = maxLists

var (
	errTooDeep = fmt.Errorf("folders lie more than %d deep in each other", maxDepth)
	errNoTree  = errors.New("this is not what a browser writes")
)

// run has a walker of the same kind read from an offset of the file on.
func (w treeWalker) run(at int64, line int, read func(*treeWalker) error) error {
	w.base, w.open, w.flat, w.raw = at, nil, nil, nil
	w.lines = &lineCounter{src: io.NewSectionReader(w.file, at, w.end-at), line: line}
	w.dec = json.NewDecoder(w.lines)
	w.lines.position = w.dec.InputOffset
	err := read(&w)
	if _, told := errors.AsType[*SyntaxError](err); err == nil || told || errors.Is(err, errStopped) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errEndsEarly
	}
	return &SyntaxError{w.format, w.lines.at(w.dec.InputOffset()), err}
}

// node reads the value that comes next, with all that is in it.
func (w *treeWalker) node() error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	begins := w.dec.InputOffset() - 1
	n := treeNode{at: w.base + begins, line: w.lines.at(begins), depth: len(w.open)}
	if token != json.Delim('{') {
		if err := skipOpened(w.dec, token); err != nil {
			return err
		}
		return w.left(n, nil)
	}
	if len(w.open) == maxDepth {
		return errTooDeep
	}
	depth, start := len(w.open), len(w.flat)
	w.open = append(w.open, n)
	w.flat = append(w.flat, '{')
	for w.dec.More() {
		if err := w.member(depth, start); err != nil {
			return err
		}
	}
	if _, err := w.dec.Token(); err != nil {
		return err
	}
	w.flat = append(w.flat, '}')
	n, w.open = w.open[depth], w.open[:depth]
	n.size = w.base + w.dec.InputOffset() - n.at
	err = w.left(n, w.flat[start:])
	w.flat = w.flat[:start]
	return err
}

// left tells of a node, and has its parent count it.
func (w *treeWalker) left(n treeNode, flat []byte) error {
	if len(w.open) > 0 {
		parent := &w.open[len(w.open)-1]
		parent.unsorted = parent.unsorted || parent.children > 0 && n.index < parent.last
		parent.last = n.index
		parent.children++
	}
	return w.leave(n, flat)
}

// member reads a key of an open node and what it stands for.
func (w *treeWalker) member(depth, start int) error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	key, ok := token.(string)
	if !ok {
		return errNoTree
	}
	if key == w.childKey {
		return w.children(depth)
	}
	if err := w.dec.Decode(&w.raw); err != nil {
		return err
	}
	if key == "index" {
		w.open[depth].index, _ = strconv.ParseInt(string(w.raw), 10, 64)
	}
	if len(w.flat) > start+1 {
		w.flat = append(w.flat, ',')
	}
	w.flat = appendJSONText(w.flat, key)
	w.flat = append(w.flat, ':')
	w.flat = append(w.flat, w.raw...)
	return nil
}

// children reads what is in a node.
func (w *treeWalker) children(depth int) error {
	token, err := w.dec.Token()
	if err != nil || token != json.Delim('[') {
		return errors.Join(err, skipOpened(w.dec, token))
	}
	w.open[depth].folder = true
	if w.enter != nil {
		wanted, err := w.enter(w.open[depth])
		if err != nil {
			return err
		}
		if !wanted {
			return skipOpened(w.dec, token)
		}
	}
	for w.dec.More() {
		if err := w.node(); err != nil {
			return err
		}
	}
	_, err = w.dec.Token()
	return err
}

// object reads an object key by key; anything else is passed over.
func (w *treeWalker) object(member func(key string) error) error {
	token, err := w.dec.Token()
	if err != nil || token != json.Delim('{') {
		return errors.Join(err, skipOpened(w.dec, token))
	}
	for w.dec.More() {
		key, err := w.dec.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return errNoTree
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err = w.dec.Token()
	return err
}

// array reads an array value by value; anything else is passed over.
func (w *treeWalker) array(element func() error) error {
	token, err := w.dec.Token()
	if err != nil || token != json.Delim('[') {
		return errors.Join(err, skipOpened(w.dec, token))
	}
	for w.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = w.dec.Token()
	return err
}

// element reads the next value of an array, whole, with the line that it begins in.
func (w *treeWalker) element() (raw json.RawMessage, line int, err error) {
	if err := w.dec.Decode(&raw); err != nil {
		return nil, 0, err
	}
	return raw, w.lines.at(w.dec.InputOffset() - int64(len(raw))), nil
}

// appendJSONText appends a text as JSON. Keys seldom need more than quotes.
func appendJSONText(dst []byte, s string) []byte {
	plain := !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < ' ' || c >= 0x7f || c == '"' || c == '\\' })
	if plain {
		return append(append(append(dst, '"'), s...), '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		return append(dst, `""`...) // strings always encode
	}
	return append(dst, quoted...)
}

// skipValue reads a value of which nothing is wanted, without holding it.
func skipValue(dec *json.Decoder) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	return skipOpened(dec, token)
}

// skipOpened reads on to the end of a value whose first token was read.
func skipOpened(dec *json.Decoder, first json.Token) error {
	depth := 0
	for token := first; ; {
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth <= 0 {
			return nil
		}
		var err error
		if token, err = dec.Token(); err != nil {
			return err
		}
	}
}

// treeFolder is what a first reading keeps of a folder.
type treeFolder[Fields any] struct {
	fields   Fields
	line     int
	size     int64 // in bytes
	children int
	// order is where the children begin that do not lie in their order, sorted;
	// nil where they do.
	order []treeChild
}

// treeChild is where a child begins that has to be read by itself.
type treeChild struct{ at, index, line int64 }

// What an order other than that of the file may cost: how many children are held
// for it, and how often as much as all of the file is read again, since a folder
// is gone through twice more. No browser's file needs as much; in one that was
// made for the purpose, the folders beyond it stay as they lie.
const (
	maxUnsorted = 4 * maxHeld
	maxRereads  = 32
)

// treeFolders are the folders of a file, by where they begin.
type treeFolders[Fields any] map[int64]*treeFolder[Fields]

// readFolders reads a tree for its folders alone: read has a walker go through
// it.
func readTreeFolders[Fields any](w treeWalker, read func(*treeWalker) error) (treeFolders[Fields], error) {
	folders := treeFolders[Fields]{}
	var unsorted []treeNode
	w.enter = nil
	w.leave = func(n treeNode, flat []byte) error {
		if !n.folder {
			return nil
		}
		f := &treeFolder[Fields]{line: n.line, size: n.size, children: n.children}
		_ = unmarshal(flat, &f.fields) // a field of another kind is left out
		if folders[n.at] = f; len(folders) > maxHeld {
			return errTooMany
		}
		if n.unsorted {
			unsorted = append(unsorted, n)
		}
		return nil
	}
	if err := w.run(0, 1, read); err != nil {
		return nil, err
	}
	held, reread := 0, int64(0)
	for _, n := range unsorted {
		if held, reread = held+n.children, reread+2*n.size; held > maxUnsorted || reread > maxRereads*w.end {
			break
		}
		order, err := w.sortedChildren(n)
		if err != nil {
			return nil, err
		}
		folders[n.at].order = order
	}
	return folders, nil
}

// sortedChildren are the children of a folder in the order that they say.
func (w treeWalker) sortedChildren(folder treeNode) ([]treeChild, error) {
	children := make([]treeChild, 0, folder.children)
	w.enter = func(n treeNode) (bool, error) { return n.at == folder.at, nil }
	w.leave = func(n treeNode, _ []byte) error {
		if n.at != folder.at {
			children = append(children, treeChild{n.at, n.index, int64(n.line)})
		}
		return nil
	}
	if err := w.run(folder.at, folder.line, (*treeWalker).node); err != nil {
		return nil, err
	}
	slices.SortStableFunc(children, func(a, b treeChild) int { return cmp.Compare(a.index, b.index) })
	return children, nil
}

// walkSorted has a walker of this kind read children one by one.
func (w *treeWalker) walkSorted(children []treeChild) error {
	for _, n := range children {
		if err := w.run(n.at, int(n.line), (*treeWalker).node); err != nil {
			return err
		}
	}
	return nil
}
