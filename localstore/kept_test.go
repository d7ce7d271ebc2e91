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

// keptRows is how many rows of the server [placedCopy] has.
const keptRows = 200

// placedCopy is a closed file in step with a server: its rows, of which one is
// deleted and one has an edit that was not sent.
func placedCopy(t *testing.T, rev int64) (content []byte, replica int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	replica = mirror(t, s, "w")
	syncing(t, s, replica, func(tx *localstore.SyncTx) error {
		rows := make([]localstore.Entity, keptRows)
		for i := range rows {
			rows[i] = localstore.Entity{Type: api.TypeBookmark, ID: fmt.Sprintf("0190-%04d", i), Rev: int64(i + 1)}
			rows[i].Title, rows[i].URL, rows[i].Tags = fmt.Sprintf("number %04d", i), fmt.Sprintf("https://example.com/%d", i), []string{"kept"}
			rows[i].Description = strings.Repeat("word ", 100)
		}
		at := tx.Replica()
		at.Epoch, at.Cursor, at.Whole, at.Rev, at.State = "e", "c", "c", rev, localstore.StateLive
		return tx.Insert(rows)
	})
	syncing(t, s, replica, func(tx *localstore.SyncTx) error {
		row, err := tx.Find(api.TypeBookmark, "0190-0000")
		if err != nil {
			return err
		}
		next := row.Entity
		next.DeletedAt = tx.Now()
		return tx.Write(row, next, nil)
	})
	edit(t, s, replica, func(ed *localstore.Editor) error {
		_, err := ed.UpdateBookmark("0190-0001", api.BookmarkInput{Title: api.Some("edited")})
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return readAll(t, path), replica
}

// spoiltLeaf is a file without one leaf of a table or an index that holds
// something.
func spoiltLeaf(t *testing.T, content []byte, kind byte, holds string) []byte {
	t.Helper()
	content = bytes.Clone(content)
	for at := 4096; at+4096 <= len(content); at += 4096 {
		if page := content[at : at+4096]; page[0] == kind && bytes.Contains(page, []byte(holds)) {
			copy(page, bytes.Repeat([]byte{0xee}, 4096))
			return content
		}
	}
	t.Fatal("no page to spoil")
	return nil
}

// What the server has can be read at once after a repair, with no server there,
// and the copy knows where in the server's history it is.
func TestARepairKeepsWhatTheServerHas(t *testing.T) {
	content, r := placedCopy(t, keptRows)
	headless := bytes.Clone(content)
	clear(headless[:4096])
	for what, c := range map[string]struct {
		content []byte
		rev     int64
		lost    int // at most
	}{
		"an index":       {spoiltLeaf(t, content, 10, "0190-01"), keptRows, 0},
		"some rows":      {spoiltLeaf(t, content, 13, "0190-0100"), -1, 8},
		"the first page": {headless, keptRows, 0},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "replica.db")
			write(t, path, c.content)
			s, did := recoverAt(t, path)
			if did.Aside == "" || did.Rows != 1 {
				t.Errorf("%+v", did)
			}
			at, err := s.Replica(t.Context(), r)
			if err != nil || at.Epoch != "e" || at.Cursor != "c" || at.Rev != c.rev || at.SharedRev == nil || at.Doubtful() != (c.rev < 0) {
				t.Errorf("%+v, %v", at, err)
			}
			for _, q := range []localstore.List{{Replica: r}, {Replica: r, BookmarkFilter: api.BookmarkFilter{Query: "word"}}, {Replica: r, BookmarkFilter: api.BookmarkFilter{Query: "#kept"}}} {
				if n := len(list(t, s, q)); n > keptRows-1 || n < keptRows-1-c.lost {
					t.Errorf("%q finds %d of %d", q.Query, n, keptRows-1)
				}
			}
			if n, err := s.Pending(t.Context(), r); err != nil || n != 1 {
				t.Errorf("%d unsent, %v", n, err)
			}
			syncing(t, s, r, func(tx *localstore.SyncTx) error {
				row, err := tx.Find(api.TypeBookmark, "0190-0000")
				if err != nil || row == nil || !row.Deleted() || row.ServerHas() {
					t.Errorf("what was deleted: %+v, %v", row, err)
				}
				return nil
			})
			if digest, live, err := s.Sum(t.Context(), r); err != nil || digest != at.Digest || live != at.Live {
				t.Errorf("the digest is of other rows, %v", err)
			}
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Among rows that are not all that there were, one that is newer than what the
// copy says it had seen is not believed.
func TestARepairInDoubtDropsWhatIsAhead(t *testing.T) {
	content, r := placedCopy(t, keptRows/2)
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, spoiltLeaf(t, content, 13, "0190-0050"))
	s, _ := recoverAt(t, path)
	titles := list(t, s, localstore.List{Replica: r, SortBy: "title"})
	if n := len(titles); n > keptRows/2 || n < keptRows/2-10 {
		t.Errorf("%d rows are left: %q", n, titles)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Where nothing says of which history the rows are, none but the edits are kept.
func TestARepairKeepsNothingWithoutAPlace(t *testing.T) {
	content, r := placedCopy(t, keptRows)
	path := filepath.Join(t.TempDir(), "replica.db")
	write(t, path, content)
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	syncing(t, s, r, func(tx *localstore.SyncTx) error {
		tx.Replica().Epoch = ""
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, path, spoiltLeaf(t, readAll(t, path), 10, "0190-01"))
	mended, _ := recoverAt(t, path)
	wantTitles(t, "kept", list(t, mended, localstore.List{Replica: r}), "edited")
}

// Of several workspaces each is judged by itself.
func TestARepairKeepsTheRowsOfOneWorkspaceOfTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replica.db")
	s, err := localstore.Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	var both []int64
	for _, workspace := range []string{"uncertain", "certain"} {
		r := mirror(t, s, workspace)
		both = append(both, r)
		syncing(t, s, r, func(tx *localstore.SyncTx) error {
			at := tx.Replica()
			at.Epoch, at.Cursor, at.Whole, at.Rev = "e", "c", "c", 7
			e := localstore.Entity{Type: api.TypeBookmark, ID: "0190-" + workspace, Rev: 7}
			e.Title, e.URL = workspace, "https://example.com/"
			return tx.Insert([]localstore.Entity{e})
		})
	}
	syncing(t, s, both[0], func(tx *localstore.SyncTx) error {
		tx.Replica().Live++
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content := readAll(t, path)
	clear(content[:4096])
	write(t, path, content)
	mended, _ := recoverAt(t, path)
	wantTitles(t, "of the one", list(t, mended, localstore.List{Replica: both[0]}))
	wantTitles(t, "of the other", list(t, mended, localstore.List{Replica: both[1]}), "certain")
}
