package localstore

import (
	"context"
	"fmt"

	"bm/server/api"
)

// Bookmark is one bookmark, alive or deleted; not_found where there is none.
func (s *Store) Bookmark(ctx context.Context, replica int64, id string) (Bookmark, error) {
	var b Bookmark
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		e, err := tx.find(replica, api.TypeBookmark, id)
		if err != nil {
			return err
		}
		if e == nil {
			return notFound(api.TypeBookmark, id)
		}
		unsent, err := tx.unsent(r, e)
		b = e.bookmark(r, unsent)
		return err
	})
	return b, err
}

// minPrefix is the length from which the beginning of an id is taken for one.
const minPrefix = 4

// FindBookmarks are the live bookmarks that ref may mean: the one with that id,
// else those whose id begins with it, else those with that URL; at most limit.
// The caller decides what several mean. It is not_found where there are none.
func (s *Store) FindBookmarks(ctx context.Context, replica int64, ref string, limit int) ([]Bookmark, error) {
	var found []Bookmark
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		var rows []Entity
		if len(ref) >= minPrefix {
			rows, err = tx.bookmarks(`WHERE b.replica = ? AND b.id >= ? AND b.id < ? AND b.deleted_at = 0 ORDER BY b.id LIMIT (0 + ?)`,
				replica, ref, ref+"\x7f", limit)
		}
		if err == nil && len(rows) == 0 {
			rows, err = tx.sameURL(replica, ref)
		}
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return api.Errorf(api.CodeNotFound, "no bookmark here has the id or URL %q", ref)
		}
		found, err = tx.shownAll(r, rows[:min(limit, len(rows))])
		return err
	})
	return found, err
}

// SameURL are the live bookmarks with the same normalised URL, oldest first.
func (s *Store) SameURL(ctx context.Context, replica int64, url string) ([]Bookmark, error) {
	var found []Bookmark
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		rows, err := tx.sameURL(replica, url)
		if err != nil {
			return err
		}
		found, err = tx.shownAll(r, rows)
		return err
	})
	return found, err
}

// Folder is one folder, alive or deleted; not_found where there is none.
func (s *Store) Folder(ctx context.Context, replica int64, id string) (Folder, error) {
	var f Folder
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		e, err := tx.find(replica, api.TypeFolder, id)
		if err != nil {
			return err
		}
		if e == nil {
			return notFound(api.TypeFolder, id)
		}
		unsent, err := tx.unsent(r, e)
		f = e.folder(r, unsent)
		return err
	})
	return f, err
}

// FindFolder is the live folder that ref means: its id, the beginning of its id
// where only one has it, or its path as in "Dev/Go". Of several folders with one
// path the first in order is meant. It is not_found where there is none.
func (s *Store) FindFolder(ctx context.Context, replica int64, ref string) (Folder, error) {
	var f Folder
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		e, err := tx.findFolder(replica, ref)
		if err != nil {
			return err
		}
		unsent, err := tx.unsent(r, e)
		f = e.folder(r, unsent)
		return err
	})
	return f, err
}

func (t *tx) findFolder(replica int64, ref string) (*Entity, error) {
	if len(ref) >= minPrefix {
		rows, err := t.folders(`WHERE f.replica = ? AND f.id >= ? AND f.id < ? AND f.deleted_at = 0 LIMIT 2`, replica, ref, ref+"\x7f")
		if err != nil {
			return nil, err
		}
		if len(rows) == 1 {
			return &rows[0], nil
		}
	}
	var at *Entity
	parent := ""
	for _, name := range SplitPath(ref) {
		var err error
		if at, err = t.folderNamed(replica, parent, name); err != nil {
			return nil, err
		}
		if at == nil {
			return nil, api.Errorf(api.CodeNotFound, "there is no folder %q", ref)
		}
		parent = at.ID
	}
	if at == nil {
		return nil, api.Errorf(api.CodeNotFound, "there is no folder %q", ref)
	}
	return at, nil
}

// Node is a folder in its tree.
type Node struct {
	Folder
	Path  string `json:"path"`
	Depth int    `json:"depth"` // 0 at the top
	// Bookmarks counts those in the folder itself, Total those below it too.
	Bookmarks int `json:"bookmarks"`
	Total     int `json:"total"`
}

// Tree is every live folder, parents before children, siblings in their order.
func (s *Store) Tree(ctx context.Context, replica int64) ([]Node, error) {
	return s.folders(ctx, replica, true)
}

