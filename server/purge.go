package server

import (
	"context"

	"bm/server/api"
)

// Purged says what a purge removed.
type Purged struct {
	Workspaces int `json:"workspaces"`
	// Rows are bookmarks and folders.
	Rows int `json:"rows"`
}

// Purge removes for good what is kept no longer: the trash after 30 days,
// verdicts and answers kept for retries, sessions that have ended.
func (s *Server) Purge(ctx context.Context) (done Purged, err error) {
	trash := s.config.Now().AddDate(0, 0, -api.TrashDays)
	if done.Workspaces, err = s.workspaces.Purge(ctx, s.tree); err != nil {
		return done, err
	}
	if done.Rows, err = s.tree.PurgeTrash(ctx, trash); err != nil {
		return done, err
	}
	if err := s.tree.PurgeVerdicts(ctx, trash); err != nil {
		return done, err
	}
	if err := s.replays.Purge(ctx); err != nil {
		return done, err
	}
	return done, s.signing.Purge(ctx)
}
