package bookmarks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/rules"
	"bm/server/sqldb"
	"bm/server/tree"
)

// The bounds of an import's transactions. As soon as another write waits, they
// end behind the chunk that is being stored, short enough for nobody to notice,
// with a gap in which the other gets its turn. While nobody waits they hold
// more: a page of an index that many chunks change is written once for all.
const (
	importRows   = 800 // entries in a chunk
	importChunks = 8   // in a transaction
	importGap    = 2 * time.Millisecond
)

// Import adds what a file holds and the workspace does not, below a folder or,
// with "", at the top. It is complete once it answers; cut off in the middle
// it leaves a consistent workspace, and the same file again adds nothing twice.
func (s *Service) Import(ctx context.Context, scope access.Scope, file *os.File, into string) (sum api.ImportSummary, err error) {
	// A file that cannot be read to its end is refused before any of it is
	// stored.
	if err := readable(file); err != nil {
		return api.ImportSummary{}, err
	}
	// One at a time: of a file that is sent again while the first is under way,
	// as by a client that gave up, the second finds all that the first one stores.
	err = s.db.InTurn(ctx, "import "+scope.WorkspaceID, func() error {
		sum, err = s.importInTurn(ctx, scope, file, into)
		return err
	})
	return sum, api.Wrap("import", err)
}

func (s *Service) importInTurn(ctx context.Context, scope access.Scope, file *os.File, into string) (api.ImportSummary, error) {
	reader, err := exchange.NewReader(file)
	if err != nil {
		return api.ImportSummary{}, fmt.Errorf("read the upload: %w", err)
	}
	defer func() { _ = reader.Close() }()
	run := &importing{service: s, scope: scope, reader: reader}
	err = s.db.Read(ctx, func(tx *sqldb.Tx) error {
		depth, err := tree.Depth(ctx, tx, scope, into)
		if err != nil {
			return tree.Refusal(err, "query.folderId")
		}
		run.planner = exchange.NewPlanner(run, exchange.Options{
			Into: into, Depth: depth, Now: s.now(), NewID: s.newID, MaxEntries: api.MaxImportRows,
		})
		return nil
	})
	if err != nil {
		return api.ImportSummary{}, api.Wrap("begin", err)
	}
	if err := run.all(ctx); err != nil {
		return api.ImportSummary{}, err
	}
	if run.stored >= importRows {
		if err := s.tidy(ctx); err != nil {
			return api.ImportSummary{}, err
		}
	}
	return run.planner.Summary(), nil
}

// tidy does what a large import leaves behind, so that the next small edit does
// not pay for it. After a small one it would cost everybody more than it saves:
// the connections are opened anew, and all of the memory is gone through.
func (s *Service) tidy(ctx context.Context) error {
	if err := s.tree.FinishBulk(ctx); err != nil {
		return err
	}
	return s.db.Release(ctx)
}

