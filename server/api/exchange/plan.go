package exchange

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bm/server/api"
	"bm/server/api/rules"
)

// Verdict is what an import does with an entry.
type Verdict uint8

// The verdicts.
const (
	// Nothing: a separator.
	Nothing Verdict = iota
	// New: it is stored.
	New
	// Duplicate: it is there already.
	Duplicate
	// Changed: it is there already and gains tags.
	Changed
	// Rejected: it cannot be stored.
	Rejected
)

func (v Verdict) String() string {
	return [...]string{"nothing", "new", "duplicate", "changed", "rejected"}[v]
}

// Key is what two bookmarks of a folder are matched by: the normalised URL,
// or without a URL the title.
type Key struct {
	URL   string // of [rules.URLKey]
	Title string // "" where URL is not
}

// KeyOf is the key of a bookmark in normal form.
func KeyOf(url, title string) Key {
	if url == "" {
		return Key{Title: title}
	}
	return Key{URL: rules.URLKey(url)}
}

// StrippedKeyOf is the key of a bookmark whose URL may say what only tells who
// follows it.
func StrippedKeyOf(url, title string) Key { return KeyOf(rules.StripTracking(url), title) }

// Found is a bookmark that is there.
type Found struct {
	ID   string
	Tags []string
}

// Existing is what a planner asks of the workspace that is imported into: of
// each folder once what is in it, and of each match alone the row.
type Existing interface {
	// Hash stands for a bookmark's key: of equal keys it is the same, and of
	// two others so rarely that the second may count as new.
	Hash(key Key) uint64
	// Contents tells of every live row right in a folder ("" for the top), in
	// the order (sortOrder, createdAt, id) of an export, before the import stores anything there.
	Contents(ctx context.Context, folderID string, tell func(Row)) error
	// Bookmark is one that Contents told of; false where it has not this key
	// after all.
	Bookmark(ctx context.Context, number int64, key Key) (found Found, ok bool, err error)
}

// Row is what of a row right in a folder a planner has to know.
type Row struct {
	Kind   Kind   // Folder or Bookmark
	ID     string // a folder's
	Name   string // a folder's
	Number int64  // what the store knows a bookmark by
	Hash   uint64 // of a bookmark's key
	Order  int64
}

// Options are the circumstances of an import.
type Options struct {
	// Into is the folder that receives what is at the top of the file, ""
	// for the top of the workspace, and Depth how deep it lies there: 0 for
	// the top.
	Into  string
	Depth int
	// Now is the date of what has none.
	Now time.Time
	// NewID makes the ids of what is new.
	NewID func() string
	// MaxEntries is how many entries are taken, 0 for all.
	MaxEntries int
	// StripTracking takes from URLs what only tells who follows them, see
	// [rules.StripTracking]. What is there must be looked up likewise, see
	// [StrippedKeyOf].
	StripTracking bool
}

// Step is what to do with one entry.
type Step struct {
	Kind    Kind
	Verdict Verdict
	// Entry is what the file holds.
	Entry *Entry
	// Index and Line say where the entry stands in the file.
	Index, Line int
	// ID is that of the new row, or of the one that was found.
	ID string
	// Bookmark is a New one, complete and in normal form, or of a Changed one
	// the united tags alone.
	Bookmark api.BookmarkInput
	// Key is what a bookmark is matched by; its URL is the key to store.
	Key Key
	// Folder is a New one, complete and in normal form.
	Folder api.FolderInput
	// Issues say what was changed so that the entry could be stored, or, of a
	// Rejected one, the single reason.
	Issues []api.ImportSummaryIssue
}

// Planner decides what becomes of each entry of a file: matching by multiset,
// so that the n-th entry with a key in a folder is the n-th that was there
// before, and a second import of a file imports nothing.
type Planner struct {
	existing Existing
	opts     Options
	folders  []place
	summary  api.ImportSummary
	entries  int // bookmarks and folders so far
}

// place is where the entries of a folder of the file go.
type place struct {
	id     string
	depth  int
	parent int       // the number of the folder above it
	before *contents // nil if not asked yet
	begun  bool      // something new has gone there
	shift  int64     // what the orders of the file are raised by, then
}

// NewPlanner starts a plan.
func NewPlanner(existing Existing, opts Options) *Planner {
	return &Planner{
		existing: existing,
		opts:     opts,
		folders:  []place{{id: opts.Into, depth: opts.Depth}},
		summary:  api.ImportSummary{Errors: []api.ImportSummaryIssue{}, Issues: []api.ImportSummaryIssue{}},
	}
}

