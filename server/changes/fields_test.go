package changes_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"bm/server/api"
	"bm/server/changes"
)

// An op that sets one field alone, whichever it is, changes the row and moves its
// rev; set to what it is, it does neither.
func TestAnOpOfEachField(t *testing.T) {
	each(t, func(t *testing.T, y *yard) {
		var none api.ChangesPage
		parent := y.folder("parent", "")
		fields := map[api.EntityType]map[string]any{
			api.TypeFolder: {
				"name": "other", "description": "described", "parentId": parent.ID, "sortOrder": 77,
				"createdAt": "2001-02-03T04:05:06.007Z", "extra": map[string]string{"PRIVATE": "1"},
			},
			api.TypeBookmark: {
				"url": "https://other.example", "title": "other", "description": "described", "tags": []string{"one", "two"}, "folderId": parent.ID,
				"sortOrder": 77, "createdAt": "2001-02-03T04:05:06.007Z", "snapshotEnabled": true, "extra": map[string]string{"PRIVATE": "1"},
				"readerExcerpt": "an excerpt", "videoEmbedUrl": "https://video.example/1",
			},
		}
		for kind, known := range changes.Fields() {
			for _, field := range known { // those of a request are no field of the row
				if _, tried := fields[kind][field]; !tried && !slices.Contains([]string{"id", "archiveCapture", "noticeVersion"}, field) {
					t.Errorf("%s.%s is not tried", kind, field)
				}
			}
		}
		for kind, values := range fields {
			id := y.ids.New()
			first := map[string]any{"url": "https://go.dev", "title": "Go"}
			if kind == api.TypeFolder {
				first = map[string]any{"name": "Folder"}
			}
			at := y.one(none, api.Op{Action: api.OpCreate, Type: kind, ID: id, Set: set(first)})
			y.verdict(at, api.OpApplied, "")
			for _, field := range slices.Sorted(maps.Keys(values)) {
				sets := map[string]any{field: values[field]}
				switch field { // a row that moves goes to the end, unless it is said to keep its order
				case "folderId":
					sets["sortOrder"] = at.Entity.Bookmark.SortOrder
				case "parentId":
					sets["sortOrder"] = at.Entity.Folder.SortOrder
				}
				op := api.Op{Action: api.OpUpdate, Type: kind, ID: id, BaseRev: at.Rev, Set: set(sets)}
				after := y.one(none, op)
				if y.verdict(after, api.OpApplied, ""); after.Rev <= at.Rev || !holds(t, after.Entity, field, values[field]) {
					t.Errorf("%s.%s: rev %d after %d, %+v", kind, field, after.Rev, at.Rev, after.Entity)
				}
				op.BaseRev = after.Rev
				at = y.one(none, op)
				if y.verdict(at, api.OpApplied, ""); at.Rev != after.Rev {
					t.Errorf("%s.%s, set to what it is: rev %d after %d", kind, field, at.Rev, after.Rev)
				}
			}
		}
		y.checkDigest()
	})
}

// holds reports whether a row shows a field as it was set.
func holds(t *testing.T, row *api.Change, field string, want any) bool {
	t.Helper()
	shown, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(shown), strings.Trim(string(set(map[string]any{field: want})), "{}"))
}
