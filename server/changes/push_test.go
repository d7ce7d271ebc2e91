package changes_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

func (y *yard) verdict(r api.OpResult, status api.OpStatus, about string) {
	y.t.Helper()
	why := ""
	if r.Error != nil {
		why = string(r.Error.Code) + ": " + r.Error.Message
	}
	if r.Status != status || !strings.Contains(why, about) {
		y.t.Errorf("the verdict is %s %q, want %s %q", r.Status, why, status, about)
	}
}

func TestOpsOnABookmark(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		var none api.ChangesPage
		id := y.ids.New()
		made := y.one(none, api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: id, Set: set(map[string]any{
			"url": "https://go.dev", "title": " Go ", "tags": []string{"go", "GO"}, "createdAt": "2001-02-03T04:05:06Z", "sortOrder": 5,
		})})
		y.verdict(made, api.OpApplied, "")
		if b := made.Entity.Bookmark; made.Rev != 1 || b.Title != "Go" || len(b.Tags) != 1 || b.CreatedAt.Year() != 2001 || b.SortOrder != 5 || b.WorkspaceID != y.Workspace.ID {
			t.Errorf("made %+v", made.Entity.Bookmark)
		}
		again := y.one(none, api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: id, Set: set(map[string]any{"title": "x"})})
		if y.verdict(again, api.OpStale, ""); again.Entity == nil || again.Entity.Bookmark.Title != "Go" || again.Rev != 1 {
			t.Errorf("a second create is answered with %+v", again)
		}
		update := func(base int64, title string) api.OpResult {
			return y.one(none, api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: id, BaseRev: base, Set: set(map[string]any{"title": title})})
		}
		y.verdict(update(1, "Golang"), api.OpApplied, "")
		old := update(1, "lost")
		if y.verdict(old, api.OpStale, ""); old.Entity.Bookmark.Title != "Golang" || old.Rev != 2 {
			t.Errorf("a stale update is answered with %+v", old)
		}
		y.verdict(y.one(none, api.Op{Action: api.OpRestore, Type: api.TypeBookmark, ID: id, BaseRev: 2}), api.OpStale, "")
		gone := y.one(none, api.Op{Action: api.OpDelete, Type: api.TypeBookmark, ID: id, BaseRev: 2})
		if y.verdict(gone, api.OpApplied, ""); gone.Rev != 3 || !gone.Entity.Deleted || gone.Entity.Bookmark != nil {
			t.Errorf("a delete is answered with %+v", gone)
		}
		y.verdict(update(3, "x"), api.OpStale, "")
		y.verdict(y.one(none, api.Op{Action: api.OpDelete, Type: api.TypeBookmark, ID: id, BaseRev: 3}), api.OpStale, "")
		back := y.one(none, api.Op{Action: api.OpRestore, Type: api.TypeBookmark, ID: id, BaseRev: 3, Set: set(map[string]any{"title": "restored", "tags": []string{"t"}})})
		if y.verdict(back, api.OpApplied, ""); back.Entity.Bookmark.Title != "restored" || back.Entity.Bookmark.URL != "https://go.dev" {
			t.Errorf("a restore is answered with %+v", back.Entity.Bookmark)
		}
		if found := must[[]api.Bookmark](t)(y.Key.SearchBookmarks(t.Context(), y.Workspace.ID, "restored tag:t", 5, 0)); len(found) != 1 {
			t.Errorf("what was restored is found %d times", len(found))
		}
		y.checkDigest()
	})
}

