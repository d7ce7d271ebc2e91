package server_test

import (
	"strings"
	"sync"
	"testing"

	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb"
)

// A page of tags begins behind the one before: read from the first tag on, all
// pages cost their square.
func TestAPageOfTagsBeginsWhereItBegins(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx := t.Context()
		var mu sync.Mutex
		asked := ""
		s.DB().Watch(func(text string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(text, "GROUP BY t.tag_key") && !strings.HasPrefix(text, "EXPLAIN") {
				asked = text
			}
		})
		must[[]api.Tag](t)(p.Key.ListTags(ctx, p.Workspace.ID))
		mu.Lock()
		page := asked
		mu.Unlock()
		explain, step := "EXPLAIN QUERY PLAN ", "workspace_id=? AND tag_key>?"
		if s.DB().Dialect() == sqldb.Postgres {
			explain, step = "EXPLAIN ", "AND (tag_key > "
		}
		var plan strings.Builder
		err := s.DB().Read(ctx, func(tx *sqldb.Tx) error {
			if tx.Dialect() == sqldb.Postgres { // for an empty table it would rather read that
				if _, err := tx.Exec(ctx, `SET LOCAL enable_seqscan = off`); err != nil {
					return err
				}
			}
			return tx.Rows(ctx, explain+page, []any{p.Workspace.ID, "m", 10, 0}, func(row sqldb.Scanner) error {
				var n [3]int
				var line string
				err := row.Scan(&line)
				if tx.Dialect() == sqldb.SQLite {
					err = row.Scan(&n[0], &n[1], &n[2], &line)
				}
				plan.WriteString(line + "\n")
				return err
			})
		})
		if err != nil || !strings.Contains(plan.String(), step) {
			t.Errorf("%s\n%s%v", page, plan.String(), err)
		}
	})
}
