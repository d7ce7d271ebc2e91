package localstore

import (
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
)

// SetSchemaVersion makes a file look as if another version had written it.
func SetSchemaVersion(t *testing.T, s *Store, version int) {
	t.Helper()
	err := s.write(t.Context(), durable, func(tx *tx) error {
		return tx.script("PRAGMA user_version = " + strconv.Itoa(version))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// RecoverUntilWritten repairs until all is gathered, runs fn, and gives up there.
func RecoverUntilWritten(t *testing.T, opts Options, fn func()) {
	t.Helper()
	old, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	cutOff := errors.New("cut off")
	r := &repair{opts: opts, old: old, did: new(Recovery), gathered: func() error {
		fn()
		return cutOff
	}}
	if err := r.run(t.Context()); !errors.Is(err, cutOff) {
		t.Fatal(err)
	}
}

// RecoverUntilEmptied repairs a file that can't be opened until it is empty, and
// gives up there.
func RecoverUntilEmptied(t *testing.T, opts Options) {
	t.Helper()
	cutOff := errors.New("cut off")
	r := &repair{opts: opts, did: new(Recovery), gathered: func() error {
		return errors.Join(os.Truncate(opts.Path, 0), cutOff)
	}}
	if err := r.anew(t.Context()); !errors.Is(err, cutOff) {
		t.Fatal(err)
	}
}

// RecoverUnopened repairs a file that can't be opened, with what lies beside it
// as it is.
func RecoverUnopened(t *testing.T, opts Options) error {
	t.Helper()
	r := &repair{opts: opts, did: new(Recovery)}
	return r.anew(t.Context())
}

// AwaitWanted waits until somebody waits for the store's write lock.
func AwaitWanted(s *Store) {
	for !s.writer.wanted() {
		runtime.Gosched()
	}
}

// CountWriting is how many bookmarks a replica has when it is this store's turn
// to write.
func CountWriting(t *testing.T, s *Store, replica int64) (n int, err error) {
	t.Helper()
	err = s.write(t.Context(), durable, func(tx *tx) error {
		return tx.row(`SELECT count(*) FROM bookmark WHERE replica = ?`, replica).Scan(&n)
	})
	return n, err
}

// Waits has every transaction on a file believe that it is waited for.
func Waits(t *testing.T, path string) {
	t.Helper()
	lock := waitingFile(path)
	if ok, err := lock.TryRLock(); err != nil || !ok {
		t.Fatal("the file says not that somebody waits: ", err)
	}
	t.Cleanup(func() { _ = lock.Close() })
}

// Statements are the texts of the statements that the store has prepared so far.
func Statements(s *Store) []string {
	var texts []string
	for _, session := range append(s.readers.free, s.writer.session) {
		if session != nil {
			texts = slices.AppendSeq(texts, maps.Keys(session.stmts))
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