// Next decides on the next entry of the file. Entries must come in the order
// of the [Reader].
func (p *Planner) Next(ctx context.Context, e *Entry) (Step, error) {
	step := Step{Kind: e.Kind, Entry: e, Index: e.Index, Line: e.Line}
	var err error
	switch e.Kind {
	case Folder:
		err = p.folder(ctx, e, &step)
	case Bookmark:
		err = p.bookmark(ctx, e, &step)
	}
	return step, err
}

// MaxListed is how many errors and how many issues a summary lists; the counts
// count them all.
const MaxListed = 1000

// Summary is what the plan comes to so far. Imported + Skipped +
// DuplicatesSkipped is the number of bookmarks among the entries.
func (p *Planner) Summary() api.ImportSummary { return p.summary }

func (p *Planner) bookmark(ctx context.Context, e *Entry, step *Step) error {
	in, issues, reason := p.normal(e)
	if reason != nil {
		step.Verdict = Rejected
		step.Issues = []api.ImportSummaryIssue{p.issue(e, rules.Line(e.Title), *reason)}
		p.summary.Skipped++
		p.summary.Errors = list(p.summary.Errors, step.Issues)
		return nil
	}
	into := p.place(e.Parent)
	step.Key = KeyOf(in.URL.Value, in.Title.Value)
	found, ok, err := p.match(ctx, into, step.Key, in.Tags.Value)
	if err != nil {
		return err
	}
	if ok {
		p.summary.DuplicatesSkipped++
		step.ID = found.ID
		step.Verdict, step.Bookmark = unite(found, in.Tags.Value)
		return nil
	}
	in.SortOrder.Value = into.behind(in.SortOrder.Value)
	step.Verdict, step.ID = New, p.opts.NewID()
	in.ID = api.Some(step.ID)
	in.FolderID = api.Some(into.id)
	in.CreatedAt = api.Some(p.date(e.CreatedAt))
	step.Bookmark = in
	p.summary.Imported++
	p.note(step, e, in.Title.Value, slices.Concat(e.Issues, issues))
	return nil
}

// normal is a bookmark of the file as it can be stored, or the reason why it can't
// be. One that is not taken whatever it holds is not looked at.
func (p *Planner) normal(e *Entry) (in api.BookmarkInput, issues []rules.Issue, reason *rules.Issue) {
	switch {
	case e.Broken != nil:
		return in, nil, e.Broken
	case p.full():
		return in, nil, p.tooMany()
	}
	in = e.bookmarkInput()
	if p.opts.StripTracking {
		in.URL.Value = rules.StripTracking(in.URL.Value)
	}
	issues, reason = rules.CutBookmark(&in)
	in.Title.Value = rules.DefaultTitle(in.Title.Value, in.URL.Value)
	return in, issues, reason
}

// full counts an entry, and reports whether it is one too many.
func (p *Planner) full() bool {
	p.entries++
	return p.opts.MaxEntries > 0 && p.entries > p.opts.MaxEntries
}

func (p *Planner) tooMany() *rules.Issue {
	return &rules.Issue{Code: api.IssueTooMany, Message: fmt.Sprintf("the file holds more than %d bookmarks and folders", p.opts.MaxEntries)}
}

// maxAlike is how many of those with one key are looked at for one with the same
// tags.
const maxAlike = 16

// match finds what a bookmark of the file is a duplicate of: of several with its
// key, the first that has its tags, else the first. In a file that has them in
// another order than the folder, each would else get the tags of another one.
func (p *Planner) match(ctx context.Context, into *place, key Key, tags []string) (first Found, ok bool, err error) {
	before, err := p.before(ctx, into)
	if err != nil || len(before.bookmarks) == 0 {
		return Found{}, false, err
	}
	place, looked := 0, 0
	for at := range before.untaken(p.existing.Hash(key)) {
		found, same, err := p.existing.Bookmark(ctx, before.bookmarks[at].number, key)
		if err != nil {
			return Found{}, false, fmt.Errorf("look for a bookmark: %w", err)
		}
		if same && sameTags(found.Tags, tags) {
			before.take(at)
			return found, true, nil
		}
		if same && !ok {
			first, place, ok = found, at, true
		}
		if looked++; looked == maxAlike {
			break
		}
	}
	if ok {
		before.take(place)
	}
	return first, ok, nil
}

func sameTags(a, b []string) bool {
	return len(a) == len(b) && len(rules.UniteTags(a, b)) == len(a)
}

