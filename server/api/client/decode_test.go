package client

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"bm/server/api"
)

// A page is read as encoding/json would read it.
func TestDecodeChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string { return []string{"", "x", "a \"b\" \\ \n", "Łódź ", "日本"}[random.IntN(5)] }
	at := func() api.Time {
		return []api.Time{{}, api.At(time.UnixMilli(random.Int64N(4e12)))}[random.IntN(2)]
	}
	extra := func() map[string]string {
		return []map[string]string{nil, {"A": text(), "B": text()}}[random.IntN(2)]
	}
	var page api.ChangesPage
	for range 300 {
		c := api.Change{Type: api.TypeBookmark, ID: text(), Rev: random.Int64N(1 << 53)}
		switch random.IntN(3) {
		case 0:
			c.Deleted = true
		case 1:
			c.Type = api.TypeFolder
			c.Folder = &api.Folder{
				ID: text(), TenantID: text(), WorkspaceID: text(), Name: text(), Description: text(), ParentID: text(),
				SortOrder: -random.Int64N(1 << 53), CreatedAt: at(), UpdatedAt: at(), Extra: extra(), DeletedAt: at(),
			}
		default:
			c.Bookmark = &api.Bookmark{
				ID: text(), TenantID: text(), WorkspaceID: text(), URL: text(), Title: text(), Description: text(),
				Tags: []string{text(), text()}[:random.IntN(3)], FolderID: text(), SortOrder: random.Int64N(9), CreatedAt: at(), UpdatedAt: at(),
				LinkStatus: api.LinkDead, LastLinkCheckedAt: at(), SnapshotEnabled: true, ReaderExcerpt: text(), VideoEmbedURL: text(),
				Archive: api.Archive{Status: api.ArchiveCaptured, RetentionExpiresAt: at(), MetadataID: text()}, Extra: extra(), DeletedAt: at(),
			}
		}
		page.Data = append(page.Data, c)
	}
	cursor := "next"
	page.Pagination = api.Pagination{NextCursor: &cursor, HasMore: true}
	page.Head = api.Head{Epoch: "e", Rev: 5, Digest: "0123456789abcdef", Count: 4, SharedRev: 3, PurgedRev: 2}
	raw, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	var want, got api.ChangesPage
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if err := decodeChanges(bytes.NewReader(raw), &got); err != nil {
		t.Fatal(err)
	}
	for i := range want.Data {
		if !reflect.DeepEqual(got.Data[i], want.Data[i]) {
			t.Fatalf("row %d is read as\n%+v\nwant\n%+v", i, got.Data[i], want.Data[i])
		}
	}
	if !reflect.DeepEqual(got.Head, want.Head) || !reflect.DeepEqual(got.Pagination, want.Pagination) {
		t.Errorf("the head is read as %+v %+v", got.Head, got.Pagination)
	}
}

func TestDecodeVerdicts(t *testing.T) {
	t.Parallel()
	want := api.PushResponse{
		Results: []api.OpResult{
			{OpID: "1", Status: api.OpApplied, Rev: 3, Entity: &api.Change{Type: api.TypeFolder, ID: "f", Rev: 3, Folder: &api.Folder{ID: "f", Name: "n"}}},
			{OpID: "2", Status: api.OpStale, Rev: 4, Entity: &api.Change{Type: api.TypeBookmark, ID: "b", Rev: 4, Deleted: true}},
			{OpID: "4", Status: api.OpApplied, Rev: 5, UpdatedAt: api.FromMicros(1_700_000_000_000_001)},
			{OpID: "3", Status: api.OpRejected, Error: &api.EnvelopeError{
				Code: api.CodeValidation, Message: "m", CorrelationID: "c", Details: []api.FieldError{{Field: "f", Message: "m"}},
			}},
		},
		Head: api.Head{Epoch: "e", Rev: 5, Digest: "0123456789abcdef", Count: 4, SharedRev: 3, PurgedRev: 2}, NextCursor: "c",
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got api.PushResponse
	if err := decodeVerdicts(bytes.NewReader(raw), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read as %+v, %v\nwant %+v", got, err, want)
	}
	for _, text := range []string{"", "{", `{"results":[{"rev":"x"}]}`, `{"results":[{"error":{"code":1}}]}`} {
		if err := decodeVerdicts(strings.NewReader(text), &got); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestDecodeChangesRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{", `{"data":[{"rev":"x"}]}`, `{"data":[{"type":1}]}`, `{"data":[{"bookmark":{"tags":"x"}}]}`, `{"data":[{"bookmark":{"tags":[1]}}]}`,
		`{"data":[{"folder":{"createdAt":"yesterday"}}]}`, `{"data":[{"folder":{"extra":{"A":1}}}]}`, `{"data":[{"deleted":"yes"}]}`,
		`{"data":[],"pagination":{"next_cursor":3}}`, `{"data":[],"head":{"rev":1.5}}`,
	} {
		var page api.ChangesPage
		if err := decodeChanges(strings.NewReader(text), &page); err == nil {
			t.Errorf("%s is read as %+v", text, page)
		}
	}
	var page api.ChangesPage
	if err := decodeChanges(strings.NewReader(`{"data":[],"pagination":{"next_cursor":null}}`), &page); err != nil || page.Pagination.NextCursor != nil {
		t.Errorf("no cursor is read as %+v, %v", page.Pagination, err)
	}
}
