package changes_test

import (
	"crypto/rand"
	"testing"
	"time"

	"bm/server"
	"bm/server/api"
	"bm/server/api/exchange/exchangetest"
	"bm/server/servertest"
)

// BenchmarkFeed pushes 100,000 edits that were made offline, 500 at a time, and
// reads them all again as a new machine does.
func BenchmarkFeed(b *testing.B) {
	rows := 100_000
	if testing.Short() {
		rows = 2_000
	}
	all := exchangetest.Make(1, rows)
	ids := api.NewIDs(time.Now, rand.Reader)
	// Ids come in the order in which things are made, as everywhere but in a
	// generated collection.
	fresh := map[string]string{"": ""}
	for i := range all.Folders {
		fresh[all.Folders[i].ID] = ids.New()
	}
	ops := make([]api.Op, 0, len(all.Folders)+len(all.Bookmarks))
	for i := range all.Folders {
		f := &all.Folders[i]
		ops = append(ops, api.Op{Action: api.OpCreate, Type: api.TypeFolder, ID: fresh[f.ID], Set: set(map[string]any{
			"name": f.Name, "parentId": fresh[f.ParentID], "sortOrder": f.SortOrder, "createdAt": f.CreatedAt,
		})})
	}
	for i := range all.Bookmarks {
		m := &all.Bookmarks[i]
		ops = append(ops, api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: ids.New(), Set: set(map[string]any{
			"url": m.URL, "title": m.Title, "description": m.Description, "tags": m.Tags, "folderId": fresh[m.FolderID], "sortOrder": m.SortOrder, "createdAt": m.CreatedAt,
		})})
	}
	var y *yard
	whole := b
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := servertest.Start(whole, server.Config{Dir: whole.TempDir()})
			y = &yard{server: s, ids: ids, Person: servertest.Join(b, s, "ada")}
			b.StartTimer()
			for from := 0; from < len(ops); from += api.MaxChangesOps {
				some := ops[from:min(from+api.MaxChangesOps, len(ops))]
				for i := range some {
					some[i].OpID = ids.New()
				}
				out, err := y.Key.Push(b.Context(), y.Workspace.ID, api.PushRequest{Ops: some})
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range out.Results {
					if r.Status != api.OpApplied {
						b.Fatalf("%+v", r)
					}
				}
			}
		}
		b.ReportMetric(float64(len(ops)*b.N)/b.Elapsed().Seconds(), "ops/s")
	})
	b.Run("bootstrap", func(b *testing.B) {
		for b.Loop() {
			if y == nil {
				b.Skip("nothing was pushed")
			}
			n, cursor := 0, ""
			for {
				page, err := y.Key.Changes(b.Context(), y.Workspace.ID, cursor, 2000, 0)
				if err != nil {
					b.Fatal(err)
				}
				n += len(page.Data)
				if cursor = *page.Pagination.NextCursor; !page.Pagination.HasMore {
					break
				}
			}
			if n != len(ops) {
				b.Fatalf("%d rows", n)
			}
		}
		b.ReportMetric(float64(len(ops)*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}
