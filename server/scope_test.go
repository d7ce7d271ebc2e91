package server_test

import (
	"fmt"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
	"bm/server/sqldb"
)

// To delete a large scope leaves other writers their turn: it is done in many
// transactions, and the feed tells of each row.
func TestALargeScopeIsDeletedInPieces(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		p := servertest.Join(t, s, "ada")
		ctx, w := t.Context(), p.Workspace.ID
		const rows = 700
		var file strings.Builder
		for i := range rows {
			_, _ = fmt.Fprintf(&file, "<DT><A HREF=\"https://a.example/%d\" TAGS=\"t,u%d\">a</A>\n", i, i%7)
		}
		must[api.ImportSummary](t)(p.Key.Import(ctx, client.InWorkspace(w), "a.html", strings.NewReader(file.String()), ""))
		before := must[api.ChangesPage](t)(p.Key.Changes(ctx, w, "", 1000, 0))
		kept := must[api.Bookmark](t)(p.Key.CreateBookmark(ctx, client.InWorkspace(w), api.BookmarkInput{Tags: api.Some([]string{"kept"})}))
		n := must[int](t)(p.Key.DeleteByScope(ctx, w, api.DeleteByScope{Scope: api.DeleteTag, Tag: api.Some("T"), Confirm: true}))
		if n != rows {
			t.Errorf("%d deleted", n)
		}
		var largest int
		err := s.DB().Read(ctx, func(tx *sqldb.Tx) error {
			return tx.Row(ctx, `SELECT MAX(n) FROM (SELECT count(*) AS n FROM bookmark WHERE deleted_at > 0 GROUP BY deletion_id) AS d`, nil, &largest)
		})
		if err != nil || largest > 300 {
			t.Errorf("one transaction deleted %d: %v", largest, err)
		}
		after := must[api.ChangesPage](t)(p.Key.Changes(ctx, w, *before.Pagination.NextCursor, 1000, 0))
		deleted := 0
		for _, change := range after.Data {
			if change.Deleted {
				deleted++
			} else if change.ID != kept.ID {
				t.Errorf("the feed tells of %+v", change)
			}
		}
		if deleted != rows || after.Head.Count != 1 {
			t.Errorf("the feed tells of %d deleted, and of %d alive", deleted, after.Head.Count)
		}
		if tags := must[[]api.Tag](t)(p.Key.ListTags(ctx, w)); len(tags) != 1 {
			t.Errorf("the tags are %v", tags)
		}
	})
}
