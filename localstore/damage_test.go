package localstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

// unsentOfDamage is how many unsent rows [beforeDamage] makes.
const unsentOfDamage = 60

// beforeDamage is a closed file with rows of the server and unsent edits, spread
// over many pages.
func beforeDamage(t *testing.T) []byte {
	t.Helper()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(ctx, options(path))
	if err != nil {
		t.Fatal(err)
	}
	r := mirror(t, s, "w")
	insert := func(from int) {
		syncing(t, s, r, func(tx *localstore.SyncTx) error {
			rows := make([]localstore.Entity, 150)
			for i := range rows {
				rows[i] = localstore.Entity{Type: api.TypeBookmark, ID: fmt.Sprintf("0190-%04d", from+i), Rev: int64(from + i + 1)}
				rows[i].Title, rows[i].URL = fmt.Sprint("of the server ", from+i), fmt.Sprintf("https://example.com/%d", from+i)
			}
			return tx.Insert(rows)
		})
	}
	for i := range unsentOfDamage / 20 {
		insert(1000 * i)
		for j := range 10 {
			add(t, s, r, bookmark(fmt.Sprintf("https://new.example/%d/%d", i, j), "made here"))
		}
		edit(t, s, r, func(ed *localstore.Editor) error {
			for j := range 10 {
				if _, err := ed.UpdateBookmark(fmt.Sprintf("0190-%04d", 1000*i+15*j), api.BookmarkInput{Title: api.Some("edited here")}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return readAll(t, path)
}

// mended is what a repair makes of a file, and how many of the unsent rows are
// in it.
func mended(t *testing.T, content []byte) (did localstore.Recovery, unsent int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content)
	s, did, err := localstore.Recover(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("the mended file: %v", err)
	}
	return did, unsentIn(t, s)
}

func unsentIn(t *testing.T, s *localstore.Store) (unsent int) {
	t.Helper()
	replicas, err := s.Replicas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range replicas {
		n, err := s.Pending(t.Context(), r.N)
		if err != nil {
			t.Fatal(err)
		}
		unsent += n
	}
	return unsent
}

// Each page is spoilt in turn: what a repair could not read it says, and what it
// could read it keeps. A row lies in one page, and so does the base of one that
// was edited: no more than that is lost of all.
func TestARepairOfAnyPage(t *testing.T) {
	content := beforeDamage(t)
	const size = 4096
	lost, every := 0, 1
	if testing.Short() {
		every = 5
	}
	for page := 0; page < len(content)/size; page += every {
		spoilt := bytes.Clone(content)
		copy(spoilt[page*size:], bytes.Repeat([]byte{0xee}, size))
		did, unsent := mended(t, spoilt)
		if unsent != unsentOfDamage && !did.Incomplete {
			t.Errorf("page %d: %d of %d unsent rows are left, and nothing is said: %+v", page+1, unsent, unsentOfDamage, did)
		}
		lost += unsentOfDamage - unsent
	}
	if most := unsentOfDamage * 3 / 2; lost > most {
		t.Errorf("%d unsent rows were lost by spoiling %d pages in turn, want at most %d", lost, len(content)/size, most)
	}
}

func TestARepairOfWhatCantBeOpened(t *testing.T) {
	content := beforeDamage(t)
	zeroed := func(n int) []byte {
		spoilt := bytes.Clone(content)
		clear(spoilt[:n])
		return spoilt
	}
	many := len(content) / 4096
	for what, c := range map[string]struct {
		content []byte
		least   int
	}{
		"the header is zeroed":        {zeroed(100), unsentOfDamage},
		"the first page is zeroed":    {zeroed(4096), unsentOfDamage},
		"it is of another format":     {bytes.Join([][]byte{content[:47], content[48:]}, []byte{9}), unsentOfDamage},
		"it is cut within a page":     {content[:many*3/4*4096+1000], unsentOfDamage / 2},
		"it is cut between two pages": {content[:many*3/4*4096], unsentOfDamage / 2},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "replica.db")
			write(t, path, c.content)
			if _, err := localstore.Open(t.Context(), options(path)); !errors.Is(err, localstore.ErrDamaged) {
				t.Fatalf("it was opened: %v", err)
			}
			did, unsent := mended(t, c.content)
			if unsent < c.least || did.Rows != unsent || !did.Incomplete {
				t.Errorf("%d unsent rows are left, want at least %d; %+v", unsent, c.least, did)
			}
		})
	}
}

// A file that is cut keeps its journal where that is before the cut.
func TestARepairOfAShortFileKeepsTheJournal(t *testing.T) {
	content := beforeDamage(t)
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content[:len(content)-10*4096])
	s, _ := recoverAt(t, path)
	log, err := s.Log(t.Context(), 100)
	if err != nil || len(log) == 0 {
		t.Errorf("log %+v, %v", log, err)
	}
}