// Whoever may push may not for that do everything: each op needs its own
// permission, of which no other takes the place.
func TestEachOpNeedsItsPermission(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		for _, c := range []struct {
			kind   api.EntityType
			action api.OpAction
			needs  access.Permission
		}{
			{api.TypeFolder, api.OpCreate, access.FoldersWrite},
			{api.TypeFolder, api.OpUpdate, access.FoldersWrite},
			{api.TypeFolder, api.OpDelete, access.FoldersDelete},
			{api.TypeFolder, api.OpRestore, access.FoldersWrite},
			{api.TypeBookmark, api.OpDelete, access.BookmarksDelete},
		} {
			pushing := []string{string(access.BookmarksWrite), string(access.BookmarksRead), string(access.FoldersRead)}
			allBut := slices.DeleteFunc(access.Everything().Keys(), func(key string) bool { return key == string(c.needs) })
			with := func(permissions []string) *yard {
				t.Helper()
				key := must[api.APIKeySecret](t)(y.JWT.CreateAPIKey(t.Context(), api.APIKeyCreate{NoticeVersion: "1", Permissions: api.Some(permissions)}))
				by := *y
				by.Person = &servertest.Person{Key: y.Key.As(key.APIKey), Workspace: y.Workspace}
				return &by
			}
			op := api.Op{Action: c.action, Type: c.kind, ID: y.ids.New(), Set: set(map[string]any{"name": "x"})}
			if c.action != api.OpCreate {
				y.one(api.ChangesPage{}, api.Op{Action: api.OpCreate, Type: c.kind, ID: op.ID, Set: set(map[string]any{"name": "there", "title": "there"})})
			}
			if c.action == api.OpRestore {
				y.one(api.ChangesPage{}, api.Op{Action: api.OpDelete, Type: c.kind, ID: op.ID, BaseRev: y.checkDigest().Head.Rev})
			}
			op.BaseRev = y.checkDigest().Head.Rev
			y.verdict(with(allBut).one(api.ChangesPage{}, op), api.OpRejected, "forbidden: this needs the permission "+string(c.needs))
			if y.checkDigest().Head.Rev != op.BaseRev {
				t.Errorf("%s of a %s had an effect without %s", c.action, c.kind, c.needs)
			}
			if c.action == api.OpCreate {
				op.BaseRev = 0
			}
			y.verdict(with(append(pushing, string(c.needs))).one(api.ChangesPage{}, op), api.OpApplied, "")
		}
	})
}

func TestOpsThatAreRejectedTakeNothingAlong(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		eve := &yard{t, y.server, y.config, y.ids, servertest.Join(t, y.server, "eve")}
		theirs := eve.bookmark("theirs", "")
		unknown := y.ids.New()
		ok := api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"title": "fine"})}
		failed := y.ids.New()
		results, _ := y.push(
			api.ChangesPage{},
			api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: unknown, BaseRev: 1, Set: set(map[string]any{"title": "x"})},
			api.Op{Action: api.OpDelete, Type: api.TypeBookmark, ID: theirs.ID, BaseRev: 1},
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: theirs.ID, Set: set(map[string]any{"title": "x"})},
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: failed, Set: set(map[string]any{"url": "https://x.test/" + strings.Repeat("x", api.MaxURL)})},
			api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: failed, BaseRev: 1},
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: "x"},
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: json.RawMessage(`{"tags":"none"}`)},
			api.Op{Action: api.OpUpdate, Type: api.TypeFolder, ID: theirs.ID, BaseRev: 1},
			ok,
		)
		for i, about := range []string{"not_found", "not_found", "conflict", "url", "not_found", "id: ", "set: ", "not_found"} {
			y.verdict(results[i], api.OpRejected, about)
		}
		y.verdict(results[8], api.OpApplied, "")
		if y.checkDigest().Head.Count != 1 || eve.checkDigest().Head.Count != 1 {
			t.Error("what was rejected had an effect")
		}

		for about, in := range map[string]api.PushRequest{
			"body.ops":    {},
			"opId":        {Ops: []api.Op{{OpID: "x", Action: api.OpDelete, Type: api.TypeBookmark, ID: unknown}}},
			"body.epoch":  {Epoch: "other", Cursor: *y.checkDigest().Pagination.NextCursor, Ops: []api.Op{{OpID: y.ids.New(), Action: api.OpDelete, Type: api.TypeBookmark, ID: unknown}}},
			"action":      {Ops: []api.Op{{OpID: y.ids.New(), Action: "destroy", Type: api.TypeBookmark, ID: unknown}}},
			"body.ops: e": {Ops: make([]api.Op, api.MaxChangesOps+1)},
		} {
			_, err := y.Key.Push(t.Context(), y.Workspace.ID, in)
			if api.CodeOf(err) != api.CodeValidation {
				t.Errorf("%s: %v", about, err)
			}
		}
	})
}

