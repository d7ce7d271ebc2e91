package folders_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
	"bm/server/servertest"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused(t *testing.T, err error, code api.Code, about string) {
	t.Helper()
	if api.CodeOf(err) != code || !strings.Contains(err.Error(), about) {
		t.Errorf("got %v, want %s about %q", err, code, about)
	}
}

// yard is a workspace with one who works in it.
type yard struct {
	t *testing.T
	*servertest.Person
}

func (y yard) make(name, parent string) api.Folder {
	y.t.Helper()
	return must[api.Folder](y.t)(y.Key.CreateFolder(y.t.Context(), y.Workspace.ID, api.FolderInput{Name: api.Some(name), ParentID: api.Some(parent)}))
}

func (y yard) add(title, folderID string) api.Bookmark {
	y.t.Helper()
	in := api.BookmarkInput{Title: api.Some(title), FolderID: api.Some(folderID)}
	return must[api.Bookmark](y.t)(y.Key.CreateBookmark(y.t.Context(), client.InWorkspace(y.Workspace.ID), in))
}

// tree is all that lives, as paths.
func (y yard) tree() string {
	y.t.Helper()
	folders := must[[]api.Folder](y.t)(y.Key.ListFolders(y.t.Context(), y.Workspace.ID, false))
	byID := map[string]api.Folder{}
	for _, f := range folders {
		byID[f.ID] = f
	}
	var path func(id string) string
	path = func(id string) string {
		if id == "" {
			return ""
		}
		f, ok := byID[id]
		if !ok {
			y.t.Fatalf("%s is below a folder that does not live", id)
		}
		return path(f.ParentID) + f.Name + "/"
	}
	var all []string
	for _, f := range folders {
		all = append(all, path(f.ID))
	}
	for _, b := range must[[]api.Bookmark](y.t)(y.Key.ListBookmarks(y.t.Context(), client.InWorkspace(y.Workspace.ID), client.ListQuery{Limit: 200})) {
		all = append(all, path(b.FolderID)+b.Title)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func each(t *testing.T, test func(t *testing.T, y yard)) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) { test(t, yard{t, servertest.Join(t, s, "ada")}) })
}

func TestAFoldersLife(t *testing.T) {
	each(t, func(t *testing.T, y yard) {
		ctx, id := t.Context(), y.Workspace.ID
		top := y.make(" Dev ", "")
		if top.Name != "Dev" || top.ParentID != "" || top.SortOrder != api.SortGap || top.TenantID != y.Workspace.TenantID || top.WorkspaceID != id {
			t.Errorf("made %+v", top)
		}
		second := y.make("Dev", "") // two of one name may be
		if second.SortOrder != 2*api.SortGap {
			t.Errorf("the second is at %d", second.SortOrder)
		}
		below := y.make("Go", top.ID)
		if got := must[api.Folder](t)(y.Key.GetFolder(ctx, id, below.ID)); fmt.Sprint(got) != fmt.Sprint(below) {
			t.Errorf("read back %+v of %+v", got, below)
		}
		changed := must[api.Folder](t)(y.Key.UpdateFolder(ctx, id, below.ID, api.FolderInput{
			Name: api.Some("Golang"), Description: api.Some("about"), ParentID: api.Clear[string](), Extra: api.Some(map[string]string{"X": "1"}),
		}))
		if changed.Name != "Golang" || changed.Description != "about" || changed.ParentID != "" || changed.SortOrder != 3*api.SortGap || changed.Extra["X"] != "1" {
			t.Errorf("changed to %+v", changed)
		}
		if list := must[[]api.Folder](t)(y.Key.ListFolders(ctx, id, false)); len(list) != 3 || list[0].ID != below.ID || list[2].ID != top.ID {
			t.Errorf("newest first: %+v", list)
		}
		for about, in := range map[string]api.FolderInput{
			"body.name":        {Name: api.Some("  ")},
			"body.parentId":    {ParentID: api.Some("01920000-0000-7000-8000-00000000000a")},
			"body.description": {Description: api.Some(strings.Repeat("x", api.MaxNote+1))},
		} {
			_, err := y.Key.UpdateFolder(ctx, id, below.ID, in)
			refused(t, err, api.CodeValidation, about)
		}
		_, err := y.Key.CreateFolder(ctx, id, api.FolderInput{})
		refused(t, err, api.CodeValidation, "body.name")
	})
}

