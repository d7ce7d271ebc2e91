package bookmark

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

// An empty workspace may be the wrong one: where there are others it is named.
func TestAnEmptyWorkspaceIsNamed(t *testing.T) {
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
	says := func(name, want string) {
		t.Helper()
		replicas, err := store.Replicas(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range replicas {
			if replicas[i].Name != name {
				continue
			}
			if why, err := (&listOptions{}).none(ctx, store, &replicas[i]); err != nil || !strings.Contains(why, want) {
				t.Errorf("%v, %q, want %q", err, why, want)
			}
			return
		}
		t.Errorf("there is no %s", name)
	}
	for _, name := range []string{"First", "Second"} {
		w := api.Workspace{ID: map[string]string{"First": "01890a5d-ac96-774b-bcce-b302099a8002", "Second": "01890a5d-ac96-774b-bcce-b302099a8003"}[name], Name: name, Slug: strings.ToLower(name)}
		if _, err := store.Mirror(ctx, w, true); err != nil {
			t.Fatal(err)
		}
		if name == "First" {
			says("First", "There are no bookmarks yet: bm add")
		}
	}
	says("Second", "There are no bookmarks in Second; bm workspace ls lists the other workspaces.")
}