func TestWhatIsTooLongIsCut(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		r := y.one(api.ChangesPage{}, api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{
			"title": strings.Repeat("t", api.MaxTitle+9), "url": "not absolute", "description": strings.Repeat("d", api.MaxDescription+9),
		})})
		y.verdict(r, api.OpApplied, "")
		if b := r.Entity.Bookmark; len(b.Title) != api.MaxTitle || b.URL != "not absolute" || len(b.Description) != api.MaxDescription {
			t.Errorf("cut to %d, %q, %d", len(b.Title), b.URL, len(b.Description))
		}
		parent := ""
		for range api.MaxTreeDepth + 3 {
			r = y.one(api.ChangesPage{}, api.Op{Action: api.OpCreate, Type: api.TypeFolder, ID: y.ids.New(), Set: set(map[string]any{"name": "f", "parentId": parent})})
			y.verdict(r, api.OpApplied, "")
			parent = r.Entity.ID
		}
		depth := 0
		for id := parent; id != ""; depth++ {
			id = must[api.Folder](t)(y.Key.GetFolder(t.Context(), y.Workspace.ID, id)).ParentID
		}
		if depth != api.MaxTreeDepth {
			t.Errorf("the last folder is %d deep", depth)
		}
	})
}

func TestOpsThatDoNotFitTheTreeAreStale(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		a := y.folder("a", "")
		b := y.folder("b", a.ID)
		dead := y.folder("dead", "")
		if err := y.Key.DeleteFolder(t.Context(), y.Workspace.ID, dead.ID); err != nil {
			t.Fatal(err)
		}
		_, at := y.pull("", 0)
		for _, parent := range []string{dead.ID, y.ids.New()} {
			y.verdict(y.one(at, api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"folderId": parent})}), api.OpStale, "")
			y.verdict(y.one(at, api.Op{Action: api.OpCreate, Type: api.TypeFolder, ID: y.ids.New(), Set: set(map[string]any{"name": "x", "parentId": parent})}), api.OpStale, "")
			y.verdict(y.one(at, api.Op{Action: api.OpUpdate, Type: api.TypeFolder, ID: b.ID, BaseRev: 2, Set: set(map[string]any{"parentId": parent})}), api.OpStale, "")
		}
		cycle := y.one(at, api.Op{Action: api.OpUpdate, Type: api.TypeFolder, ID: a.ID, BaseRev: 1, Set: set(map[string]any{"parentId": b.ID})})
		if y.verdict(cycle, api.OpStale, ""); cycle.Entity == nil || cycle.Entity.Folder.ParentID != "" {
			t.Errorf("a cycle is answered with %+v", cycle.Entity)
		}
		// A folder that is made in the same request is there for what follows,
		// one that is deleted in it is not.
		id := y.ids.New()
		results, _ := y.push(
			at,
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"folderId": id})},
			api.Op{Action: api.OpCreate, Type: api.TypeFolder, ID: id, Set: set(map[string]any{"name": "x"})},
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"folderId": b.ID})},
			api.Op{Action: api.OpDelete, Type: api.TypeFolder, ID: b.ID, BaseRev: 2},
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"folderId": b.ID})},
		)
		var got []string
		for _, r := range results {
			got = append(got, string(r.Status))
		}
		// The delete was decided before the bookmark came into the folder.
		if want := "stale applied applied stale applied"; strings.Join(got, " ") != want {
			t.Errorf("the verdicts are %q, want %q", got, want)
		}
		y.checkDigest()
	})
}

