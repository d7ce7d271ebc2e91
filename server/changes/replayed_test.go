package changes_test

import (
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

// The id of an op is its workspace's: what another has judged under the same is
// nothing to it. Of two ops that make the same row, the second finds it there.
func TestIDsOfOtherOps(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		eve := &yard{t, y.server, y.config, y.ids, servertest.Join(t, y.server, "eve")}
		opID, id := y.ids.New(), y.ids.New()
		create := func(opID, id, title string) api.Op {
			return api.Op{OpID: opID, Action: api.OpCreate, Type: api.TypeBookmark, ID: id, Set: set(map[string]any{"title": title})}
		}
		y.verdict(eve.one(api.ChangesPage{}, create(opID, y.ids.New(), "hers")), api.OpApplied, "")
		second := must[api.Workspace](t)(y.JWT.CreateWorkspace(t.Context(), api.WorkspaceCreate{Name: "second"}))
		there := must[api.PushResponse](t)(y.Key.Push(t.Context(), second.ID, api.PushRequest{Ops: []api.Op{create(opID, y.ids.New(), "there")}}))
		y.verdict(there.Results[0], api.OpApplied, "")
		results, _ := y.push(api.ChangesPage{}, create(opID, id, "ours"), create("", id, "again"))
		y.verdict(results[0], api.OpApplied, "")
		if y.verdict(results[1], api.OpStale, ""); results[1].Entity == nil || results[1].Entity.Bookmark.Title != "ours" {
			t.Errorf("the second to make it is answered %+v", results[1])
		}
		// Nor does one id stand for two ops of a request.
		twice := y.ids.New()
		results, _ = y.push(api.ChangesPage{}, create(twice, y.ids.New(), "first"), create(twice, y.ids.New(), "second"))
		y.verdict(results[0], api.OpApplied, "")
		y.verdict(results[1], api.OpRejected, "conflict")
		if n := y.checkDigest().Head.Count; n != 2 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestTheSameOpAgain(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		create := api.Op{OpID: y.ids.New(), Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"title": "x"})}
		bad := api.Op{OpID: y.ids.New(), Action: api.OpUpdate, Type: api.TypeBookmark, ID: y.ids.New(), BaseRev: 3}
		first, head := y.push(api.ChangesPage{}, create, bad)
		again, sameHead := y.push(api.ChangesPage{}, create, bad, create)
		if head != sameHead {
			t.Errorf("the head moved from %+v to %+v", head, sameHead)
		}
		for i, r := range []api.OpResult{first[0], first[1], first[0]} {
			if string(set(again[i])) != string(set(r)) {
				t.Errorf("op %d is answered %s, then %s", i, set(r), set(again[i]))
			}
		}
		// An edit in between is not undone by the replay.
		y.verdict(y.one(api.ChangesPage{}, api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: create.ID, BaseRev: first[0].Rev, Set: set(map[string]any{"title": "y"})}), api.OpApplied, "")
		if replay := y.one(api.ChangesPage{}, create); replay.Status != api.OpApplied || replay.Rev != first[0].Rev || replay.Entity != nil {
			t.Errorf("replayed as %+v", replay)
		}
		other := create
		other.Set = set(map[string]any{"title": "another"})
		y.verdict(y.one(api.ChangesPage{}, other), api.OpRejected, "conflict")

		eve := &yard{t, y.server, y.config, y.ids, servertest.Join(t, y.server, "eve")}
		y.verdict(eve.one(api.ChangesPage{}, create), api.OpRejected, "conflict: the id is taken")
	})
}

// A push at the head says where to go on, so that nobody pulls back what it has
// just sent; any other does not.
func TestAPushAtTheHeadMovesTheCursor(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		push := func(at api.ChangesPage, ops ...api.Op) api.PushResponse {
			t.Helper()
			for i := range ops {
				ops[i].OpID = y.ids.New()
			}
			return must[api.PushResponse](t)(y.Key.Push(t.Context(), y.Workspace.ID, api.PushRequest{
				Epoch: at.Head.Epoch, Cursor: *at.Pagination.NextCursor, Ops: ops,
			}))
		}
		create := func() api.Op {
			return api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"title": "x"})}
		}
		_, at := y.pull("", 0)
		first := push(at, create(), create())
		if first.NextCursor == "" {
			t.Fatal("a push at the head gave no cursor")
		}
		if after, _ := y.pull(first.NextCursor, 0); len(after) != 0 {
			t.Errorf("behind it there is %+v", after)
		}
		if behind := push(at, create()); behind.NextCursor != "" {
			t.Error("a push from behind the head gave a cursor, which hides what it had not seen")
		}
		folder := y.folder("f", "")
		y.bookmark("in", folder.ID)
		_, at = y.pull("", 0)
		if gone := push(at, api.Op{Action: api.OpDelete, Type: api.TypeFolder, ID: folder.ID, BaseRev: 4}); gone.NextCursor != "" || gone.Results[0].Status != api.OpApplied {
			t.Errorf("a delete that took more along gave a cursor: %+v", gone)
		}
		folder = y.folder("f", "")
		y.bookmark("in", folder.ID)
		same := y.bookmark("same", "")
		_, at = y.pull("", 0)
		// Two revs for two ops, yet not one each.
		none := push(at,
			api.Op{Action: api.OpDelete, Type: api.TypeFolder, ID: folder.ID, BaseRev: at.Head.Rev - 2},
			api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: same.ID, BaseRev: at.Head.Rev, Set: set(map[string]any{"title": "same "})})
		if none.NextCursor != "" || none.Results[0].Status != api.OpApplied || none.Results[1].Status != api.OpApplied {
			t.Errorf("a delete that took more along, and an update of nothing, gave a cursor: %+v", none)
		}
		_, at = y.pull("", 0)
		if mixed := push(at, create(), api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: y.ids.New(), BaseRev: 1}); mixed.NextCursor != "" {
			t.Error("a push of which some was refused gave a cursor")
		}
	})
}

// A row that was removed for good is not known any more: an edit of it is
// refused, and it can be made anew under its id.
func TestARowThatIsGoneForGood(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		folder, b := y.folder("f", ""), y.bookmark("b", "")
		for range 2 {
			if err := y.Key.DeleteFolder(t.Context(), y.Workspace.ID, folder.ID); err != nil {
				t.Fatal(err)
			}
			if err := y.Key.DeleteBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), b.ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range []api.Op{
			{Action: api.OpRestore, Type: api.TypeFolder, ID: folder.ID, BaseRev: 3},
			{Action: api.OpRestore, Type: api.TypeBookmark, ID: b.ID, BaseRev: 4},
			{Action: api.OpUpdate, Type: api.TypeBookmark, ID: b.ID, BaseRev: 4, Set: set(map[string]any{"title": "x"})},
		} {
			y.verdict(y.one(api.ChangesPage{}, op), api.OpRejected, "not_found")
		}
		for _, op := range []api.Op{
			{Action: api.OpCreate, Type: api.TypeFolder, ID: folder.ID, Set: set(map[string]any{"name": "again"})},
			{Action: api.OpCreate, Type: api.TypeBookmark, ID: b.ID, Set: set(map[string]any{"title": "again", "folderId": folder.ID, "tags": []string{"t"}})},
		} {
			y.verdict(y.one(api.ChangesPage{}, op), api.OpApplied, "")
		}
		if found := must[[]api.Bookmark](t)(y.Key.SearchBookmarks(t.Context(), y.Workspace.ID, "again #t", 5, 0)); len(found) != 1 || found[0].ID != b.ID {
			t.Errorf("found %+v", found)
		}
		y.checkDigest()
	})
}
