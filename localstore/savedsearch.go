package localstore

import (
	"context"
	"fmt"

	"bm/server/api"
)

// SavedSearch is a query kept under a name on this machine.
type SavedSearch struct {
	Name      string   `json:"name"`
	Query     string   `json:"query"`
	CreatedAt api.Time `json:"createdAt"`
}

// SaveSearch keeps a query under a name, in place of the one it had.
func (s *Store) SaveSearch(ctx context.Context, name, query string) error {
	if name == "" {
		return api.Invalid("name", "must not be empty")
	}
	err := s.write(ctx, durable, func(tx *tx) error {
		return tx.run(`INSERT INTO saved_search (name, query, created_at) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET query = excluded.query`, name, query, api.At(s.now()).Micros())
	})
	if err != nil {
		return fmt.Errorf("save search %q: %w", name, err)
	}
	return nil
}

// DeleteSearch forgets a saved query; not_found where there is none.
func (s *Store) DeleteSearch(ctx context.Context, name string) error {
	return s.write(ctx, durable, func(tx *tx) error {
		n, err := tx.changed(`DELETE FROM saved_search WHERE name = ?`, name)
		if err != nil {
			return fmt.Errorf("delete search %q: %w", name, err)
		}
		if n == 0 {
			return api.Errorf(api.CodeNotFound, "no search is saved as %q", name)
		}
		return nil
	})
}

// SavedSearches are the saved queries, by name.
func (s *Store) SavedSearches(ctx context.Context) ([]SavedSearch, error) {
	var all []SavedSearch
	err := s.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT name, query, created_at FROM saved_search ORDER BY name`, nil, func(row scanner) error {
			var saved SavedSearch
			var at int64
			err := row.Scan(&saved.Name, &saved.Query, &at)
			saved.CreatedAt = api.FromMicros(at)
			all = append(all, saved)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list saved searches: %w", err)
	}
	return all, nil
}