// readable reads a file to its end, and then from its beginning.
func readable(file *os.File) error {
	reader, err := exchange.NewReader(file)
	if err == nil {
		defer func() { _ = reader.Close() }()
		if format := reader.Format(); !format.IsHTMLOrJSON() {
			return api.Invalid("file", "is of the format %s, and must be HTML or JSON", format)
		}
	}
	for err == nil {
		_, err = reader.Next()
	}
	if !errors.Is(err, io.EOF) {
		if _, broken := errors.AsType[*os.PathError](err); broken {
			return fmt.Errorf("read the upload: %w", err)
		}
		return api.Invalid("file", "%v", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the upload: %w", err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// importing is an import under way: one goroutine decides on its entries,
// another stores what was decided.
type importing struct {
	service *Service
	scope   access.Scope
	stored  int // entries that were new or changed

	// These are the deciding one's.
	reader  *exchange.Reader
	planner *exchange.Planner
	tree.Lookup
}

// chunk is what to store of some entries.
type chunk []exchange.Step

// all decides on a chunk while the one before it is stored. The planner may: it
// asks what is in a folder before the first entry that goes there is decided on.
func (i *importing) all(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	chunks := make(chan chunk, 1)
	var undecided error
	go func() {
		defer close(chunks)
		defer func() {
			if p := recover(); p != nil {
				undecided = fmt.Errorf("panic while deciding: %v\n%s", p, debug.Stack())
			}
		}()
		undecided = i.decide(ctx, chunks)
	}()
	unstored := i.store(ctx, chunks)
	stop()
	for range chunks { // until nobody reads the file any more
	}
	if unstored != nil {
		return unstored
	}
	return undecided
}

// decide reads to the end of the file.
func (i *importing) decide(ctx context.Context, chunks chan<- chunk) error {
	for ended := false; !ended; {
		var steps chunk
		err := i.service.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
			i.Lookup = tree.NewLookup(tx, i.scope)
			steps, ended, err = i.next(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if len(steps) == 0 {
			continue
		}
		select {
		case chunks <- steps:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// next decides on as many entries as a chunk may hold.
func (i *importing) next(ctx context.Context) (steps chunk, ended bool, err error) {
	steps = make(chunk, 0, importRows)
	for len(steps) < importRows {
		entry, err := i.reader.Next()
		if errors.Is(err, io.EOF) {
			return steps, true, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("read the upload: %w", err)
		}
		step, err := i.planner.Next(ctx, entry)
		if err != nil {
			return nil, false, err
		}
		if step.Verdict == exchange.New || step.Verdict == exchange.Changed {
			steps = append(steps, step)
		}
	}
	return steps, false, nil
}

// store stores chunk after chunk until there are no more.
func (i *importing) store(ctx context.Context, chunks <-chan chunk) error {
	for first := range chunks {
		// The transaction may be run twice, what it takes from the channel comes
		// but once.
		taken := []chunk{first}
		err := i.service.tree.Write(ctx, i.scope, func(e *tree.Edit) error {
			storing := storing{edit: e, rehomed: map[string]string{}}
			for n := 0; n < len(taken); n++ {
				if err := storing.chunk(ctx, taken[n]); err != nil {
					return err
				}
				if n+1 < len(taken) || n+1 == importChunks || e.Tx().Wanted() {
					continue
				}
				select {
				case more, ok := <-chunks:
					if ok {
						taken = append(taken, more)
					}
				default: // nobody waits for the file while others may want to write
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, steps := range taken {
			i.stored += len(steps)
		}
		if err := pause(ctx, importGap); err != nil {
			return err
		}
	}
	return nil
}

// storing stores chunks within a transaction.
type storing struct {
	edit *tree.Edit
	// rehomed is where what was meant for a folder goes: the folder, unless it
	// was deleted since.
	rehomed   map[string]string
	bookmarks []tree.Bookmark
}

func (s *storing) chunk(ctx context.Context, steps chunk) error {
	s.bookmarks = s.bookmarks[:0]
	for n := range steps {
		if err := s.step(ctx, &steps[n]); err != nil {
			return err
		}
	}
	return s.edit.InsertBookmarks(ctx, s.bookmarks)
}

func (s *storing) step(ctx context.Context, step *exchange.Step) error {
	if step.Verdict == exchange.Changed {
		return s.retag(ctx, step.ID, step.Bookmark.Tags.Value)
	}
	if step.Kind == exchange.Folder {
		f := s.edit.NewFolder(step.ID)
		f.Apply(&step.Folder, true)
		parent, err := s.home(ctx, f.ParentID)
		if err != nil {
			return err
		}
		f.ParentID = parent
		s.rehomed[f.ID] = f.ID
		return s.edit.InsertFolder(ctx, &f)
	}
	b := s.edit.NewBookmark(step.ID)
	b.Apply(&step.Bookmark, true)
	home, err := s.home(ctx, b.FolderID)
	if err != nil {
		return err
	}
	b.FolderID = home
	s.bookmarks = append(s.bookmarks, b)
	return nil
}

func (s *storing) home(ctx context.Context, folderID string) (string, error) {
	if home, ok := s.rehomed[folderID]; ok {
		return home, nil
	}
	home, err := s.edit.LivingAncestor(ctx, folderID)
	if err == nil {
		s.rehomed[folderID] = home
	}
	return home, err
}

// retag gives a bookmark that was there already the tags of its duplicate.
func (s *storing) retag(ctx context.Context, id string, tags []string) error {
	before, err := living(ctx, s.edit, id)
	if api.CodeOf(err) == api.CodeNotFound {
		return nil // deleted since: the deletion stands
	}
	if err != nil {
		return err
	}
	after := before
	after.Tags = rules.UniteTags(before.Tags, tags)
	if after.Tags = after.Tags[:min(len(after.Tags), api.MaxTags)]; after.SameContent(&before) {
		return nil
	}
	return s.edit.UpdateBookmark(ctx, &before, &after)
}
