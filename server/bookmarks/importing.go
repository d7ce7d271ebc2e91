package bookmarks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"bm/server/access"
	"bm/server/api"
	"bm/server/api/exchange"
	"bm/server/api/rules"
	"bm/server/sqldb"
	"bm/server/tree"
)

// The bounds of an import's transactions: short enough for other writers not
// to notice, with a gap after each in which they get their turn.
const (
	importRows = 800
	importGap  = 2 * time.Millisecond
)

// Import adds what a file holds and the workspace does not, below a folder or,
// with "", at the top. It is complete once it answers; cut off in the middle
// it leaves a consistent workspace, and the same file again adds nothing twice.
func (s *Service) Import(ctx context.Context, scope access.Scope, file *os.File, into string) (api.ImportSummary, error) {
	// A file that cannot be read to its end is refused before any of it is
	// stored.
	if err := readable(file); err != nil {
		return api.ImportSummary{}, err
	}
	reader, err := exchange.NewReader(file)
	if err != nil {
		return api.ImportSummary{}, fmt.Errorf("read the upload: %w", err)
	}
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
		return api.ImportSummary{}, api.Wrap("begin the import", err)
	}
	for ended := false; !ended; {
		if ended, err = run.chunk(ctx); err != nil {
			return api.ImportSummary{}, api.Wrap("import", err)
		}
		if err := pause(ctx, importGap); err != nil {
			return api.ImportSummary{}, err
		}
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

// importing is an import under way.
type importing struct {
	service *Service
	scope   access.Scope
	reader  *exchange.Reader
	planner *exchange.Planner
	stored  int // entries that were new or changed
	tree.Lookup
}

// chunk decides on as many entries as one transaction may hold, and then
// stores them: the transaction may be run twice, the planner may not.
func (i *importing) chunk(ctx context.Context) (ended bool, err error) {
	steps := make([]exchange.Step, 0, importRows)
	err = i.service.db.Read(ctx, func(tx *sqldb.Tx) error {
		i.Lookup = tree.NewLookup(tx, i.scope)
		for len(steps) < importRows {
			entry, err := i.reader.Next()
			if errors.Is(err, io.EOF) {
				ended = true
				return nil
			}
			if err != nil {
				return fmt.Errorf("read the upload: %w", err)
			}
			step, err := i.planner.Next(ctx, entry)
			if err != nil {
				return err
			}
			if step.Verdict == exchange.New || step.Verdict == exchange.Changed {
				steps = append(steps, step)
			}
		}
		return nil
	})
	if err != nil || len(steps) == 0 {
		return ended, err
	}
	i.stored += len(steps)
	return ended, i.service.tree.Write(ctx, i.scope, func(e *tree.Edit) error {
		storing := storing{edit: e, rehomed: map[string]string{}}
		for n := range steps {
			if err := storing.step(ctx, &steps[n]); err != nil {
				return err
			}
		}
		return e.InsertBookmarks(ctx, storing.bookmarks)
	})
}

// storing stores the steps of a chunk.
type storing struct {
	edit *tree.Edit
	// rehomed is where what was meant for a folder goes: the folder, unless it
	// was deleted since.
	rehomed   map[string]string
	bookmarks []tree.Bookmark
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
