package localstore_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

func options(path string) localstore.Options {
	return localstore.Options{Path: path, IDs: api.NewIDs(time.Now, rand.Reader)}
}

func TestADamagedFileIsSetAsideAndUnsentEditsAreSaved(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(ctx, options(path))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Mirror(ctx, api.Workspace{ID: "w", Name: "Home"}, true)
	if err != nil {
		t.Fatal(err)
	}
	// Many rows that the server has, and two edits that it has not.
	err = s.Sync(ctx, r.N, func(tx *localstore.SyncTx) error {
		rows := make([]localstore.Entity, 3000)
		for i := range rows {
			rows[i] = localstore.Entity{Type: api.TypeBookmark, ID: fmt.Sprintf("0190-%04d", i), Rev: int64(i + 1)}
			rows[i].Title, rows[i].URL = fmt.Sprint(i), fmt.Sprintf("https://example.com/%d", i)
		}
		return tx.Insert(rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	edit(t, s, r.N, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark("0190-0001", api.BookmarkInput{Title: api.Some("edited")})
		return err
	})
	add(t, s, r.N, bookmark("https://new.example/", "new"))
	if err := s.SaveSearch(ctx, "kept", "#later"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, path)

	again, did, err := localstore.Recover(ctx, options(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if _, err := os.Stat(did.Aside); err != nil || did.Aside == path {
		t.Errorf("set aside as %q: %v", did.Aside, err)
	}
	if did.Rows != 2 {
		t.Errorf("%d rows saved, want 2 (%+v)", did.Rows, did)
	}
	replicas, err := again.Replicas(ctx)
	if err != nil || len(replicas) != 1 || replicas[0].State != localstore.StateBootstrapping {
		t.Fatalf("replicas %+v, %v", replicas, err)
	}
	n := replicas[0].N
	wantTitles(t, "saved", list(t, again, localstore.List{Replica: n, SortBy: "title"}), "edited", "new")
	if pending, err := again.Pending(ctx, n); err != nil || pending != 2 {
		t.Errorf("%d unsent, %v", pending, err)
	}
	if saved, err := again.SavedSearches(ctx); err != nil || len(saved) != 1 || saved[0].Query != "#later" {
		t.Errorf("saved searches %+v, %v", saved, err)
	}
	if err := again.Check(ctx); err != nil {
		t.Errorf("the new file: %v", err)
	}
}

// spoil overwrites the pages in which the index of ids lies, from the middle of
// the file on, wherever such a page has an id.
func spoil(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := 0
	for at := 4096 * 40; at+4096 <= len(content) && spoilt < 6; at += 4096 {
		page := content[at : at+4096]
		if page[0] == 10 && bytes.Contains(page, []byte("0190-2")) { // a leaf of an index
			copy(page, bytes.Repeat([]byte{0xee}, 4096))
			spoilt++
		}
	}
	if spoilt == 0 {
		t.Fatal("no page to spoil")
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Check(t.Context()); !errors.Is(err, localstore.ErrDamaged) {
		t.Fatalf("the check of a spoilt file: %v", err)
	}
}

func TestAFileThatIsNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := localstore.Open(t.Context(), options(path)); !errors.Is(err, localstore.ErrDamaged) {
		t.Fatalf("opening garbage: %v", err)
	}
	s, did, err := localstore.Recover(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if !did.Incomplete || did.Rows != 0 {
		t.Errorf("recovery %+v", did)
	}
	if kept, err := os.ReadFile(did.Aside); err != nil || !bytes.HasPrefix(kept, []byte("garbage ")) {
		t.Errorf("the damaged file was not kept: %v", err)
	}
	if _, err := s.Local(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARepairLeavesANewerFileAlone(t *testing.T) {
	content := beforeDamage(t)
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content)
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	localstore.SetSchemaVersion(t, s, s.SchemaVersion()+1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content = readAll(t, path)
	content = content[:len(content)-8*4096]
	write(t, path, content)
	if _, did, err := localstore.Recover(t.Context(), options(path)); !errors.Is(err, localstore.ErrReadOnly) || did.Aside != "" {
		t.Errorf("%+v, %v", did, err)
	}
	if !bytes.Equal(readAll(t, path), content) {
		t.Error("it was written over")
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
}

func TestANewerSchemaIsReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s := openAt(t, path)
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, r.N, bookmark("https://go.dev/", "Go"))
	localstore.SetSchemaVersion(t, s, s.SchemaVersion()+1)
	newer := openAt(t, path)
	if newer.ReadOnlyReason() == "" {
		t.Fatal("a newer schema is edited")
	}
	wantTitles(t, "reading on", list(t, newer, localstore.List{Replica: r.N}), "Go")
	err = newer.Edit(t.Context(), r.N, "test", func(*localstore.Editor) error { return nil })
	if !errors.Is(err, localstore.ErrReadOnly) {
		t.Errorf("edit: %v", err)
	}
}

// A newer bm may bring the file to its schema while this one has it open: from then
// on this one only reads, as if it had found it so.
func TestASchemaThatBecomesNewer(t *testing.T) {
	s, r := open(t)
	add(t, s, r, bookmark("https://go.dev/", "Go"))
	newer := openAt(t, s.Path())
	localstore.SetSchemaVersion(t, newer, s.SchemaVersion()+1)
	err := s.Edit(t.Context(), r, "test", func(ed *localstore.Editor) error {
		_, err := ed.AddBookmark(bookmark("https://lost.example/", "lost"))
		return err
	})
	if !errors.Is(err, localstore.ErrReadOnly) || !strings.Contains(err.Error(), "newer bm") {
		t.Errorf("edit: %v", err)
	}
	wantTitles(t, "reading on", list(t, s, localstore.List{Replica: r}), "Go")
}

// A file that lost its content is no new one, and SQLite is not let near its log.
func TestAnEmptyFileIsDamaged(t *testing.T) {
	_, log, r := halfInTheLog(t)
	for what, log := range map[string][]byte{"with its log": log, "alone": nil} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "replica.db")
			write(t, path, nil)
			if log != nil {
				write(t, path+"-wal", log)
			}
			for _, readOnly := range []bool{true, false} {
				opts := options(path)
				opts.ReadOnly = readOnly
				if _, err := localstore.Open(t.Context(), opts); !errors.Is(err, localstore.ErrDamaged) {
					t.Fatalf("opening it: %v", err)
				}
			}
			s, did := recoverAt(t, path)
			if !did.Incomplete || did.Aside == "" {
				t.Errorf("%+v", did)
			}
			if log != nil {
				if titles := list(t, s, localstore.List{Replica: r}); len(titles) == 0 {
					t.Error("what was in the log is lost")
				}
			}
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A new file is there as a whole or not at all, whoever else makes it.
func TestANewFileIsNeverEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profile")
	path := filepath.Join(dir, "replica.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := localstore.Open(t.Context(), options(path))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Local(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := openAt(t, path)
	if replicas, err := s.Replicas(t.Context()); err != nil || len(replicas) != 1 {
		t.Errorf("%+v, %v", replicas, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
}
