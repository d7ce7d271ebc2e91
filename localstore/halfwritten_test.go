package localstore_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bm/localstore"
)

// Killed in the midst of writing, the file is not empty: SQLite finds out that it
// was, and that is no new file either. Who asks first may be any command.
func TestARepairThatIsKilledAsItWritesGoesOn(t *testing.T) {
	content := beforeDamage(t)
	clear(content[:4096])
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content)
	write(t, path+"-wal", []byte("a log of no use"))
	localstore.RecoverUntilEmptied(t, options(path))
	killed := filepath.Join(t.TempDir(), "replica.db")
	halfWritten(t, path, killed)
	if _, err := localstore.Open(t.Context(), options(killed)); !errors.Is(err, localstore.ErrDamaged) {
		t.Fatalf("a file that was half written was opened: %v", err)
	}
	s, did := recoverAt(t, killed)
	if n := unsentIn(t, s); n != unsentOfDamage {
		t.Errorf("%d unsent rows are left, %+v", n, did)
	}
	if strings.HasSuffix(did.Aside, "-wal") || !slices.Equal(readAll(t, did.Aside), content) {
		t.Errorf("%s is said to be the damaged file", did.Aside)
	}
}

// SQLite says nothing where it could not move the log of what was saved into its
// file, as on a full disk: the damaged file stays until all is in one.
func TestARepairEmptiesNothingBeforeAllIsSaved(t *testing.T) {
	content := beforeDamage(t)
	clear(content[:4096])
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content)
	held := openAt(t, path+".new") // who has it open keeps its log
	if _, err := held.Replicas(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := localstore.RecoverUnopened(t, options(path)); err == nil {
		t.Error("the repair was done without what is in the log")
	}
	if !slices.Equal(readAll(t, path), content) {
		t.Fatal("the damaged file was written over")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	s, did := recoverAt(t, path)
	if n := unsentIn(t, s); n != unsentOfDamage {
		t.Errorf("%d unsent rows are left, %+v", n, did)
	}
}

// halfWritten begins a transaction in an empty file, and copies it, with what is
// beside it, when part of that stands in it: as a kill leaves them.
func halfWritten(t *testing.T, path, killed string) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=cache_size(2)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`CREATE TABLE part (x)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO part SELECT randomblob(3000) FROM n`,
	} {
		if _, err := tx.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		write(t, killed+strings.TrimPrefix(name, path), readAll(t, name))
	}
	if info, err := os.Stat(killed); err != nil || info.Size() == 0 || !slices.Contains(found, path+"-journal") {
		t.Fatalf("nothing was written yet: %q, %v", found, err)
	}
	if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
		t.Fatal(err)
	}
}
