package syncer_test

import (
	"errors"
	"os"
	"time"

	"bm/localstore"
)

// jump sets the clock.
func (w *world) jump() {
	w.later(time.Duration(w.rng.IntN(800)-400) * 24 * time.Hour)
}

func (d *device) frozen() bool { return d.stands().State == localstore.StateFrozen }

// withdraw takes access away, all or but the writing, or gives it back.
func (d *device) withdraw() {
	switch d.w.rng.IntN(4) {
	case 0:
		d.refused = errTaken
	case 1:
		d.barred = errReadOnly
	default:
		d.refused, d.barred = nil, nil
	}
}

// files are the replica's files as they are now.
func (d *device) files() map[string][]byte {
	all := map[string][]byte{}
	for _, part := range []string{"", "-wal"} {
		content, err := os.ReadFile(d.path + part)
		if err != nil {
			d.w.t.Fatal(err)
		}
		all[part] = content
	}
	return all
}

// becomes puts other files in the place of the replica's.
func (d *device) becomes(files map[string][]byte) {
	if err := d.store.Close(); err != nil {
		d.w.t.Fatal(err)
	}
	for _, part := range []string{"-shm", "-wal", ""} {
		if err := os.Remove(d.path + part); err != nil && !errors.Is(err, os.ErrNotExist) {
			d.w.t.Fatal(err)
		}
		if files[part] == nil {
			continue
		}
		if err := os.WriteFile(d.path+part, files[part], 0o600); err != nil {
			d.w.t.Fatal(err)
		}
	}
	d.open()
}

// night is when nothing is unsent anywhere, and files are copied about.
func (w *world) night() {
	d := w.replicas[w.rng.IntN(len(w.replicas))]
	switch other := w.replicas[w.rng.IntN(len(w.replicas))]; w.rng.IntN(4) {
	case 0:
		if other != d { // cloned from one machine to another
			d.becomes(other.files())
		}
	case 1:
		if d.kept != nil { // rolled back to how it was at some time
			d.becomes(d.kept)
		}
	}
}

// spoil takes the replica's first page away, without which nothing leads to
// anything, and has it mended. What the server had taken is kept too: a server may
// lose it at the same time.
func (d *device) spoil() {
	content := d.closed()
	clear(content[:4096])
	if !d.mends(content) {
		d.w.t.Fatal("it was taken for sound")
	}
}

// closed is the replica's file, of which nothing is in the log.
func (d *device) closed() []byte {
	if err := d.store.Close(); err != nil {
		d.w.t.Fatal(err)
	}
	content, err := os.ReadFile(d.path)
	if err != nil {
		d.w.t.Fatal(err)
	}
	return content
}

// mends puts another content into the closed file, has it mended, and reports
// whether it was damaged.
func (d *device) mends(content []byte) bool {
	t := d.w.t
	if err := os.WriteFile(d.path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	mended, did, err := localstore.Recover(t.Context(), localstore.Options{Path: d.path, Now: d.w.now, IDs: d.ids})
	if err != nil {
		t.Fatalf("%+v, %v", did, err)
	}
	if err := mended.Close(); err != nil {
		t.Fatal(err)
	}
	d.open()
	if did.Aside == "" {
		return false
	}
	if err := os.Remove(did.Aside); err != nil {
		t.Fatal(err)
	}
	return true
}
