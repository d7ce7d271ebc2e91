package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"

	"bm/cli/app"
	"bm/cli/output"
	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/rules"
)

// verification compares an export of what was imported with what the file holds:
// every bookmark that was new as it stood there, in its folder and its order; of
// every one that was there already its URL and its tags. It keeps hashes, so
// that a large file takes little memory.
type verification struct {
	seed     maphash.Seed
	stripped bool     // tracking parameters don't count
	wanted   []wanted // by id, once all are known
	tags     []wantedTag
}

// wanted is a bookmark of the file, as it has to be found.
type wanted struct {
	id      uint64 // a hash
	content uint64 // a hash of all of a new one, of the key of any other
	order   int64  // of a new one
	line    int32
	isNew   bool
	found   bool
}

type wantedTag struct {
	id, key uint64 // hashes
	line    int32
	found   bool
}

// take is told what became of each entry.
func (v *verification) take(step exchange.Step) {
	if step.Kind != exchange.Bookmark || step.Verdict == exchange.Rejected {
		return
	}
	w := wanted{id: v.hash(step.ID), line: int32(step.Line)}
	if step.Verdict == exchange.New {
		in := &step.Bookmark
		w.isNew, w.order = true, in.SortOrder.Value
		w.content = v.content(in.FolderID.Value, in.URL.Value, in.Title.Value, in.Description.Value, in.Tags.Value, in.CreatedAt.Value, in.Extra.Value)
	} else {
		w.content = v.hash(step.Key.URL, step.Key.Title)
		for _, tag := range rules.Tags(step.Entry.Tags) {
			v.tags = append(v.tags, wantedTag{id: w.id, key: v.hash(rules.TagKey(tag)), line: w.line})
		}
	}
	v.wanted = append(v.wanted, w)
}

func (v *verification) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(v.seed)
	for _, part := range parts {
		_, _ = h.WriteString(strconv.Itoa(len(part)))
		_ = h.WriteByte(':')
		_, _ = h.WriteString(part)
	}
	return h.Sum64()
}

// content is a hash of all that an export keeps of a bookmark.
func (v *verification) content(folder, url, title, description string, tags []string, created api.Time, extra map[string]string) uint64 {
	parts := []string{folder, url, title, description, created.String(), strconv.Itoa(len(tags))}
	parts = append(parts, tags...)
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		parts = append(parts, name, extra[name])
	}
	return v.hash(parts...)
}

