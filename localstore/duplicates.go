package localstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bm/server/api/rules"
)

// Duplicates are the groups of live bookmarks with the same normalised URL,
// each oldest first; where stripped says so, tracking parameters don't count.
func (s *Store) Duplicates(ctx context.Context, replica int64, stripped bool) ([][]Bookmark, error) {
	var groups [][]Bookmark
	err := s.read(ctx, func(tx *tx) error {
		r, err := tx.replica(replica)
		if err != nil {
			return err
		}
		alike, err := tx.alike(replica, stripped)
		if err != nil {
			return err
		}
		for _, numbers := range alike {
			rows, err := tx.numbered(numbers)
			if err != nil {
				return err
			}
			for _, same := range byURL(rows, stripped) {
				shown, err := tx.shownAll(r, same)
				if err != nil {
					return err
				}
				groups = append(groups, shown)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for duplicates: %w", err)
	}
	return groups, nil
}

// hashed is a row and the hash of its key.
type hashed struct{ hash, n int64 }

// alike are the numbers of rows whose hashes are the same, those first whose
// oldest is the oldest.
func (t *tx) alike(replica int64, stripped bool) ([][]int64, error) {
	url := "''"
	if stripped {
		url = "b.url"
	}
	var all []hashed
	err := t.each(`SELECT b.n, b.url_hash, `+url+` FROM bookmark b NOT INDEXED
		WHERE b.n > ? AND b.n < ? AND b.deleted_at = 0 AND b.url_hash <> 0`, []any{replica * partition, (replica + 1) * partition}, func(row scanner) error {
		var h hashed
		var url string
		err := row.Scan(&h.n, &h.hash, &url)
		if stripped {
			h.hash = urlHash(rules.StripTracking(url))
		}
		all = append(all, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.n, b.n)) })
	var groups [][]int64
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].hash == all[0].hash {
			n++
		}
		if n > 1 {
			group := make([]int64, n)
			for i := range group {
				group[i] = all[i].n
			}
			groups = append(groups, group)
		}
		all = all[n:]
	}
	slices.SortFunc(groups, func(a, b []int64) int { return cmp.Compare(a[0], b[0]) })
	return groups, nil
}

// byURL parts rows of one hash by their keys, which are nearly always one.
func byURL(rows []Entity, stripped bool) [][]Entity {
	var keys []string
	byKey := map[string][]Entity{}
	for i := range rows {
		url := rows[i].URL
		if stripped {
			url = rules.StripTracking(url)
		}
		key := rules.URLKey(url)
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], rows[i])
	}
	var groups [][]Entity
	for _, key := range keys {
		if len(byKey[key]) > 1 {
			groups = append(groups, byKey[key])
		}
	}
	return groups
}
