package localstore_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bm/localstore"
	"bm/server/api"
)

const pageSize = 4096

// misplaced calls judge with each leaf of a table in turn replaced by the one so
// many leaves behind it.
func misplaced(content []byte, distance int, judge func(what string, content []byte)) {
	var leaves []int
	step := 1
	if testing.Short() {
		step = 5
	}
	for at := pageSize; at+pageSize <= len(content); at += pageSize {
		if content[at] == 13 {
			leaves = append(leaves, at)
		}
	}
	for i := 0; i < len(leaves); i += step {
		from, to := leaves[(i+distance)%len(leaves)], leaves[i]
		damaged := bytes.Clone(content)
		copy(damaged[to:to+pageSize], content[from:])
		judge(fmt.Sprintf("page %d in the place of page %d", from/pageSize+1, to/pageSize+1), damaged)
	}
}

// A disk may write a page to another's place, or not at all: then rows come twice.
func TestARepairOfRowsThatComeTwice(t *testing.T) {
	edited, placed := beforeDamage(t), []byte(nil)
	placed, _ = placedCopy(t, keptRows)
	for name, c := range map[string]struct {
		content []byte
		unsent  int
	}{"edits": {edited, unsentOfDamage}, "what the server has": {placed, 1}} {
		found := 0
		for _, distance := range []int{1, 4} {
			misplaced(c.content, distance, func(what string, content []byte) {
				did, unsent := mended(t, content)
				if did.Aside == "" {
					return // each page is sound, and in a place where it may be
				}
				found++
				if unsent > c.unsent || unsent < c.unsent && !did.Incomplete {
					t.Errorf("%s, %s: %d of %d unsent rows are left, %+v", name, what, unsent, c.unsent, did)
				}
			})
		}
		if found < 5 {
			t.Errorf("%s: %d were found", name, found)
		}
	}
}

// A page of one workspace in the place of another's makes nothing of the one the
// other's.
func TestARepairTakesNoRowForAnotherWorkspaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	replicas := map[string]int64{}
	for _, workspace := range []string{"one", "other"} {
		r := mirror(t, s, workspace)
		replicas[workspace] = r
		syncing(t, s, r, func(tx *localstore.SyncTx) error {
			rows := make([]localstore.Entity, 60)
			for i := range rows {
				rows[i] = localstore.Entity{Type: api.TypeBookmark, ID: fmt.Sprintf("%s-%d", workspace, i), Rev: int64(i + 1)}
				rows[i].Title, rows[i].URL, rows[i].Description = workspace, "https://example.com/", strings.Repeat("word ", 100)
			}
			at := tx.Replica()
			at.Epoch, at.Cursor, at.Whole, at.Rev = "e", "c", "c", 60
			return tx.Insert(rows)
		})
		for i := range 40 {
			add(t, s, r, bookmark(fmt.Sprintf("https://new.example/%d", i), workspace))
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content := readAll(t, path)
	for _, distance := range []int{1, 7} {
		misplaced(content, distance, func(what string, content []byte) {
			path := filepath.Join(t.TempDir(), "replica.db")
			write(t, path, content)
			mended, _ := recoverAt(t, path)
			for workspace, r := range replicas {
				page, err := mended.Bookmarks(t.Context(), localstore.List{Replica: r, SortBy: "title"})
				if err != nil && api.CodeOf(err) != api.CodeNotFound { // what says that there is the workspace may be lost
					t.Fatal(err)
				}
				for _, title := range titles(page.Bookmarks) {
					if title != workspace {
						t.Fatalf("%s: a row of %q is in %q", what, title, workspace)
					}
				}
			}
		})
	}
}
