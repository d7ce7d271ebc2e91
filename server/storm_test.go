package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"bm/server/admin"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// storm is several people who do everything to the same two workspaces at once.
type storm struct {
	t  *testing.T
	p  *servertest.Person
	ws [2]string

	mu                 sync.Mutex
	folders, bookmarks [2][]string
}

func (s *storm) pick(rng *rand.Rand, from *[2][]string, at int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(from[at]) == 0 || rng.IntN(8) == 0 {
		return ""
	}
	return from[at][rng.IntN(len(from[at]))]
}

func (s *storm) made(to *[2][]string, at int, id string) {
	if id != "" {
		s.mu.Lock()
		to[at] = append(to[at], id)
		s.mu.Unlock()
	}
}

func (s *storm) some(rng *rand.Rand, at int) (ids []string) {
	for range 1 + rng.IntN(6) {
		if id := s.pick(rng, &s.bookmarks, at); id != "" {
			ids = append(ids, id)
		}
	}
	return append(ids, "01920000-0000-7000-8000-00000000000a")
}

// step does something, anything.
func (s *storm) step(ctx context.Context, rng *rand.Rand) (what string, err error) {
	at := rng.IntN(2)
	w, c := s.ws[at], s.p.Key
	place := client.InWorkspace(w)
	tags := []string{"a", "B", "b", "ü"}[rng.IntN(4):]
	folder, bookmark := s.pick(rng, &s.folders, at), s.pick(rng, &s.bookmarks, at)
	input := func() api.BookmarkInput {
		return api.BookmarkInput{
			URL: api.Some(fmt.Sprintf("https://x.example/%d", rng.IntN(40))), Title: api.Some(fmt.Sprintf("word%d and", rng.IntN(9))),
			Tags: api.Some(tags), FolderID: api.Some(folder),
		}
	}
	switch rng.IntN(17) {
	case 0, 1:
		f, err := c.CreateFolder(ctx, w, api.FolderInput{Name: api.Some("f"), ParentID: api.Some(folder)})
		s.made(&s.folders, at, f.ID)
		return "make a folder", err
	case 2, 3, 4:
		b, err := c.CreateBookmark(ctx, place, input())
		s.made(&s.bookmarks, at, b.ID)
		return "save", err
	case 5:
		_, err := c.UpdateBookmark(ctx, place, bookmark, input())
		return "edit", err
	case 6:
		_, err := c.UpdateFolder(ctx, w, folder, api.FolderInput{ParentID: api.Some(s.pick(rng, &s.folders, at))})
		return "move a folder", err
	case 7:
		return "delete a folder", c.DeleteFolder(ctx, w, folder)
	case 8:
		_, err := c.RestoreFolder(ctx, w, folder)
		return "restore a folder", err
	case 9:
		return "delete", c.DeleteBookmark(ctx, place, bookmark)
	case 10:
		_, err := c.RestoreBookmark(ctx, w, bookmark)
		return "restore", err
	case 11:
		_, err := c.BulkDelete(ctx, w, s.some(rng, at))
		return "delete several", err
	case 12:
		_, err := c.MoveBookmarks(ctx, w, api.Move{IDs: s.some(rng, at), FolderID: api.Some(folder)})
		return "move", err
	case 13:
		_, err := c.MoveBookmarks(ctx, w, api.Move{IDs: s.some(rng, at), WorkspaceID: api.Some(s.ws[1-at])})
		return "move to the other workspace", err
	case 14:
		_, err := c.RenameTag(ctx, w, api.TagRename{From: tags[0], To: "x" + tags[len(tags)-1]})
		return "rename a tag", err
	case 15:
		if rng.IntN(4) == 0 {
			_, err := c.DeleteByScope(ctx, w, api.DeleteByScope{Scope: api.DeleteTag, Tag: api.Some(tags[0]), Confirm: true})
			return "delete a tag's", err
		}
		file := fmt.Sprintf(`<DT><H3>f</H3><DL><DT><A HREF="https://x.example/%d" TAGS="a,b">a</A><DT><A HREF="https://x.example/2">b</A></DL>`, rng.IntN(40))
		_, err := c.Import(ctx, place, "a.html", strings.NewReader(file), folder)
		return "import", err
	default:
		set, err := json.Marshal(input())
		if err != nil {
			return "push", err
		}
		push := api.PushRequest{Ops: []api.Op{
			{OpID: uuid(rng), Action: api.OpCreate, Type: api.TypeBookmark, ID: uuid(rng), Set: set},
			{OpID: uuid(rng), Action: api.OpDelete, Type: api.TypeFolder, ID: folder, BaseRev: 1},
			{OpID: uuid(rng), Action: api.OpCreate, Type: api.TypeFolder, ID: uuid(rng), Set: json.RawMessage(`{"name":"pushed"}`)},
		}}
		_, err = c.Push(ctx, w, push)
		return "push", err
	}
}

// uuid is one of version 7.
func uuid(rng *rand.Rand) string {
	return fmt.Sprintf("01920000-%04x-7%03x-8%03x-%012x", rng.IntN(1<<16), rng.IntN(1<<12), rng.IntN(1<<12), rng.Int64N(1<<48))
}

// shadow pulls a workspace's feed to its end, and is what a replica has then.
func shadow(t *testing.T, c *client.Client, w string, until <-chan struct{}) {
	ctx := context.WithoutCancel(t.Context())
	rows, cursor := map[string]int64{}, ""
	for last := false; ; {
		select {
		case <-until:
			last = true
		default:
		}
		page, err := c.Changes(ctx, w, cursor, 50, 0)
		if err != nil {
			t.Errorf("pull: %v", err)
			return
		}
		for _, change := range page.Data {
			if change.Rev <= rows[change.ID] {
				t.Errorf("%s came with rev %d after %d", change.ID, change.Rev, rows[change.ID])
			}
			if rows[change.ID] = change.Rev; change.Deleted {
				rows[change.ID] = -change.Rev
			}
		}
		cursor = *page.Pagination.NextCursor
		if !last || page.Pagination.HasMore {
			continue
		}
		var digest api.Digest
		var count int64
		for id, rev := range rows {
			if rev > 0 {
				digest = digest.Add(id, rev)
				count++
			}
		}
		if digest.String() != page.Head.Digest || count != page.Head.Count {
			t.Errorf("a replica has %d rows with digest %s, the server says %d with %s", count, digest, page.Head.Count, page.Head.Digest)
		}
		return
	}
}

// Whatever several do at once, the database is sound, and who follows the feed
// ends up with what is there.
func TestStorm(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server *servertest.Server) {
		p := servertest.Join(t, server, "ada")
		ctx := t.Context()
		other := must[api.Workspace](t)(p.Key.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "Other"}))
		s := &storm{t: t, p: p, ws: [2]string{p.Workspace.ID, other.ID}}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		done := make(chan struct{})
		var following, working sync.WaitGroup
		for _, w := range s.ws {
			following.Go(func() { shadow(t, p.Key, w, done) })
		}
		for worker := range 6 {
			working.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(worker)))
				for range 50 {
					what, err := s.step(ctx, rng)
					switch api.CodeOf(err) {
					case "", api.CodeNotFound, api.CodeValidation, api.CodeConflict, api.CodeMethodNotAllowed:
					default:
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		}
		working.Wait()
		close(done)
		following.Wait()
		findings, err := admin.Check(ctx, server.DB(), time.Now())
		if err != nil || len(findings) > 0 {
			t.Errorf("the check found %v, %v", findings, err)
		}
	})
}