// Folders is [Store.Tree] without the counts, which cost more than the rest.
func (s *Store) Folders(ctx context.Context, replica int64) ([]Node, error) {
	return s.folders(ctx, replica, false)
}

func (s *Store) folders(ctx context.Context, replica int64, counted bool) ([]Node, error) {
	var nodes []Node
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		counts, err := tx.countByFolder(replica, counted)
		if err != nil {
			return err
		}
		children := map[string][]Node{}
		err = tx.each(`SELECT `+folderColumns+`, `+folderUnsent+` FROM folder f
			WHERE f.replica = ? AND f.deleted_at = 0 ORDER BY f.parent, f.sort_order, f.n`, []any{replica},
			func(row scanner) error {
				var e Entity
				var unsent bool
				if err := scanFolder(row, &e, &unsent); err != nil {
					return err
				}
				children[e.Parent] = append(children[e.Parent], Node{
					Folder: e.folder(r, unsent && r.State != StateLocal), Bookmarks: counts[e.ID],
				})
				return nil
			})
		if err != nil {
			return fmt.Errorf("read the tree: %w", err)
		}
		nodes = appendNodes(nil, children, "", "", 0)
		return nil
	})
	return nodes, err
}

// FoldersIn are the live folders right in some others, "" for the top.
func (s *Store) FoldersIn(ctx context.Context, replica int64, parents []string) ([]Folder, error) {
	var found []Folder
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		return tx.each(`SELECT `+folderColumns+`, `+folderUnsent+` FROM folder f
			WHERE f.replica = ? AND f.parent IN (SELECT value FROM json_each(?)) AND f.deleted_at = 0 ORDER BY f.parent, f.sort_order, f.n`,
			[]any{replica, encode(parents)}, func(row scanner) error {
				var e Entity
				var unsent bool
				err := scanFolder(row, &e, &unsent)
				found = append(found, e.folder(r, unsent && r.State != StateLocal))
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("read folders: %w", err)
	}
	return found, nil
}

// countByFolder is how many live bookmarks lie right in each folder; nothing
// where that is not asked.
func (t *tx) countByFolder(replica int64, asked bool) (map[string]int, error) {
	if !asked {
		return nil, nil //nolint:nilnil // no counts are an answer here
	}
	counts := map[string]int{}
	err := t.each(`SELECT folder, COUNT(*) FROM bookmark WHERE replica = ? AND deleted_at = 0 GROUP BY folder`, []any{replica},
		func(row scanner) error {
			var id string
			var n int
			err := row.Scan(&id, &n)
			counts[id] = n
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("count bookmarks by folder: %w", err)
	}
	return counts, nil
}

func appendNodes(all []Node, children map[string][]Node, parent, path string, depth int) []Node {
	if depth > 2*api.MaxTreeDepth {
		return all
	}
	for _, node := range children[parent] {
		node.Depth, node.Path = depth, JoinPath(node.Name)
		if path != "" {
			node.Path = path + "/" + node.Path
		}
		at := len(all)
		all = appendNodes(append(all, node), children, node.ID, node.Path, depth+1)
		total := node.Bookmarks
		for i := at + 1; i < len(all); i++ {
			total += all[i].Bookmarks
		}
		all[at].Total = total
	}
	return all
}

// Tags are the tags of live bookmarks with how many carry them, in the order of
// their names. A prefix narrows them to those that begin with it; limit 0 means
// all.
func (s *Store) Tags(ctx context.Context, replica int64, prefix string, limit int) ([]api.Tag, error) {
	var all []api.Tag
	if limit <= 0 {
		limit = -1
	}
	err := s.read(ctx, func(tx *tx) error {
		low := tagPrefix(prefix)
		return tx.each(`SELECT COALESCE(NULLIF(MAX(name), ''), key), COUNT(*) FROM tag WHERE replica = ? AND key >= ? AND key < ? GROUP BY key ORDER BY key LIMIT (0 + ?)`,
			[]any{replica, low, low + "\U0010FFFF", limit}, func(row scanner) error {
				var tag api.Tag
				err := row.Scan(&tag.Name, &tag.Count)
				all = append(all, tag)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list tags: %w", err)
	}
	return all, nil
}

// Counts is how much a replica holds.
type Counts struct {
	Bookmarks int `json:"bookmarks"`
	Folders   int `json:"folders"`
	Deleted   int `json:"deleted"` // bookmarks and folders in the trash
	Tags      int `json:"tags"`
	Unsent    int `json:"unsent"`
	Conflicts int `json:"conflicts"`
	Parked    int `json:"parked"`
}

// Counts counts what a replica holds.
func (s *Store) Counts(ctx context.Context, replica int64) (Counts, error) {
	var c Counts
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		err = tx.row(`SELECT
			(SELECT COUNT(*) FROM bookmark WHERE replica = ?1 AND deleted_at = 0),
			(SELECT COUNT(*) FROM folder WHERE replica = ?1 AND deleted_at = 0),
			(SELECT COUNT(*) FROM bookmark WHERE replica = ?1 AND deleted_at > 0) + (SELECT COUNT(*) FROM folder WHERE replica = ?1 AND deleted_at > 0),
			(WITH RECURSIVE each (key) AS (
				SELECT MIN(key) FROM tag WHERE replica = ?1 UNION ALL
				SELECT (SELECT MIN(key) FROM tag WHERE replica = ?1 AND key > each.key) FROM each WHERE each.key IS NOT NULL)
			 SELECT COUNT(key) FROM each), -- from one to the next, rather than through all that carry one
			(SELECT COUNT(*) FROM conflict WHERE replica = ?1),
			(SELECT COUNT(*) FROM parked AS p WHERE replica = ?1 AND `+parkedUnsent+`)`, replica).
			Scan(&c.Bookmarks, &c.Folders, &c.Deleted, &c.Tags, &c.Conflicts, &c.Parked)
		if err != nil {
			return fmt.Errorf("count what the replica holds: %w", err)
		}
		if r.State != StateLocal {
			c.Unsent, err = tx.pending(replica)
		}
		return err
	})
	return c, err
}

// Random is up to want different live bookmarks that pick chooses: it is called
// with how many there are and answers an index.
func (s *Store) Random(ctx context.Context, replica int64, want int, pick func(n int) int) ([]Bookmark, error) {
	var chosen []Bookmark
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		var have int
		if err := tx.row(`SELECT COUNT(*) FROM bookmark WHERE replica = ? AND deleted_at = 0`, replica).Scan(&have); err != nil {
			return err
		}
		taken := map[int]bool{}
		for len(taken) < min(want, have) {
			at := pick(have)
			for taken[at] { // the next free one, lest a poor pick never ends
				at = (at + 1) % have
			}
			taken[at] = true
			rows, err := tx.bookmarks(`WHERE b.n = (SELECT n FROM bookmark WHERE replica = ? AND deleted_at = 0 ORDER BY created_at, n LIMIT 1 OFFSET ?)`, replica, at)
			if err != nil {
				return err
			}
			shown, err := tx.shownAll(r, rows)
			if err != nil {
				return err
			}
			chosen = append(chosen, shown...)
		}
		return nil
	})
	return chosen, err
}

// Trash are the deleted folders and bookmarks, those deleted last first. Of a
// deleted folder what is in it is not listed.
func (s *Store) Trash(ctx context.Context, replica int64, limit int) ([]Folder, []Bookmark, error) {
	var folders []Folder
	var bookmarks []Bookmark
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		tops, err := tx.folders(`WHERE f.replica = ?1 AND f.deleted_at > 0 AND NOT EXISTS (SELECT 1 FROM folder p
			WHERE p.replica = ?1 AND p.id = f.parent AND p.deleted_at > 0) ORDER BY f.deleted_at DESC, f.n DESC LIMIT (0 + ?2)`, replica, limit)
		if err != nil {
			return err
		}
		loose, err := tx.bookmarks(`WHERE b.replica = ?1 AND b.deleted_at > 0 AND NOT EXISTS (SELECT 1 FROM folder p
			WHERE p.replica = ?1 AND p.id = b.folder AND p.deleted_at > 0) ORDER BY b.deleted_at DESC, b.n DESC LIMIT (0 + ?2)`, replica, limit)
		if err != nil {
			return err
		}
		for i := range tops {
			unsent, err := tx.unsent(r, &tops[i])
			if err != nil {
				return err
			}
			folders = append(folders, tops[i].folder(r, unsent))
		}
		bookmarks, err = tx.shownAll(r, loose)
		return err
	})
	return folders, bookmarks, err
}
