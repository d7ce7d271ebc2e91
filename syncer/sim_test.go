package syncer_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/syncer"
)

// world is a server and some replicas of it, all of it drawn from one seed.
type world struct {
	t        testing.TB
	rng      *rand.Rand
	clock    sync.Mutex // a test edits while a page is under way
	at       time.Time
	server   *fakeServer
	real     *realServer // where that is the real one; server is then what it has
	replicas []*device
	deleted  map[string]bool   // ids that someone deleted
	made     map[string]string // id → URL of every bookmark made
	backup   *fakeServer
	epochs   int
	upheaval bool // one may be
}

// device is a replica and the line between it and the server.
type device struct {
	w       *world
	path    string
	ids     *api.IDs
	store   *localstore.Store
	n       int64
	sync    *syncer.Syncer
	faults  bool
	refused error // whatever is asked
	barred  error // whatever is pushed
	// kept is the file as it was once.
	kept map[string][]byte
	// line decides what becomes of requests. A page is fetched while the one
	// before it is stored: the two draw on different sources, so that a seed
	// replays the same trace whichever runs first.
	line *rand.Rand
}

var (
	errLine = errors.New("the line is dead")
	errKill = errors.New("killed")
	// errBusyServer and errBroken are answers, but not to what was asked.
	errBusyServer = api.Errorf(api.CodeRateLimited, "not so fast")
	errBroken     = api.Errorf(api.CodeInternal, "internal error")
	// errTaken and errReadOnly are what a server says that takes access away.
	errTaken    = api.Errorf(api.CodeNotFound, "there is no such workspace")
	errReadOnly = api.Errorf(api.CodeForbidden, "you may only read")
)

func (w *world) now() time.Time { return w.later(time.Second) }

// later moves the clock.
func (w *world) later(by time.Duration) time.Time {
	w.clock.Lock()
	defer w.clock.Unlock()
	w.at = w.at.Add(by)
	return w.at
}

// seeded is a source of randomness that replays.
type seeded struct{ rng *rand.Rand }

func (s seeded) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s.rng.Uint32())
	}
	return len(p), nil
}

func newWorld(t testing.TB, seed uint64, devices int) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		deleted: map[string]bool{}, made: map[string]string{},
	}
	w.server = newFakeServer(w.now)
	w.equip(seed, devices, "w")
	return w
}

// equip gives the world its replicas of a workspace.
func (w *world) equip(seed uint64, devices int, workspace string) {
	t := w.t
	for i := range devices {
		d := &device{
			w: w, path: filepath.Join(t.TempDir(), "replica.db"), line: rand.New(rand.NewPCG(seed, uint64(2+i))),
			ids: api.NewIDs(w.now, seeded{rand.New(rand.NewPCG(seed, uint64(100+i)))}),
		}
		d.open()
		t.Cleanup(func() {
			if err := d.store.Close(); err != nil {
				t.Error(err)
			}
		})
		r, err := d.store.Mirror(t.Context(), api.Workspace{ID: workspace, Name: "Home"}, true)
		if err != nil {
			t.Fatal(err)
		}
		d.n = r.N
		w.replicas = append(w.replicas, d)
	}
}

func (d *device) open() {
	var err error
	d.store, err = localstore.Open(d.w.t.Context(), localstore.Options{Path: d.path, Now: d.w.now, IDs: d.ids})
	if err != nil {
		d.w.t.Fatal(err)
	}
	d.sync = syncer.New(syncer.Config{Store: d.store, Remote: d, IDs: d.ids, Pause: d.pause, Batch: 3})
}

// talk is the server that the replicas talk to.
func (w *world) talk() syncer.Remote {
	if w.real != nil {
		return w.real
	}
	return w.server
}

// pause is where a process may be killed between two transactions.
func (d *device) pause(context.Context, time.Duration) error {
	if d.faults && d.w.rng.IntN(12) == 0 {
		return errKill
	}
	return nil
}

func (d *device) Changes(ctx context.Context, workspace, cursor string, limit int, wait time.Duration) (api.ChangesPage, error) {
	if d.refused != nil {
		return api.ChangesPage{}, d.refused
	}
	if d.faults {
		switch d.line.IntN(20) {
		case 0, 1:
			return api.ChangesPage{}, errLine
		case 2:
			return api.ChangesPage{}, errBusyServer
		}
	}
	return d.w.talk().Changes(ctx, workspace, cursor, limit, wait)
}

