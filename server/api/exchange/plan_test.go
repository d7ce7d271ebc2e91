package exchange_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
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

// workspace is what a store is to a planner, in memory.
type workspace struct {
	folders   []api.Folder
	bookmarks []api.Bookmark
	ids       int
	asked     int
	err       error
}

var testSeed = maphash.MakeSeed()

func (w *workspace) Hash(key exchange.Key) uint64 {
	return maphash.String(testSeed, key.URL+"\x00"+key.Title)
}

func (w *workspace) Contents(_ context.Context, folderID string, tell func(exchange.Row)) error {
	w.asked++
	var all []exchange.Row
	for _, f := range w.folders {
		if f.ParentID == folderID {
			all = append(all, exchange.Row{Kind: exchange.Folder, ID: f.ID, Name: f.Name, Order: f.SortOrder})
		}
	}
	for i, b := range w.bookmarks {
		if b.FolderID == folderID {
			all = append(all, exchange.Row{Kind: exchange.Bookmark, ID: b.ID, Number: int64(i), Hash: w.Hash(exchange.KeyOf(b.URL, b.Title)), Order: b.SortOrder})
		}
	}
	slices.SortFunc(all, func(a, b exchange.Row) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID)) })
	for _, row := range all {
		tell(row)
	}
	return w.err
}

func (w *workspace) Bookmark(_ context.Context, number int64, key exchange.Key) (exchange.Found, bool, error) {
	w.asked++
	b := &w.bookmarks[number]
	return exchange.Found{ID: b.ID, Tags: b.Tags}, exchange.KeyOf(b.URL, b.Title) == key, w.err
}

func (w *workspace) newID() string {
	w.ids++
	return fmt.Sprintf("id%06d", w.ids)
}

// apply does what a step says.
func (w *workspace) apply(s exchange.Step) {
	switch {
	case s.Kind == exchange.Folder && s.Verdict == exchange.New:
		w.folders = append(w.folders, api.Folder{
			ID: s.ID, Name: s.Folder.Name.Value, Description: s.Folder.Description.Value, ParentID: s.Folder.ParentID.Value,
			SortOrder: s.Folder.SortOrder.Value, CreatedAt: s.Folder.CreatedAt.Value, Extra: s.Folder.Extra.Value,
		})
	case s.Kind == exchange.Bookmark && s.Verdict == exchange.New:
		in := s.Bookmark
		w.bookmarks = append(w.bookmarks, api.Bookmark{
			ID: s.ID, URL: in.URL.Value, Title: in.Title.Value, Description: in.Description.Value, Tags: in.Tags.Value, FolderID: in.FolderID.Value,
			SortOrder: in.SortOrder.Value, CreatedAt: in.CreatedAt.Value, Extra: in.Extra.Value,
		})
	case s.Kind == exchange.Bookmark && s.Verdict == exchange.Changed:
		i := slices.IndexFunc(w.bookmarks, func(b api.Bookmark) bool { return b.ID == s.ID })
		w.bookmarks[i].Tags = s.Bookmark.Tags.Value
	}
}

var importedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// importFile plans a file; each step is applied pending steps later, as by a
// store that writes in chunks. stop ends it early, as a crash would.
func (w *workspace) importFile(t testing.TB, file string, pending, stop int, opts exchange.Options) (api.ImportSummary, []exchange.Step) {
	t.Helper()
	opts.Now, opts.NewID = importedAt, w.newID
	reader, err := exchange.NewReader(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	planner := exchange.NewPlanner(w, opts)
	var steps []exchange.Step
	done := 0
	for e, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) == stop {
			break
		}
		step, err := planner.Next(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
		for ; done < len(steps)-pending; done++ {
			w.apply(steps[done])
		}
	}
	for ; stop < 0 && done < len(steps); done++ {
		w.apply(steps[done])
	}
	return planner.Summary(), steps
}

func verdicts(steps []exchange.Step) string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Verdict.String())
	}
	return strings.Join(out, " ")
}

const everything = -1

