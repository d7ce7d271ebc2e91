package localstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"bm/server/api"
)

// Selection is what a list's filters found, to be read folder by folder: of each
// bookmark it holds the number alone.
type Selection struct {
	store   *Store
	replica int64
	places  map[string][]int64 // by folder, in the order of the folder
	// Count is how many bookmarks were found.
	Count int
}

// Select finds what a list's filters mean; its order and limit are not heeded.
// What changes meanwhile may be missed, but in [Store.Moment].
func (s *Store) Select(ctx context.Context, q List) (*Selection, error) {
	found := &Selection{store: s, replica: q.Replica, places: map[string][]int64{}}
	err := s.read(ctx, func(tx *tx) error {
		where, args, err := tx.filter(q)
		if err != nil {
			return err
		}
		return tx.each(`SELECT b.folder, b.n FROM bookmark b WHERE `+where+` ORDER BY b.folder, b.sort_order, b.created_at, b.id`, args,
			func(row scanner) error {
				var folder string
				var n int64
				err := row.Scan(&folder, &n)
				found.places[folder] = append(found.places[folder], n)
				found.Count++
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("select bookmarks: %w", err)
	}
	return found, nil
}

// Folders are those that something was found in, "" for the top, in any order.
func (s *Selection) Folders() iter.Seq[string] {
	return func(yield func(string) bool) {
		for folder := range s.places {
			if !yield(folder) {
				return
			}
		}
	}
}

// selectionPage is how many bookmarks are read at once. While those of a folder
// are gone through, so are those of the folders around it.
const selectionPage = 250

// In are the bookmarks found right in a folder, by their order there. An error
// ends them.
func (s *Selection) In(ctx context.Context, folder string) iter.Seq2[*api.Bookmark, error] {
	return func(yield func(*api.Bookmark, error) bool) {
		for rest := s.places[folder]; len(rest) > 0; {
			page := rest[:min(len(rest), selectionPage)]
			rest = rest[len(page):]
			rows, err := s.rows(ctx, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
		}
	}
}

// rows are bookmarks by their numbers, in the order of their folder: what has the
// same place there, by its date and its id. One that is gone is left out.
func (s *Selection) rows(ctx context.Context, numbers []int64) ([]api.Bookmark, error) {
	var shown []api.Bookmark
	err := s.store.read(ctx, func(tx *tx) error {
		r, err := tx.replica(s.replica)
		if err != nil {
			return err
		}
		rows, err := tx.numbered(numbers)
		shown = make([]api.Bookmark, len(rows))
		for i := range rows {
			shown[i] = rows[i].bookmark(r, false).Bookmark
		}
		return err
	})
	slices.SortFunc(shown, func(a, b api.Bookmark) int {
		return cmp.Or(cmp.Compare(a.SortOrder, b.SortOrder), a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
	})
	return shown, err
}

// numbered are bookmarks by their numbers, the oldest first. One that is gone is
// left out.
func (t *tx) numbered(numbers []int64) ([]Entity, error) {
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, fmt.Errorf("encode numbers: %w", err)
	}
	return t.bookmarks(`WHERE b.n IN (SELECT value FROM json_each(?)) ORDER BY b.n`, string(list))
}