func (d *device) Push(ctx context.Context, workspace string, push api.PushRequest) func() (api.PushResponse, error) {
	return d.whenever(func() (api.PushResponse, error) {
		if err := cmp.Or(d.refused, d.barred); err != nil {
			return api.PushResponse{}, err
		}
		fault := 99
		if d.faults {
			fault = d.line.IntN(12)
		}
		switch fault {
		case 0:
			return api.PushResponse{}, errLine
		case 3:
			return api.PushResponse{}, errBusyServer
		}
		response, err := d.w.talk().Push(ctx, workspace, push)()
		switch fault {
		case 1, 2:
			return api.PushResponse{}, errLine // the answer is lost
		case 4:
			return api.PushResponse{}, errBroken // and so it is here
		}
		if d.faults && d.w.rng.IntN(8) == 0 {
			d.edit() // while the push is under way
		}
		return response, err
	})
}

// whenever lets a request reach the server at once, or only when its answer is
// waited for.
func (d *device) whenever(push func() (api.PushResponse, error)) func() (api.PushResponse, error) {
	if d.line.IntN(2) == 0 {
		return push
	}
	response, err := push()
	return answer(response, err)
}

// answer is an answer that is there already.
func answer(response api.PushResponse, err error) func() (api.PushResponse, error) {
	return func() (api.PushResponse, error) { return response, err }
}

func (d *device) bookmarks() []localstore.Bookmark {
	page, err := d.store.Bookmarks(d.w.t.Context(), localstore.List{Replica: d.n, SortBy: "createdAt"})
	if err != nil {
		d.w.t.Fatal(err)
	}
	return page.Bookmarks
}

func (d *device) tree() []localstore.Node {
	nodes, err := d.store.Tree(d.w.t.Context(), d.n)
	if err != nil {
		d.w.t.Fatal(err)
	}
	return nodes
}

// folder is some living folder, or the top.
func (d *device) folder(nodes []localstore.Node) string {
	if i := d.w.rng.IntN(len(nodes) + 1); i < len(nodes) {
		return nodes[i].ID
	}
	return ""
}

