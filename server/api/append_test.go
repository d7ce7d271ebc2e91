package api_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bm/server/api"
)

func standard(t *testing.T, v any) string {
	t.Helper()
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	parts := []string{
		"", "a", "<b>&", `"`, `\`, "\n", "\x00", "\x1f", "\x7f", "ł", "\u2028", "\u2029", "‐", "日本", "🚀",
		"\xff", "\xe2\x80", `\u003c`, `\\u003c`, "/",
	}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				text := a + b + c
				if got, want := string(api.AppendString(nil, text)), standard(t, text); got != want {
					t.Fatalf("%q is written %s, want %s", text, got, want)
				}
			}
		}
	}
}

func TestRowsAppendJSONAsTheStandardLibraryWouldWriteThem(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		return []string{"", "plain", "<a href=\"x\">", "Łódź\n", "\u2028", "日本語"}[random.IntN(6)]
	}
	at := func() api.Time {
		if random.IntN(2) == 0 {
			return api.Time{}
		}
		return api.At(time.Unix(random.Int64N(4e9), random.Int64N(1e9)))
	}
	extra := func() map[string]string {
		if random.IntN(2) == 0 {
			return nil
		}
		return map[string]string{"B": text(), "A": text()}
	}
	for range 500 {
		b := api.Bookmark{
			ID: text(), TenantID: text(), WorkspaceID: text(), URL: text(), Title: text(), Description: text(),
			Tags: []string{text(), text()}[:random.IntN(3)], FolderID: text(), SortOrder: random.Int64() - 1<<62, CreatedAt: at(),
			UpdatedAt: at(), LinkStatus: api.LinkStatus(text()), LastLinkCheckedAt: at(), SnapshotEnabled: random.IntN(2) == 0,
			ReaderExcerpt: text(), VideoEmbedURL: text(), Extra: extra(), DeletedAt: at(),
			Archive: api.Archive{Status: api.ArchiveStatus(text()), RetentionExpiresAt: at(), MetadataID: text()},
		}
		if got, want := string(b.AppendJSON(nil)), standard(t, b); got != want {
			t.Fatalf("a bookmark is written\n%s\nwant\n%s", got, want)
		}
		f := api.Folder{
			ID: text(), TenantID: text(), WorkspaceID: text(), Name: text(), Description: text(), ParentID: text(),
			SortOrder: random.Int64(), CreatedAt: at(), UpdatedAt: at(), Extra: extra(), DeletedAt: at(),
		}
		if got, want := string(f.AppendJSON(nil)), standard(t, f); got != want {
			t.Fatalf("a folder is written\n%s\nwant\n%s", got, want)
		}
	}
}

func TestAnswersOfTheChangeFeedAppendJSON(t *testing.T) {
	t.Parallel()
	cursor := "next"
	failure := &api.EnvelopeError{
		Code: api.CodeValidation, Message: "no", CorrelationID: "c", Details: []api.FieldError{{Field: "a", Message: "b"}, {Field: "c"}},
	}
	row := &api.Change{Type: api.TypeBookmark, ID: "x", Rev: 3, Bookmark: &api.Bookmark{ID: "x", Tags: []string{}}}
	for _, v := range []interface{ AppendJSON([]byte) []byte }{
		&api.Change{Type: api.TypeFolder, ID: "x", Rev: 7, Folder: &api.Folder{ID: "x"}},
		&api.Change{Type: api.TypeFolder, ID: "x", Rev: 7, Deleted: true},
		&api.Head{Epoch: "e", Rev: 1, Digest: "0", Count: 2, SharedRev: 3, PurgedRev: 4},
		&api.Pagination{}, &api.Pagination{NextCursor: &cursor, HasMore: true},
		&api.PushRequest{Ops: []api.Op{}},
		&api.PushRequest{Epoch: "e", Cursor: "<c>", Ops: []api.Op{
			{OpID: "1", Action: api.OpUpdate, Type: api.TypeFolder, ID: "x", BaseRev: 7, Set: json.RawMessage(`{"name":"\u0026"}`)},
			{OpID: "2", Action: api.OpDelete, Type: api.TypeBookmark, ID: "y"},
		}},
		&api.PushResponse{Results: []api.OpResult{}, NextCursor: "c"},
		&api.PushResponse{Results: []api.OpResult{
			{OpID: "1", Status: api.OpApplied, Rev: 3, Entity: row},
			{OpID: "2", Status: api.OpRejected, Error: failure},
			{OpID: "4", Status: api.OpApplied, Rev: 4, UpdatedAt: api.At(time.Unix(1_700_000_000, 1000))},
			{OpID: "3", Status: api.OpStale, Error: &api.EnvelopeError{Code: api.CodeConflict}},
		}},
	} {
		if got, want := string(v.AppendJSON(nil)), standard(t, v); got != want {
			t.Errorf("%T is written\n%s\nwant\n%s", v, got, want)
		}
	}
}

func BenchmarkAppendBookmark(b *testing.B) {
	row := api.Bookmark{
		ID: "01920000-0000-7000-8000-000000000000", TenantID: "01920000-0000-7000-8000-000000000000", WorkspaceID: "01920000-0000-7000-8000-000000000000",
		URL: "https://go.dev/doc/effective_go", Title: "Effective Go", Description: "How to write clear, idiomatic Go", Tags: []string{"go", "style"},
		CreatedAt: api.At(time.Unix(1, 0)), UpdatedAt: api.At(time.Unix(2, 0)), LinkStatus: api.LinkUnknown, Archive: api.Archive{Status: api.ArchiveNone},
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = row.AppendJSON(dst[:0])
	}
}