func TestPlanMatchesByMultiset(t *testing.T) {
	w := &workspace{}
	first := `<DT><A HREF="https://go.dev">Go</A><DT><A HREF="https://GO.dev/">Go again</A>
		<DT><H3>F</H3><DL><DT><A HREF="https://go.dev">Go in F</A></DL>
		<DT><H3>F</H3><DL><DT><A HREF="a">A</A></DL><DT><A>No URL</A>`
	summary, steps := w.importFile(t, first, 0, everything, exchange.Options{})
	if got := verdicts(steps); got != "new new new new new new new" {
		t.Errorf("first: %s", got)
	}
	if summary.Imported != 5 || summary.Skipped != 0 || summary.DuplicatesSkipped != 0 || len(summary.Issues) != 1 {
		t.Errorf("first: %+v", summary)
	}

	again := `<DT><A HREF="https://go.dev/" TAGS="x,y">Other title</A><DT><A HREF="https://go.dev/">Second</A><DT><A HREF="https://go.dev/">Third</A>
		<DT><H3>F</H3><DL><DT><A HREF="https://go.dev">Go in F</A><DT><A HREF="b">B</A></DL>
		<DT><H3>F</H3><DL><DT><A HREF="a">A</A></DL>
		<DT><H3>F</H3><DL><DT><A HREF="a">A</A></DL><DT><A>No URL</A><DT><A>No url</A><HR>`
	summary, steps = w.importFile(t, again, 0, everything, exchange.Options{})
	if got := verdicts(steps); got != "changed duplicate new duplicate duplicate new duplicate duplicate new new duplicate new nothing" {
		t.Errorf("again: %s", got)
	}
	if summary.Imported != 4 || summary.DuplicatesSkipped != 5 || summary.Skipped != 0 {
		t.Errorf("again: %+v", summary)
	}
	if got := w.bookmarks[0]; got.Title != "Go" || !slices.Equal(got.Tags, []string{"x", "y"}) {
		t.Errorf("the first is now %+v", got)
	}
	orders := map[string][]int64{}
	for _, b := range w.bookmarks {
		if at := orders[b.FolderID]; slices.Contains(at, b.SortOrder) {
			t.Errorf("two bookmarks at %d in %q", b.SortOrder, b.FolderID)
		}
		orders[b.FolderID] = append(orders[b.FolderID], b.SortOrder)
	}
}

// A file need not have its bookmarks in the order of the folder: of those with one
// URL, none gets the tags of another when the file comes again.
func TestPlanOfAFileOutOfOrder(t *testing.T) {
	for name, file := range map[string]string{
		"ours": `{"version":1,"folders":[],"bookmarks":[{"url":"a","tags":["x"],"sortOrder":9},{"url":"a","sortOrder":-5},{"url":"a","tags":["X","y"],"sortOrder":3}]}`,
		"list": `[{"url":"a","tags":["x"],"sortOrder":9},{"url":"a","tags":["y"],"sortOrder":3},{"url":"b","sortOrder":1}]`,
	} {
		w := &workspace{}
		w.importFile(t, file, 0, everything, exchange.Options{})
		_, steps := w.importFile(t, file, 0, everything, exchange.Options{})
		if got := verdicts(steps); got != "duplicate duplicate duplicate" {
			t.Errorf("%s, again: %s", name, got)
		}
	}
}