func TestATreeStaysATree(t *testing.T) {
	each(t, func(t *testing.T, y yard) {
		ctx, id := t.Context(), y.Workspace.ID
		a := y.make("a", "")
		b := y.make("b", a.ID)
		c := y.make("c", b.ID)
		for _, parent := range []string{a.ID, b.ID, c.ID} {
			_, err := y.Key.UpdateFolder(ctx, id, a.ID, api.FolderInput{ParentID: api.Some(parent)})
			refused(t, err, api.CodeConflict, "below itself")
		}
		deepest := ""
		for range api.MaxTreeDepth {
			deepest = y.make("d", deepest).ID
		}
		_, err := y.Key.CreateFolder(ctx, id, api.FolderInput{Name: api.Some("too deep"), ParentID: api.Some(deepest)})
		refused(t, err, api.CodeValidation, "body.parentId")
		_, err = y.Key.UpdateFolder(ctx, id, a.ID, api.FolderInput{ParentID: api.Some(must[api.Folder](t)(y.Key.GetFolder(ctx, id, deepest)).ParentID)})
		refused(t, err, api.CodeValidation, "body.parentId")
		y.add("at the bottom", deepest)
	})
}

func TestDeletingAndRestoring(t *testing.T) {
	each(t, func(t *testing.T, y yard) {
		ctx, id := t.Context(), y.Workspace.ID
		place := client.InWorkspace(id)
		a := y.make("a", "")
		b := y.make("b", a.ID)
		y.add("in-a", a.ID)
		early := y.add("early", b.ID)
		y.add("in-b", b.ID)
		y.add("out", "")
		whole := y.tree()
		if err := y.Key.DeleteBookmark(ctx, place, early.ID); err != nil {
			t.Fatal(err)
		}
		if err := y.Key.DeleteFolder(ctx, id, a.ID); err != nil {
			t.Fatal(err)
		}
		if got := y.tree(); got != "out" {
			t.Errorf("left %q", got)
		}
		if trash := must[[]api.Folder](t)(y.Key.ListFolders(ctx, id, true)); len(trash) != 2 || trash[0].DeletedAt.IsZero() {
			t.Errorf("the trash holds %+v", trash)
		}
		_, err := y.Key.GetFolder(ctx, id, b.ID)
		refused(t, err, api.CodeNotFound, "folder")
		_, err = y.Key.UpdateFolder(ctx, id, b.ID, api.FolderInput{Name: api.Some("x")})
		refused(t, err, api.CodeNotFound, "folder")
		_, err = y.Key.CreateBookmark(ctx, place, api.BookmarkInput{FolderID: api.Some(b.ID)})
		refused(t, err, api.CodeValidation, "body.folderId")
		_, err = y.Key.CreateFolder(ctx, id, api.FolderInput{Name: api.Some("x"), ParentID: api.Some(a.ID)})
		refused(t, err, api.CodeValidation, "body.parentId")

		// A restore brings back what that deletion took, and nothing else.
		must[api.Folder](t)(y.Key.RestoreFolder(ctx, id, a.ID))
		if got, want := y.tree(), strings.Replace(whole, "a/b/early ", "", 1); got != want {
			t.Errorf("restored %q, want %q", got, want)
		}
		must[api.Bookmark](t)(y.Key.RestoreBookmark(ctx, id, early.ID))
		if got := y.tree(); got != whole {
			t.Errorf("restored %q, want %q", got, whole)
		}

		// The inner folder was deleted first, and comes back at the nearest
		// folder that lives.
		for _, folder := range []string{b.ID, a.ID} {
			if err := y.Key.DeleteFolder(ctx, id, folder); err != nil {
				t.Fatal(err)
			}
		}
		must[api.Folder](t)(y.Key.RestoreFolder(ctx, id, b.ID))
		if got := y.tree(); got != "b/ b/early b/in-b out" {
			t.Errorf("the inner one alone: %q", got)
		}
		// What is deleted twice is gone for good, with what went with it.
		if err := y.Key.DeleteFolder(ctx, id, a.ID); err != nil {
			t.Fatal(err)
		}
		_, err = y.Key.RestoreFolder(ctx, id, a.ID)
		refused(t, err, api.CodeNotFound, "folder")
		if trash := must[[]api.Bookmark](t)(y.Key.ListBookmarks(ctx, place, client.ListQuery{BookmarkFilter: api.BookmarkFilter{FilterStatus: "deleted"}})); len(trash) != 0 {
			t.Errorf("what the folder held is still there: %+v", trash)
		}
		if trash := must[[]api.Folder](t)(y.Key.ListFolders(ctx, id, true)); len(trash) != 0 {
			t.Errorf("it is still in the trash: %+v", trash)
		}
	})
}