// halfInTheLog is a file that holds one bookmark of a replica, and its log that
// holds another.
func halfInTheLog(t *testing.T) (file, log []byte, replica int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replica.db")
	s := openAt(t, path)
	replica = mirror(t, s, "w")
	add(t, s, replica, bookmark("https://first.example/", "first"))
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, s, replica, bookmark("https://logged.example/", "logged"))
	return readAll(t, path), readAll(t, path+"-wal"), replica
}

// The log is read where the file can't be opened: what was written last is there.
func TestARepairReadsTheLog(t *testing.T) {
	file, log, r := halfInTheLog(t)
	damaged := filepath.Join(t.TempDir(), "replica.db")
	clear(file[:4096])
	write(t, damaged, file)
	write(t, damaged+"-wal", log)
	again, did := recoverAt(t, damaged)
	wantTitles(t, "saved", list(t, again, localstore.List{Replica: r, SortBy: "title"}), "first", "logged")
	// A log that is cut ends where it is cut; what it committed before that counts.
	write(t, damaged, file)
	write(t, damaged+"-wal", log[:len(log)-4000])
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	again, did = recoverAt(t, damaged)
	got := list(t, again, localstore.List{Replica: r, SortBy: "title"})
	if len(got) == 0 || got[0] != "first" || !did.Incomplete {
		t.Errorf("saved %q, %+v", got, did)
	}
}

// Whatever the file holds, a repair comes to an end, with a file that is sound.
func TestARepairOfScatteredDamage(t *testing.T) {
	content := beforeDamage(t)
	seeds := uint64(30)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		spoilt := bytes.Clone(content)
		for range 1 << rng.IntN(10) {
			spoilt[rng.IntN(len(spoilt))] = byte(rng.Uint32())
		}
		if seed%4 == 0 {
			clear(spoilt[:100])
		}
		if did, unsent := mended(t, spoilt); unsent > 2*unsentOfDamage {
			t.Errorf("seed %d: %d unsent rows of %d, %+v", seed, unsent, unsentOfDamage, did)
		}
	}
}

// A row that can't be understood is lost alone, and an edit of which the server's
// version can't be understood is kept as a row of its own.
func TestARepairOfRowsThatSayNonsense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	r := mirror(t, s, "w")
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		e := localstore.Entity{Type: api.TypeBookmark, ID: "edited", Rev: 7}
		e.Title, e.URL, e.Tags = "before", "https://edited.example/", []string{"base-tag"}
		return tx.Insert([]localstore.Entity{e})
	})
	edit(t, s, r, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark("edited", api.BookmarkInput{Title: api.Some("after"), Tags: api.Some([]string{"other"})})
		return err
	})
	for _, title := range []string{"1", "2", "3", "4", "5"} {
		in := bookmark("https://new.example/"+title, title)
		in.Tags = api.Some([]string{"tag-" + title})
		add(t, s, r, in)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content := readAll(t, path)
	for _, tags := range []string{`["tag-2"]`, `["tag-4"]`, `["base-tag"]`} {
		if !bytes.Contains(content, []byte(tags)) {
			t.Fatalf("no %s to spoil", tags)
		}
		content = bytes.ReplaceAll(content, []byte(tags), bytes.Repeat([]byte("?"), len(tags)))
	}
	clear(content[:100])
	write(t, path, content)
	again, did := recoverAt(t, path)
	wantTitles(t, "saved", list(t, again, localstore.List{Replica: r, SortBy: "title"}), "1", "3", "5", "after")
	if !did.Incomplete {
		t.Errorf("%+v", did)
	}
}

func TestARepairLeavesFrozenWhatWasTakenAway(t *testing.T) {
	path, replica := damagedCopy(t, func(s *localstore.Store, replica int64) {
		if err := s.SetState(t.Context(), replica, localstore.StateFrozen, "it was deleted"); err != nil {
			t.Fatal(err)
		}
	})
	s, _ := recoverAt(t, path)
	if r, err := s.Replica(t.Context(), replica); err != nil || r.State != localstore.StateFrozen || r.Reason != "it was deleted" {
		t.Errorf("%+v, %v", r, err)
	}
}

