package exchange

import (
	"fmt"

	"bm/server/api"
)

// What a reader holds is bounded: an object of two bytes takes hundreds once it
// is read. A real file of the largest size has fewer.
const (
	// maxHeld is how many folders of a list are held, and how many links of tags.
	maxHeld = api.MaxImportRows
	// maxElement is how long one bookmark of a list may be, in bytes: more than
	// its fields can hold.
	maxElement = api.MaxBookmarkBody
)

var (
	errTooMany = fmt.Errorf("there are more than %d objects in it, more than are held at once", maxHeld)
	errTooMuch = fmt.Errorf("this entry is longer than %d MiB", maxElement>>20)
)
