package tree

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"bm/server/access"
	"bm/server/api"
	"bm/server/sqldb"
)

// Selection is what a filter found, as the places of its rows: eight bytes
// each, so that an export can read the rows in short transactions and in any
// order of folders. A slow client must not hold a snapshot open.
type Selection struct {
	// Living are the workspace's folders at the moment of the selection.
	Living  []Folder
	tree    *Tree
	scope   access.Scope
	deleted bool
	folders []string
	rows    map[string][]int64 // by folder, in order
}

// Select finds the bookmarks that pass a filter.
func (t *Tree) Select(ctx context.Context, scope access.Scope, filter api.BookmarkFilter) (*Selection, error) {
	s := &Selection{tree: t, scope: scope, deleted: filter.FilterStatus == "deleted", rows: map[string][]int64{}}
	err := t.db.Read(ctx, func(tx *sqldb.Tx) error {
		c, err := where(ctx, tx, scope, filter)
		if err != nil {
			return err
		}
		if s.Living, err = t.FoldersIn(ctx, tx, scope, false); err != nil {
			return err
		}
		text := `SELECT b.folder_id, b.seq FROM bookmark b WHERE ` + c.String() + ` ORDER BY b.folder_id, b.sort_order, b.created_at, b.id`
		load, n := NewLoad(ctx), 0
		return tx.Rows(ctx, text, c.args, func(row sqldb.Scanner) error {
			var folder string
			var seq int64
			if err := row.Scan(&folder, &seq); err != nil {
				return err
			}
			held := placeBytes
			if n++; n <= selectionChunk {
				held += chunkedBytes
			}
			if err := load.Add(held); err != nil {
				return err
			}
			if len(s.folders) == 0 || s.folders[len(s.folders)-1] != folder {
				s.folders = append(s.folders, folder)
			}
			s.rows[folder] = append(s.rows[folder], seq)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("select the bookmarks: %w", err)
	}
	return s, nil
}

// Folders are the folders that hold something that was found, "" for none.
func (s *Selection) Folders() []string { return s.folders }

// Chunks are the places of all that was found, so many at a time.
func (s *Selection) Chunks(size int) iter.Seq[[]int64] {
	all := make([]int64, 0, size)
	for _, folder := range s.folders {
		all = append(all, s.rows[folder]...)
	}
	return slices.Chunk(all, size)
}

// In reads those that were right in a folder, by position.
func (s *Selection) In(ctx context.Context, folderID string) iter.Seq2[*Bookmark, error] {
	return func(yield func(*Bookmark, error) bool) {
		for chunk := range slices.Chunk(s.rows[folderID], selectionChunk) {
			if !s.each(ctx, chunk, yield) {
				return
			}
		}
	}
}

// each reads a chunk; one that is too much to hold in halves. It reports whether
// there is to be more.
func (s *Selection) each(ctx context.Context, chunk []int64, yield func(*Bookmark, error) bool) bool {
	rows, err := s.read(ctx, chunk)
	if errors.Is(err, errHeavy) {
		half := len(chunk) / 2
		return s.each(ctx, chunk[:half], yield) && s.each(ctx, chunk[half:], yield)
	}
	if err != nil {
		yield(nil, err)
		return false
	}
	for _, seq := range chunk {
		// What was deleted or moved for good meanwhile is left out.
		if b := rows[seq]; b != nil && !yield(b, nil) {
			return false
		}
	}
	return true
}

// A chunk of a selection is so many rows, and holds at most so many bytes.
const (
	selectionChunk = 250
	selectionBytes = 4 << 20
	// What a selection holds for each row: its place, and of as many as a chunk
	// has what is read of them, most often less.
	placeBytes   = 16
	chunkedBytes = 4 << 10
)

var errHeavy = errors.New("the chunk is too much to hold")

// selectionWhere is the condition that a bookmark is one of a chunk; its text is
// the same for each, so that a statement is kept.
var selectionWhere = sync.OnceValue(func() string {
	holders := make([]string, selectionChunk)
	for i := range holders {
		holders[i] = fmt.Sprintf("$%d", i+3)
	}
	return `b.tenant_id = $1 AND b.workspace_id = $2 AND b.seq IN (` + strings.Join(holders, ",") + `)`
})

// selectionSQL reads a chunk.
func selectionSQL() string {
	return `SELECT ` + BookmarkColumns + ` FROM bookmark b WHERE ` + selectionWhere()
}

// selectionArgs are the values of a chunk's placeholders; a short chunk repeats
// its last.
func selectionArgs(scope access.Scope, chunk []int64) []any {
	args := make([]any, 2+selectionChunk)
	args[0], args[1] = scope.TenantID, scope.WorkspaceID
	for i := range selectionChunk {
		args[2+i] = chunk[min(i, len(chunk)-1)]
	}
	return args
}

func (s *Selection) read(ctx context.Context, chunk []int64) (map[int64]*Bookmark, error) {
	args := selectionArgs(s.scope, chunk)
	rows, bytes := make(map[int64]*Bookmark, len(chunk)), 0
	err := s.tree.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.Rows(ctx, selectionSQL(), args, func(row sqldb.Scanner) error {
			b, err := ScanBookmark(row)
			if err == nil && b.Live() != s.deleted && b.DeletionID != Purged {
				rows[b.seq] = &b
			}
			if bytes += sizeOf(&b.Bookmark); err == nil && bytes > selectionBytes && len(chunk) > 1 {
				err = errHeavy
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the bookmarks: %w", err)
	}
	return rows, nil
}