// edit does one random thing that a user could do.
func (d *device) edit() {
	w := d.w
	bookmarks, nodes := d.bookmarks(), d.tree()
	what := w.rng.IntN(13)
	err := d.store.Edit(w.t.Context(), d.n, "edit", func(ed *localstore.Editor) error {
		word := fmt.Sprintf("v%d", w.rng.IntN(1000))
		switch {
		case what < 3 || len(bookmarks) == 0:
			url := fmt.Sprintf("https://example.com/%d", w.rng.IntN(30))
			b, err := ed.AddBookmark(api.BookmarkInput{
				URL: api.Some(url), Title: api.Some(word), FolderID: api.Some(d.folder(nodes)), Tags: api.Some([]string{word}),
			})
			w.made[b.ID] = url
			return err
		case what < 5:
			in := api.FolderInput{Name: api.Some(fmt.Sprintf("f%d", w.rng.IntN(4)))}
			if parent := d.folder(nodes); parent != "" {
				in.ParentID = api.Some(parent)
			}
			_, err := ed.AddFolder(in)
			return err
		case what < 8:
			b := bookmarks[w.rng.IntN(len(bookmarks))]
			in := api.BookmarkInput{}
			switch w.rng.IntN(4) {
			case 0:
				in.Title = api.Some(word)
			case 1:
				in.Tags = api.Some(append(slices.Clone(b.Tags), word))
			case 2:
				in.Description = api.Some(b.Description + "\n" + word)
			case 3:
				in.FolderID = api.Some(d.folder(nodes))
			}
			_, err := ed.UpdateBookmark(b.ID, in)
			return err
		case what < 9 && len(nodes) > 0:
			_, err := ed.UpdateFolder(nodes[w.rng.IntN(len(nodes))].ID, api.FolderInput{ParentID: api.Some(d.folder(nodes))})
			if api.CodeOf(err) == api.CodeConflict {
				return nil
			}
			return err
		case what < 10 && len(nodes) > 0:
			_, err := ed.UpdateFolder(nodes[w.rng.IntN(len(nodes))].ID, api.FolderInput{Name: api.Some(word)})
			return err
		case what < 11 && len(nodes) > 0:
			top := nodes[w.rng.IntN(len(nodes))].ID
			d.willDelete(top, nodes, bookmarks)
			_, _, err := ed.DeleteFolder(top)
			return err
		}
		b := bookmarks[w.rng.IntN(len(bookmarks))]
		w.deleted[b.ID] = true
		_, err := ed.DeleteBookmarks(b.ID)
		return err
	})
	if api.CodeOf(err) == api.CodeForbidden && d.frozen() {
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if what == 12 && len(bookmarks) > 0 && w.rng.IntN(2) == 0 {
		if _, err := d.store.Undo(w.t.Context(), nil); err != nil && api.CodeOf(err) != api.CodeNotFound {
			w.t.Fatal(err)
		}
	}
}

// willDelete notes what a folder's deletion takes along.
func (d *device) willDelete(top string, nodes []localstore.Node, bookmarks []localstore.Bookmark) {
	dead := map[string]bool{top: true}
	for _, node := range nodes { // parents come first
		if dead[node.ParentID] {
			dead[node.ID] = true
		}
	}
	for id := range dead {
		d.w.deleted[id] = true
	}
	for _, b := range bookmarks {
		if dead[b.FolderID] {
			d.w.deleted[b.ID] = true
		}
	}
}

// step does the next thing.
func (w *world) step(upheaval bool) {
	d := w.replicas[w.rng.IntN(len(w.replicas))]
	switch w.rng.IntN(30) {
	case 0:
		w.jump()
	case 1:
		d.withdraw()
	case 2:
		d.kept = d.files()
	case 3:
		if upheaval || w.rng.IntN(4) == 0 {
			d.spoil()
		}
	}
	switch n := w.rng.IntN(40); {
	case n < 4 && w.real != nil:
		w.real.edit(w)
	case n < 24:
		d.edit()
	case n < 38 || !upheaval:
		d.round(w.rng.IntN(2) == 0)
	case n == 38 && w.real != nil:
		w.real.purge()
	case n == 38:
		w.server.purge()
	case w.real != nil:
		if w.real.backup != "" && w.rng.IntN(2) == 0 {
			w.real.restore()
			return
		}
		w.real.keep()
	default:
		if w.backup != nil && w.rng.IntN(2) == 0 {
			w.epochs++
			w.server = w.backup.restored(w.server, fmt.Sprintf("e%d", w.epochs+1))
			return // it may be put back again
		}
		w.backup = w.server.clone()
	}
}

func (d *device) round(faults bool) {
	d.faults = faults
	_, err := d.sync.Round(d.w.t.Context(), d.n)
	d.faults = false
	for _, expected := range []error{nil, errLine, errKill, errBusyServer, errBroken, d.refused, d.barred} {
		if errors.Is(err, expected) {
			return
		}
	}
	d.w.t.Fatalf("round: %v", err)
}

func simulate(t *testing.T, seed uint64, upheaval bool) {
	newWorld(t, seed, 2+int(seed%2)).live(seed, upheaval)
}

// live goes through some days, with a quiet evening each.
func (w *world) live(seed uint64, upheaval bool) {
	t := w.t
	for range 3 {
		for range 20 {
			w.step(upheaval)
		}
		w.quiet()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		w.night()
	}
}

// simSeeds is how many seeds each simulation runs; one alone is replayed by its
// number, as in -run 'InPeace/17'.
var (
	simSeeds = flag.Uint64("sim.seeds", 100, "seeds to simulate")
	simFirst = flag.Uint64("sim.first", 0, "the first of them")
)

// seeds are those to simulate, or one in so many of them.
func seeds(t *testing.T, every uint64) []uint64 {
	t.Helper()
	n := *simSeeds
	if testing.Short() {
		n = 20
	}
	all := make([]uint64, max(2, n/every))
	for i := range all {
		all[i] = *simFirst + uint64(i)
	}
	return all
}

func TestReplicasAgreeInPeace(t *testing.T) {
	for _, seed := range seeds(t, 1) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			simulate(t, seed, false)
		})
	}
}

func TestReplicasAgreeAfterPurgesAndRestores(t *testing.T) {
	for _, seed := range seeds(t, 1) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			simulate(t, 10_000+seed, true)
		})
	}
}
