package cli

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
)

// What replication left to decide is listed, decided on, and can be undone.
func TestConflictsAndRefusals(t *testing.T) {
	noKeyring(t)
	server := newFakeServer(t)
	u := user{t, t.TempDir()}
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	u.bm(exitDone, "", "add", "https://a.example/", "--title", "theirs")
	out, _ := u.bm(exitDone, "", "get", "https://a.example/", "--json", "id", "--jq", ".id")
	id := strings.TrimSpace(out)

	leave := func(fn func(*localstore.SyncTx) error) {
		t.Helper()
		ctx := context.Background()
		store, err := localstore.Open(ctx, localstore.Options{
			Path: filepath.Join(u.home, "data", "profiles", "default", "replica.db"), IDs: api.NewIDs(time.Now, rand.Reader),
		})
		if err != nil {
			t.Fatal(err)
		}
		replicas, err := store.Replicas(ctx)
		if err == nil {
			err = store.Sync(ctx, replicas[0].N, fn)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	leave(func(tx *localstore.SyncTx) error {
		if err := tx.AddConflict(api.TypeBookmark, id, "title", "mine", "theirs"); err != nil {
			return err
		}
		return tx.Park(localstore.Parked{Type: api.TypeBookmark, ID: id, Action: api.OpCreate, Code: api.CodeValidation, Message: "too long"})
	})

	if out, _ = u.bm(exitDone, "", "sync", "status", "--json", "conflicts,parked,unsent"); out != `[{"conflicts":1,"parked":1,"unsent":1}]`+"\n" {
		t.Errorf("status: %s", out)
	}
	if out, _ = u.bm(exitDone, "", "sync", "conflicts"); !strings.Contains(out, "\ttheirs\ttitle\tmine\ttheirs\n") {
		t.Errorf("conflicts: %q", out)
	}
	out, _ = u.bm(exitDone, "", "sync", "conflicts", "--json", "n", "--jq", ".[].n")
	n := strings.TrimSpace(out)
	u.bm(exitUsage, "", "sync", "resolve", n)
	u.bm(exitUsage, "", "sync", "resolve", n, "--mine", "--theirs")
	u.bm(exitNotFound, "", "sync", "resolve", "999", "--mine")
	u.bm(exitDone, "", "sync", "resolve", n, "--mine")
	if out, _ = u.bm(exitDone, "", "get", id, "--json", "title", "--jq", ".title"); out != "mine\n" {
		t.Errorf("after the decision the title is %q", out)
	}
	if out, _ = u.bm(exitDone, "", "sync", "conflicts", "--json", "n", "--jq", "length"); out != "0\n" {
		t.Errorf("%s conflicts are left", out)
	}
	u.bm(exitDone, "", "undo")
	if out, _ = u.bm(exitDone, "", "get", id, "--json", "title", "--jq", ".title"); out != "theirs\n" {
		t.Errorf("after undo the title is %q", out)
	}

	if out, _ = u.bm(exitDone, "", "sync", "parked"); !strings.Contains(out, "theirs\tcreate\ttoo long") {
		t.Errorf("parked: %q", out)
	}
	u.bm(exitNotFound, "", "sync", "parked", "--retry", "nope")
	u.bm(exitDone, "", "sync", "parked", "--retry", id)
	if out, _ = u.bm(exitDone, "", "sync", "parked", "--json", "id", "--jq", "length"); out != "0\n" {
		t.Errorf("%s refusals are left", out)
	}
}

func TestSyncSaysWhyNot(t *testing.T) {
	noKeyring(t)
	u := user{t, t.TempDir()}
	u.bm(exitSignIn, "", "sync")
	server := newFakeServer(t)
	u.bm(exitDone, "correct horse battery\n", "auth", "login", "--server", server.URL, "--email", "me@example.com")
	u.bm(exitOffline, "", "sync", "--offline")
	u.bm(exitUsage, "", "sync", "--now", "--wait")
	server.down = true
	u.bm(exitOffline, "", "sync")
	// The edit is safe though its arrival could not be waited for.
	u.bm(exitOffline, "", "add", "https://a.example/", "--wait")
	if out, _ := u.bm(exitDone, "", "ls", "--count"); out != "1\n" {
		t.Errorf("%s bookmarks", out)
	}
	// So is what was kept of a command that was done in part, and waited for, too.
	asked := len(server.seen)
	u.bm(exitPartly, "https://a.example/\nhttps://b.example/\n", "add", "--wait")
	if len(server.seen) == asked {
		t.Error("nobody waited for what was kept")
	}
	server.down = false
	server.keys = map[string]string{}
	u.bm(exitSignIn, "", "sync")
}