// What does not fit into a page goes on in others, and is read from there.
func TestARepairReadsLongRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := 10; n <= api.MaxDescription; n *= 3 {
		text := strings.Repeat("Grüße ", n/8) + fmt.Sprint(n)
		in := bookmark(fmt.Sprintf("https://long.example/%d", n), fmt.Sprint(n))
		in.Description = api.Some(text)
		add(t, s, r.N, in)
		want = append(want, text)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content := readAll(t, path)
	clear(content[:4096])
	write(t, path, content)
	again, _ := recoverAt(t, path)
	page, err := again.Bookmarks(t.Context(), localstore.List{Replica: r.N, SortBy: "createdAt"})
	if err != nil || len(page.Bookmarks) != len(want) {
		t.Fatalf("%d bookmarks, %v; want %d", len(page.Bookmarks), err, len(want))
	}
	for _, b := range page.Bookmarks {
		if !slices.Contains(want, b.Description) {
			t.Errorf("%s: the description of %d bytes is another", b.Title, len(b.Description))
		}
	}
}

// What SQLite keeps beside the file is no part of what is known: without it, or
// with garbage in its place, everything committed is there.
func TestWhatIsBesideTheFileMayBeAnything(t *testing.T) {
	file, log, r := halfInTheLog(t)
	garbage := bytes.Repeat([]byte{0xee}, 32<<10)
	for what, c := range map[string]struct {
		log, shm []byte
		want     []string
	}{
		"no shared memory":            {log, nil, []string{"first", "logged"}},
		"garbage as shared memory":    {log, garbage, []string{"first", "logged"}},
		"no log":                      {nil, nil, []string{"first"}},
		"garbage as a log":            {garbage, nil, []string{"first"}},
		"a log that ends in a header": {log[:40], nil, []string{"first"}},
	} {
		t.Run(what, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "replica.db")
			write(t, copied, file)
			if c.log != nil {
				write(t, copied+"-wal", c.log)
			}
			if c.shm != nil {
				write(t, copied+"-shm", c.shm)
			}
			s := openAt(t, copied)
			wantTitles(t, what, list(t, s, localstore.List{Replica: r, SortBy: "title"}), c.want...)
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
			add(t, s, r, bookmark("https://new.example/", "new"))
		})
	}
}

// Killed while the file is empty, the next repair goes on with what was saved;
// until then nobody takes the empty file for a new one.
func TestARepairThatIsKilledOverAnEmptyFileGoesOn(t *testing.T) {
	content := beforeDamage(t)
	clear(content[:4096])
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content)
	localstore.RecoverUntilEmptied(t, options(path))
	if _, err := localstore.Open(t.Context(), options(path)); !errors.Is(err, localstore.ErrDamaged) {
		t.Fatalf("the emptied file was opened: %v", err)
	}
	s, did := recoverAt(t, path)
	if n := unsentIn(t, s); n != unsentOfDamage || did.Aside == "" {
		t.Errorf("%d unsent rows are left, %+v", n, did)
	}
	if left, err := filepath.Glob(path + ".[^d]*"); err != nil || len(left) != 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	again, did := recoverAt(t, path)
	if n := unsentIn(t, again); n != unsentOfDamage || did.Aside != "" {
		t.Errorf("another repair: %d unsent rows, %+v", n, did)
	}
}

// Where nothing is known of the workspaces any more, what was not sent is as if
// it had been made without a server: a sign-in takes it along.
func TestARepairWithoutWorkspacesKeepsTheRows(t *testing.T) {
	content := beforeDamage(t)
	spoilt := false
	for at := 4096; at < len(content); at += 4096 {
		if page := content[at : at+4096]; page[0] == 13 && bytes.Contains(page, []byte("workspacew")) {
			copy(page, bytes.Repeat([]byte{0xee}, 4096))
			spoilt = true
		}
	}
	if !spoilt {
		t.Fatal("no page to spoil")
	}
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content)
	s, _ := recoverAt(t, path)
	replicas, err := s.Replicas(t.Context())
	if err != nil || len(replicas) != 1 || replicas[0].State != localstore.StateLocal {
		t.Fatalf("replicas %+v, %v", replicas, err)
	}
	if _, err := s.Attach(t.Context(), api.Workspace{ID: "w", Name: "Home"}); err != nil {
		t.Fatal(err)
	}
	if n := unsentIn(t, s); n != unsentOfDamage {
		t.Errorf("%d unsent rows are left", n)
	}
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
