package exchange

import (
	"bufio"
	"io"
	"slices"
)

// Rejects writes bookmarks that could not be kept into a file of the format that
// they came in, to be mended and imported again: each as it stood there, in the
// folders that it lay in, so that it goes where the others went.
type Rejects struct {
	out    *bufio.Writer
	reader *Reader
	layout layout // nil before the first entry: a table's depends on its header

	folders []rejectFolder        // by their numbers
	named   map[namedFolder][]int // the numbers of those of one name in one folder
	open    []openFolder          // from the top down; the first is the top
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

// rejectFolder is a folder of the file; alike are those before it that have its
// name and lie beside it.
type rejectFolder struct {
	entry *Entry
	alike []int
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

// Rejects is for what is rejected of the file, which has to be one with [KeepRaw].
func (r *Reader) Rejects(w io.Writer) *Rejects {
	return &Rejects{
		out: bufio.NewWriter(w), reader: r, named: map[namedFolder][]int{},
		folders: []rejectFolder{{}}, open: []openFolder{{empty: true, named: map[string]int{}}},
	}
}

// layout is how the rejects of the file are laid out.
func (r *Reader) layout() layout {
	switch r.format {
	case JSON:
		return &listLayout{head: `{"version":1,"bookmarks":[`, folders: "folders"}
	case KarakeepJSON:
		return &listLayout{head: `{"bookmarks":[`, folders: "lists"}
	case LinkwardenJSON:
		return &linkwardenLayout{}
	case PinboardJSON, ListJSON:
		return &listLayout{head: "["}
	case FirefoxJSON:
		return firefoxLayout{}
	case ChromeJSON:
		return chromeLayout{}
	case OwnCSV, PocketCSV, RaindropCSV, InstapaperCSV, CSV:
		return csvLayout{r.source.header, map[int]bool{}}
	case XBEL:
		return xbelLayout{}
	case OPML:
		return opmlLayout{}
	case PinboardXML:
		return postsLayout{}
	case SafariPlist:
		return plistLayout{}
	}
	return htmlLayout{}
}

// Take tells what becomes of an entry: of every folder of the file, and of each
// bookmark that is rejected.
func (r *Rejects) Take(step Step) {
	switch {
	case step.Kind == Folder:
		r.folder(step.Entry)
	case step.Kind == Bookmark && step.Verdict == Rejected:
		r.bookmark(step.Entry)
	}
}

// Close ends the file, of which there is nothing where nothing was rejected. The
// writer stays open.
func (r *Rejects) Close() error {
	if r.layout == nil {
		return nil
	}
	r.leave(1)
	r.layout.end(r.out)
	return r.out.Flush()
}

func (r *Rejects) begin() {
	if r.layout == nil {
		r.layout = r.reader.layout()
		r.layout.begin(r.out)
	}
}

// folder remembers a folder. Each comes before what is in it.
func (r *Rejects) folder(e *Entry) {
	for len(r.folders) <= e.Number {
		r.folders = append(r.folders, rejectFolder{})
	}
	key := namedFolder{e.Parent, e.Title}
	r.folders[e.Number] = rejectFolder{e, r.named[key]}
	r.named[key] = append(r.named[key], e.Number)
}

// bookmark writes one, which has kept its text.
func (r *Rejects) bookmark(e *Entry) {
	r.begin()
	if r.open[len(r.open)-1].number != e.Parent {
		r.enter(e.Parent)
	}
	in := &r.open[len(r.open)-1]
	r.layout.bookmark(r.out, e, in.empty)
	in.empty = false
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
		path = append(path, number)
		number = r.folders[number].entry.Parent
	}
	slices.Reverse(path)
	return path
}

// openFolder opens a folder within the one that is open. Others of its name that
// lay before it come first, empty: by that it is told from them.
func (r *Rejects) openFolder(number int) {
	folder := &r.folders[number]
	in := &r.open[len(r.open)-1]
	name := folder.entry.Title
	for ; in.named[name] < len(folder.alike); in.named[name]++ {
		alike := r.folders[folder.alike[in.named[name]]].entry
		r.layout.openFolder(r.out, alike, in.empty)
		r.layout.closeFolder(r.out, alike)
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
