package bookmark

import (
	"context"
	"slices"
	"strings"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api/rules"
)

// references are what bookmarks are called on a command line, each by its place
// there, to be looked up by what a bookmark has: a script may name thousands.
type references struct {
	urls, keys, ids map[string][]int
	lengths         []int // of the ids, and of the beginnings of ids
}

// leastPrefix is the length from which the beginning of an id is taken for one.
const leastPrefix = 4

func refer(refs []string) *references {
	r := &references{urls: map[string][]int{}, keys: map[string][]int{}, ids: map[string][]int{}}
	for i, ref := range refs {
		r.urls[ref] = append(r.urls[ref], i)
		key := rules.URLKey(app.CompleteURL(ref))
		r.keys[key] = append(r.keys[key], i)
		if len(ref) < leastPrefix {
			continue
		}
		id := strings.ToLower(ref)
		r.ids[id] = append(r.ids[id], i)
		if !slices.Contains(r.lengths, len(id)) {
			r.lengths = append(r.lengths, len(id))
		}
	}
	return r
}

// meaning are the places of those that mean a bookmark.
func (r *references) meaning(b *localstore.Bookmark) []int {
	var places []int
	if b.URL != "" {
		places = append(places, r.urls[b.URL]...)
		places = append(places, r.keys[rules.URLKey(b.URL)]...)
	}
	for _, n := range r.lengths {
		if n <= len(b.ID) {
			places = append(places, r.ids[b.ID[:n]]...)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// pickDeleted finds deleted bookmarks by id, the beginning of one, or URL.
func pickDeleted(ctx context.Context, store *localstore.Store, replica int64, refs []string) ([]string, error) {
	q := localstore.List{Replica: replica}
	q.FilterStatus = "deleted"
	matches := make([][]string, len(refs))
	wanted := refer(refs)
	for b, err := range store.All(ctx, q) {
		if err != nil {
			return nil, err
		}
		for _, i := range wanted.meaning(&b) {
			matches[i] = append(matches[i], b.ID)
		}
	}
	var ids []string
	named := map[string]bool{} // one may be named twice
	for i, ref := range refs {
		found := matches[i]
		switch len(found) {
		case 0:
			return nil, app.Fail(app.NotFound, "No deleted bookmark is called %q.", output.Clean(ref)).Try("bm ls --deleted   lists them")
		case 1:
			if id := found[0]; !named[id] {
				named[id] = true
				ids = append(ids, id)
			}
		default:
			return nil, app.Fail(app.Usage, "%q means %d deleted bookmarks.", output.Clean(ref), len(found)).Try("bm restore with one of: %s", strings.Join(found, " "))
		}
	}
	return ids, nil
}