// Chrome's HTML export names no folder for what is in "other" and what comes from a
// phone: behind its own file it adds nothing, nor does that behind it.
func TestPlanOfBothFilesOfChrome(t *testing.T) {
	own := `{"roots":{"bookmark_bar":{"name":"Bookmarks bar","type":"folder","children":[{"name":"A","type":"url","url":"https://a.example/"}]},
		"other":{"name":"Other bookmarks","type":"folder","children":[{"name":"B","type":"url","url":"https://b.example/"}]},
		"synced":{"name":"Mobile bookmarks","type":"folder","children":[{"name":"C","type":"url","url":"https://c.example/"},
			{"name":"F","type":"folder","children":[{"name":"D","type":"url","url":"https://d.example/"}]}]}}}`
	html := `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
    <DT><H3 ADD_DATE="1600000000" LAST_MODIFIED="1600000000" PERSONAL_TOOLBAR_FOLDER="true">Bookmarks bar</H3>
    <DL><p>
        <DT><A HREF="https://a.example/" ADD_DATE="1600000000">A</A>
    </DL><p>
    <DT><A HREF="https://b.example/" ADD_DATE="1600000000">B</A>
    <DT><A HREF="https://c.example/" ADD_DATE="1600000000">C</A>
    <DT><H3 ADD_DATE="1600000000" LAST_MODIFIED="1600000000">F</H3>
    <DL><p>
        <DT><A HREF="https://d.example/" ADD_DATE="1600000000">D</A>
    </DL><p>
</DL><p>
`
	for first, second := range map[string]string{own: html, html: own} {
		w := &workspace{}
		w.importFile(t, first, 0, everything, exchange.Options{})
		_, steps := w.importFile(t, second, 0, everything, exchange.Options{})
		if got := verdicts(steps); got != "duplicate duplicate duplicate duplicate duplicate duplicate" {
			t.Errorf("the other one: %s", got)
		}
	}
}

// A folder of the file that is new lies behind its namesake that was there, whatever
// the order that the file gives it.
func TestPlanOfNegativeOrders(t *testing.T) {
	w := &workspace{folders: []api.Folder{{ID: "there", Name: "F", SortOrder: 1024}}}
	file := `{"version":1,"folders":[{"id":"1","name":"F","sortOrder":-5000},{"id":"2","name":"F","sortOrder":-4000}],
		"bookmarks":[{"url":"a","folderId":"1"},{"url":"b","folderId":"2"}]}`
	w.importFile(t, file, 0, everything, exchange.Options{})
	if got := w.bookmarks[0].FolderID; got != "there" {
		t.Errorf("the first went to %q", got)
	}
	_, steps := w.importFile(t, file, 0, everything, exchange.Options{})
	if got := verdicts(steps); got != "duplicate duplicate duplicate duplicate" {
		t.Errorf("again: %s", got)
	}
}

// Many bookmarks of one URL are not gone through for each of them.
func TestPlanOfManyAlike(t *testing.T) {
	const many = 100_000
	w := &workspace{}
	for i := range many {
		w.bookmarks = append(w.bookmarks, api.Bookmark{ID: fmt.Sprint(i), URL: "a", Tags: []string{fmt.Sprint(i)}, SortOrder: int64(i)})
	}
	planner := exchange.NewPlanner(w, exchange.Options{})
	for i := range many {
		step, err := planner.Next(t.Context(), &exchange.Entry{Kind: exchange.Bookmark, URL: "a", Tags: []string{fmt.Sprint(i)}})
		if err != nil || step.ID != fmt.Sprint(i) {
			t.Fatalf("the one of place %d is taken for %s (%v)", i, step.ID, err)
		}
	}
	if w.asked > many+2 {
		t.Errorf("%d questions for %d bookmarks", w.asked, many)
	}
}

func TestPlanUnitesTagsWithinTheLimit(t *testing.T) {
	w := &workspace{bookmarks: []api.Bookmark{{ID: "1", URL: "https://go.dev/", Tags: []string{"Go", "x"}}}}
	_, steps := w.importFile(t, `<DT><A HREF="https://go.dev" TAGS="GO,X">Go</A>`, 0, everything, exchange.Options{})
	if steps[0].Verdict != exchange.Duplicate || steps[0].ID != "1" {
		t.Errorf("%+v", steps[0])
	}
	var many []string
	for i := range api.MaxTags {
		many = append(many, fmt.Sprint(i))
	}
	w.bookmarks[0].Tags = many
	_, steps = w.importFile(t, `<DT><A HREF="https://go.dev" TAGS="more">Go</A>`, 0, everything, exchange.Options{})
	if steps[0].Verdict != exchange.Duplicate {
		t.Errorf("a full bookmark: %+v", steps[0])
	}
}

