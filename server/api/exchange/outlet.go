package exchange

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"bm/server/api"
)

// stream reads a file from its beginning to its end and hands out what is in it.
type stream func(out *outlet) error

// errStopped ends a stream of which no more is wanted.
var errStopped = errors.New("no more is wanted")

// errEndsEarly says that a file was cut off.
var errEndsEarly = fmt.Errorf("the file ends too early: %w", io.ErrUnexpectedEOF)

// outlet is where a stream hands out its entries, in the order of the file.
type outlet struct {
	yield   func(*Entry, error) bool
	orders  []int64 // the last order given within each folder
	entries int     // bookmarks so far
	keepRaw bool    // entries keep their text
}

// add hands out an entry, behind the others of its parent; it gives a folder's
// number.
func (o *outlet) add(e *Entry) (number int, err error) {
	o.orders[e.Parent] += api.SortGap
	e.Index, e.Order = o.entries, o.orders[e.Parent]
	switch e.Kind {
	case Folder:
		e.Number = len(o.orders)
		o.orders = append(o.orders, 0)
	case Bookmark:
		o.entries++
	}
	number = e.Number // the entry is the reader's from here on
	if !o.yield(e, nil) {
		return number, errStopped
	}
	return number, nil
}

// addAll hands out several.
func (o *outlet) addAll(entries []*Entry) error {
	for _, e := range entries {
		if _, err := o.add(e); err != nil {
			return err
		}
	}
	return nil
}

// pull turns a stream into what a Reader asks for entry after entry.
func (s stream) pull(keepRaw bool) (next func() (*Entry, error), stop func()) {
	pulled, stop := iter.Pull2(func(yield func(*Entry, error) bool) {
		out := &outlet{yield: yield, orders: make([]int64, 1, 64), keepRaw: keepRaw}
		if err := s(out); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	})
	end := io.EOF
	return func() (*Entry, error) {
		e, err, ok := pulled()
		if err != nil {
			end = err
		}
		if !ok || err != nil {
			return nil, end
		}
		return e, nil
	}, stop
}
