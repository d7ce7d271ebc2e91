package localstore

import "github.com/gofrs/flock"

// Who waits for the write lock says so to who holds it: within the process by a
// number, to another by a shared lock on a file beside the replica. The lock dies
// with its process, and nothing but speed depends on it.

// waitingFile is the file whose lock says that somebody waits.
func waitingFile(path string) *flock.Flock {
	return flock.New(path+"-waiting", flock.SetPermissions(0o600))
}

// wanted reports whether somebody waits for the transaction that runs to end.
func (w *writer) wanted() bool {
	if w.waiting.Load() > 0 {
		return true
	}
	probe := waitingFile(w.path)
	alone, err := probe.TryLock()
	return err != nil || !alone || probe.Close() != nil
}

// Wanted reports whether an edit waits for this transaction to end: bulk work
// that has more to do goes on only where none does, since each transaction
// writes every page that it touched.
func (t *SyncTx) Wanted() bool { return t.tx.store.writer.wanted() }
