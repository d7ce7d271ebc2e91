package localstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// damagedCopy is a file that can be opened, and in which the server's rows can
// not all be read. use may edit it before it is spoilt.
func damagedCopy(t *testing.T, use func(s *localstore.Store, replica int64)) (path string, replica int64) {
	t.Helper()
	ctx := t.Context()
	path = filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(ctx, options(path))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Mirror(ctx, api.Workspace{ID: "w", Name: "Home"}, true)
	if err != nil {
		t.Fatal(err)
	}
	use(s, r.N)
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
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, path)
	return path, r.N
}

func recoverAt(t *testing.T, path string) (*localstore.Store, localstore.Recovery) {
	t.Helper()
	s, did, err := localstore.Recover(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, did
}

func TestARepairThatIsCutOffLeavesASoundFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s := openAt(t, path)
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, r.N, bookmark("https://only.example/", "the only copy"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again, did, err := localstore.Recover(ctx, options(path))
	if again != nil || did.Aside != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled repair: %+v, %v", did, err)
	}
	wantTitles(t, "after it", list(t, openAt(t, path), localstore.List{Replica: r.N}), "the only copy")
	// One that was killed after its work was done left this.
	for _, part := range []string{".new", ".loose", ".saved"} {
		if err := os.WriteFile(path+part, []byte("what was gathered"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recoverAt(t, path)
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) != 0 {
		t.Errorf("it left %q, %v", left, err)
	}
}

// What an older repair had saved is nothing to go back to.
func TestARepairForgetsWhatAnOlderOneSaved(t *testing.T) {
	path, _ := damagedCopy(t, func(*localstore.Store, int64) {})
	if err := os.WriteFile(path+".saved", []byte("of long ago"), 0o600); err != nil {
		t.Fatal(err)
	}
	recoverAt(t, path)
	if left, err := filepath.Glob(path + ".saved*"); err != nil || len(left) != 0 {
		t.Errorf("it left %q, %v", left, err)
	}
}

func TestARepairThatIsKilledBeginsAnew(t *testing.T) {
	path, replica := damagedCopy(t, func(s *localstore.Store, replica int64) {
		add(t, s, replica, bookmark("https://only.example/", "the only copy"))
	})
	// As a kill leaves the folder, after all was gathered and before it is in
	// the file.
	killed := filepath.Join(t.TempDir(), "replica.db")
	localstore.RecoverUntilWritten(t, options(path), func() {
		found, err := filepath.Glob(path + "*")
		if err != nil || len(found) < 4 {
			t.Fatalf("found %q, %v", found, err)
		}
		for _, name := range found {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(killed+strings.TrimPrefix(name, path), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	if kept, err := filepath.Glob(path + ".damaged-*"); err != nil || len(kept) != 0 {
		t.Errorf("a file that is what it was is kept twice: %q, %v", kept, err)
	}
	for what, path := range map[string]string{"of what a kill left": killed, "of what failed": path} {
		s, did := recoverAt(t, path)
		if did.Aside == "" || did.Rows != 1 {
			t.Errorf("the repair %s: %+v", what, did)
		}
		wantTitles(t, what, list(t, s, localstore.List{Replica: replica}), "the only copy")
		if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the repair %s left what it gathered: %v", what, err)
		}
	}
}

const sentOp = "0190a000-0000-7000-8000-000000000000"

func TestARepairKeepsWhatOnlyThisMachineKnows(t *testing.T) {
	ctx := t.Context()
	var id string
	path, replica := damagedCopy(t, func(s *localstore.Store, replica int64) {
		id = add(t, s, replica, bookmark("https://new.example/", "new")).ID
		err := s.Sync(ctx, replica, func(tx *localstore.SyncTx) error {
			row, err := tx.Find(api.TypeBookmark, id)
			if err != nil {
				return err
			}
			return errors.Join(
				tx.AddConflict(api.TypeBookmark, id, "title", "the title that I typed", "theirs"),
				tx.Park(localstore.Parked{Type: api.TypeBookmark, ID: id, Action: api.OpCreate, Code: api.CodeForbidden, Message: "no"}),
				tx.AddNote(api.TypeBookmark, id, "rehomed", "it went to the top"),
				tx.Launch([]localstore.Flight{{Epoch: "e", Cursor: "c", Op: api.Op{OpID: sentOp, Action: api.OpCreate, Type: api.TypeBookmark, ID: id}, Sent: localstore.Sent{Fields: row.Fields}}}),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	s, did := recoverAt(t, path)
	if did.Incomplete {
		t.Errorf("all of it could be read: %+v", did)
	}
	conflicts, err := s.Conflicts(ctx, replica)
	if err != nil || len(conflicts) != 1 || string(conflicts[0].Mine) != `"the title that I typed"` {
		t.Errorf("conflicts %+v, %v", conflicts, err)
	}
	parked, err := s.Parked(ctx, replica)
	if err != nil || len(parked) != 1 || parked[0].Message != "no" {
		t.Errorf("parked %+v, %v", parked, err)
	}
	notes, err := s.Notes(ctx, replica, 10)
	if err != nil || len(notes) != 1 || notes[0].ID != id {
		t.Errorf("notes %+v, %v", notes, err)
	}
	err = s.Sync(ctx, replica, func(tx *localstore.SyncTx) error {
		flights, err := tx.InFlight()
		if len(flights) != 1 || flights[0].Op.OpID != sentOp || flights[0].Cursor != "c" || flights[0].Sent.Title != "new" {
			t.Errorf("in flight %+v", flights)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := s.Undo(ctx, nil); err != nil {
		t.Error(err)
	}
	wantTitles(t, "after the undo of the add", list(t, s, localstore.List{Replica: replica}))
}

// As a TUI that has the file open all the time.
func TestAnEditBesideARepairIsNotLost(t *testing.T) {
	path, replica := damagedCopy(t, func(*localstore.Store, int64) {})
	tui := openAt(t, path)
	mkdir := func(name string) {
		edit(t, tui, replica, func(ed *localstore.Editor) error {
			_, err := ed.AddFolder(api.FolderInput{Name: api.Some(name)})
			return err
		})
	}
	mkdir("before")
	during := make(chan struct{})
	localstore.RecoverUntilWritten(t, options(path), func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := tui.Edit(ctx, replica, "test", func(*localstore.Editor) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an edit of what is saved already: %v", err)
		}
		go func() {
			defer close(during)
			mkdir("while a repair runs that is cut off")
		}()
	})
	<-during
	mended, _ := recoverAt(t, path)
	mkdir("after")
	for what, s := range map[string]*localstore.Store{"the mended copy": mended, "who had it open": tui} {
		tree, err := s.Tree(t.Context(), replica)
		if err != nil || len(tree) != 3 {
			t.Errorf("%s: %d folders, want 3; %v", what, len(tree), err)
		}
	}
	if err := tui.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClosingTwice(t *testing.T) {
	s, err := localstore.Open(t.Context(), options(filepath.Join(t.TempDir(), "replica.db")))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
