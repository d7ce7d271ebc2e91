package changes_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/api/client"
)

// pushAs sends one op with a Prefer header of the test's own.
func (y *yard) pushAs(prefer string, op api.Op) api.OpResult {
	y.t.Helper()
	op.OpID = y.ids.New()
	body, err := json.Marshal(api.PushRequest{Ops: []api.Op{op}})
	if err != nil {
		y.t.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if prefer != "" {
		header.Set("Prefer", prefer)
	}
	answer, err := y.Key.Raw(y.t.Context(), http.MethodPost, "/workspaces/"+y.Workspace.ID+"/changes", header, bytes.NewReader(body))
	if err != nil {
		y.t.Fatal(err)
	}
	defer answer.Body.Close()
	var out api.PushResponse
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		y.t.Fatal(err)
	}
	return out.Results[0]
}

// Whoever asks for it is not told what it has just said; everybody else is, and
// nobody is left without what the server made of it.
func TestAnEntityIsLeftOutWhereItIsWhatWasSet(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		plain := map[string]any{
			"url": "https://go.dev/", "title": "Go", "description": "a\nb", "tags": []string{"go", "A b"}, "folderId": y.folder("f", "").ID,
			"sortOrder": 5, "createdAt": "2001-02-03T04:05:06.123Z", "snapshotEnabled": true, "extra": map[string]string{"LAST_VISIT": "7"},
		}
		create := func(prefer string, change map[string]any) (api.OpResult, *api.Bookmark) {
			t.Helper()
			in := maps.Clone(plain)
			maps.Copy(in, change)
			maps.DeleteFunc(in, func(_ string, value any) bool { return value == "absent" })
			id := y.ids.New()
			result := y.pushAs(prefer, api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: id, Set: set(in)})
			y.verdict(result, api.OpApplied, "")
			there := must[api.Bookmark](t)(y.Key.GetBookmark(t.Context(), client.InWorkspace(y.Workspace.ID), id))
			return result, &there
		}
		for _, prefer := range []string{"return=minimal", `wait=3, Return = "minimal"; x`} {
			result, there := create(prefer, nil)
			if result.Entity != nil || result.Rev == 0 || !result.UpdatedAt.Equal(there.UpdatedAt.Time) {
				t.Errorf("with %s: %+v, and there is %+v", prefer, result, there)
			}
		}
		for _, prefer := range []string{"", "return=representation", "minimal", "x=return=minimal"} {
			result, there := create(prefer, nil)
			if result.Entity == nil || result.Entity.Bookmark.ID != there.ID || !result.UpdatedAt.IsZero() {
				t.Errorf("with %q: %+v", prefer, result)
			}
		}
		for name, change := range map[string]map[string]any{
			"an URL is trimmed": {"url": " https://go.dev/ "}, "a title is trimmed": {"title": "Go "}, "a title is cut": {"title": strings.Repeat("t", api.MaxTitle+1)},
			"a description is cut": {"description": strings.Repeat("d", api.MaxDescription+1)}, "an excerpt is cut": {"readerExcerpt": strings.Repeat("e", api.MaxReaderExcerpt+1)}, "a title is made up": {"title": "", "url": ""},
			"a tag is trimmed": {"tags": []string{"go "}}, "a tag comes twice": {"tags": []string{"go", "GO"}}, "a tag is empty": {"tags": []string{""}},
			"a place is chosen": {"sortOrder": "absent"}, "a place is cleared": {"sortOrder": nil}, "a place is far": {"sortOrder": 1 << 60},
			"a date is chosen": {"createdAt": "absent"}, "a date is cleared": {"createdAt": nil},
			"a date is cut": {"createdAt": "2001-02-03T04:05:06.123456Z"}, "a date is moved": {"createdAt": "1970-01-01T00:00:00.000Z"},
			"a date is cut to what a tag says": {"createdAt": "2001-02-03T04:05:06.123456Z", "tags": []string{"2001-02-03T04:05:06.123Z"}},
			"an attribute is dropped":          {"extra": map[string]string{"no name": "x"}}, "a video is dropped": {"videoEmbedUrl": "ftp://x.test"},
		} {
			if result, _ := create("return=minimal", change); result.Entity == nil {
				t.Errorf("where %s, the entity is left out", name)
			}
		}
		for _, change := range []map[string]any{
			{"tags": "absent"}, {"tags": nil}, {"description": nil}, {"folderId": "absent"}, {"extra": map[string]string{}}, {"sortOrder": 0}, {"title": ""},
		} {
			if result, there := create("return=minimal", change); result.Entity != nil {
				t.Errorf("with %v the entity is there, though it is what was set: %+v", change, there)
			}
		}
		_, there := create("", nil)
		stale := y.pushAs("return=minimal", api.Op{Action: api.OpCreate, Type: api.TypeBookmark, ID: there.ID, Set: set(plain)})
		if y.verdict(stale, api.OpStale, ""); stale.Entity == nil {
			t.Error("a stale create has no entity")
		}
		folder := y.pushAs("return=minimal", api.Op{Action: api.OpCreate, Type: api.TypeFolder, ID: y.ids.New(), Set: set(map[string]any{
			"name": "f", "sortOrder": 1, "createdAt": "2001-02-03T04:05:06Z",
		})})
		if y.verdict(folder, api.OpApplied, ""); folder.Entity == nil {
			t.Error("a folder has no entity")
		}
	})
}