func TestPlanRejectsAndNotes(t *testing.T) {
	w := &workspace{}
	long := "https://x.example/" + strings.Repeat("y", api.MaxURL)
	file := "<DT><A HREF=\"" + long + "\">Long</A>\n<DT><A HREF=\"?x\" ADD_DATE=soon ONCLICK=x>" + strings.Repeat("t", api.MaxTitle+1) +
		"</A>\n<DT><A></A>\n<DT><A HREF=b>B</A>"
	summary, steps := w.importFile(t, file, 0, everything, exchange.Options{MaxEntries: 3})
	if got := verdicts(steps); got != "rejected new new rejected" {
		t.Fatal(got)
	}
	var codes []string
	for _, step := range steps {
		for _, issue := range step.Issues {
			codes = append(codes, fmt.Sprintf("%d:%d:%s", issue.Index, issue.Line, issue.Code))
			if len(issue.URL) > 200 || len(issue.Title) > 200 {
				t.Errorf("an issue repeats %d and %d bytes", len(issue.URL), len(issue.Title))
			}
		}
	}
	slices.Sort(codes)
	if want := []string{
		"0:1:url_too_long", "1:2:date_unreadable", "1:2:extra_dropped", "1:2:title_cut", "1:2:url_not_absolute", "3:4:too_many_entries",
	}; !slices.Equal(codes, want) {
		t.Errorf("\n got %v\nwant %v", codes, want)
	}
	if summary.Imported != 2 || summary.Skipped != 2 || len(summary.Errors) != 2 || len(summary.Issues) != 4 {
		t.Errorf("%+v", summary)
	}
	if b := w.bookmarks[0]; !b.CreatedAt.Equal(importedAt) {
		t.Errorf("an entry without a date is from %v", b.CreatedAt)
	}
	if b := w.bookmarks[1]; b.Title != api.Untitled {
		t.Errorf("an empty entry is called %q", b.Title)
	}
}

func TestPlanRejectsWhatIsNoEntry(t *testing.T) {
	for _, file := range []string{
		`{"bookmarks":[{"url":"a"},17]}`, `{"bookmarks":[{"url":"a"},null]}`, `[{"href":"a"}, null]`, `[{"url":"a"}, null]`,
		`{"lists":[],"bookmarks":[{"content":{"url":"a"}},null]}`, `{"root":"placesRoot","children":[{"uri":"a"},null]}`,
	} {
		w := &workspace{}
		summary, steps := w.importFile(t, file, 0, everything, exchange.Options{})
		if got := verdicts(steps); got != "new rejected" || summary.Errors[0].Code != api.IssueUnreadable || summary.Errors[0].Index != 1 {
			t.Errorf("%s: %s, %+v", file, got, summary.Errors)
		}
	}
}

func TestPlanRejectsWhatWasCutOff(t *testing.T) {
	for file, want := range map[string]string{
		"<DT><A HREF=a>A</A>\n<DT><A HREF=\"http://go.d":     "new rejected",
		"<DT><A HREF=a>A</A>\n<DT><A":                        "new rejected",
		"<DT><A HREF=a>A</A>\n<DD>see <a href=\"http://go.d": "new",
		"<DT><A HREF=a>A</A":                                 "new",
		"<DT><A HREF=a>A</A>\n<DT><H3 ADD":                   "new",
	} {
		w := &workspace{}
		summary, steps := w.importFile(t, file, 0, everything, exchange.Options{})
		if got := verdicts(steps); got != want {
			t.Errorf("%q: %s", file, got)
		}
		if len(summary.Errors) > 0 && (summary.Errors[0].Line != 2 || summary.Errors[0].Index != 1) {
			t.Errorf("%q: %+v", file, summary.Errors[0])
		}
	}
}

func TestPlanGoesIntoAFolder(t *testing.T) {
	w := &workspace{
		folders:   []api.Folder{{ID: "into", Name: "Into", SortOrder: 5}},
		bookmarks: []api.Bookmark{{ID: "b", URL: "a", FolderID: "into", SortOrder: 50_000}, {ID: "top", URL: "c"}},
	}
	_, steps := w.importFile(t, `<DT><A HREF=a>A</A><DT><A HREF=c>C</A><DT><H3>F</H3>`, 0, everything, exchange.Options{Into: "into", Depth: 1})
	if got := verdicts(steps); got != "duplicate new new" {
		t.Fatal(got)
	}
	if b := w.bookmarks[2]; b.FolderID != "into" || b.SortOrder != 50_000+2*api.SortGap {
		t.Errorf("%+v", b)
	}
	if f := w.folders[1]; f.ParentID != "into" || f.SortOrder != 50_000+3*api.SortGap {
		t.Errorf("%+v", f)
	}
}