// What was deleted before a folder, out of it, stays deleted when that comes back.
func TestARestoreLeavesWhatWasDeletedBefore(t *testing.T) {
	each(t, func(t *testing.T, y yard) {
		ctx, id := t.Context(), y.Workspace.ID
		outer := y.make("outer", "")
		before := y.make("before", outer.ID)
		y.add("in-before", before.ID)
		y.make("with", outer.ID)
		for _, folder := range []string{before.ID, outer.ID} {
			if err := y.Key.DeleteFolder(ctx, id, folder); err != nil {
				t.Fatal(err)
			}
		}
		must[api.Folder](t)(y.Key.RestoreFolder(ctx, id, outer.ID))
		if got := y.tree(); got != "outer/ outer/with/" {
			t.Errorf("restored %q", got)
		}
		must[api.Folder](t)(y.Key.RestoreFolder(ctx, id, before.ID))
		if got := y.tree(); got != "outer/ outer/before/ outer/before/in-before outer/with/" {
			t.Errorf("and then %q", got)
		}
	})
}

// A create that is sent again answers the folder that it made for as long as that
// is there.
func TestACreateOfWhatWasDeletedSince(t *testing.T) {
	each(t, func(t *testing.T, y yard) {
		ctx, id := t.Context(), y.Workspace.ID
		in := api.FolderInput{ID: api.Some("01920000-0000-7000-8000-0000000000f1"), Name: api.Some("made")}
		made := must[api.Folder](t)(y.Key.CreateFolder(ctx, id, in))
		if again := must[api.Folder](t)(y.Key.CreateFolder(ctx, id, in)); again.ID != made.ID {
			t.Errorf("again it is %+v", again)
		}
		if err := y.Key.DeleteFolder(ctx, id, made.ID); err != nil {
			t.Fatal(err)
		}
		_, err := y.Key.CreateFolder(ctx, id, in)
		refused(t, err, api.CodeConflict, "")
		if got := y.tree(); got != "" {
			t.Errorf("there is %q", got)
		}
	})
}

func TestAnotherTenantsFolder(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx := t.Context()
		ada, bob := yard{t, servertest.Join(t, s, "ada")}, yard{t, servertest.Join(t, s, "bob")}
		theirs := bob.make("theirs", "")
		const unknown = "01920000-0000-7000-8000-00000000000a"
		for _, ask := range []func(id string) error{
			func(id string) error { _, err := ada.Key.GetFolder(ctx, ada.Workspace.ID, id); return err },
			func(id string) error { return ada.Key.DeleteFolder(ctx, ada.Workspace.ID, id) },
			func(id string) error { _, err := ada.Key.RestoreFolder(ctx, ada.Workspace.ID, id); return err },
			func(id string) error {
				_, err := ada.Key.UpdateFolder(ctx, ada.Workspace.ID, id, api.FolderInput{Name: api.Some("x")})
				return err
			},
		} {
			one, other := ask(theirs.ID), ask(unknown)
			if api.CodeOf(one) != api.CodeNotFound || one.Error() != other.Error() {
				t.Errorf("theirs: %v; unknown: %v", one, other)
			}
		}
		_, err := ada.Key.CreateFolder(ctx, ada.Workspace.ID, api.FolderInput{Name: api.Some("x"), ParentID: api.Some(theirs.ID)})
		refused(t, err, api.CodeValidation, "body.parentId")
		if got := bob.tree(); got != "theirs/" {
			t.Errorf("the other has %q", got)
		}
	})
}

// An edit that was made on another state of the folder changes nothing.
func TestAFolderThatChangedMeanwhile(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx, y := t.Context(), yard{t, servertest.Join(t, s, "ada")}
		id := y.make("Dev", "").ID
		tag := func() string {
			t.Helper()
			answer, err := y.Key.Raw(ctx, http.MethodGet, "/workspaces/"+y.Workspace.ID+"/folders/"+id, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			return answer.Header.Get("ETag")
		}
		named := func(name string, state string) error {
			_, err := y.Key.UpdateFolder(ctx, y.Workspace.ID, id, api.FolderInput{Name: api.Some(name)}, client.IfMatch(state))
			return err
		}
		first := tag()
		if err := named("Go", first); err != nil || tag() == first || first == "" {
			t.Errorf("renamed on the state %q, now %q: %v", first, tag(), err)
		}
		refused(t, named("lost update", first), api.CodePreconditionFailed, "changed")
		refused(t, y.Key.DeleteFolder(ctx, y.Workspace.ID, id, client.IfMatch(first)), api.CodePreconditionFailed, "changed")
		if f := must[api.Folder](t)(y.Key.GetFolder(ctx, y.Workspace.ID, id)); f.Name != "Go" {
			t.Errorf("it is called %q", f.Name)
		}
		if err := y.Key.DeleteFolder(ctx, y.Workspace.ID, id, client.IfMatch(tag())); err != nil {
			t.Errorf("deleted as it is: %v", err)
		}
	})
}
