package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// A workspace whose rounds fail says why.
func TestAFailingWorkspaceSaysWhy(t *testing.T) {
	ctx := context.Background()
	store, err := localstore.Open(ctx, localstore.Options{Path: filepath.Join(t.TempDir(), "replica.db"), Now: time.Now, IDs: api.NewIDs(time.Now, rand.Reader)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	local, err := store.Local(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []localstore.ReplicaState{localstore.StateFailing, localstore.StateOffline} {
		r := *local
		r.State, r.Reason = state, "the server answered 418"
		found := workspace(ctx, store, &r)
		if found.State != note || !strings.Contains(found.Detail, string(state)) || !strings.Contains(found.Detail, "the server answered 418") || !strings.Contains(found.Next, "bm sync") {
			t.Errorf("%s: %+v", state, found)
		}
	}
}

// What is looked at next is there to be looked at, and nothing is told twice.
func TestAFolderThatCannotBeMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space")
	if got := existing(filepath.Join(dir, "a", "b")); got != filepath.Dir(dir) {
		t.Errorf("%s, want what there is of %s", got, dir)
	}
	denied := &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrPermission}
	if got := cause(errors.Join(denied)); got != "permission denied" {
		t.Errorf("%q", got)
	}
}

// Against a disk that is full no owner of a file helps.
func TestAFullDisk(t *testing.T) {
	for _, err := range []error{errors.New("open the local copy: disk I/O error (4874)"), fmt.Errorf("check: %w", syscall.ENOSPC)} {
		if next := remedy(err); !strings.HasPrefix(next, "df -h") {
			t.Errorf("%v: %q", err, next)
		}
		if detail := said(err); detail != "the disk is full" {
			t.Errorf("%v: %q", err, detail)
		}
	}
}
