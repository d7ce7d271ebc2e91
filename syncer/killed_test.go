package syncer_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"bm/localstore"
)

// killable is a replica whose process dies as it begins some transaction.
type killable struct {
	*device
	left int // transactions, until then
}

// mortal has the replica's store die when its turn comes.
func (d *device) mortal() *killable {
	k := &killable{device: d}
	if err := d.store.Close(); err != nil {
		d.w.t.Fatal(err)
	}
	var err error
	d.store, err = localstore.Open(d.w.t.Context(), localstore.Options{Path: d.path, IDs: d.ids, Now: func() time.Time {
		if k.left--; k.left == 0 {
			panic(errKill)
		}
		return d.w.now()
	}})
	if err != nil {
		d.w.t.Fatal(err)
	}
	d.sync = d.against(d, 3)
	return k
}

// dies runs a round that is killed at its n-th transaction, and reports whether it
// came to that. What is left is a file, which is opened anew.
func (k *killable) dies(n int) (died bool) {
	k.w.t.Helper()
	defer func() {
		if p := recover(); p != nil {
			if cause, ok := p.(error); !ok || !errors.Is(cause, errKill) {
				panic(p)
			}
			died = true
		}
		k.left = 0
		if err := k.store.Close(); err != nil {
			k.w.t.Fatal(err)
		}
		k.open()
	}()
	sync := k.against(k.device, 3)
	k.left = n
	if _, err := sync.Round(k.w.t.Context(), k.n); err != nil {
		k.w.t.Fatal(err)
	}
	return false
}

// Killed before any of its transactions, a round is gone on with by the next start,
// to the same end: nothing is lost, nothing comes twice, nothing is told twice.
func TestARoundThatIsKilledAnywhereGoesOn(t *testing.T) {
	step := 3
	switch {
	case testing.Short():
		step = 9
	case *simSeeds > 100:
		step = 1
	}
	for what, upheaval := range map[string]func(w *world, backup *fakeServer){
		"as ever":         func(*world, *fakeServer) {},
		"after a purge":   func(w *world, _ *fakeServer) { w.server.purge() },
		"after a restore": func(w *world, backup *fakeServer) { w.restore(backup, "e2") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var want string
			n := 0
			for died := true; died; {
				w := newWorld(t, 87, 2)
				a, b := w.replicas[0], w.replicas[1]
				k := a.mortal()
				both := a.add("https://both.example/", "both", a.mkdir("Top/Inner"), "old")
				gone, edited := a.add("https://gone.example/", "gone", ""), a.add("https://edited.example/", "edited", "")
				moved := a.add("https://moved.example/", "moved", a.mkdir("Doomed"))
				w.peace()
				backup := w.server.clone()
				b.title(both, "theirs")
				b.rm(edited)
				b.rmdir(b.get(moved).FolderID)
				b.add("https://twin.example/", "twin", b.mkdir("Twins"), "theirs")
				b.add("https://theirs.example/", "only theirs", "")
				b.round1()
				upheaval(w, backup)
				a.title(both, "mine")
				a.title(edited, "edited here")
				a.rm(gone)
				a.title(moved, "edited in a doomed folder")
				a.add("https://twin.example/", "twin", a.mkdir("Twins"), "mine")
				a.add("https://mine.example/", "only mine", a.mkdir("Top/New"))
				died = k.dies(n)
				w.peace()
				got := a.sums(t) + b.sums(t)
				if n == 0 { // which nobody kills
					want, died = got, true
				} else if got != want {
					t.Fatalf("killed at transaction %d:\n%s\nwant\n%s", n, got, want)
				}
				n += step
			}
			if n < 12 {
				t.Errorf("a round took %d transactions", n)
			}
		})
	}
}

// sums is all that a user sees of a replica, without ids and dates.
func (d *device) sums(t *testing.T) (text string) {
	t.Helper()
	names := map[string]string{}
	for _, f := range d.tree() {
		names[f.ID] = names[f.ParentID] + "/" + f.Name
	}
	var lines []string
	for _, name := range names {
		lines = append(lines, name)
	}
	for _, b := range d.bookmarks() {
		lines = append(lines, fmt.Sprintf("%s/%s %q %q", names[b.FolderID], b.URL, b.Title, b.Tags))
	}
	for _, c := range d.conflicts() {
		lines = append(lines, fmt.Sprintf("conflict %s %s", c.Field, c.Mine))
	}
	notes := d.notes()
	slices.Sort(notes)
	slices.Sort(lines)
	parked, err := d.store.Parked(t.Context(), d.n)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append(lines, fmt.Sprint("notes ", notes), fmt.Sprint("parked ", len(parked))) {
		text += line + "\n"
	}
	return text
}