// An op on a folder is held to the state that it was decided at, like one on a
// bookmark.
func TestOpsOnAFolder(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		f, other := y.folder("f", ""), y.folder("other", "")
		op := func(action api.OpAction, baseRev int64, fields map[string]any) api.OpResult {
			t.Helper()
			return y.one(api.ChangesPage{}, api.Op{Action: action, Type: api.TypeFolder, ID: f.ID, BaseRev: baseRev, Set: set(fields)})
		}
		stale := func(r api.OpResult) {
			t.Helper()
			if y.verdict(r, api.OpStale, ""); r.Entity == nil || r.Entity.ID != f.ID {
				t.Errorf("without the row as it is: %+v", r)
			}
		}
		named := map[string]any{"name": "g"}
		stale(op(api.OpCreate, 0, named))
		stale(op(api.OpUpdate, 2, named)) // the other's
		stale(op(api.OpDelete, 2, nil))
		stale(op(api.OpRestore, 1, nil)) // it lives
		if got := must[api.Folder](t)(y.Key.GetFolder(t.Context(), y.Workspace.ID, f.ID)); got.Name != "f" {
			t.Errorf("what was stale had an effect: %+v", got)
		}
		// Without a place of its own what is moved goes last.
		y.bookmark("in the other", other.ID)
		moved := op(api.OpUpdate, 1, map[string]any{"parentId": other.ID})
		if y.verdict(moved, api.OpApplied, ""); moved.Entity.Folder.SortOrder != 2*api.SortGap {
			t.Errorf("a folder was moved to %+v", moved.Entity.Folder)
		}
		y.bookmark("before it", "")
		b := y.bookmark("at the top", "")
		to := y.one(api.ChangesPage{}, api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: b.ID, BaseRev: moved.Rev + 2, Set: set(map[string]any{"folderId": other.ID})})
		if y.verdict(to, api.OpApplied, ""); to.Entity.Bookmark.SortOrder != 3*api.SortGap {
			t.Errorf("a bookmark was moved to %+v", to.Entity.Bookmark)
		}
		gone := op(api.OpDelete, moved.Rev, nil)
		y.verdict(gone, api.OpApplied, "")
		for _, action := range []api.OpAction{api.OpUpdate, api.OpDelete} { // it is dead
			stale(op(action, gone.Rev, named))
		}
		// What an op finds of a folder holds only until another changes it.
		top := y.folder("top", "")
		rev := y.checkDigest().Head.Rev
		results, _ := y.push(api.ChangesPage{},
			api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: b.ID, BaseRev: to.Rev, Set: set(map[string]any{"folderId": top.ID})},
			api.Op{Action: api.OpUpdate, Type: api.TypeBookmark, ID: b.ID, BaseRev: rev + 1, Set: set(map[string]any{"folderId": ""})},
			api.Op{Action: api.OpDelete, Type: api.TypeFolder, ID: top.ID, BaseRev: rev},
			api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: y.ids.New(), Set: set(map[string]any{"folderId": top.ID})},
		)
		for i, status := range []api.OpStatus{api.OpApplied, api.OpApplied, api.OpApplied, api.OpStale} {
			if results[i].Status != status {
				t.Errorf("op %d is %s, want %s", i, results[i].Status, status)
			}
		}
		y.checkDigest()
	})
}

func TestAFoldersDeleteTakesOnlyWhatItKnewOf(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		a := y.folder("a", "")
		b := y.folder("b", a.ID)
		y.bookmark("known", b.ID)
		_, at := y.pull("", 0)
		late := y.bookmark("late", b.ID)
		remove := api.Op{Action: api.OpDelete, Type: api.TypeFolder, ID: a.ID, BaseRev: 1}
		y.verdict(y.one(at, remove), api.OpStale, "")
		_, at = y.pull(*at.Pagination.NextCursor, 0)
		gone := y.one(at, remove)
		y.verdict(gone, api.OpApplied, "")
		tombs, now := y.pull(*at.Pagination.NextCursor, 0)
		if len(tombs) != 4 || now.Head.Count != 0 || !tombs[0].Deleted {
			t.Errorf("the delete left %+v", tombs)
		}
		back := y.one(now, api.Op{Action: api.OpRestore, Type: api.TypeFolder, ID: a.ID, BaseRev: gone.Rev, Set: set(map[string]any{"name": "A"})})
		if y.verdict(back, api.OpApplied, ""); back.Entity.Folder.Name != "A" {
			t.Errorf("restored %+v", back.Entity)
		}
		if got := must[api.Bookmark](t)(y.Key.GetBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), late.ID)); got.FolderID != b.ID {
			t.Errorf("what it took came back as %+v", got)
		}
		y.checkDigest()
	})
}

