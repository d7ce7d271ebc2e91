package changes_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
)

// Random edits by both ways keep the digest and the tree, and a reader who
// follows the feed has just what is there.
func TestRandomEditsKeepTheFeedTrue(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		random := rand.New(rand.NewPCG(1, 2))
		mirror := map[string]api.Change{}
		cursor := ""
		for round := range 40 {
			var ops []api.Op
			for range 1 + random.IntN(6) {
				ops = append(ops, y.randomOp(random, mirror))
			}
			y.push(api.ChangesPage{}, ops...)
			if round%8 == 7 {
				y.deleteSome(mirror, random)
			}
			changes, last := y.pull(cursor, 1+random.IntN(5))
			for _, c := range changes {
				if mirror[c.ID] = c; c.Deleted {
					delete(mirror, c.ID)
				}
			}
			cursor = *last.Pagination.NextCursor
			var digest api.Digest
			for id, c := range mirror {
				digest = digest.Add(id, c.Rev)
				if parent := parentOf(c); parent != "" && mirror[parent].Folder == nil {
					t.Fatalf("round %d: %s is below %s, which does not live", round, id, parent)
				}
			}
			if last.Head.Digest != digest.String() || last.Head.Count != int64(len(mirror)) {
				t.Fatalf("round %d: the follower has %d rows, the server %d", round, len(mirror), last.Head.Count)
			}
		}
		y.checkDigest()
	})
}

func parentOf(c api.Change) string {
	if c.Folder != nil {
		return c.Folder.ParentID
	}
	return c.Bookmark.FolderID
}

func (y *yard) randomOp(random *rand.Rand, mirror map[string]api.Change) api.Op {
	ids := make([]string, 0, len(mirror))
	folders := []string{""}
	for id, c := range mirror {
		if ids = append(ids, id); c.Folder != nil {
			folders = append(folders, id)
		}
	}
	slices.Sort(ids)
	slices.Sort(folders)
	into := folders[random.IntN(len(folders))]
	if len(ids) == 0 || random.IntN(3) == 0 {
		if random.IntN(2) == 0 {
			return api.Op{Action: api.OpCreate, Type: api.TypeFolder, ID: y.ids.New(), Set: set(map[string]any{"name": "f", "parentId": into})}
		}
		return api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"title": "b", "folderId": into})}
	}
	c := mirror[ids[random.IntN(len(ids))]]
	op := api.Op{Type: c.Type, ID: c.ID, BaseRev: c.Rev}
	switch random.IntN(4) {
	case 0:
		op.Action = api.OpDelete
	case 1:
		op.Action = api.OpRestore
	default:
		op.Action = api.OpUpdate
		field := map[api.EntityType]string{api.TypeFolder: "parentId", api.TypeBookmark: "folderId"}[c.Type]
		op.Set = set(map[string]any{field: into, "description": fmt.Sprint(random.IntN(100))})
	}
	return op
}

// deleteSome deletes through REST, and restores one of it.
func (y *yard) deleteSome(mirror map[string]api.Change, random *rand.Rand) {
	for id, c := range mirror {
		if c.Folder == nil || random.IntN(2) == 0 {
			continue
		}
		if err := y.Key.DeleteFolder(y.t.Context(), y.Workspace.ID, id); err != nil && api.CodeOf(err) != api.CodeNotFound {
			y.t.Fatal(err)
		}
		if _, err := y.Key.RestoreFolder(y.t.Context(), y.Workspace.ID, id); err != nil && api.CodeOf(err) != api.CodeNotFound {
			y.t.Fatal(err)
		}
		return
	}
}

// Writers that commit at the same time hide nothing from a reader who goes on
// from the last rev that he saw.
func TestAReaderMissesNothing(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		const writers, rounds = 4, 15
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				for range rounds {
					_, err := y.Key.CreateBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), api.BookmarkInput{Title: api.Some("x")})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { group.Wait(); close(done) }()
		seen := map[string]bool{}
		cursor := ""
		for finished := false; ; {
			select {
			case <-done:
				finished = true
			default:
			}
			changes, last := y.pull(cursor, 3)
			for _, c := range changes {
				seen[c.ID] = true
			}
			cursor = *last.Pagination.NextCursor
			if finished {
				break
			}
		}
		if len(seen) != writers*rounds {
			t.Errorf("the reader saw %d of %d", len(seen), writers*rounds)
		}
	})
}
