package syncer_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"bm/localstore"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
	"bm/syncer"
)

const benchRows = 100_000

// shelf is a remote that costs next to nothing: pages that lie ready, and
// verdicts that always apply.
type shelf struct {
	changes []api.Change
	head    api.Head
	digest  api.Digest
}

func newShelf(changes []api.Change) *shelf {
	s := &shelf{changes: changes}
	for i := range changes {
		s.digest = s.digest.Add(changes[i].ID, changes[i].Rev)
	}
	s.move()
	return s
}

func (s *shelf) move() {
	n := int64(len(s.changes))
	s.head = api.Head{Epoch: "e", Rev: n, Digest: s.digest.String(), Count: n}
}

func (s *shelf) Changes(_ context.Context, _, cursor string, limit int, _ time.Duration) (api.ChangesPage, error) {
	at, _ := strconv.Atoi(cursor)
	end := min(at+limit, len(s.changes))
	next := strconv.Itoa(end)
	return api.ChangesPage{
		Data: s.changes[at:end], Head: s.head,
		Pagination: api.Pagination{NextCursor: &next, HasMore: end < len(s.changes)},
	}, nil
}

func (s *shelf) Push(_ context.Context, _ string, push api.PushRequest) func() (api.PushResponse, error) {
	return answer(s.judge(push))
}

func (s *shelf) judge(push api.PushRequest) (api.PushResponse, error) {
	var response api.PushResponse
	for _, op := range push.Ops {
		c := api.Change{Type: op.Type, ID: op.ID, Rev: int64(len(s.changes) + 1)}
		if op.Type == api.TypeFolder {
			var in api.FolderInput
			if err := json.Unmarshal(op.Set, &in); err != nil {
				return response, err
			}
			c.Folder = &api.Folder{ID: op.ID, Name: in.Name.Value, Description: in.Description.Value, ParentID: in.ParentID.Value, SortOrder: in.SortOrder.Value, CreatedAt: in.CreatedAt.Value, Extra: in.Extra.Value}
		} else {
			var in api.BookmarkInput
			if err := json.Unmarshal(op.Set, &in); err != nil {
				return response, err
			}
			c.Bookmark = &api.Bookmark{ID: op.ID, URL: in.URL.Value, Title: in.Title.Value, Description: in.Description.Value, Tags: in.Tags.Value, FolderID: in.FolderID.Value, SortOrder: in.SortOrder.Value, CreatedAt: in.CreatedAt.Value, SnapshotEnabled: in.SnapshotEnabled.Value, Extra: in.Extra.Value}
		}
		s.changes = append(s.changes, c)
		s.digest = s.digest.Add(c.ID, c.Rev)
		response.Results = append(response.Results, api.OpResult{OpID: op.OpID, Status: api.OpApplied, Rev: c.Rev, Entity: &c})
	}
	s.move()
	response.Head = s.head
	return response, nil
}

func changesOf(all *exchangetest.Collection) []api.Change {
	changes := make([]api.Change, 0, len(all.Folders)+len(all.Bookmarks))
	for i := range all.Folders {
		changes = append(changes, api.Change{Type: api.TypeFolder, ID: all.Folders[i].ID, Rev: int64(len(changes) + 1), Folder: &all.Folders[i]})
	}
	for i := range all.Bookmarks {
		changes = append(changes, api.Change{Type: api.TypeBookmark, ID: all.Bookmarks[i].ID, Rev: int64(len(changes) + 1), Bookmark: &all.Bookmarks[i]})
	}
	return changes
}

func benchStore(b testing.TB, path string) (*localstore.Store, *api.IDs) {
	b.Helper()
	ids := api.NewIDs(time.Now, rand.Reader)
	s, err := localstore.Open(b.Context(), localstore.Options{Path: path, IDs: ids})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s, ids
}

// BenchmarkRounds is the replica's part of a bootstrap of 100,000 and of sending
// as many that were made offline; beside the bootstrap, what an edit takes in
// the meantime.
func BenchmarkRounds(b *testing.B) {
	changes := changesOf(exchangetest.Make(1, benchRows))
	round := func(b *testing.B, s *localstore.Store, ids *api.IDs, n int64, remote syncer.Remote, want int) {
		report, err := syncer.New(syncer.Config{Store: s, Remote: remote, IDs: ids}).Round(b.Context(), n)
		if err != nil || report.Waiting != 0 || report.Pulled+report.Pushed < want {
			b.Fatalf("%+v, %v", report, err)
		}
	}
	b.Run("bootstrap", func(b *testing.B) {
		for b.Loop() {
			path := filepath.Join(b.TempDir(), "replica.db")
			s, ids := benchStore(b, path)
			r, err := s.Mirror(b.Context(), api.Workspace{ID: "w"}, true)
			if err != nil {
				b.Fatal(err)
			}
			stop := make(chan struct{})
			var beside sync.WaitGroup
			beside.Go(func() { edits(b, path, stop) })
			round(b, s, ids, r.N, newShelf(slices.Clone(changes)), benchRows)
			close(stop)
			beside.Wait()
		}
		b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("one edit", func(b *testing.B) {
		s, ids := benchStore(b, filepath.Join(b.TempDir(), "replica.db"))
		r, err := s.Mirror(b.Context(), api.Workspace{ID: "w"}, true)
		if err != nil {
			b.Fatal(err)
		}
		shelf := newShelf(slices.Clone(changes))
		round(b, s, ids, r.N, shelf, benchRows)
		n := 0
		for b.Loop() {
			n++
			err := s.Edit(b.Context(), r.N, "add", func(ed *localstore.Editor) error {
				_, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some("https://edit.example/" + strconv.Itoa(n))})
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			round(b, s, ids, r.N, shelf, 1)
		}
	})
	var file bytes.Buffer
	if err := exchangetest.Generate(&file, 1, benchRows); err != nil {
		b.Fatal(err)
	}
	b.Run("push", func(b *testing.B) {
		for b.Loop() {
			s, ids := benchStore(b, filepath.Join(b.TempDir(), "replica.db"))
			r, err := s.Mirror(b.Context(), api.Workspace{ID: "w"}, true)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			reader, err := exchange.NewReader(bytes.NewReader(file.Bytes()))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Import(b.Context(), reader, localstore.Import{Replica: r.N, Command: "import"}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			round(b, s, ids, r.N, newShelf(nil), benchRows)
		}
		b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// edits adds a bookmark every 20 ms to another replica of the same file, as
// another process would, and reports how long that took.
func edits(b *testing.B, path string, stop <-chan struct{}) {
	s, err := localstore.Open(b.Context(), localstore.Options{Path: path, IDs: api.NewIDs(time.Now, rand.Reader)})
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = s.Close() }()
	local, err := s.Local(b.Context())
	if err != nil {
		b.Error(err)
		return
	}
	var took []time.Duration
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "edit-p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "edit-p99-ms")
			return
		case <-tick.C:
		}
		started := time.Now()
		err := s.Edit(b.Context(), local.N, "add", func(ed *localstore.Editor) error {
			_, err := ed.AddBookmark(api.BookmarkInput{URL: api.Some("https://edit.example/" + strconv.Itoa(len(took)))})
			return err
		})
		if err != nil {
			b.Error(err)
			return
		}
		took = append(took, time.Since(started))
	}
}
