package exchange_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/exchange/exchangetest"
	"bm/server/api/rules"
)

// node is a folder or bookmark with all that an export must keep.
type node struct {
	Kind                    exchange.Kind
	Path                    string // of the folder: positions, not names, which may be equal
	Title, URL, Description string
	Tags                    []string
	CreatedAt               time.Time
	Extra                   map[string]string
}

// fromEntries is what a file holds.
func fromEntries(entries []*exchange.Entry) []node {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b *exchange.Entry) int { return cmp.Compare(a.Order, b.Order) })
	children := map[int][]*exchange.Entry{}
	for _, e := range entries {
		children[e.Parent] = append(children[e.Parent], e)
	}
	var out []node
	var walk func(parent int, path string)
	walk = func(parent int, path string) {
		for i, e := range children[parent] {
			at := fmt.Sprintf("%s/%d", path, i)
			out = append(out, node{e.Kind, at, e.Title, e.URL, e.Description, slices.Clip(e.Tags), e.CreatedAt, e.Extra})
			if e.Kind == exchange.Folder {
				walk(e.Number, at)
			}
		}
	}
	walk(exchange.Root, "")
	return out
}

// fromSource is what an export holds.
func fromSource(c *exchangetest.Collection) []node {
	type item struct {
		order  int64
		folder *api.Folder
		mark   *api.Bookmark
	}
	children := map[string][]item{}
	for i := range c.Folders {
		f := &c.Folders[i]
		children[f.ParentID] = append(children[f.ParentID], item{f.SortOrder, f, nil})
	}
	for i := range c.Bookmarks {
		b := &c.Bookmarks[i]
		children[b.FolderID] = append(children[b.FolderID], item{b.SortOrder, nil, b})
	}
	var out []node
	var walk func(id, path string)
	walk = func(id, path string) {
		slices.SortStableFunc(children[id], func(a, b item) int { return cmp.Compare(a.order, b.order) })
		for i, it := range children[id] {
			at := fmt.Sprintf("%s/%d", path, i)
			if f := it.folder; f != nil {
				out = append(out, node{exchange.Folder, at, f.Name, "", f.Description, nil, f.CreatedAt.Time, f.Extra})
				walk(f.ID, at)
				continue
			}
			b := it.mark
			out = append(out, node{exchange.Bookmark, at, b.Title, b.URL, b.Description, b.Tags, b.CreatedAt.Time, b.Extra})
		}
	}
	walk("", "")
	return out
}

// anyText draws texts that formats stumble over.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringN(0, 40, 120),
		rapid.StringOf(rapid.SampledFrom([]rune("ab <>&\"'=/\\;#\r\n\t,|é漢😀\u00a0\u0085\u2028\u200d"))),
		rapid.SampledFrom([]string{
			"<script>alert(1)</script>", "&amp;lt;", "</A><DT>", "<!-- x", "<DD>", "]]>", "<title>", "a,b", "two words", "-", "%3C", "&#13;", "&copy",
			"x\n    y\n\n  z", "line one\r\nline two", "</textarea", "<plaintext>", "\ufeff", "NULL", "\x1b[31m", "\ufffe\x01\\u0001", "&nbsp;", `{"a":1}`,
		}),
	)
}