func TestPlanBoundsTheDepth(t *testing.T) {
	var file strings.Builder
	for i := range 70 {
		fmt.Fprintf(&file, "<DT><H3>%d</H3><DL><DT><A HREF=%d>in %d</A>", i+1, i+1, i+1)
	}
	for _, start := range []int{0, 1, api.MaxTreeDepth - 1, api.MaxTreeDepth} {
		w := &workspace{}
		opts := exchange.Options{Depth: start}
		if start > 0 {
			opts.Into = "into"
		}
		summary, _ := w.importFile(t, file.String(), 0, everything, opts)
		if summary.Imported != 70 {
			t.Fatalf("from %d: %+v", start, summary)
		}
		parents := map[string]string{}
		deepest := 0
		for _, f := range w.folders {
			parents[f.ID] = f.ParentID
			depth := start
			for at := f.ID; at != "" && at != "into"; at = parents[at] {
				depth++
			}
			deepest = max(deepest, depth)
		}
		if deepest > api.MaxTreeDepth || start < api.MaxTreeDepth && deepest < api.MaxTreeDepth {
			t.Errorf("from %d: %d deep", start, deepest)
		}
		cut := 0
		for _, issue := range summary.Issues {
			if issue.Code == api.IssueDepthCut {
				cut++
			}
		}
		if want := 70 - (api.MaxTreeDepth - start); cut != want {
			t.Errorf("from %d: %d folders noted, want %d", start, cut, want)
		}
		folders := len(w.folders)
		if summary, _ := w.importFile(t, file.String(), 0, everything, opts); summary.DuplicatesSkipped != 70 || len(w.folders) != folders {
			t.Errorf("from %d, again: %+v, %d folders", start, summary, len(w.folders))
		}
	}
}

// Each folder that is there is asked about once, and then a row for each match:
// what an import costs grows with the file, however large its folders are. A
// new folder holds nothing, and nothing is asked about it.
func TestPlanAsksOnce(t *testing.T) {
	var file bytes.Buffer
	if err := exchangetest.Generate(&file, 3, 2000); err != nil {
		t.Fatal(err)
	}
	w := &workspace{}
	summary, _ := w.importFile(t, file.String(), 5000, everything, exchange.Options{})
	if w.asked != 1 || summary.Imported != 2000 {
		t.Errorf("%d questions, %+v", w.asked, summary)
	}
	w.asked = 0
	summary, _ = w.importFile(t, file.String(), 5000, everything, exchange.Options{})
	if w.asked != 1+len(w.folders)+2000 || summary.DuplicatesSkipped != 2000 {
		t.Errorf("again: %d questions about %d folders, %+v", w.asked, len(w.folders), summary)
	}
}

// Folders count as entries of a file too: those that are too many are not made,
// and what is in them goes where they would have been.
func TestTooManyFolders(t *testing.T) {
	w := &workspace{}
	file := strings.Repeat("<DT><H3>f</H3><DL><p>", 4) + "<DT><A HREF=http://x/>X</A>" + strings.Repeat("</DL><p>", 4)
	summary, _ := w.importFile(t, file, 0, everything, exchange.Options{MaxEntries: 3})
	if len(w.folders) != 3 || summary.Skipped != 1 || summary.Imported != 0 || len(summary.Issues) != 1 || summary.Issues[0].Code != api.IssueTooMany {
		t.Errorf("%d folders, %+v", len(w.folders), summary)
	}
	w = &workspace{}
	summary, _ = w.importFile(t, "<DT><H3>f</H3><DL><p><DT><A HREF=http://x/>X</A></DL><p><DT><H3>g</H3>", 0, everything, exchange.Options{MaxEntries: 2})
	if len(w.folders) != 1 || summary.Imported != 1 || len(summary.Issues) != 1 {
		t.Errorf("%d folders, %+v", len(w.folders), summary)
	}
}

func TestPlanReportsTheStoresErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, kind := range []exchange.Kind{exchange.Folder, exchange.Bookmark} {
		w := &workspace{err: broken}
		_, err := exchange.NewPlanner(w, exchange.Options{NewID: w.newID}).Next(t.Context(), &exchange.Entry{Kind: kind, Number: 1})
		if !errors.Is(err, broken) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestSummaryIsBounded(t *testing.T) {
	w := &workspace{}
	file := strings.Repeat("<DT><A HREF=x>X</A>", 2*exchange.MaxListed)
	summary, _ := w.importFile(t, file, 1<<20, everything, exchange.Options{})
	if summary.Imported != 2*exchange.MaxListed || len(summary.Issues) != exchange.MaxListed {
		t.Errorf("%d imported, %d issues", summary.Imported, len(summary.Issues))
	}
}

// Whatever is in a file, and however often, and wherever a first attempt
// broke off: an import brings in each entry once, in its place, and a second
// one nothing.
func TestImportIsRepeatable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCollection(rt)
		for range rapid.IntRange(0, 3).Draw(rt, "copies") {
			if len(c.Bookmarks) > 0 {
				twin := c.Bookmarks[rapid.IntRange(0, len(c.Bookmarks)-1).Draw(rt, "twin")]
				twin.ID, twin.Tags = twin.ID+"x", nil
				c.Bookmarks = append(c.Bookmarks, twin)
			}
		}
		slices.SortStableFunc(c.Bookmarks, func(a, b api.Bookmark) int { return cmp.Compare(a.FolderID, b.FolderID) })
		for i := range c.Bookmarks {
			c.Bookmarks[i].SortOrder = int64(i)*5 + 1
			c.Bookmarks[i].Title = rules.DefaultTitle(c.Bookmarks[i].Title, c.Bookmarks[i].URL)
		}
		var file bytes.Buffer
		format := rapid.SampledFrom([]string{"HTML", "JSON"}).Draw(rt, "format")
		if err := writers[format](&file, c); err != nil {
			rt.Fatal(err)
		}
		w := &workspace{}
		chunk := rapid.IntRange(0, 5).Draw(rt, "chunk")
		w.importFile(t, file.String(), chunk, rapid.IntRange(0, 10).Draw(rt, "crash"), exchange.Options{})
		w.importFile(t, file.String(), chunk, everything, exchange.Options{})

		got := fromSource(&exchangetest.Collection{Folders: w.folders, Bookmarks: w.bookmarks})
		want := fromSource(c)
		if !reflect.DeepEqual(multiset(got), multiset(want)) {
			rt.Fatalf("\n got %+q\nwant %+q", got, want)
		}
		summary, _ := w.importFile(t, file.String(), chunk, everything, exchange.Options{})
		if summary.Imported != 0 || summary.Skipped != 0 || summary.DuplicatesSkipped != len(c.Bookmarks) {
			rt.Fatalf("a second import: %+v", summary)
		}
	})
}

// multiset counts nodes without regard to order, which a crash may change.
func multiset(nodes []node) map[string]int {
	counts := map[string]int{}
	for _, n := range nodes {
		counts[fmt.Sprintf("%d %q %q %q %q %v %v", n.Kind, n.Title, n.URL, n.Description, n.Tags, n.CreatedAt.UnixMilli(), n.Extra)]++
	}
	return counts
}

// collectionOf is a workspace as an export takes it.
func collectionOf(w *workspace) *exchangetest.Collection {
	c := &exchangetest.Collection{Folders: slices.Clone(w.folders), Bookmarks: slices.Clone(w.bookmarks)}
	slices.SortFunc(c.Bookmarks, func(a, b api.Bookmark) int {
		return cmp.Or(cmp.Compare(a.FolderID, b.FolderID), cmp.Compare(a.SortOrder, b.SortOrder), cmp.Compare(a.ID, b.ID))
	})
	return c
}
