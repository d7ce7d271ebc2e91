package localstore_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"bm/localstore"
)

func TestManyWritersLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	first := openAt(t, path)
	r, err := first.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 25
	var all sync.WaitGroup
	for w := range writers {
		s, err := localstore.Open(t.Context(), options(path)) // as another process would
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer func() { _ = s.Close() }()
			for i := range each {
				err := s.Edit(t.Context(), r.N, "add", func(ed *localstore.Editor) error {
					_, err := ed.AddBookmark(bookmark(fmt.Sprintf("https://example.com/%d/%d", w, i), "x"))
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if n, err := first.Count(t.Context(), localstore.List{Replica: r.N}); err != nil || n != writers*each {
		t.Errorf("%d bookmarks, %v, want %d", n, err, writers*each)
	}
	if err := first.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestManyMakeTheFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := localstore.Open(t.Context(), options(path))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = s.Close() }()
			if _, err := s.Local(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	replicas, err := openAt(t, path).Replicas(t.Context())
	if err != nil || len(replicas) != 1 {
		t.Errorf("%d replicas, %v, want one", len(replicas), err)
	}
}
