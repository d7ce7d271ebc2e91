package server_test

import (
	"fmt"
	"sync"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// Workspaces that are deleted at the same moment, the default among them, wait
// for each other in one order: PostgreSQL has no deadlock to break.
func TestDeletionsOfWorkspacesTakeTurns(t *testing.T) {
	s := servertest.Start(t, server.Config{DatabaseURL: sqldbtest.Postgres(t)})
	p := servertest.Join(t, s, "ada")
	ctx := t.Context()
	deadlocks := func() (n int) {
		t.Helper()
		err := s.DB().Read(ctx, func(tx *sqldb.Tx) error {
			return tx.Row(ctx, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`, nil, &n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	live := []string{p.Workspace.ID}
	for round := range 20 {
		for len(live) < 3 {
			w := must[api.Workspace](t)(p.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: fmt.Sprint(round, len(live))}))
			live = append(live, w.ID)
		}
		var both sync.WaitGroup
		for _, id := range live[:2] {
			both.Go(func() {
				if err := p.JWT.DeleteWorkspace(ctx, id); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		live = live[2:]
	}
	if n := deadlocks(); n > 0 {
		t.Errorf("%d deadlocks", n)
	}
}
