package localstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/rules"
)

// Import says how a file is imported.
type Import struct {
	Replica int64
	// Into is the folder that receives what is at the top of the file; "" is
	// the top.
	Into string
	// Make makes that folder where there is none, as the first thing that the
	// import does; nil where Into says it. A dry run has no use for it.
	Make func(*Editor) (folderID string, err error)
	// Command goes to the journal: the whole import is one `bm undo`.
	Command string
	// StripTracking takes tracking parameters from URLs, and heeds none in those
	// that are there.
	StripTracking bool
	// DryRun decides on every entry and stores nothing.
	DryRun bool
	// Step is told what becomes of each entry, as it is decided; may be nil.
	Step func(exchange.Step)
	// Progress is told after each transaction how many entries are done; may
	// be nil.
	Progress func(entries int)
}

// bulkGap is what bulk work leaves between two transactions: an edit beside it
// gets its turn.
const bulkGap = 2 * time.Millisecond

// Import adds what a file holds and the replica does not: a bookmark with the
// same URL in the same folder is there already, and only gains tags. It writes
// in small transactions; cut off in the middle, it leaves a consistent replica,
// and run again it goes on without adding anything twice. Where the file cannot
// be read on, what was read until then stays and the error says where.
func (s *Store) Import(ctx context.Context, file *exchange.Reader, opts Import) (api.ImportSummary, error) {
	run := &importing{store: s, file: file, opts: opts, lookup: &lookup{replica: opts.Replica, stripped: opts.StripTracking}}
	if opts.Make != nil && !opts.DryRun {
		if err := s.write(ctx, refetchable, run.makeFolder); err != nil {
			return api.ImportSummary{}, fmt.Errorf("import: %w", err)
		}
	}
	if err := s.read(ctx, func(tx *tx) error { return run.begin(tx) }); err != nil {
		return api.ImportSummary{}, err
	}
	if opts.DryRun {
		err := s.read(ctx, func(tx *tx) error {
			run.lookup.tx = tx
			for !run.ended {
				if err := run.chunk(ctx, nil, run.read(run.pace.Rows())); err != nil {
					return err
				}
			}
			return nil
		})
		return run.planner.Summary(), errors.Join(err, run.broken)
	}
	for !run.ended {
		gap := time.NewTimer(bulkGap)
		some := run.read(run.pace.Rows())
		select {
		case <-gap.C:
		case <-ctx.Done():
			return run.planner.Summary(), ctx.Err()
		}
		err := s.write(ctx, refetchable, func(tx *tx) error { return run.chunks(ctx, tx, some) })
		if err != nil {
			return run.planner.Summary(), fmt.Errorf("import: %w", err)
		}
		if opts.Progress != nil {
			opts.Progress(run.entries)
		}
	}
	err := s.FinishBulk(ctx)
	return run.planner.Summary(), errors.Join(run.broken, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// importing is an import under way.
type importing struct {
	store   *Store
	file    *exchange.Reader
	opts    Import
	lookup  *lookup
	planner *exchange.Planner
	pace    Pace
	entries int
	ended   bool
	broken  error // why the file could not be read to its end
	entry   int64 // of the journal; 0 before the first change
	steps   int   // in it
}

// makeFolder makes the folder that receives the file, as a part of the import.
func (i *importing) makeFolder(tx *tx) error {
	ed, err := tx.editor(tx.ctx, i.opts.Replica)
	if err != nil {
		return err
	}
	if i.opts.Into, err = i.opts.Make(ed); err != nil {
		return err
	}
	return i.record(ed)
}

func (i *importing) begin(tx *tx) error {
	r, err := tx.replica(i.opts.Replica)
	if err != nil {
		return err
	}
	if !i.opts.DryRun {
		if err := r.Editable(); err != nil {
			return err
		}
	}
	depth := 0
	if i.opts.Into != "" {
		into, err := tx.find(r.N, api.TypeFolder, i.opts.Into)
		if err != nil {
			return err
		}
		if into == nil || into.Deleted() {
			return notFound(api.TypeFolder, i.opts.Into)
		}
		above, err := tx.ancestors(r.N, i.opts.Into)
		if err != nil {
			return err
		}
		depth = len(above)
	}
	newID := func() string { return "" }
	if i.store.ids != nil {
		newID = i.store.ids.New
	}
	i.planner = exchange.NewPlanner(i.lookup, exchange.Options{
		Into: i.opts.Into, Depth: depth, Now: i.store.now(), NewID: newID, StripTracking: i.opts.StripTracking,
	})
	return nil
}

// read reads so many entries, or as many as the file still has.
func (i *importing) read(most int) []*exchange.Entry {
	var some []*exchange.Entry
	for text := 0; len(some) < most && text < PaceText; {
		e, err := i.file.Next()
		if err != nil {
			i.ended = true
			if !errors.Is(err, io.EOF) {
				i.broken = err
			}
			break
		}
		some = append(some, e)
		text += len(e.Title) + len(e.URL) + len(e.Description) + len(e.ReaderExcerpt)
	}
	return some
}

// importChunks is how many chunks one transaction takes at most.
const importChunks = 4

// chunks takes some entries in, and more of them while nobody waits.
func (i *importing) chunks(ctx context.Context, tx *tx, some []*exchange.Entry) error {
	i.lookup.tx = tx
	for n := 1; ; n++ {
		if err := i.pace.Time(len(some), func() error { return i.chunk(ctx, tx, some) }); err != nil {
			return err
		}
		if i.ended || n == importChunks || ctx.Err() != nil || i.store.writer.wanted() {
			return nil
		}
		some = i.read(i.pace.Rows())
	}
}

// chunk takes entries in. Without a transaction to write in, it only decides.
func (i *importing) chunk(ctx context.Context, tx *tx, entries []*exchange.Entry) error {
	var ed *Editor
	if tx != nil {
		var err error
		if ed, err = tx.editor(ctx, i.opts.Replica); err != nil {
			return err
		}
		if err := i.goesOn(tx); err != nil {
			return err
		}
	}
	var rows []Entity
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		step, err := i.planner.Next(ctx, e)
		if err != nil {
			return err
		}
		i.entries++
		if i.opts.Step != nil {
			i.opts.Step(step)
		}
		if ed == nil {
			continue
		}
		switch step.Verdict {
		case exchange.New:
			rows = append(rows, imported(&step, ed.at))
		case exchange.Changed:
			if err := ed.retag(step.ID, step.Bookmark.Tags.Value); err != nil {
				return err
			}
		}
	}
	if ed == nil {
		return nil
	}
	if err := foldersLive(ed, rows); err != nil {
		return err
	}
	if err := tx.insertAll(i.opts.Replica, rows); err != nil {
		return err
	}
	for at := range rows {
		ed.note(actionCreate, &rows[at])
	}
	return i.record(ed)
}

// goesOn checks that nobody took back what was imported so far.
func (i *importing) goesOn(tx *tx) error {
	if i.entry == 0 {
		return nil
	}
	state := inForce
	err := tx.row(`SELECT undone FROM journal WHERE n = ?`, i.entry).Scan(&state)
	if err != nil && !isNoRows(err) { // the journal forgets what is long ago
		return fmt.Errorf("read the journal: %w", err)
	}
	at, err := tx.turning()
	if err != nil {
		return err
	}
	if state != inForce || at != nil && at.Entry == i.entry {
		return api.Errorf(api.CodeConflict, "the import was taken back while it ran: nothing more is added")
	}
	return nil
}

// foldersLive checks that the folders that new rows go into are there still.
func foldersLive(ed *Editor, rows []Entity) error {
	checked := map[string]bool{"": true}
	for at := range rows {
		e := &rows[at]
		if e.Type == api.TypeFolder {
			checked[e.ID] = true
		}
		if checked[e.Parent] {
			continue
		}
		checked[e.Parent] = true
		folder, err := ed.tx.find(ed.replica.N, api.TypeFolder, e.Parent)
		if err != nil {
			return err
		}
		if folder == nil || folder.Deleted() {
			name := e.Parent
			if folder != nil {
				name = folder.Title
			}
			return api.Errorf(api.CodeConflict, "the folder %q was deleted while the import ran: nothing more is added", name)
		}
	}
	return nil
}

// record adds a chunk's steps to the one entry that the import has in the
// journal.
func (i *importing) record(ed *Editor) error {
	if len(ed.steps) == 0 {
		return nil
	}
	if i.entry == 0 {
		var err error
		if i.entry, err = ed.tx.openEntry(i.opts.Replica, i.opts.Command, ed.at); err != nil {
			return err
		}
	}
	err := ed.tx.writeSteps(i.entry, i.steps, ed.steps)
	i.steps += len(ed.steps)
	return err
}

// retag gives a bookmark that was there already the tags of its duplicate.
func (ed *Editor) retag(id string, tags []string) error {
	e, err := ed.tx.find(ed.replica.N, api.TypeBookmark, id)
	if err != nil || e == nil || e.Deleted() {
		return err
	}
	fields := e.Fields
	fields.Tags = rules.UniteTags(e.Tags, tags)
	_, err = ed.put(e, fields)
	return err
}

// imported is a new row as the planner made it.
func imported(step *exchange.Step, at api.Time) Entity {
	e := Entity{ID: step.ID}
	if step.Kind == exchange.Folder {
		in := &step.Folder
		e.Type = api.TypeFolder
		e.Fields = withFolder(Fields{CreatedAt: in.CreatedAt.Value}, in)
	} else {
		in := &step.Bookmark
		e.Type = api.TypeBookmark
		e.Fields = withBookmark(Fields{CreatedAt: in.CreatedAt.Value}, in)
		e.ReaderExcerpt, e.VideoEmbedURL = in.ReaderExcerpt.Value, in.VideoEmbedURL.Value
	}
	e.UpdatedAt = at
	return e
}

// lookup is what the planner sees of a replica.
type lookup struct {
	tx       *tx
	replica  int64
	stripped bool // without tracking parameters
}

var _ exchange.Existing = (*lookup)(nil)

// Hash is what the column url_hash holds; of a bookmark without a URL there is
// no such column, and its title is hashed alike.
func (l *lookup) Hash(key exchange.Key) uint64 {
	if key.URL != "" {
		return uint64(keyHash(key.URL))
	}
	return titleHash(key.Title)
}

func titleHash(title string) uint64 {
	sum := sha256.Sum256([]byte(title))
	return binary.BigEndian.Uint64(sum[:8])
}

func (l *lookup) Contents(_ context.Context, folderID string, tell func(exchange.Row)) error {
	err := l.tx.each(`SELECT id, title, sort_order FROM folder WHERE replica = ? AND parent = ? AND deleted_at = 0 ORDER BY sort_order, created_at, id`,
		[]any{l.replica, folderID}, func(row scanner) error {
			r := exchange.Row{Kind: exchange.Folder}
			err := row.Scan(&r.ID, &r.Name, &r.Order)
			tell(r)
			return err
		})
	if err != nil {
		return err
	}
	url := "''"
	if l.stripped {
		url = "url"
	}
	return l.tx.each(`SELECT n, url_hash, CASE WHEN url = '' THEN title ELSE '' END, url = '', sort_order, `+url+` FROM bookmark
		WHERE replica = ? AND folder = ? AND deleted_at = 0 ORDER BY sort_order, created_at, id`,
		[]any{l.replica, folderID}, func(row scanner) error {
			r := exchange.Row{Kind: exchange.Bookmark}
			var hash int64
			var title, url string
			var bare bool
			err := row.Scan(&r.Number, &hash, &title, &bare, &r.Order, &url)
			switch r.Hash = uint64(hash); {
			case bare:
				r.Hash = titleHash(title)
			case l.stripped:
				r.Hash = l.Hash(l.key(url, ""))
			}
			tell(r)
			return err
		})
}

// key is what a bookmark is matched by.
func (l *lookup) key(url, title string) exchange.Key {
	if l.stripped {
		return exchange.StrippedKeyOf(url, title)
	}
	return exchange.KeyOf(url, title)
}

func (l *lookup) Bookmark(_ context.Context, number int64, key exchange.Key) (exchange.Found, bool, error) {
	var found exchange.Found
	var url, title, tags string
	err := l.tx.row(`SELECT id, url, title, tags FROM bookmark WHERE n = ? AND deleted_at = 0`, number).Scan(&found.ID, &url, &title, &tags)
	if isNoRows(err) || err == nil && l.key(url, title) != key {
		return found, false, nil
	}
	return found, err == nil, errors.Join(err, decode(tags, &found.Tags))
}
