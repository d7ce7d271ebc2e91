package localstore_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		from, to := leaves[(i+distance+len(leaves))%len(leaves)], leaves[i]
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
	for _, distance := range []int{-7, 7} {
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
				// What was not sent has pages of up to 31 rows; without its record all that a
				// workspace has of its server is lost.
				if n := len(page.Bookmarks); err == nil && n < 69 && n != 40 {
					t.Errorf("%s: %d of the 100 rows of %q are left", what, n, workspace)
				}
			}
		})
	}
}

// A record of what was sent, refused or done that can't be understood is left out:
// whoever comes to read it could do nothing any more.
func TestARepairKeepsNoRecordThatSaysNonsense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	r := mirror(t, s, "w")
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		for i, id := range []string{"sound", "spoilt", "nonsense"} {
			op := api.NewIDs(time.Now, rand.Reader).New()
			if i > 0 {
				op = "op-" + id
			}
			sent := localstore.Sent{Fields: localstore.Fields{Title: "sent-" + id}}
			err := errors.Join(
				tx.Launch([]localstore.Flight{{Op: api.Op{OpID: op, Action: api.OpUpdate, Type: api.TypeBookmark, ID: id}, Sent: sent}}),
				tx.Park(localstore.Parked{Type: api.TypeBookmark, ID: id, Sent: sent}),
				tx.AddConflict(api.TypeBookmark, id, "title", "mine-"+id, "theirs"),
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, title := range []string{"made sound", "made spoilt"} {
		id := add(t, s, r, bookmark("https://new.example/", title)).ID
		edit(t, s, r, func(ed *localstore.Editor) error {
			_, err := ed.UpdateBookmark(id, api.BookmarkInput{Title: api.Some("left")})
			return err
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content := readAll(t, path)
	for _, text := range []string{`{"opId":"op-spoilt"`, `{"title":"sent-spoilt"`, `"mine-spoilt"`, `"mine-nonsense"`, `"made spoilt"`} {
		if !bytes.Contains(content, []byte(text)) {
			t.Fatalf("no %s to spoil", text)
		}
		content = bytes.ReplaceAll(content, []byte(text), bytes.Repeat([]byte("?"), len(text)))
	}
	write(t, path, spoiltLeaf(t, content, 10, "workspacew"))
	mended, did := recoverAt(t, path)
	syncing(t, mended, r, func(tx *localstore.SyncTx) error {
		flights, err := tx.InFlight()
		if err != nil || len(flights) != 1 || flights[0].Op.ID != "sound" {
			t.Errorf("in flight: %+v, %v", flights, err)
		}
		return nil
	})
	conflicts, err := mended.Conflicts(t.Context(), r)
	if err != nil || len(conflicts) != 1 || conflicts[0].ID != "sound" {
		t.Errorf("conflicts: %+v, %v", conflicts, err)
	}
	for range 4 {
		if _, err := mended.Undo(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if !did.Incomplete {
		t.Errorf("%+v", did)
	}
}

// Where nothing is known of several workspaces any more, a sign-in takes along what
// was not sent of each.
func TestASignInTakesAlongWhatARepairLeftOfSeveralWorkspaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, workspace := range []string{"one", "other"} {
		add(t, s, mirror(t, s, workspace), bookmark("https://"+workspace+".example/", workspace))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, path, spoiltLeaf(t, readAll(t, path), 13, "workspaceone"))
	mended, _ := recoverAt(t, path)
	r, err := mended.Attach(t.Context(), api.Workspace{ID: "w", Name: "Home"})
	if err != nil {
		t.Fatal(err)
	}
	wantTitles(t, "attached", list(t, mended, localstore.List{Replica: r.N, SortBy: "title"}), "one", "other")
	if all, err := mended.Replicas(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("replicas %+v, %v", all, err)
	}
}
