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

// Connections is how many of the store's connections are open.
func Connections(s *Store) int {
	n := s.reading.Stats().OpenConnections
	if s.writing != s.reading {
		n += s.writing.Stats().OpenConnections
	}
	return n
}

// WriteWhileReading tries to write where only reading is meant.
func WriteWhileReading(t *testing.T, s *Store) error {
	t.Helper()
	return s.read(t.Context(), func(tx *tx) error { return tx.run(`DELETE FROM journal`) })
}

// Settings are how the connection is set up that writes durably, and how the one
// that reads: what of both decides what a power cut, another process and a wrong
// reference may do.
func Settings(t *testing.T, s *Store) (writing, reading [3]int) {
	t.Helper()
	of := func(into *[3]int) func(*tx) error {
		return func(tx *tx) error {
			for i, name := range []string{"synchronous", "busy_timeout", "foreign_keys"} {
				if err := tx.conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&into[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := errors.Join(s.write(t.Context(), durable, of(&writing)), s.read(t.Context(), of(&reading))); err != nil {
		t.Fatal(err)
	}
	return writing, reading
}

// Refetchable is how durable what can be fetched again is written.
func Refetchable(t *testing.T, s *Store) (synchronous int) {
	t.Helper()
	err := s.write(t.Context(), refetchable, func(tx *tx) error {
		return tx.conn.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&synchronous)
	})
	if err != nil {
		t.Fatal(err)
	}
	return synchronous
}

// Abandon gives the writing connection up in the middle of a transaction.
func Abandon(t *testing.T, s *Store) {
	t.Helper()
	err := s.writer.exclusive(t.Context(), func() error {
		if err := s.writer.begin(t.Context(), durable); err != nil {
			return err
		}
		s.writer.discard()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