// What is left of a row that was removed for good is its workspace's: nobody else
// can make it theirs by its id.
func TestATombstoneStaysWhereItIs(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		ctx := t.Context()
		eve := servertest.Join(t, y.server, "eve")
		second := must[api.Workspace](t)(y.JWT.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "second"}))
		b, f := y.bookmark("b", ""), y.folder("f", "")
		for range 2 { // into the trash, and for good
			if err := y.Key.DeleteBookmark(ctx, client.InWorkspace(y.Workspace.ID), b.ID); err != nil {
				t.Fatal(err)
			}
			if err := y.Key.DeleteFolder(ctx, y.Workspace.ID, f.ID); err != nil {
				t.Fatal(err)
			}
		}
		for where, by := range map[string]*client.Client{second.ID: y.Key, eve.Workspace.ID: eve.Key} {
			_, err := by.CreateBookmark(ctx, client.InWorkspace(where), api.BookmarkInput{ID: api.Some(b.ID), Title: api.Some("b")})
			refused(t, err, api.CodeConflict, "")
			_, err = by.CreateFolder(ctx, where, api.FolderInput{ID: api.Some(f.ID), Name: api.Some("f")})
			refused(t, err, api.CodeConflict, "")
			out := must[api.PushResponse](t)(by.Push(ctx, where, api.PushRequest{Ops: []api.Op{
				{OpID: y.ids.New(), Action: api.OpCreate, Type: api.TypeBookmark, ID: b.ID, Set: set(map[string]any{"title": "b"})},
				{OpID: y.ids.New(), Action: api.OpCreate, Type: api.TypeFolder, ID: f.ID, Set: set(map[string]any{"name": "f"})},
			}}))
			for _, r := range out.Results {
				y.verdict(r, api.OpRejected, "conflict")
			}
		}
		must[api.Bookmark](t)(y.Key.CreateBookmark(ctx, client.InWorkspace(y.Workspace.ID), api.BookmarkInput{ID: api.Some(b.ID), Title: api.Some("back")}))
		must[api.Folder](t)(y.Key.CreateFolder(ctx, y.Workspace.ID, api.FolderInput{ID: api.Some(f.ID), Name: api.Some("back")}))
		y.checkDigest()
	})
}

// A member that is a field's name in other letters is not the field, and is
// ignored as every unknown one.
func TestStrayNamesOfFields(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		id, folder := y.ids.New(), y.ids.New()
		for _, op := range []api.Op{
			{Action: api.OpCreate, Type: api.TypeBookmark, ID: id, Set: json.RawMessage(`{"url":"https://a.example/","title":"right","TITLE":"stray","Tags":["stray"],"\u0055RL":"stray","extra":{"TITLE":"kept"}}`)},
			{Action: api.OpCreate, Type: api.TypeFolder, ID: folder, Set: json.RawMessage(`{"NAME":"stray","name":"right","Name":"stray"}`)},
		} {
			y.verdict(y.one(api.ChangesPage{}, op), api.OpApplied, "")
		}
		b := must[api.Bookmark](t)(y.Key.GetBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), id))
		if b.Title != "right" || len(b.Tags) != 0 || b.URL != "https://a.example/" || b.Extra["TITLE"] != "kept" {
			t.Errorf("%+v", b)
		}
		if f := must[api.Folder](t)(y.Key.GetFolder(t.Context(), y.Workspace.ID, folder)); f.Name != "right" {
			t.Errorf("%+v", f)
		}
	})
}
