package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bm/server/admin"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/rules"
	"bm/server/servertest"
)

// oddTags are spelled in ways that a database, JSON or a query could take for
// something else; some are the same tag.
var oddTags = []string{
	"go", "GO", "123", "0", "a,b", `","`, `"`, `\`, "%", "_", "x'y", "$1", "null", "[]", "-tag:x", "OR", "<&>", "a b", "a  b",
	"straße", "STRASSE", "ΣΊΣΥΦΟΣ", "σίσυφος", "İstanbul", "istanbul", "ﬀ", "Ꭰ", "ꭰ", "e\u0301", "\u00e9", "a\u2028b", "東京", "👩\u200d👩\u200d👧", "\u202eoff",
	strings.Repeat("\u0390", api.MaxTag), strings.Repeat("𝔘", api.MaxTag),
}

// Whatever a tag is spelled like, lists, counts and searches find by it who carries
// it, in its workspace alone, whatever happened to the bookmarks.
func TestWhoCarriesATagIsFoundByIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills a workspace with thousands")
	}
	servertest.Each(t, func(t *testing.T, s *servertest.Server) {
		ctx := t.Context()
		ada, eve := servertest.Join(t, s, "ada"), servertest.Join(t, s, "eve")
		other := must[api.Workspace](t)(ada.Key.CreateWorkspace(ctx, api.WorkspaceCreate{Name: "Other"}))
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		some := func() []string {
			tags := make([]string, rng.IntN(5))
			for i := range tags {
				tags[i] = oddTags[rng.IntN(len(oddTags))]
			}
			return tags
		}
		push := func(c *client.Client, workspaceID string, n int) {
			t.Helper()
			var in api.PushRequest
			for i := range n {
				set, err := json.Marshal(map[string]any{"title": fmt.Sprintf("pushed %d", i), "tags": some()})
				if err != nil {
					t.Fatal(err)
				}
				in.Ops = append(in.Ops, api.Op{OpID: newID(), Action: api.OpCreate, Type: api.TypeBookmark, ID: newID(), Set: set})
			}
			for _, result := range must[api.PushResponse](t)(c.Push(ctx, workspaceID, in)).Results {
				if result.Status != api.OpApplied {
					t.Fatalf("%+v", result)
				}
			}
		}
		// The same tags at once in three workspaces, of two organizations.
		push(eve.Key, eve.Workspace.ID, 60)
		push(ada.Key, ada.Workspace.ID, 60)
		push(ada.Key, other.ID, 60)
		for _, w := range []string{ada.Workspace.ID, other.ID} {
			must[api.Bookmark](t)(ada.Key.CreateBookmark(ctx, client.InWorkspace(w), api.BookmarkInput{Title: api.Some("all"), Tags: api.Some(oddTags)}))
		}
		look := func() {
			t.Helper()
			checkTags(t, ada.Key, ada.Workspace.ID)
			checkTags(t, ada.Key, other.ID)
			checkTags(t, eve.Key, eve.Workspace.ID)
			if findings, err := admin.Check(ctx, s.DB(), time.Now()); err != nil || len(findings) > 0 {
				t.Errorf("the check found %v, %v", findings, err)
			}
		}
		ids := func(workspaceID string) (list []string) {
			for _, b := range must[[]api.Bookmark](t)(ada.Key.ListBookmarks(ctx, client.InWorkspace(workspaceID), client.ListQuery{Limit: 200})) {
				list = append(list, b.ID)
			}
			return list
		}
		mine := ids(ada.Workspace.ID)
		must[int](t)(ada.Key.RenameTag(ctx, ada.Workspace.ID, api.TagRename{From: "GO", To: "Straße"}))
		must[int](t)(ada.Key.MergeTags(ctx, ada.Workspace.ID, api.TagMerge{From: []string{`","`, "東京", "null", "e\u0301"}, Into: "É"}))
		must[int](t)(ada.Key.DeleteByScope(ctx, ada.Workspace.ID, api.DeleteByScope{Scope: api.DeleteTag, Tag: api.Some("İstanbul"), Confirm: true}))
		must[api.Moved](t)(ada.Key.MoveBookmarks(ctx, other.ID, api.Move{IDs: ids(other.ID)[:20], WorkspaceID: api.Some(ada.Workspace.ID)}))
		for _, id := range mine[:20] {
			if _, err := ada.Key.UpdateBookmark(ctx, client.InWorkspace(ada.Workspace.ID), id, api.BookmarkInput{Tags: api.Some(some())}); err != nil && api.CodeOf(err) != api.CodeNotFound {
				t.Fatal(err)
			}
		}
		look()
		must[api.BulkDeleted](t)(ada.Key.BulkDelete(ctx, ada.Workspace.ID, mine))
		for _, id := range mine[30:] {
			must[api.Bookmark](t)(ada.Key.RestoreBookmark(ctx, ada.Workspace.ID, id))
		}
		look()
	})
}

// checkTags compares what is found by tags with what the bookmarks say.
func checkTags(t *testing.T, c *client.Client, workspaceID string) {
	t.Helper()
	ctx := t.Context()
	all := must[[]api.Bookmark](t)(c.ListBookmarks(ctx, client.InWorkspace(workspaceID), client.ListQuery{Limit: 200}))
	carriers := map[string][]string{}
	for _, b := range all {
		for _, tag := range b.Tags {
			carriers[rules.TagKey(tag)] = append(carriers[rules.TagKey(tag)], b.ID)
		}
	}
	counts := map[string]int{}
	for _, tag := range must[[]api.Tag](t)(c.ListTags(ctx, workspaceID)) {
		counts[rules.TagKey(tag.Name)] = tag.Count
	}
	want := map[string]int{}
	for key, ids := range carriers {
		want[key] = len(ids)
	}
	if !maps.Equal(counts, want) {
		t.Errorf("the tags are %v, want %v", counts, want)
	}
	has := func(id, tag string) bool { return slices.Contains(carriers[rules.TagKey(tag)], id) }
	expect := func(what api.BookmarkFilter, fits func(id string) bool) {
		t.Helper()
		var ids []string
		for _, b := range all {
			if fits(b.ID) {
				ids = append(ids, b.ID)
			}
		}
		sortBy := []string{"", "title", "url"}[len(ids)%3]
		if what.Query != "" && sortBy == "url" {
			sortBy = "relevance"
		}
		var found []string
		for _, b := range must[[]api.Bookmark](t)(c.ListBookmarks(ctx, client.InWorkspace(workspaceID), client.ListQuery{BookmarkFilter: what, SortBy: sortBy, Limit: 200})) {
			found = append(found, b.ID)
		}
		if slices.Sort(found); !slices.Equal(found, slices.Sorted(slices.Values(ids))) {
			t.Errorf("%+v by %q finds %d, want %d", what, sortBy, len(found), len(ids))
		}
		if n := must[int](t)(c.CountBookmarks(ctx, workspaceID, what)); n != len(ids) {
			t.Errorf("%+v counts %d, want %d", what, n, len(ids))
		}
	}
	for i, one := range append(oddTags, "of nobody") {
		two := oddTags[(i*7+3)%len(oddTags)]
		expect(api.BookmarkFilter{Tags: []string{one, two}[:1+i%2]}, func(id string) bool { return has(id, one) && (i%2 == 0 || has(id, two)) })
		if strings.ContainsAny(one+two, `"\`) {
			continue // a query has no way to say them
		}
		a, b := `tag:"`+one+`"`, `tag:"`+two+`"`
		switch i % 4 {
		case 0:
			expect(api.BookmarkFilter{Query: a + " -" + b}, func(id string) bool { return has(id, one) && !has(id, two) })
		case 1:
			expect(api.BookmarkFilter{Query: "-" + a}, func(id string) bool { return !has(id, one) })
		case 2:
			expect(api.BookmarkFilter{Query: a + " OR " + b}, func(id string) bool { return has(id, one) || has(id, two) })
		default:
			expect(api.BookmarkFilter{Query: "-(" + a + " OR -" + b + ")", Tags: []string{two}}, func(id string) bool { return !has(id, one) && has(id, two) })
		}
	}
}
