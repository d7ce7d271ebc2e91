package exchange

import (
	"bufio"
	"fmt"
	"io"
)

// Rejects writes bookmarks that could not be kept into a file of the format that
// they came in, to be mended and imported again: each as it stood there, in the
// folders that it lay in, so that it goes where the others went.
type Rejects struct {
	out    *bufio.Writer
	layout layout

	folders []rejectFolder // by their numbers
	named   map[namedFolder]int
	open    []openFolder // from the top down; the first is the top
}

// layout is how a format holds bookmarks in folders. Each method writes a part of
// a file; first says that nothing comes before it in the same folder.
type layout interface {
	begin(out io.Writer)
	openFolder(out io.Writer, folder *Entry, first bool)
	bookmark(out io.Writer, e *Entry, first bool)
	closeFolder(out io.Writer, folder *Entry)
	end(out io.Writer)
}

// rejectFolder is a folder of the file; nth counts those before it that have its
// name and lie beside it.
type rejectFolder struct {
	entry *Entry
	nth   int
}

type namedFolder struct {
	parent int
	name   string
}

// openFolder is a folder that is being written.
type openFolder struct {
	number int
	empty  bool           // nothing is in it yet
	named  map[string]int // how many folders of a name are in it
}

// NewRejects begins a file in a format that a [Reader] found.
func NewRejects(w io.Writer, format Format) (*Rejects, error) {
	layout := layoutOf(format)
	if layout == nil {
		return nil, fmt.Errorf("bm can't write the format %s", format)
	}
	r := &Rejects{
		out: bufio.NewWriter(w), layout: layout, named: map[namedFolder]int{},
		folders: []rejectFolder{{}}, open: []openFolder{{empty: true, named: map[string]int{}}},
	}
	layout.begin(r.out)
	return r, nil
}

func layoutOf(format Format) layout {
	switch format {
	case Netscape:
		return htmlLayout{}
	case FirefoxJSON:
		return firefoxLayout{}
	case ChromeJSON:
		return chromeLayout{}
	case XBEL:
		return xbelLayout{}
	case OPML:
		return opmlLayout{}
	case PinboardXML:
		return postsLayout{}
	case SafariPlist:
		return plistLayout{}
	}
	return nil
}

// Folder tells of a folder of the file. Each comes before what is in it.
func (r *Rejects) Folder(e *Entry) {
	for len(r.folders) <= e.Number {
		r.folders = append(r.folders, rejectFolder{})
	}
	key := namedFolder{e.Parent, e.Title}
	r.folders[e.Number] = rejectFolder{e, r.named[key]}
	r.named[key]++
}

// Add writes a bookmark, which must have kept its text.
func (r *Rejects) Add(e *Entry) {
	r.enter(e.Parent)
	in := &r.open[len(r.open)-1]
	r.layout.bookmark(r.out, e, in.empty)
	in.empty = false
}

// Close ends the file. The writer stays open.
func (r *Rejects) Close() error {
	r.leave(1)
	r.layout.end(r.out)
	return r.out.Flush()
}

// enter leaves and opens folders until that of a number is open.
func (r *Rejects) enter(number int) {
	path := r.path(number)
	same := 1
	for same < len(r.open) && same <= len(path) && r.open[same].number == path[same-1] {
		same++
	}
	r.leave(same)
	for _, number := range path[same-1:] {
		r.openFolder(number)
	}
}

// path are the folders from the top to the one of a number.
func (r *Rejects) path(number int) []int {
	var path []int
	for number > Root && number < len(r.folders) && r.folders[number].entry != nil {
		path = append([]int{number}, path...)
		number = r.folders[number].entry.Parent
	}
	return path
}

// openFolder opens a folder within the one that is open. Where others of its
// name lay before it, so do empty ones here: by that it is told from them.
func (r *Rejects) openFolder(number int) {
	folder := &r.folders[number]
	in := &r.open[len(r.open)-1]
	name := folder.entry.Title
	for ; in.named[name] < folder.nth; in.named[name]++ {
		r.layout.openFolder(r.out, folder.entry, in.empty)
		r.layout.closeFolder(r.out, folder.entry)
		in.empty = false
	}
	r.layout.openFolder(r.out, folder.entry, in.empty)
	in.named[name]++
	in.empty = false
	r.open = append(r.open, openFolder{number: number, empty: true, named: map[string]int{}})
}

// leave closes folders until so many are open, the top counted.
func (r *Rejects) leave(depth int) {
	for len(r.open) > depth {
		last := len(r.open) - 1
		r.layout.closeFolder(r.out, r.folders[r.open[last].number].entry)
		r.open = r.open[:last]
	}
}
