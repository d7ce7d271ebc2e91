package localstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
)

// manyIn is a file with so many bookmarks in a folder.
func manyIn(n int) *strings.Reader {
	var html strings.Builder
	html.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><H3>Folder</H3><DL><p>")
	for i := range n {
		html.WriteString("<DT><A HREF=\"https://example.com/" + time.Duration(i).String() + "\">x</A>\n")
	}
	html.WriteString("</DL></DL>")
	return strings.NewReader(html.String())
}

func TestAnImportStopsWhereItsGroundIsGone(t *testing.T) {
	for what, pull := range map[string]func(s *localstore.Store, local int64) error{
		"undone": func(s *localstore.Store, _ int64) error {
			_, err := s.Undo(t.Context(), nil)
			return err
		},
		"its folder deleted": func(s *localstore.Store, local int64) error {
			tree, err := s.Tree(t.Context(), local)
			if err != nil {
				return err
			}
			return s.Edit(t.Context(), local, "folder rm", func(ed *localstore.Editor) error {
				_, _, err := ed.DeleteFolder(tree[0].ID)
				return err
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, local := open(t)
			reader, err := exchange.NewReader(manyIn(6000))
			if err != nil {
				t.Fatal(err)
			}
			first := true
			_, err = s.Import(t.Context(), reader, localstore.Import{Replica: local, Command: "import", Progress: func(int) {
				if first {
					first = false
					if err := pull(s, local); err != nil {
						t.Error(err)
					}
				}
			}})
			if api.CodeOf(err) != api.CodeConflict {
				t.Errorf("the import: %v", err)
			}
			counts, err := s.Counts(t.Context(), local)
			if err != nil || counts.Bookmarks != 0 || counts.Folders != 0 {
				t.Errorf("alive: %+v, %v", counts, err)
			}
		})
	}
}

func TestUndoOfManyRowsIsDoneInParts(t *testing.T) {
	var chunks int
	var cut context.CancelFunc
	path := filepath.Join(t.TempDir(), "replica.db")
	opts := options(path)
	opts.Now = func() time.Time { // asked once for each transaction
		if chunks++; chunks == 2 && cut != nil {
			cut()
		}
		return time.Unix(1_000_000, 0)
	}
	s, err := localstore.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := s.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := 4000
	if testing.Short() {
		rows = 1500
	}
	reader, err := exchange.NewReader(manyIn(rows))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), reader, localstore.Import{Replica: r.N, Command: "import"}); err != nil {
		t.Fatal(err)
	}
	alive := func() int {
		counts, err := s.Counts(t.Context(), r.N)
		if err != nil {
			t.Fatal(err)
		}
		return counts.Bookmarks
	}
	ctx, cancel := context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Undo(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("an undo that is cut off: %v", err)
	}
	some := alive()
	if some == 0 || some == rows {
		t.Fatalf("%d of %d are left", some, rows)
	}
	// How far it is, is told as it goes, of what is left of it.
	told := func(want int) func(done, total int) {
		before := 0
		return func(done, total int) {
			if total != want || done <= before || done >= total {
				t.Errorf("told of %d of %d after %d, want %d in all", done, total, before, want)
			}
			before = done
		}
	}
	did, err := s.Undo(t.Context(), told(some+1))
	if err != nil || did.Rows != some+1 || len(did.Skipped) > 0 || alive() != 0 {
		t.Errorf("going on: %d rows, %d skipped, %v; %d left of %d", did.Rows, len(did.Skipped), err, alive(), some)
	}
	heard := false
	redo := told(rows + 1)
	if did, err := s.Redo(t.Context(), func(done, total int) { heard = true; redo(done, total) }); err != nil || alive() != rows || !heard {
		t.Errorf("redo: %d rows, %v; %d alive; told: %v", did.Rows, err, alive(), heard)
	}
	// What was cut off can be turned round as well, either way.
	if _, err := s.Undo(t.Context(), nil); err != nil || alive() != 0 {
		t.Errorf("undo: %v; %d alive", err, alive())
	}
	ctx, cancel = context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Redo(ctx, nil); !errors.Is(err, context.Canceled) || alive() == 0 || alive() == rows {
		t.Fatalf("a redo that is cut off: %v; %d alive", err, alive())
	}
	if _, err := s.Undo(t.Context(), nil); err != nil || alive() != 0 {
		t.Errorf("undo of a redo that was cut off: %v; %d alive", err, alive())
	}
	if _, err := s.Redo(t.Context(), nil); err != nil || alive() != rows {
		t.Errorf("redo: %v; %d alive", err, alive())
	}
	ctx, cancel = context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Undo(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("an undo that is cut off: %v", err)
	}
	if _, err := s.Redo(t.Context(), nil); err != nil || alive() != rows {
		t.Errorf("redo of what was cut off: %v; %d alive", err, alive())
	}
	// Unless another command came after.
	ctx, cancel = context.WithCancel(t.Context())
	chunks, cut = 0, cancel
	if _, err := s.Undo(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("an undo that is cut off: %v", err)
	}
	cut = nil
	add(t, s, r.N, bookmark("https://after.example/", "after"))
	if _, err := s.Redo(t.Context(), nil); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("redo after another command: %v", err)
	}
	for range 2 {
		if _, err := s.Undo(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if alive() != 0 {
		t.Errorf("%d alive", alive())
	}
}
