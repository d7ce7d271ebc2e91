package localstore

import (
	"context"
	"fmt"
	"slices"
)

// FolderPath is the path of a folder, "" for the top.
func (s *Store) FolderPath(ctx context.Context, replica int64, id string) (string, error) {
	paths, err := s.FolderPaths(ctx, replica, []string{id})
	return paths[id], err
}

// FolderPaths are the paths of folders, alive or deleted, by their ids; of one
// that is not known there is none. Most folders of a list lie in the same ones,
// which are read once.
func (s *Store) FolderPaths(ctx context.Context, replica int64, ids []string) (map[string]string, error) {
	type folder struct{ parent, name string }
	known := map[string]folder{}
	err := s.read(ctx, func(tx *tx) error {
		return tx.each(`WITH RECURSIVE up (id, parent, title) AS (
				SELECT f.id, f.parent, f.title FROM json_each(?2) AS each CROSS JOIN folder f ON f.replica = ?1 AND f.id = each.value
				UNION SELECT f.id, f.parent, f.title FROM up CROSS JOIN folder f ON f.replica = ?1 AND f.id = up.parent)
			SELECT id, parent, title FROM up`, []any{replica, encode(ids)}, func(row scanner) error {
			var id string
			var f folder
			err := row.Scan(&id, &f.parent, &f.name)
			known[id] = f
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the paths of folders: %w", err)
	}
	paths := make(map[string]string, len(ids))
	for _, id := range ids {
		var names []string
		seen := map[string]bool{} // a half-merged tree may have a cycle
		for at := id; !seen[at]; at = known[at].parent {
			f, ok := known[at]
			if !ok {
				break
			}
			seen[at] = true
			names = append(names, f.name)
		}
		if len(names) > 0 {
			slices.Reverse(names)
			paths[id] = JoinPath(names...)
		}
	}
	return paths, nil
}