// unite gives a bookmark that was found the tags of its duplicate.
func unite(found Found, tags []string) (Verdict, api.BookmarkInput) {
	have := len(found.Tags)
	united := rules.UniteTags(found.Tags, tags)
	united = united[:min(len(united), api.MaxTags)]
	if len(united) <= have {
		return Duplicate, api.BookmarkInput{}
	}
	return Changed, api.BookmarkInput{Tags: api.Some(united)}
}

func (p *Planner) folder(ctx context.Context, e *Entry, step *Step) error {
	if p.full() { // nothing that is taken is in it: it needs no place
		step.Verdict, step.ID = Duplicate, p.place(e.Parent).id
		p.note(step, e, rules.Line(e.Title), []rules.Issue{*p.tooMany()})
		return nil
	}
	in := e.folderInput()
	issues := rules.CutFolder(&in)
	parent, own, cut := p.openFolder(e)
	if cut {
		issues = append(issues, rules.Issue{
			Field: "parentId", Code: api.IssueDepthCut,
			Message: fmt.Sprintf("the folder was put at the deepest level allowed, %d", api.MaxTreeDepth),
		})
	}
	before, err := p.before(ctx, parent)
	if err != nil {
		return err
	}
	if parent.depth >= api.MaxTreeDepth { // the import goes into such a folder
		*own = *parent
		step.Verdict, step.ID = Duplicate, parent.id
		p.note(step, e, in.Name.Value, issues)
		return nil
	}
	if same, ok := before.nextFolder(in.Name.Value); ok {
		own.id = same
		step.Verdict, step.ID = Duplicate, own.id
		return nil
	}
	own.id, own.before = p.opts.NewID(), &contents{}
	step.Verdict, step.ID = New, own.id
	in.ID = api.Some(own.id)
	in.ParentID = api.Some(parent.id)
	in.SortOrder.Value = parent.behind(in.SortOrder.Value)
	in.CreatedAt = api.Some(p.date(e.CreatedAt))
	step.Folder = in
	p.note(step, e, in.Name.Value, slices.Concat(e.Issues, issues))
	return nil
}

// openFolder makes a place for a folder of the file below its parent: where
// the file is deeper than a tree may be, below the nearest ancestor that can
// have children, if there is one.
func (p *Planner) openFolder(e *Entry) (parent, own *place, cut bool) {
	for len(p.folders) <= e.Number {
		p.folders = append(p.folders, place{})
	}
	at := e.Parent
	if at < 0 || at >= e.Number {
		at = Root
	}
	for p.folders[at].depth >= api.MaxTreeDepth {
		cut = true
		if at == Root {
			break
		}
		at = p.folders[at].parent
	}
	parent, own = &p.folders[at], &p.folders[e.Number]
	*own = place{depth: min(parent.depth+1, api.MaxTreeDepth), parent: at}
	return parent, own, cut
}

// place is where the entries of a folder of the file go; the top for a number
// that no folder had.
func (p *Planner) place(number int) *place {
	if number < 0 || number >= len(p.folders) {
		number = Root
	}
	return &p.folders[number]
}

// behind puts a new row behind what was in its folder before the import. Orders of
// the file may be negative: among what is there, a folder would be told from its
// namesakes in another order than that of the file.
func (at *place) behind(order int64) int64 {
	if !at.begun && !at.before.empty() && order <= 0 {
		at.shift = api.SortGap - order
	}
	at.begun = true
	return max(-rules.MaxInteger, min(max(at.before.last, 0)+at.shift+order, rules.MaxInteger))
}

func (p *Planner) date(at time.Time) api.Time {
	if at.IsZero() {
		at = p.opts.Now
	}
	return api.At(at)
}

// note adds what was changed about an entry to its step and to the summary.
func (p *Planner) note(step *Step, e *Entry, title string, issues []rules.Issue) {
	for _, issue := range issues {
		step.Issues = append(step.Issues, p.issue(e, title, issue))
	}
	p.summary.Issues = list(p.summary.Issues, step.Issues)
}

// maxShown bounds what of an entry an issue repeats, in characters.
const maxShown = 200

func (p *Planner) issue(e *Entry, title string, issue rules.Issue) api.ImportSummaryIssue {
	shown := func(s string) string {
		s, _ = rules.Repair(s)
		s, _ = rules.Cut(s, maxShown)
		return s
	}
	return api.ImportSummaryIssue{
		Index: e.Index, Line: e.Line, URL: shown(e.URL), Title: shown(title), Code: issue.Code, Message: issue.Message,
	}
}

// list appends as many issues as a summary lists.
func list(all, more []api.ImportSummaryIssue) []api.ImportSummaryIssue {
	return append(all, more[:min(len(more), MaxListed-len(all))]...)
}