// anyCollection draws what can be in a workspace: in normal form, within the
// limits, its folders a tree.
func anyCollection(t *rapid.T) *exchangetest.Collection {
	c := &exchangetest.Collection{}
	date := func() api.Time {
		return api.At(time.UnixMilli(rapid.OneOf(
			rapid.Int64Range(1, 4_102_444_800_000), rapid.Int64Range(-62_000_000_000_000, 253_000_000_000_000),
			rapid.Map(rapid.Int64Range(1, 4_102_444_800), func(s int64) int64 { return s * 1000 }),
		).Draw(t, "date")))
	}
	extra := func() map[string]string {
		if rapid.IntRange(0, 3).Draw(t, "has extra") > 0 {
			return nil
		}
		return rapid.MapOfN(rapid.OneOf(
			rapid.StringMatching(`[A-Z][A-Z0-9_-]{0,31}`),
			rapid.SampledFrom([]string{"PRIVATE", "LABELS", "DESCRIPTION", "TIME_ADDED", "FOLDED", "ICON_URI"}),
		).Filter(rules.ValidExtraName), anyText(), 1, 4).Draw(t, "extra")
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "folders") {
		in := api.FolderInput{Name: api.Some(anyText().Draw(t, "name")), Description: api.Some(anyText().Draw(t, "about")), Extra: api.Some(extra())}
		rules.CutFolder(&in)
		f := api.Folder{ID: fmt.Sprintf("f%d", i), Name: in.Name.Value, Description: in.Description.Value, Extra: in.Extra.Value, CreatedAt: date(), UpdatedAt: date(), SortOrder: int64(i) * 7}
		if parent := rapid.IntRange(-1, i-1).Draw(t, "parent"); parent >= 0 {
			f.ParentID = c.Folders[parent].ID
		}
		c.Folders = append(c.Folders, f)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "bookmarks") {
		in := api.BookmarkInput{
			URL: api.Some(anyText().Draw(t, "url")), Title: api.Some(anyText().Draw(t, "title")), Description: api.Some(anyText().Draw(t, "description")),
			Tags: api.Some(rapid.SliceOfN(anyText(), 0, 4).Draw(t, "tags")), Extra: api.Some(extra()),
		}
		if _, bad := rules.CutBookmark(&in); bad != nil {
			t.Skip("too long")
		}
		b := api.Bookmark{
			ID: fmt.Sprintf("b%d", i), URL: in.URL.Value, Title: in.Title.Value, Description: in.Description.Value, Tags: in.Tags.Value,
			Extra: in.Extra.Value, CreatedAt: date(), UpdatedAt: date(), SortOrder: int64(i)*5 + 1,
		}
		if at := rapid.IntRange(-1, len(c.Folders)-1).Draw(t, "folder"); at >= 0 {
			b.FolderID = c.Folders[at].ID
		}
		c.Bookmarks = append(c.Bookmarks, b)
	}
	slices.SortStableFunc(c.Bookmarks, func(a, b api.Bookmark) int { return cmp.Compare(a.FolderID, b.FolderID) })
	return c
}

func all(bookmarks []api.Bookmark) iter.Seq2[*api.Bookmark, error] {
	return func(yield func(*api.Bookmark, error) bool) {
		for i := range bookmarks {
			if !yield(&bookmarks[i], nil) {
				return
			}
		}
	}
}

var writers = map[string]func(io.Writer, *exchangetest.Collection) error{
	"HTML": func(w io.Writer, c *exchangetest.Collection) error { return exchange.WriteHTML(w, c.Source()) },
	"CSV":  func(w io.Writer, c *exchangetest.Collection) error { return exchange.WriteCSV(w, c.Source()) },
	"JSON": func(w io.Writer, c *exchangetest.Collection) error {
		return exchange.WriteJSON(w, api.Time{}, api.Workspace{ID: "w"}, c.Folders, all(c.Bookmarks))
	},
	"XBEL": func(w io.Writer, c *exchangetest.Collection) error { return exchange.WriteXBEL(w, c.Source()) },
}

// What is exported is imported unchanged.
func TestExportIsReadBackUnchanged(t *testing.T) {
	for name, write := range writers {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			c := anyCollection(t)
			var file bytes.Buffer
			if err := write(&file, c); err != nil {
				t.Fatal(err)
			}
			reader, err := exchange.NewReader(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			var entries []*exchange.Entry
			for e, err := range reader.All() {
				if err != nil {
					t.Fatal(err)
				}
				if len(e.Issues) > 0 || e.Broken != nil {
					t.Fatalf("%+v", e)
				}
				entries = append(entries, e)
			}
			got, want := fromEntries(entries), fromSource(c)
			if len(got) != len(want) {
				t.Fatalf("%d nodes, want %d\n%s", len(got), len(want), file.String())
			}
			for i := range got {
				if !same(got[i], want[i]) {
					t.Fatalf("\n got %+q\nwant %+q\n%s", got[i], want[i], file.String())
				}
			}
		}))
	}
}

func same(a, b node) bool {
	if len(a.Tags) == 0 && len(b.Tags) == 0 {
		a.Tags, b.Tags = nil, nil
	}
	if len(a.Extra) == 0 && len(b.Extra) == 0 {
		a.Extra, b.Extra = nil, nil
	}
	equal := a.CreatedAt.Equal(b.CreatedAt)
	a.CreatedAt, b.CreatedAt = time.Time{}, time.Time{}
	return equal && reflect.DeepEqual(a, b)
}