// run exports what is in a folder, reads that again and compares.
func (v *verification) run(ctx context.Context, store *localstore.Store, replica int64, folder string) (err error) {
	slices.SortFunc(v.wanted, func(a, b wanted) int { return cmp.Compare(a.id, b.id) })
	slices.SortFunc(v.tags, func(a, b wantedTag) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.key, b.key)) })
	file, err := os.CreateTemp("", "bm-verify-*")
	if err != nil {
		return fmt.Errorf("verify what was imported: %w", err)
	}
	// Where the system lets go of a name at once, nothing is left behind by
	// whatever ends this process.
	nameless := os.Remove(file.Name()) == nil
	defer func() {
		err = errors.Join(err, file.Close())
		if !nameless {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = store.Moment(ctx, func(store *localstore.Store) error {
		q := localstore.List{Replica: replica}
		q.FolderID, q.Recursive = folder, folder != ""
		x, err := gather(ctx, store, q)
		if err != nil {
			return err
		}
		return exchange.WriteHTML(file, marked(x.below(folder).source(ctx)))
	})
	if err != nil {
		return fmt.Errorf("verify what was imported: %w", err)
	}
	if _, err := file.Seek(0, 0); err != nil {
		return fmt.Errorf("verify what was imported: %w", err)
	}
	reader, err := exchange.NewReader(file)
	if err != nil {
		return fmt.Errorf("verify what was imported: %w", err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	return v.compare(reader, folder)
}

// idAttribute is where the export that is compared says the ids, for which its
// format has no place.
const idAttribute = "BM-VERIFY-ID"

// marked is a source whose folders and bookmarks say their ids.
func marked(src exchange.Source) exchange.Source {
	folders := slices.Clone(src.Folders)
	for i := range folders {
		folders[i].Extra = withID(folders[i].Extra, folders[i].ID)
	}
	return exchange.Source{Folders: folders, Bookmarks: func(folder string) iter.Seq2[*api.Bookmark, error] {
		return func(yield func(*api.Bookmark, error) bool) {
			for b, err := range src.Bookmarks(folder) {
				if err == nil {
					b.Extra = withID(b.Extra, b.ID)
				}
				if !yield(b, err) {
					return
				}
			}
		}
	}}
}

func withID(extra map[string]string, id string) map[string]string {
	with := make(map[string]string, len(extra)+1)
	maps.Copy(with, extra)
	with[idAttribute] = id
	return with
}

// compare reads the export of what is in a folder.
func (v *verification) compare(reader *exchange.Reader, top string) error {
	folders := map[int]string{exchange.Root: top} // ids by number
	last := map[int]int64{}                       // the order of the last new one of a folder
	for e, err := range reader.All() {
		if err != nil {
			return fmt.Errorf("read the export: %w", err)
		}
		id := e.Extra[idAttribute]
		delete(e.Extra, idAttribute)
		if e.Kind == exchange.Folder {
			folders[e.Number] = id
		}
		w := v.find(id)
		if e.Kind != exchange.Bookmark || w == nil {
			continue
		}
		v.compareTags(w.id, e.Tags)
		if !w.isNew {
			w.found = w.content == v.key(e)
			continue
		}
		before, behind := last[e.Parent]
		w.found = w.content == v.content(folders[e.Parent], e.URL, e.Title, e.Description, e.Tags, api.At(e.CreatedAt), e.Extra) &&
			(!behind || w.order >= before)
		last[e.Parent] = w.order
	}
	return nil
}

func (v *verification) find(id string) *wanted {
	at, ok := slices.BinarySearchFunc(v.wanted, v.hash(id), func(w wanted, id uint64) int { return cmp.Compare(w.id, id) })
	if !ok {
		return nil
	}
	return &v.wanted[at]
}

// key is a hash of what a bookmark is matched by.
func (v *verification) key(e *exchange.Entry) uint64 {
	key := exchange.KeyOf(e.URL, e.Title)
	if v.stripped {
		key = exchange.StrippedKeyOf(e.URL, e.Title)
	}
	return v.hash(key.URL, key.Title)
}

func (v *verification) compareTags(id uint64, tags []string) {
	at, _ := slices.BinarySearchFunc(v.tags, id, func(w wantedTag, id uint64) int { return cmp.Compare(w.id, id) })
	for ; at < len(v.tags) && v.tags[at].id == id; at++ {
		w := &v.tags[at]
		w.found = w.found || slices.ContainsFunc(tags, func(tag string) bool { return v.hash(rules.TagKey(tag)) == w.key })
	}
}

// missing are the lines of the file that the export does not have as they stand,
// in their order.
func (v *verification) missing() []int {
	lines := map[int]bool{}
	for i := range v.wanted {
		if !v.wanted[i].found {
			lines[int(v.wanted[i].line)] = true
		}
	}
	for i := range v.tags {
		if !v.tags[i].found {
			lines[int(v.tags[i].line)] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

// verdict says what was found to be as it should.
func (v *verification) verdict() string {
	fresh := 0
	for i := range v.wanted {
		if v.wanted[i].isNew {
			fresh++
		}
	}
	there := len(v.wanted) - fresh
	said := "an export has " + output.Plural(fresh, "bookmark") + " as the file has them"
	switch {
	case fresh == 0 && there > 0:
		said = "an export has the URL and the tags of " + output.Plural(there, "bookmark") + " that were there already"
	case there > 0:
		said += fmt.Sprintf(", and the URL and the tags of %d that were there already", there)
	}
	return "Verified: " + said + "."
}

// verified compares, and says how that ended.
func (o *importOptions) verified(ctx context.Context, store *localstore.Store, replica int64) error {
	into, err := o.into(ctx, store, replica)
	if err != nil {
		return err
	}
	v := o.verification
	if err := v.run(ctx, store, replica, into.Folder.ID); err != nil {
		return err
	}
	lines := v.missing()
	if len(lines) == 0 {
		fmt.Fprintln(o.app.IO.Err, v.verdict())
		return nil
	}
	for i, line := range lines {
		if i == maxTold {
			fmt.Fprintf(o.app.IO.Err, "  … and %d more\n", len(lines)-maxTold)
			break
		}
		fmt.Fprintf(o.app.IO.Err, "  line %d: not in the export as it stands in the file\n", line)
	}
	return app.Fail(app.Failed, "An export does not have all that the file has: %s differ.", output.Plural(len(lines), "line")).
		Try("bm log   shows whether something else changed it; bm undo takes the import back")
}
