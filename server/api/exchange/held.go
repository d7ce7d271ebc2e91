package exchange

import (
	"fmt"
	"io"

	"bm/server/api"
)

// What a reader holds is bounded: an object of two bytes takes hundreds once it
// is read. A real file of the largest size has fewer of each.
const (
	// maxHeld is how many objects, and how many lists, of a file are held.
	maxHeld = api.MaxImportRows
	// maxValues is how many values they have in all.
	maxValues = 8_000_000
	// maxElement is how long one bookmark of a list may be, in bytes: more than
	// its fields can hold.
	maxElement = api.MaxBookmarkBody
)

var (
	errTooMany = fmt.Errorf("there are more than %d objects in it, more than are held at once", maxHeld)
	errTooMuch = fmt.Errorf("this entry is longer than %d MiB", maxElement>>20)
)

// bounded ends a JSON file that is read whole with more than is held. It counts
// what stands in texts too, which is little of it.
type bounded struct {
	src                    io.Reader
	objects, lists, values int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	for _, c := range p[:n] {
		switch c {
		case '{':
			b.objects++
		case '[':
			b.lists++
		case ',':
			b.values++
		}
	}
	if b.objects > maxHeld || b.lists > maxHeld || b.values > maxValues {
		return 0, errTooMany
	}
	return n, err
}