func TestWriteHTML(t *testing.T) {
	at := api.At(time.Date(2016, 2, 25, 20, 55, 48, 123e6, time.UTC))
	c := exchangetest.Collection{
		Folders: []api.Folder{
			{ID: "1", Name: "F & G", Description: "about <f>", SortOrder: 2, CreatedAt: at, UpdatedAt: at, Extra: map[string]string{"FOLDED": ""}},
			{ID: "2", Name: "Lost", ParentID: "gone", SortOrder: 9},
			{ID: "3", Name: "Circle", ParentID: "4", SortOrder: 10},
			{ID: "4", Name: "Round", ParentID: "3", SortOrder: 11},
		},
		Bookmarks: []api.Bookmark{
			{URL: "https://go.dev/?a=1&b=\"2\"", Title: "Go", SortOrder: 1, CreatedAt: api.At(at.Truncate(time.Second)), Tags: []string{"x", "two words"}},
			{URL: "?x", Title: "<A>", SortOrder: 3, Description: "one\ntwo", Tags: []string{"a,b"}},
			{URL: "b", Title: "B", FolderID: "1"},
		},
	}
	var file strings.Builder
	if err := exchange.WriteHTML(&file, c.Source()); err != nil {
		t.Fatal(err)
	}
	const want = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
    <DT><A HREF="https://go.dev/?a=1&amp;b=&quot;2&quot;" ADD_DATE="1456433748" TAGS="x,two words">Go</A>
    <DT><H3 ADD_DATE="1456433748" ADD_DATE_MS="1456433748123" LAST_MODIFIED="1456433748" FOLDED="">F &amp; G</H3>
    <DD>about &lt;f&gt;
    <DL><p>
        <DT><A HREF="b">B</A>
    </DL><p>
    <DT><A HREF="?x" TAGS="a,b" TAGS_JSON="[&quot;a,b&quot;]">&lt;A&gt;</A>
    <DD>one
two
    <DT><H3>Lost</H3>
    <DL><p>
    </DL><p>
    <DT><H3>Circle</H3>
    <DL><p>
        <DT><H3>Round</H3>
        <DL><p>
        </DL><p>
    </DL><p>
</DL><p>
`
	if file.String() != want {
		t.Errorf("\n got %s\nwant %s", file.String(), want)
	}
}

func TestExportStopsAtAnError(t *testing.T) {
	bad := io.ErrNoProgress
	failing := func(yield func(*api.Bookmark, error) bool) { yield(nil, bad) }
	err := exchange.WriteHTML(io.Discard, exchange.Source{Bookmarks: func(string) iter.Seq2[*api.Bookmark, error] { return failing }})
	if err == nil || !strings.Contains(err.Error(), bad.Error()) {
		t.Errorf("HTML: %v", err)
	}
	err = exchange.WriteXBEL(io.Discard, exchange.Source{Bookmarks: func(string) iter.Seq2[*api.Bookmark, error] { return failing }})
	if err == nil || !strings.Contains(err.Error(), bad.Error()) {
		t.Errorf("XBEL: %v", err)
	}
	if err := exchange.WriteJSON(io.Discard, api.Time{}, api.Workspace{}, nil, failing); err == nil || !strings.Contains(err.Error(), bad.Error()) {
		t.Errorf("JSON: %v", err)
	}
	for name, write := range writers {
		if err := write(full{}, exchangetest.Make(1, 5000)); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s to a full disk: %v", name, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// What a reader of Markdown makes of the list is what was kept: no text of a
// bookmark is taken for markup, and only web pages are links.
func TestWriteMarkdown(t *testing.T) {
	c := exchangetest.Collection{
		Folders: []api.Folder{{ID: "1", Name: "F & *G*", Description: "about <f>\nand more\n\nat length", SortOrder: 2}},
		Bookmarks: []api.Bookmark{
			{URL: "https://go.dev/(a)?b=<c> d", Title: "Go [1] <script>", SortOrder: 1, Tags: []string{"x", "`y"}},
			{URL: "javascript:alert(`1`)", Title: "A [bookmarklet](x)", SortOrder: 3},
			{Title: "1. No URL", SortOrder: 4},
			{URL: "https://b.example/", Title: "B", FolderID: "1", Description: "- no list"},
		},
	}
	var file strings.Builder
	if err := exchange.WriteMarkdown(&file, c.Source()); err != nil {
		t.Fatal(err)
	}
	const want = "# Bookmarks\n\n" +
		"- [Go \\[1\\] \\<script\\>](<https://go.dev/(a)?b=%3Cc%3E d>) `x` `` `y ``\n" +
		"- **F &amp; \\*G\\***\n\n  about \\<f\\>\\\n  and more\n\n  at length\n\n" +
		"  - [B](<https://b.example/>)\n\n    \\- no list\n\n" +
		"- A \\[bookmarklet\\](x) ``javascript:alert(`1`)``\n" +
		"- 1\\. No URL\n"
	if file.String() != want {
		t.Errorf("\n got %s\nwant %s", file.String(), want)
	}
}
